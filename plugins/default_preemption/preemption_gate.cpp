// SPDX-License-Identifier: Apache-2.0
#include "plugins/default_preemption/preemption_gate.h"

namespace berth {

Status PreemptionGate::pre_enqueue(const Pod& pod) {
  if (!running_.contains(pod)) return {};
  return {StatusCode::kUnschedulableAndUnresolvable,
          std::string(kName),
          {"waiting for the preemption for this pod to be finished"}};
}

}  // namespace berth
