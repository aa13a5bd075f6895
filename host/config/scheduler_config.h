// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/feature_gates.h"
#include "host/config/scoring_strategy.h"
#include "host/objects/pod.h"
#include "host/objects/selectors.h"

namespace berth {

/// Points of the scheduling framework a plugin can join, in the order of docs/behaviour/scheduler-core.md 7.1.
enum class ExtensionPoint : std::uint8_t {
  kPreEnqueue,
  kQueueSort,
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr std::size_t kExtensionPointCount = 12;
std::string_view to_string(ExtensionPoint point);  ///< field name of the configuration: "preFilter"

/// One plugin at one point of one profile.
struct EnabledPlugin {
  std::string name;
  std::int32_t weight = 0;  ///< effective weight; only Score reads it
  friend bool operator==(const EnabledPlugin&, const EnabledPlugin&) = default;
};

/// A plugin of kube-scheduler's tree that a profile enables by name.
struct NamedPlugin {
  std::string name;
  std::string path;  ///< where the file has it: "line 12, profiles[0].plugins.score.enabled[1]"
};

/// A plugin that a profile names and that is not in kube-scheduler's tree.
struct OutOfTreePlugin {
  std::string name;
  std::string point;        ///< "score", "multiPoint"; "pluginConfig" when only its arguments stand there
  std::int32_t weight = 0;  ///< as written
  std::string path;         ///< where the file names it: "line 12, profiles[0].plugins.score.enabled[1]"
};

/// The problem text: `unknown plugin "Coscheduling", expected one of kube-scheduler's in-tree plugins`.
std::string out_of_tree_problem(std::string_view name);

/// A plugin that is not in kube-scheduler's tree, and that whoever reads a configuration has loaded.
struct OutsidePlugin {
  std::string name;
  std::uint16_t points = 0;  ///< bit per ExtensionPoint
  bool implements(ExtensionPoint point) const { return (points >> static_cast<unsigned>(point) & 1u) != 0; }
};
using OutsidePlugins = std::span<const OutsidePlugin>;
const OutsidePlugin* find_plugin(OutsidePlugins plugins, std::string_view name);  ///< null: none of them

/// What a profile's pluginConfig says for such a plugin.
struct OutsideArgs {
  std::string plugin;
  std::string json;  ///< of `args`; "{}" where it stands without
  std::string path;  ///< where the file has it: "profiles[0].pluginConfig[1]"
};

/// How reading treats plugins that are neither in-tree nor loaded.
enum class OutOfTree : std::uint8_t {
  kRefuse,   ///< each is a problem
  kLeaveOut  ///< they are left out, and listed in Profile::out_of_tree
};

struct ResourceWeight {
  std::string name;
  std::int64_t weight = 1;
};

struct ShapePoint {
  std::int32_t utilization = 0;  ///< percent, 0..100
  std::int32_t score = 0;        ///< 0..10
};

struct NodeResourcesFitArgs {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  ScoringStrategyType strategy = ScoringStrategyType::kLeastAllocated;
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape;  ///< only for RequestedToCapacityRatio
};

struct NodeResourcesBalancedAllocationArgs {
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
};

struct NodeAffinityArgs {
  std::optional<NodeAffinity> added_affinity;
};

struct InterPodAffinityArgs {
  std::int32_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
};

struct PodTopologySpreadArgs {
  bool system_defaulting = true;
  std::vector<TopologySpreadConstraint> default_constraints;
};

struct DefaultPreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
};

struct VolumeBindingArgs {
  std::int64_t bind_timeout_seconds = 600;
  std::vector<ShapePoint> shape;
};

struct DynamicResourcesArgs {
  std::optional<std::int64_t> filter_timeout_us;
  std::optional<std::int64_t> binding_timeout_us;
};

/// Arguments of every in-tree plugin, defaults filled in. Validated at load.
struct PluginArgs {
  NodeResourcesFitArgs node_resources_fit;
  NodeResourcesBalancedAllocationArgs balanced_allocation;
  NodeAffinityArgs node_affinity;
  InterPodAffinityArgs inter_pod_affinity;
  PodTopologySpreadArgs pod_topology_spread;
  DefaultPreemptionArgs default_preemption;
  VolumeBindingArgs volume_binding;
  DynamicResourcesArgs dynamic_resources;
};

/// One entry of a list of a profile's plugins, as a file has it.
struct ListedPlugin {
  std::string name;
  std::int32_t weight = 0;  ///< 0: unset
};

struct PluginLists {
  std::vector<ListedPlugin> enabled;
  std::vector<ListedPlugin> disabled;
};

/// A profile after merging with the defaults and expanding multiPoint: what runs, in which order, with which weight.
struct Profile {
  std::string scheduler_name = "default-scheduler";
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::array<std::vector<EnabledPlugin>, kExtensionPointCount> plugins;
  /// The lists of the file merged with the defaults, before multiPoint was expanded: what `plugins` came of.
  std::array<PluginLists, kExtensionPointCount> lists;
  PluginLists multi_point;
  /// Plugins of extension points that 1.36 adds and Berth does not run; named so that none is skipped in silence.
  std::vector<std::string> placement_plugins;
  /// What the "enabled" lists of the file name, each once; empty for a profile of defaults only.
  std::vector<NamedPlugin> named_plugins;
  /// With OutOfTree::kLeaveOut: what was left out, in the order of the file.
  std::vector<OutOfTreePlugin> out_of_tree;
  /// Default plugins that were put back because an out-of-tree plugin was left out and no other sorts the queue or
  /// binds.
  std::vector<std::string> stand_ins;
  PluginArgs args;
  std::vector<OutsideArgs> outside_args;

  const std::vector<EnabledPlugin>& at(ExtensionPoint point) const { return plugins[static_cast<std::size_t>(point)]; }
  bool enables(ExtensionPoint point, std::string_view plugin) const;
  /// Names of all plugins enabled at any point, each once, in order of first appearance; placement_plugins last.
  std::vector<std::string> plugin_names() const;
};

struct ExtenderManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
};

struct ExtenderTls {
  bool insecure = false;
  std::string server_name, cert_file, key_file, ca_file;
  std::string cert_data, key_data, ca_data;  ///< bytes, base64 undone
};

struct Extender {
  std::string url_prefix;  ///< without trailing slashes
  std::string filter_verb, prioritize_verb, preempt_verb, bind_verb;
  std::int64_t weight = 0;
  bool enable_https = false;
  std::optional<ExtenderTls> tls;
  std::int64_t http_timeout_us = 0;  ///< 0: five seconds, filled in by the client
  bool node_cache_capable = false;
  std::vector<ExtenderManagedResource> managed_resources;
  bool ignorable = false;
  std::string path;  ///< where the file has it: "line 4, extenders[0]"
};

struct LeaderElection {
  bool leader_elect = true;
  std::int64_t lease_duration_us = 15'000'000;
  std::int64_t renew_deadline_us = 10'000'000;
  std::int64_t retry_period_us = 2'000'000;
  std::string resource_lock = "leases";
  std::string resource_name = "kube-scheduler";
  std::string resource_namespace = "kube-system";
};

/// A rule of leader election that does not hold: docs/behaviour/scheduler-core.md 7.7.
struct LeaderElectionProblem {
  std::string_view field;     ///< "leaseDuration"
  std::string_view expected;  ///< "more than renewDeadline"
};
/// Nothing where there is no leader election.
std::vector<LeaderElectionProblem> leader_election_problems(const LeaderElection& election);

struct ClientConnection {
  std::string kubeconfig;
  std::string accept_content_types;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  std::optional<float> qps = {};  ///< absent: not set, or 0. Below 0: without limit
  std::optional<std::int32_t> burst = {};
  /// What kube-scheduler takes for those that are absent.
  static constexpr float kQpsDefault = 50;
  static constexpr std::int32_t kBurstDefault = 100;
};

/// KubeSchedulerConfiguration kubescheduler.config.k8s.io/v1, completed: docs/behaviour/scheduler-core.md 7.
struct SchedulerConfig {
  std::int32_t parallelism = 16;
  LeaderElection leader_election;
  ClientConnection client_connection;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  std::int32_t percentage_of_nodes_to_score = 0;
  std::int64_t pod_initial_backoff_seconds = 1;
  std::int64_t pod_max_backoff_seconds = 10;
  std::vector<Profile> profiles;
  std::vector<Extender> extenders;  ///< the ignorable ones last, else as written
  bool delay_cache_until_active = false;
  FeatureGates gates;

  const Profile* find_profile(std::string_view scheduler_name) const;  ///< nullptr when no profile has the name
};

/// Arguments of every plugin that has some, as they are when a configuration names none.
PluginArgs default_plugin_args(const FeatureGates& gates);

/// The configuration of a kube-scheduler without --config.
SchedulerConfig default_scheduler_config(const FeatureGates& gates);

/// Strict decoding, defaulting and validation of a configuration text (YAML or JSON).
/// @param source names the text in errors
/// @param loaded  plugins that profiles may name beside those of kube-scheduler
/// @throws InputError with every problem found and its path
SchedulerConfig parse_scheduler_config(std::string_view text, const std::string& source, const FeatureGates& gates,
                                       OutOfTree out_of_tree = OutOfTree::kRefuse, OutsidePlugins loaded = {});
SchedulerConfig load_scheduler_config(const std::string& path, const FeatureGates& gates,
                                      OutOfTree out_of_tree = OutOfTree::kRefuse, OutsidePlugins loaded = {});

}  // namespace berth
