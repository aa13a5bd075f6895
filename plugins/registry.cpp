// SPDX-License-Identifier: Apache-2.0
#include "plugins/registry.h"

#include <array>

namespace berth {
namespace {

constexpr std::array kBuilt = {
    BuiltPlugin{"SchedulingGates", Support::kExact, ""},
    BuiltPlugin{"PrioritySort", Support::kExact, ""},
    BuiltPlugin{"NodeUnschedulable", Support::kExact, ""},
    BuiltPlugin{"NodeName", Support::kExact, ""},
    BuiltPlugin{"TaintToleration", Support::kExact, ""},
    BuiltPlugin{"NodeAffinity", Support::kExact, ""},
    BuiltPlugin{"NodePorts", Support::kExact, ""},
    BuiltPlugin{"NodeResourcesFit", Support::kExact, ""},
    BuiltPlugin{"PodTopologySpread", Support::kExact, ""},
    BuiltPlugin{"InterPodAffinity", Support::kExact, ""},
    BuiltPlugin{"NodeResourcesBalancedAllocation", Support::kExact, ""},
    BuiltPlugin{"ImageLocality", Support::kExact, ""},
    BuiltPlugin{"NodeDeclaredFeatures", Support::kPartial,
                "of v1.36's registry only the entries that v1.35 has are known"},
    BuiltPlugin{"DefaultBinder", Support::kPartial, "binds in memory; there is no API server client yet"},
};

}  // namespace

std::string_view to_string(Support support) {
  switch (support) {
    case Support::kExact:
      return "exact";
    case Support::kPartial:
      return "partial";
    case Support::kUnsupported:
      return "unsupported";
  }
  return "unsupported";
}

std::span<const BuiltPlugin> built_plugins() { return kBuilt; }

BuiltPlugin plugin_support(std::string_view name) {
  for (const BuiltPlugin& plugin : kBuilt)
    if (plugin.name == name) return plugin;
  return {name, Support::kUnsupported, ""};
}

}  // namespace berth
