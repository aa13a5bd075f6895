// SPDX-License-Identifier: Apache-2.0
#include "plugins/default_preemption/queueing.h"

#include <array>

#include "plugins/default_preemption/preemption_gate.h"

namespace berth {
namespace {

class PreparedDefaultPreemption : public PreparedHints {
 public:
  QueueingHint after_pod_change(const PodObjectChange& /*change*/) const override { return QueueingHint::kSkip; }
};

class DefaultPreemptionHints : public QueueingHints {
 public:
  explicit DefaultPreemptionHints(bool is_async) : is_async_(is_async) {}
  std::string_view plugin() const override { return PreemptionGate::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {EventRegistration{{EventResource::kPod, EventAction::kDelete}}};
    return std::span(kRegistrations).first(is_async_ ? 1 : 0);
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& /*pod*/) const override {
    return std::make_unique<PreparedDefaultPreemption>();
  }

 private:
  bool is_async_;
};

}  // namespace

std::unique_ptr<QueueingHints> make_default_preemption_hints(const Profile& /*profile*/, const FeatureGates& gates) {
  return std::make_unique<DefaultPreemptionHints>(gates.enabled("SchedulerAsyncPreemption"));
}

}  // namespace berth
