// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_unschedulable/queueing.h"

#include <array>

#include "plugins/node_unschedulable/compile.h"

namespace berth {
namespace {

class PreparedNodeUnschedulable : public PreparedHints {
 public:
  explicit PreparedNodeUnschedulable(bool comparison_operators) : comparison_operators_(comparison_operators) {}
  QueueingHint after_node_change(const NodeChange& change) const override {
    const bool was_cordoned = change.before == nullptr || change.before->unschedulable;
    return was_cordoned && !change.after->unschedulable ? QueueingHint::kQueue : QueueingHint::kSkip;
  }
  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    if (!change.is_waiting_pod) return QueueingHint::kSkip;
    const auto params = compile_node_unschedulable(change.after->spec->tolerations, comparison_operators_);
    return NodeUnschedulable::feasible(params, true) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }

 private:
  bool comparison_operators_;
};

class NodeUnschedulableHints : public QueueingHints {
 public:
  explicit NodeUnschedulableHints(bool comparison_operators) : comparison_operators_(comparison_operators) {}
  std::string_view plugin() const override { return NodeUnschedulable::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeTaint}},
        EventRegistration{{EventResource::kPod, EventAction::kUpdatePodToleration}}};
    return kRegistrations;
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& /*pod*/) const override {
    return std::make_unique<PreparedNodeUnschedulable>(comparison_operators_);
  }

 private:
  bool comparison_operators_;
};

}  // namespace

std::unique_ptr<QueueingHints> make_node_unschedulable_hints(const Profile& /*profile*/, const FeatureGates& gates) {
  return std::make_unique<NodeUnschedulableHints>(gates.enabled("TaintTolerationComparisonOperators"));
}

}  // namespace berth
