// SPDX-License-Identifier: Apache-2.0
#include "host/config/plugin_catalog.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace berth {
namespace {

using enum ExtensionPoint;

consteval std::uint16_t at(std::initializer_list<ExtensionPoint> points) {
  unsigned bits = 0;
  for (const ExtensionPoint point : points) bits |= 1u << static_cast<unsigned>(point);
  return static_cast<std::uint16_t>(bits);
}

constexpr std::uint16_t kFilters = at({kPreFilter, kFilter});
constexpr std::uint16_t kFiltersAndScores = at({kPreFilter, kFilter, kPreScore, kScore});

/// Which points each joins: docs/behaviour/scheduler-core.md 1.6, 9.2; docs/behaviour/plugins-node.md;
/// docs/behaviour/plugins-storage-devices.md.
constexpr auto kCatalog = std::to_array<CatalogPlugin>({
    {"SchedulingGates", 0, at({kPreEnqueue}), ""},
    {"PrioritySort", 0, at({kQueueSort}), ""},
    {"NodeUnschedulable", 0, at({kFilter}), ""},
    {"NodeName", 0, at({kFilter}), ""},
    {"TaintToleration", 3, at({kFilter, kPreScore, kScore}), ""},
    {"NodeAffinity", 2, kFiltersAndScores, ""},
    {"NodePorts", 0, kFilters, ""},
    {"NodeResourcesFit", 1, kFiltersAndScores, ""},
    {"VolumeRestrictions", 0, kFilters, ""},
    {"NodeVolumeLimits", 0, kFilters, ""},
    {"VolumeBinding", 0, at({kPreFilter, kFilter, kPreScore, kScore, kReserve, kPreBind}), ""},
    {"VolumeZone", 0, kFilters, ""},
    {"PodTopologySpread", 2, kFiltersAndScores, ""},
    {"InterPodAffinity", 2, kFiltersAndScores, ""},
    {"DynamicResources", 2, at({kPreEnqueue, kPreFilter, kFilter, kPostFilter, kScore, kReserve, kPreBind}),
     "DynamicResourceAllocation"},
    {"DefaultPreemption", 0, at({kPreEnqueue, kPostFilter}), ""},
    {"NodeResourcesBalancedAllocation", 1, at({kPreScore, kScore}), ""},
    {"ImageLocality", 1, at({kScore}), ""},
    {"DefaultBinder", 0, at({kBind}), ""},
    {"NodeDeclaredFeatures", 0, kFilters, "NodeDeclaredFeatures"},
    {"GangScheduling", 0, at({kPreEnqueue, kReserve, kPermit}), "GangScheduling"},
    {"TopologyPlacementGenerator", 0, 0, "TopologyAwareWorkloadScheduling"},
    {"PodGroupPodsCount", 1, 0, "TopologyAwareWorkloadScheduling"},
});

struct RemovedPlugin {
  std::string_view name;
  std::string_view replacement;
};

constexpr auto kRemoved = std::to_array<RemovedPlugin>({
    {"AzureDiskLimits", "NodeVolumeLimits"},
    {"CinderLimits", "NodeVolumeLimits"},
    {"EBSLimits", "NodeVolumeLimits"},
    {"GCEPDLimits", "NodeVolumeLimits"},
    {"NodeLabel", "NodeAffinity"},
    {"NodePreferAvoidPods", "taints of the effect PreferNoSchedule"},
    {"NodeResourcesLeastAllocated", "the scoringStrategy LeastAllocated of NodeResourcesFit"},
    {"NodeResourcesMostAllocated", "the scoringStrategy MostAllocated of NodeResourcesFit"},
    {"RequestedToCapacityRatio", "the scoringStrategy RequestedToCapacityRatio of NodeResourcesFit"},
    {"SelectorSpread", "PodTopologySpread"},
    {"ServiceAffinity", "InterPodAffinity"},
});

}  // namespace

std::span<const CatalogPlugin> plugin_catalog() { return kCatalog; }

const CatalogPlugin* find_catalog_plugin(std::string_view name) {
  const auto* found = std::find_if(kCatalog.begin(), kCatalog.end(),
                                   [name](const CatalogPlugin& plugin) { return plugin.name == name; });
  return found == kCatalog.end() ? nullptr : found;
}

bool is_available(const CatalogPlugin& plugin, const FeatureGates& gates) {
  return plugin.gate.empty() || gates.enabled(plugin.gate);
}

std::string_view replacement_of_removed_plugin(std::string_view name) {
  const auto* found = std::find_if(kRemoved.begin(), kRemoved.end(),
                                   [name](const RemovedPlugin& plugin) { return plugin.name == name; });
  return found == kRemoved.end() ? std::string_view() : found->replacement;
}

bool is_out_of_tree(std::string_view name) {
  return !name.empty() && find_catalog_plugin(name) == nullptr && replacement_of_removed_plugin(name).empty();
}

}  // namespace berth
