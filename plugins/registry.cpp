// SPDX-License-Identifier: Apache-2.0
#include "plugins/registry.h"

#include <array>

#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/priority_sort/priority_sort.h"
#include "plugins/rules.h"
#include "plugins/scheduling_gates/scheduling_gates.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_restrictions/volume_restrictions.h"
#include "plugins/volume_zone/volume_zone.h"

namespace berth {
namespace {

/// What is built besides the rules of plugins/rules.h.
constexpr std::array kOtherPlugins = {
    BuiltPlugin{SchedulingGates::kName, Support::kExact, ""},
    BuiltPlugin{PrioritySort::kName, Support::kExact, ""},
    BuiltPlugin{"DefaultPreemption", Support::kPartial,
                "looks at all nodes; minCandidateNodesPercentage and minCandidateNodesAbsolute are used with "
                "--preemption-nodes kube alone"},
    BuiltPlugin{VolumeRestrictions::kName, Support::kExact, ""},
    BuiltPlugin{NodeVolumeLimits::kName, Support::kExact, ""},
    BuiltPlugin{VolumeBinding::kName, Support::kPartial,
                "berth schedule assumes claims and binds none; berth simulate and berth scheduler bind them"},
    BuiltPlugin{VolumeZone::kName, Support::kExact, ""},
    BuiltPlugin{"DefaultBinder", Support::kPartial,
                "berth schedule and berth simulate bind in memory, berth scheduler through the API server"},
};

constexpr auto kBuilt = [] {
  std::array<BuiltPlugin, Rules::size + kOtherPlugins.size()> built{};
  std::size_t next = 0;
  for (const RuleDescriptor& rule : Rules::descriptors)
    built[next++] = {rule.name, rule.missing.empty() ? Support::kExact : Support::kPartial, rule.missing};
  for (const BuiltPlugin& plugin : kOtherPlugins) built[next++] = plugin;
  return built;
}();

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
