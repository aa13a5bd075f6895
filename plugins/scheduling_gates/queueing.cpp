// SPDX-License-Identifier: Apache-2.0
#include "plugins/scheduling_gates/queueing.h"

#include <array>

#include "plugins/scheduling_gates/scheduling_gates.h"

namespace berth {
namespace {

class PreparedSchedulingGates : public PreparedHints {
 public:
  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    return change.is_waiting_pod ? QueueingHint::kQueue : QueueingHint::kSkip;
  }
};

class SchedulingGatesHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return SchedulingGates::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kPod, EventAction::kUpdatePodSchedulingGatesEliminated}}};
    return kRegistrations;
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& /*pod*/) const override {
    return std::make_unique<PreparedSchedulingGates>();
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_scheduling_gates_hints(const Profile& /*profile*/, const FeatureGates& /*gates*/) {
  return std::make_unique<SchedulingGatesHints>();
}

}  // namespace berth
