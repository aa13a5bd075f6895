// SPDX-License-Identifier: Apache-2.0
#include "plugins/scheduling_gates/scheduling_gates.h"

#include <string>
#include <vector>

namespace berth {

Status SchedulingGates::pre_enqueue(const Pod& pod) {
  const std::vector<std::string>& gates = pod.rare().scheduling_gates;
  if (gates.empty()) return {};
  std::string text = "waiting for scheduling gates: [";
  for (const std::string& gate : gates) text += (&gate == &gates.front() ? "" : " ") + gate;
  return {StatusCode::kUnschedulableAndUnresolvable, std::string(kName), {text + "]"}};
}

std::unique_ptr<Plugin> make_scheduling_gates(const Profile&, const FrameworkHandle&) {
  return std::make_unique<SchedulingGates>();
}

}  // namespace berth
