// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_resources_fit/queueing.h"

#include <algorithm>
#include <array>
#include <memory>

#include "host/objects/pod_requests.h"
#include "host/objects/pod_state.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// Calls holds(name, amount) for each resource, scalars of amount 0 included, until one holds.
template <class Holds>
bool any_amount(const ResourceAmounts& amounts, Holds holds) {
  return holds(kCpu, amounts.milli_cpu) || holds(kMemory, amounts.memory_bytes) ||
         holds(kEphemeralStorage, amounts.ephemeral_storage_bytes) ||
         std::any_of(amounts.scalars.begin(), amounts.scalars.end(),
                     [&](const auto& scalar) { return holds(scalar.first, scalar.second); });
}

struct Options {
  bool pod_level = true;           ///< gate PodLevelResources
  RequestOptions others_requests;  ///< how the requests of pods with a status are read
};

class PreparedNodeResourcesFit : public PreparedHints {
 public:
  PreparedNodeResourcesFit(const Pod& pod, const Options& options)
      : options_(options),
        wanted_(pod_requests(pod, {.pod_level = options.pod_level})),
        wanted_by_status_(pod_requests(pod, options.others_requests)) {}

  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    if (change.after != nullptr) return scaled_down(change) ? QueueingHint::kQueue : QueueingHint::kSkip;
    const Pod& deleted = *change.before;
    const bool held_nothing = !is_assigned(deleted) && deleted.rare().nominated_node_name.empty();
    return held_nothing ? QueueingHint::kSkip : QueueingHint::kQueue;
  }
  QueueingHint after_node_change(const NodeChange& change) const override {
    if (!fits_empty(*change.after)) return QueueingHint::kSkip;
    return change.before == nullptr || grew(*change.before, *change.after) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }

 private:
  bool scaled_down(const PodObjectChange& change) const {
    if (change.is_waiting_pod) return true;
    if (!is_assigned(*change.after)) return false;
    const ResourceAmounts before = pod_requests(*change.before, options_.others_requests);
    const ResourceAmounts after = pod_requests(*change.after, options_.others_requests);
    return any_amount(wanted_by_status_, [&](std::string_view name, std::int64_t amount) {
      return amount != 0 && before.amount(name) > after.amount(name);
    });
  }
  /// Resources that the profile ignores count here.
  bool fits_empty(const Node& node) const {
    if (NodeResourcesFit::too_many_pods<std::int64_t>(0, node.allowed_pod_number)) return false;
    return !any_amount(wanted_, [&](std::string_view name, std::int64_t amount) {
      return NodeResourcesFit::is_short<std::int64_t>(amount, node.allocatable.amount(name), 0);
    });
  }
  bool grew(const Node& before, const Node& after) const {
    if (after.allowed_pod_number > before.allowed_pod_number) return true;
    return any_amount(wanted_, [&](std::string_view name, std::int64_t amount) {
      return amount > 0 && after.allocatable.amount(name) > before.allocatable.amount(name);
    });
  }

  Options options_;
  ResourceAmounts wanted_;
  ResourceAmounts wanted_by_status_;
};

class NodeResourcesFitHints : public QueueingHints {
 public:
  explicit NodeResourcesFitHints(const Options& options) : options_(options) {}
  std::string_view plugin() const override { return NodeResourcesFit::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kPod, EventAction::kDelete | EventAction::kUpdatePodScaleDown}},
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeAllocatable}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.spec = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedNodeResourcesFit>(pod, options_);
  }

 private:
  Options options_;
};

}  // namespace

std::unique_ptr<QueueingHints> make_node_resources_fit_hints(const Profile& /*profile*/, const FeatureGates& gates) {
  Options options;
  options.pod_level = gates.enabled("PodLevelResources");
  options.others_requests = {.status_resources = true,
                             .status_resources_by_aggregate = gates.release() != Release::k1_35};
  return std::make_unique<NodeResourcesFitHints>(options);
}

}  // namespace berth
