// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "host/framework/plugin.h"
#include "host/framework/plugin_registry.h"

namespace berth {

/// Keeps a pod out of the active queue while it has scheduling gates: docs/behaviour/plugins-node.md 4.
class SchedulingGates : public PreEnqueuePlugin {
 public:
  static constexpr std::string_view kName = "SchedulingGates";
  std::string_view name() const override { return kName; }
  Status pre_enqueue(const Pod& pod) override;
};

std::unique_ptr<Plugin> make_scheduling_gates(const Profile& profile, const FrameworkHandle& handle);

}  // namespace berth
