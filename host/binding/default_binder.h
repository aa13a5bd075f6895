// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "host/binding/binder.h"
#include "host/framework/plugin.h"
#include "host/framework/plugin_registry.h"

namespace berth {

/// kube-scheduler's Bind plugin of that name: it passes every pod to the binder and skips none.
class DefaultBinder : public BindPlugin {
 public:
  static constexpr std::string_view kName = "DefaultBinder";
  explicit DefaultBinder(Binder& binder) : binder_(binder) {}  ///< the binder outlives the plugin
  std::string_view name() const override { return kName; }
  Status bind(const PodOnNode& pod) override;

 private:
  Binder& binder_;
};

PluginFactory default_binder_factory(Binder& binder);

}  // namespace berth
