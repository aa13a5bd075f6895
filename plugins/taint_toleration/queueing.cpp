// SPDX-License-Identifier: Apache-2.0
#include "plugins/taint_toleration/queueing.h"

#include <algorithm>
#include <array>
#include <memory>

#include "plugins/taint_toleration/compile.h"

namespace berth {
namespace {

class PreparedTaintToleration : public PreparedHints {
 public:
  PreparedTaintToleration(std::shared_ptr<const PodSpec> spec, bool comparison_operators)
      : spec_(std::move(spec)), comparison_operators_(comparison_operators) {}

  QueueingHint after_node_change(const NodeChange& change) const override {
    const bool was_refused = change.before == nullptr || refuses(*change.before);
    return was_refused && !refuses(*change.after) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }
  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    return change.is_waiting_pod ? QueueingHint::kQueue : QueueingHint::kSkip;
  }

 private:
  bool refuses(const Node& node) const {
    return std::any_of(node.taints.begin(), node.taints.end(), [this](const Taint& taint) {
      return taint.effect != TaintEffect::kPreferNoSchedule &&
             !tolerates_any(spec_->tolerations, taint, comparison_operators_);
    });
  }

  std::shared_ptr<const PodSpec> spec_;
  bool comparison_operators_;
};

class TaintTolerationHints : public QueueingHints {
 public:
  explicit TaintTolerationHints(bool comparison_operators) : comparison_operators_(comparison_operators) {}
  std::string_view plugin() const override { return TaintToleration::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeTaint}},
        EventRegistration{{EventResource::kPod, EventAction::kUpdatePodToleration}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.node_side = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedTaintToleration>(pod.spec, comparison_operators_);
  }

 private:
  bool comparison_operators_;
};

}  // namespace

std::unique_ptr<QueueingHints> make_taint_toleration_hints(const Profile& /*profile*/, const FeatureGates& gates) {
  return std::make_unique<TaintTolerationHints>(gates.enabled("TaintTolerationComparisonOperators"));
}

}  // namespace berth
