// SPDX-License-Identifier: Apache-2.0
#include "host/config/scheduler_config.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "host/config/config_reader.h"
#include "host/config/extenders.h"
#include "host/config/migration.h"
#include "host/config/plugin_args.h"
#include "host/config/plugin_sets.h"

namespace berth {
namespace {

constexpr std::string_view kKind = "KubeSchedulerConfiguration";

constexpr std::array<std::string_view, kExtensionPointCount> kPointNames = {
    "preEnqueue", "queueSort", "preFilter", "filter",  "postFilter", "preScore",
    "score",      "reserve",   "permit",    "preBind", "bind",       "postBind"};

// ---- leader election: docs/behaviour/scheduler-core.md 7.7

bool read_leader_election_field(std::string_view key, const JsonValue& value, LeaderElection& out) {
  if (key == "leaderElect") {
    value.read(out.leader_elect);
  } else if (key == "leaseDuration") {
    read_duration_us(value, out.lease_duration_us);
  } else if (key == "renewDeadline") {
    read_duration_us(value, out.renew_deadline_us);
  } else if (key == "retryPeriod") {
    read_duration_us(value, out.retry_period_us);
  } else if (key == "resourceLock") {
    value.read(out.resource_lock);
  } else if (key == "resourceName") {
    value.read(out.resource_name);
  } else if (key == "resourceNamespace") {
    value.read(out.resource_namespace);
  } else {
    return false;
  }
  return true;
}

/// An empty string or a zero duration reads as unset, as in kube-scheduler.
void default_leader_election(LeaderElection& out) {
  const LeaderElection defaults;
  if (out.lease_duration_us == 0) out.lease_duration_us = defaults.lease_duration_us;
  if (out.renew_deadline_us == 0) out.renew_deadline_us = defaults.renew_deadline_us;
  if (out.retry_period_us == 0) out.retry_period_us = defaults.retry_period_us;
  if (out.resource_lock.empty()) out.resource_lock = defaults.resource_lock;
  if (out.resource_name.empty()) out.resource_name = defaults.resource_name;
  if (out.resource_namespace.empty()) out.resource_namespace = defaults.resource_namespace;
}

void decode_leader_election(const JsonValue& value, LeaderElection& out) {
  value.for_each_field_strict(
      [&](std::string_view key, const JsonValue& field) { return read_leader_election_field(key, field, out); });
  default_leader_election(out);
  if (!value.is_object()) return;
  for (const LeaderElectionProblem& problem : leader_election_problems(out))
    value.field(problem.field).mismatch(problem.expected);
}

// ---- client connection

void read_qps(const JsonValue& value, std::optional<float>& out) {
  double qps = 0;
  if (!value.read(qps)) return;
  if (qps > std::numeric_limits<float>::max() || qps < std::numeric_limits<float>::lowest()) {
    value.mismatch("a number in the range of a 32-bit float");
  } else if (qps != 0) {
    out = static_cast<float>(qps);
  }
}

void decode_client_connection(const JsonValue& connection, ClientConnection& out) {
  connection.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "kubeconfig") {
      value.read(out.kubeconfig);
    } else if (key == "acceptContentTypes") {
      value.read(out.accept_content_types);
    } else if (key == "contentType") {
      value.read(out.content_type);
    } else if (key == "qps") {
      read_qps(value, out.qps);
    } else if (key == "burst") {
      std::int32_t burst = 0;
      read_in_range<std::int32_t>(value, burst, 0);
      if (burst > 0) out.burst = burst;
    } else {
      return false;
    }
    return true;
  });
  const ClientConnection defaults;
  if (out.content_type.empty()) out.content_type = defaults.content_type;
}

// ---- profiles

/// A profile before its lists are expanded, which happens after all profiles were read.
struct ReadProfile {
  Profile profile;
  PluginSets plugins;  ///< merged with the defaults
  bool has_name = false;
};

ReadProfile default_profile(const FeatureGates& gates) {
  ReadProfile read;
  read.plugins = default_plugin_sets(gates);
  read.profile.args = default_plugin_args(gates);
  return read;
}

ReadProfile decode_profile(const JsonValue& element, const ConfigContext& context) {
  ReadProfile read = default_profile(context.gates);
  element.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "schedulerName") {
      value.read(read.profile.scheduler_name);
      read.has_name = value.present();
    } else if (key == "percentageOfNodesToScore") {
      std::int32_t percentage = 0;
      read_in_range<std::int32_t>(value, percentage, 0, 100);
      if (value.present()) read.profile.percentage_of_nodes_to_score = percentage;
    } else if (key == "plugins") {
      PluginSets user = decode_plugin_sets(value, context);
      read.profile.named_plugins = enabled_by_name(user);
      std::erase_if(read.profile.named_plugins,
                    [&](const NamedPlugin& plugin) { return find_plugin(context.loaded, plugin.name) != nullptr; });
      std::vector<OutOfTreePlugin>& left_out = read.profile.out_of_tree;
      left_out.insert(left_out.begin(), user.out_of_tree.begin(), user.out_of_tree.end());
      read.plugins = merge(read.plugins, user);
    } else if (key == "pluginConfig") {
      decode_plugin_config(value, context, read.profile);
    } else {
      return false;
    }
    return true;
  });
  return read;
}

std::string profile_path(std::size_t i) { return "profiles[" + std::to_string(i) + "]"; }

void check_scheduler_names(const std::vector<ReadProfile>& profiles, ProblemSink& sink) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::string path = profile_path(i) + ".schedulerName";
    const std::string& name = profiles[i].profile.scheduler_name;
    if (!profiles[i].has_name && profiles.size() > 1) {
      sink.add(path, "expected a name: it is required when there are several profiles");
    } else if (name.empty()) {
      sink.add(path, "got \"\", expected a name");
    } else if (!seen.insert(name).second) {
      sink.add(path, "got " + quoted_for_message(name) + ", expected a name that no other profile has");
    }
  }
}

PluginLists listed(const PluginSet& set) {
  PluginLists lists;
  for (const PluginEntry& entry : set.enabled) lists.enabled.push_back({entry.name, entry.weight});
  for (const PluginEntry& entry : set.disabled) lists.disabled.push_back({entry.name, entry.weight});
  return lists;
}

void keep_lists(const PluginSets& merged, Profile& profile) {
  for (std::size_t i = 0; i < kExtensionPointCount; ++i) profile.lists[i] = listed(merged.points[i]);
  profile.multi_point = listed(merged.multi_point);
}

std::vector<Profile> finish_profiles(std::vector<ReadProfile> read, ProblemSink& sink, OutsidePlugins loaded = {}) {
  check_scheduler_names(read, sink);
  std::vector<Profile> profiles;
  std::vector<PluginSets> sets;
  for (std::size_t i = 0; i < read.size(); ++i) {
    expand(read[i].plugins, profile_path(i), read[i].profile, sink, loaded);
    keep_lists(read[i].plugins, read[i].profile);
    profiles.push_back(std::move(read[i].profile));
    sets.push_back(std::move(read[i].plugins));
  }
  check_common_queue_sort(sets, sink);
  return profiles;
}

// ---- the configuration object

/// Scalar fields of the configuration: docs/behaviour/scheduler-core.md 7.1.
bool read_scalar_field(std::string_view key, const JsonValue& value, SchedulerConfig& out) {
  if (key == "apiVersion" || key == "kind") return true;  // check_type_meta
  if (key == "parallelism") {
    read_in_range<std::int32_t>(value, out.parallelism, 1);
  } else if (key == "enableProfiling") {
    value.read(out.enable_profiling);
  } else if (key == "enableContentionProfiling") {
    value.read(out.enable_contention_profiling);
  } else if (key == "percentageOfNodesToScore") {
    read_in_range<std::int32_t>(value, out.percentage_of_nodes_to_score, 0, 100);
  } else if (key == "podInitialBackoffSeconds") {
    read_in_range<std::int64_t>(value, out.pod_initial_backoff_seconds, 1);
  } else if (key == "podMaxBackoffSeconds") {
    value.read(out.pod_max_backoff_seconds);
  } else if (key == "delayCacheUntilActive") {
    value.read(out.delay_cache_until_active);
  } else if (key == "healthzBindAddress" || key == "metricsBindAddress") {
    value.problem("no longer exists: kube-scheduler serves health checks and metrics at its --secure-port");
  } else {
    return false;
  }
  return true;
}

void finish_scalars(const JsonValue& root, SchedulerConfig& config) {
  if (!config.enable_profiling && !root.field("enableContentionProfiling").present()) {
    config.enable_contention_profiling = false;
  }
  if (config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds) {
    root.field("podMaxBackoffSeconds")
        .mismatch("at least podInitialBackoffSeconds, " + std::to_string(config.pod_initial_backoff_seconds));
  }
}

void decode_root(const JsonValue& root, const ConfigContext& context, SchedulerConfig& config) {
  check_type_meta(root, kSchedulerApiVersion, kKind);
  std::string_view version;
  const JsonValue written = root.field("apiVersion");
  if (written.is_string() && written.read(version))
    if (const std::string hint = migration_hint(version); !hint.empty()) written.problem(hint);
  std::vector<ReadProfile> profiles;
  root.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "leaderElection") {
      decode_leader_election(value, config.leader_election);
    } else if (key == "clientConnection") {
      decode_client_connection(value, config.client_connection);
    } else if (key == "profiles") {
      value.for_each_element([&](const JsonValue& e) { profiles.push_back(decode_profile(e, context)); });
    } else if (key == "extenders") {
      config.extenders = decode_extenders(value, context);
    } else {
      return read_scalar_field(key, value, config);
    }
    return true;
  });
  finish_scalars(root, config);
  if (profiles.empty()) profiles.push_back(default_profile(context.gates));
  config.profiles = finish_profiles(std::move(profiles), context.sink, context.loaded);
  const std::vector<std::string> ignored = resources_ignored_by_scheduler(config.extenders);
  if (ignored.empty()) return;
  for (Profile& profile : config.profiles) profile.args.node_resources_fit.ignored_resources = ignored;
}

/// Adds the line to the path of each element: what is not built is reported after the document is gone.
template <class Element>
void add_lines_of(std::vector<Element>& elements, const JsonDocument& document) {
  std::vector<InputProblem> places;
  places.reserve(elements.size());
  for (const Element& element : elements) places.push_back({"", element.path, ""});
  add_lines(places, document);
  for (std::size_t i = 0; i < places.size(); ++i) elements[i].path = std::move(places[i].location);
}

SchedulerConfig decode(const JsonDocument& document, const std::string& source, const FeatureGates& gates,
                       OutOfTree out_of_tree, OutsidePlugins loaded) {
  SchedulerConfig config;
  config.gates = gates;
  ProblemSink sink(source);
  const ConfigContext context{gates, sink, out_of_tree == OutOfTree::kLeaveOut, loaded};
  decode_config(document, source, sink, [&](const JsonValue& root) {
    if (root.expect_object()) decode_root(root, context, config);
  });
  for (Profile& profile : config.profiles) {
    add_lines_of(profile.named_plugins, document);
    add_lines_of(profile.out_of_tree, document);
    add_lines_of(profile.outside_args, document);
  }
  add_lines_of(config.extenders, document);
  return config;
}

}  // namespace

const OutsidePlugin* find_plugin(OutsidePlugins plugins, std::string_view name) {
  const auto found = std::ranges::find(plugins, name, &OutsidePlugin::name);
  return found == plugins.end() ? nullptr : &*found;
}

std::vector<LeaderElectionProblem> leader_election_problems(const LeaderElection& election) {
  std::vector<LeaderElectionProblem> problems;
  if (!election.leader_elect) return problems;
  const auto check = [&](bool is_fine, std::string_view field, std::string_view expected) {
    if (!is_fine) problems.push_back({field, expected});
  };
  check(election.lease_duration_us > 0, "leaseDuration", "a duration above 0");
  check(election.renew_deadline_us > 0, "renewDeadline", "a duration above 0");
  check(election.retry_period_us > 0, "retryPeriod", "a duration above 0");
  check(election.lease_duration_us > election.renew_deadline_us, "leaseDuration", "more than renewDeadline");
  // Retries are jittered by up to a fifth.
  // No overflow: a duration is at most 2^63 ns, less than 10^16 us.
  check(election.renew_deadline_us * 5 > election.retry_period_us * 6, "renewDeadline",
        "more than 1.2 times retryPeriod");
  check(election.resource_lock == "leases", "resourceLock", "\"leases\"");
  check(!election.resource_name.empty(), "resourceName", "a name");
  check(!election.resource_namespace.empty(), "resourceNamespace", "a name");
  return problems;
}

std::string_view to_string(ExtensionPoint point) { return kPointNames[static_cast<std::size_t>(point)]; }

bool Profile::enables(ExtensionPoint point, std::string_view plugin) const {
  const auto& list = at(point);
  return std::any_of(list.begin(), list.end(), [plugin](const EnabledPlugin& entry) { return entry.name == plugin; });
}

std::vector<std::string> Profile::plugin_names() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& list : plugins) {
    for (const EnabledPlugin& entry : list) add(entry.name);
  }
  for (const std::string& name : placement_plugins) add(name);
  return names;
}

const Profile* SchedulerConfig::find_profile(std::string_view scheduler_name) const {
  const auto found = std::find_if(profiles.begin(), profiles.end(), [scheduler_name](const Profile& profile) {
    return profile.scheduler_name == scheduler_name;
  });
  return found == profiles.end() ? nullptr : &*found;
}

SchedulerConfig default_scheduler_config(const FeatureGates& gates) {
  SchedulerConfig config;
  config.gates = gates;
  ProblemSink sink("defaults");
  std::vector<ReadProfile> profiles;
  profiles.push_back(default_profile(gates));
  config.profiles = finish_profiles(std::move(profiles), sink);
  sink.throw_if_any();
  return config;
}

SchedulerConfig parse_scheduler_config(std::string_view text, const std::string& source, const FeatureGates& gates,
                                       OutOfTree out_of_tree, OutsidePlugins loaded) {
  return decode(config_document_from_text(text, source), source, gates, out_of_tree, loaded);
}

SchedulerConfig load_scheduler_config(const std::string& path, const FeatureGates& gates, OutOfTree out_of_tree,
                                      OutsidePlugins loaded) {
  return decode(config_document_from_file(path), path, gates, out_of_tree, loaded);
}

}  // namespace berth
