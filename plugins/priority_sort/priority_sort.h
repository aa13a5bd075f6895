// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "host/framework/plugin.h"
#include "host/framework/plugin_registry.h"

namespace berth {

/// Higher priority first, then who was added to the queue earlier: docs/behaviour/plugins-node.md 3.
class PrioritySort : public QueueSortPlugin {
 public:
  static constexpr std::string_view kName = "PrioritySort";
  std::string_view name() const override { return kName; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override;
};

std::unique_ptr<Plugin> make_priority_sort(const Profile& profile, const FrameworkHandle& handle);

}  // namespace berth
