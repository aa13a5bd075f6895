// SPDX-License-Identifier: Apache-2.0
#include "plugins/queueing.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "host/config/plugin_catalog.h"
#include "plugins/default_preemption/preemption_gate.h"
#include "plugins/default_preemption/queueing.h"
#include "plugins/inter_pod_affinity/queueing.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/node_affinity/queueing.h"
#include "plugins/node_affinity/rule.h"
#include "plugins/node_declared_features/queueing.h"
#include "plugins/node_declared_features/rule.h"
#include "plugins/node_name/queueing.h"
#include "plugins/node_name/rule.h"
#include "plugins/node_ports/queueing.h"
#include "plugins/node_ports/rule.h"
#include "plugins/node_resources_fit/queueing.h"
#include "plugins/node_resources_fit/rule.h"
#include "plugins/node_unschedulable/queueing.h"
#include "plugins/node_unschedulable/rule.h"
#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/node_volume_limits/queueing.h"
#include "plugins/pod_topology_spread/rule.h"
#include "plugins/scheduling_gates/queueing.h"
#include "plugins/scheduling_gates/scheduling_gates.h"
#include "plugins/taint_toleration/queueing.h"
#include "plugins/taint_toleration/rule.h"
#include "plugins/volume_binding/queueing.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_restrictions/queueing.h"
#include "plugins/volume_restrictions/volume_restrictions.h"
#include "plugins/volume_zone/queueing.h"
#include "plugins/volume_zone/volume_zone.h"

namespace berth {
namespace {

using Make = std::unique_ptr<QueueingHints> (*)(const Profile&, const FeatureGates&);
struct Entry {
  std::string_view plugin;
  Make make;
};

constexpr std::array kEntries = {
    Entry{SchedulingGates::kName, make_scheduling_gates_hints},
    Entry{NodeUnschedulable::name, make_node_unschedulable_hints},
    Entry{NodeName::name, make_node_name_hints},
    Entry{TaintToleration::name, make_taint_toleration_hints},
    Entry{NodeAffinityRule::name, make_node_affinity_hints},
    Entry{NodePorts::name, make_node_ports_hints},
    Entry{NodeResourcesFit::name, make_node_resources_fit_hints},
    Entry{VolumeRestrictions::kName, make_volume_restrictions_hints},
    Entry{NodeVolumeLimits::kName, make_node_volume_limits_hints},
    Entry{VolumeBinding::kName, make_volume_binding_hints},
    Entry{VolumeZone::kName, make_volume_zone_hints},
    Entry{InterPodAffinity::name, make_inter_pod_affinity_hints},
    Entry{PreemptionGate::kName, make_default_preemption_hints},
    Entry{NodeDeclaredFeatures::name, make_node_declared_features_hints},
};

constexpr std::array kRejectingPoints = {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter,
                                         ExtensionPoint::kFilter, ExtensionPoint::kReserve, ExtensionPoint::kPermit};

bool may_reject(const Profile& profile, std::string_view plugin) {
  return std::any_of(kRejectingPoints.begin(), kRejectingPoints.end(),
                     [&](ExtensionPoint point) { return profile.enables(point, plugin); });
}

}  // namespace

std::vector<std::unique_ptr<QueueingHints>> make_queueing_hints(
    const Profile& profile, const FeatureGates& gates, const DefaultSelectorOf& default_selector_of,
    const std::function<std::unique_ptr<QueueingHints>(const std::string& plugin)>& of_outside) {
  std::vector<std::unique_ptr<QueueingHints>> hints;
  for (const std::string& plugin : profile.plugin_names()) {
    if (!may_reject(profile, plugin)) continue;
    const auto entry =
        std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& e) { return e.plugin == plugin; });
    if (plugin == PodTopologySpread::name) {
      hints.push_back(make_pod_topology_spread_hints(profile, gates, default_selector_of));
    } else if (entry != kEntries.end()) {
      hints.push_back(entry->make(profile, gates));
    } else if (find_catalog_plugin(plugin) == nullptr) {
      hints.push_back(of_outside(plugin));
    }
  }
  return hints;
}

}  // namespace berth
