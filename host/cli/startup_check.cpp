// SPDX-License-Identifier: Apache-2.0
#include "host/cli/startup_check.h"

#include "host/config/unbuilt_gates.h"

namespace berth {

SchedulerConfig load_config(const std::string& path, const FeatureGates& gates, OutsidePlugins loaded) {
  refuse_unbuilt_gates(gates);
  return path.empty() ? default_scheduler_config(gates)
                      : load_scheduler_config(path, gates, OutOfTree::kLeaveOut, loaded);
}

}  // namespace berth
