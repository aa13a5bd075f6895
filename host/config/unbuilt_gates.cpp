// SPDX-License-Identifier: Apache-2.0
#include "host/config/unbuilt_gates.h"

#include <utility>
#include <vector>

#include "host/objects/errors.h"

namespace berth {

void refuse_unbuilt_gates(const FeatureGates& gates) {
  std::vector<InputProblem> problems;
  for (const char* const gate : {"GenericWorkload", "GangScheduling"})
    if (gates.enabled(gate)) problems.push_back({"feature gates", gate, "got true, but gang scheduling is not built"});
  if (!problems.empty()) throw InputError(std::move(problems));
}

}  // namespace berth
