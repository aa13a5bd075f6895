// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/node_rules.h"

#include <algorithm>
#include <map>

#include "host/engine/reference/node_selector_match.h"

namespace berth::reference {
namespace {

constexpr StatusCode kResolvable = StatusCode::kUnschedulable;
constexpr StatusCode kUnresolvable = StatusCode::kUnschedulableAndUnresolvable;

Status refuse(std::string_view plugin, StatusCode code, std::string reason) {
  return Status{code, std::string(plugin), {std::move(reason)}};
}

// NodeUnschedulable, NodeName, TaintToleration

bool any_tolerates(const Request& request, const Taint& taint) {
  const std::vector<Toleration>& tolerations = request.pod->spec->tolerations;
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& toleration) {
    return tolerates(toleration, taint, request.compares_taints);
  });
}

Status node_unschedulable(const Request& request, const NodeState& state) {
  static const Taint kCordon{"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule};
  if (!state.node->unschedulable || any_tolerates(request, kCordon)) return {};
  return refuse("NodeUnschedulable", kUnresolvable, "node(s) were unschedulable");
}

Status node_name(const Request& request, const NodeState& state) {
  const std::string& wanted = request.pod->node_name;
  if (wanted.empty() || wanted == state.node->name) return {};
  return refuse("NodeName", kUnresolvable, "node(s) didn't match the requested node name");
}

Status taint_toleration(const Request& request, const NodeState& state) {
  for (const Taint& taint : state.node->taints) {
    if (taint.effect == TaintEffect::kPreferNoSchedule || any_tolerates(request, taint)) continue;
    return refuse("TaintToleration", kUnresolvable, "node(s) had untolerated taint(s)");
  }
  return {};
}

// NodeAffinity

const std::vector<NodeSelectorTerm>* required_terms(const std::optional<NodeAffinity>& affinity) {
  return affinity && affinity->required ? &*affinity->required : nullptr;
}

Status node_affinity(const Request& request, const NodeState& state) {
  const auto* added = required_terms(request.profile->args.node_affinity.added_affinity);
  if (added != nullptr && !any_term_matches(*added, *state.node)) {
    return refuse("NodeAffinity", kUnresolvable, "node(s) didn't match scheduler-enforced node affinity");
  }
  const auto* own = required_terms(request.pod->spec->node_affinity);
  if (labels_match(request.pod->spec->node_selector, *state.node) &&
      (own == nullptr || any_term_matches(*own, *state.node))) {
    return {};
  }
  return refuse("NodeAffinity", kUnresolvable, "node(s) didn't match Pod's node affinity/selector");
}

/// docs/behaviour/scheduler-core.md 3.2: what is left must be a node.
void narrow(const std::string& plugin, const std::set<std::string>& names, PreFilterResult& result) {
  result.node_sets.emplace_back(plugin, names);
  std::set<std::string> left;
  for (const std::string& name : names)
    if (!result.node_names || result.node_names->contains(name)) left.insert(name);
  result.node_names = left;
  if (!left.empty()) return;
  PluginNames plugins;
  for (const auto& [other, ignored] : result.node_sets) plugins.insert(other);
  const std::string text =
      plugins.size() == 1 ? "node(s) didn't satisfy plugin " + plugin : node_set_text(plugins) + " simultaneously";
  result.status = refuse("", kUnresolvable, text);
}

/// A plugin on the host. @return false when no further PreFilter runs
bool pre_filter_host(const HostPlugin& plugin, const Request& request, PreFilterResult& result) {
  HostPreFilterAnswer answer = ask_pre_filter(plugin, {*request.pod, request.cluster->cache});
  if (answer.status.code == StatusCode::kSkip) {
    result.skipped.emplace(plugin.name());
  } else if (!answer.status.ok()) {
    result.status = answer.status;
    return answer.status.code == kResolvable;
  } else if (answer.node_names) {
    Status before = result.status;
    narrow(std::string(plugin.name()), *answer.node_names, result);
    if (result.node_names->empty()) return false;
    result.status = std::move(before);
  }
  return true;
}

void pre_filter_node_affinity(const Request& request, PreFilterResult& result) {
  const PodSpec& spec = *request.pod->spec;
  const auto* own = required_terms(spec.node_affinity);
  const auto* added = required_terms(request.profile->args.node_affinity.added_affinity);
  if (own == nullptr && added == nullptr && spec.node_selector.empty()) {
    result.skipped.insert("NodeAffinity");
    return;
  }
  if (own == nullptr) return;
  const std::optional<std::set<std::string>> names = named_nodes(*own);
  if (names && names->empty()) {
    result.status = refuse("NodeAffinity", kUnresolvable, "pod affinity terms conflict");
  } else if (names) {
    narrow("NodeAffinity", *names, result);
  }
}

// NodePorts

bool conflicts(const HostPort& wanted, const HostPort& used) {
  constexpr std::string_view kAnyIp = "0.0.0.0";
  if (wanted.protocol != used.protocol || wanted.port != used.port) return false;
  return wanted.ip == kAnyIp || used.ip == kAnyIp || wanted.ip == used.ip;
}

Status node_ports(const Request& request, const NodeState& state) {
  for (const HostPort& wanted : request.ports) {
    for (const HostPort& used : state.usage.ports) {
      if (conflicts(wanted, used)) {
        return refuse("NodePorts", kResolvable, "node(s) didn't have free ports for the requested pod ports");
      }
    }
  }
  return {};
}

// NodeResourcesFit

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_ignored(const NodeResourcesFitArgs& args, const std::string& name) {
  if (!is_extended_resource(name)) return false;
  return contains(args.ignored_resources, name) ||
         contains(args.ignored_resource_groups, name.substr(0, name.find('/')));
}

/// Collects what is short, and whether evicting pods could help.
class Shortage {
 public:
  void check(std::string_view name, std::int64_t asked, std::int64_t allocatable, std::int64_t requested) {
    // Wraps round as kube-scheduler's difference does; an overcommitted node may stand far below zero.
    const auto free =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(allocatable) - static_cast<std::uint64_t>(requested));
    if (asked <= 0 || asked <= free) return;
    reasons_.push_back("Insufficient " + std::string(name));
    if (asked > allocatable) code_ = kUnresolvable;
  }
  void too_many_pods() { reasons_.push_back("Too many pods"); }
  Status status() && {
    if (reasons_.empty()) return {};
    return Status{code_, "NodeResourcesFit", std::move(reasons_)};
  }

 private:
  std::vector<std::string> reasons_;
  StatusCode code_ = kResolvable;
};

Status node_resources_fit(const Request& request, const NodeState& state) {
  const ResourceAmounts& asked = request.filter_amounts;
  const ResourceAmounts& has = state.node->allocatable;
  const ResourceAmounts& used = state.usage.requested;
  Shortage shortage;
  if (static_cast<std::int64_t>(state.pods.size()) + 1 > state.node->allowed_pod_number) shortage.too_many_pods();
  shortage.check(kCpu, asked.milli_cpu, has.milli_cpu, used.milli_cpu);
  shortage.check(kMemory, asked.memory_bytes, has.memory_bytes, used.memory_bytes);
  shortage.check(kEphemeralStorage, asked.ephemeral_storage_bytes, has.ephemeral_storage_bytes,
                 used.ephemeral_storage_bytes);
  for (const auto& [name, amount] : asked.scalars) {
    if (is_ignored(request.profile->args.node_resources_fit, name)) continue;
    shortage.check(name, amount, has.scalar(name), used.scalar(name));
  }
  return std::move(shortage).status();
}

// NodeDeclaredFeatures

Status node_declared_features(const Request& request, const NodeState& state) {
  std::string missing;
  for (const std::string& feature : request.needed_features) {
    if (contains(state.node->declared_features, feature)) continue;
    missing += (missing.empty() ? "" : ", ") + feature;
  }
  if (missing.empty()) return {};
  std::string reason = request.gates->release() == Release::k1_35
                           ? "node declared features check failed - unsatisfied requirements: " + missing
                           : "node(s) didn't match Pod's required features";
  return refuse("NodeDeclaredFeatures", kUnresolvable, std::move(reason));
}

/// A number as the API server stores it: no plus sign, no leading zeros, no "-0".
std::optional<std::int64_t> canonical_int64(std::string_view text) {
  const std::optional<std::int64_t> number = parse_int64(text);
  return number && std::to_string(*number) == text ? number : std::nullopt;
}

bool compares(const Toleration& toleration, const Taint& taint) {
  const std::optional<std::int64_t> bound = canonical_int64(toleration.value);
  const std::optional<std::int64_t> have = canonical_int64(taint.value);
  if (!bound || !have) return false;
  return toleration.op == TolerationOperator::kGt ? *have > *bound : *have < *bound;
}

// PodTopologySpread and InterPodAffinity

void pre_filter_spread(const Request& request, PreFilterResult& result) {
  constexpr const char* kPlugin = "PodTopologySpread";
  SpreadConstraints constraints = hard_constraints(request);
  if (!constraints.problem.empty()) {
    result.status = refuse(kPlugin, StatusCode::kError,
                           "running PreFilter plugin \"PodTopologySpread\": get constraints from pod: obtaining pod's "
                           "hard topology spread constraints: " +
                               constraints.problem);
  } else if (constraints.list.empty()) {
    result.skipped.insert(kPlugin);
  } else {
    result.spread = count_domains(std::move(constraints.list), request);
  }
}

void pre_filter_affinity(const Request& request, PreFilterResult& result) {
  constexpr const char* kPlugin = "InterPodAffinity";
  PodTerms terms = parse_terms(*request.pod);
  if (!terms.problem.empty()) {
    result.status = refuse(kPlugin, kUnresolvable, "parsing pod: " + terms.problem);
    return;
  }
  AffinityState state = count_matches(std::move(terms), request);
  if (state.is_idle()) {
    result.skipped.insert(kPlugin);
  } else {
    result.affinity = std::move(state);
  }
}

using FilterFunction = Status (*)(const Request&, const NodeState&);

/// The node-level plugins that have a Filter.
FilterFunction find_filter(std::string_view plugin) {
  static const std::map<std::string_view, FilterFunction> kFilters = {
      {"NodeUnschedulable", node_unschedulable},
      {"NodeName", node_name},
      {"TaintToleration", taint_toleration},
      {"NodeAffinity", node_affinity},
      {"NodePorts", node_ports},
      {"NodeResourcesFit", node_resources_fit},
      {"NodeDeclaredFeatures", node_declared_features},
  };
  const auto found = kFilters.find(plugin);
  return found == kFilters.end() ? nullptr : found->second;
}

/// A name of no known Filter refuses nothing.
Status run_filter(std::string_view plugin, const Request& request, const PreFilterResult& result,
                  const NodeState& state) {
  if (plugin == "PodTopologySpread") return filter(result.spread.value(), request, *state.node);
  if (plugin == "InterPodAffinity") return filter(result.affinity.value(), request, *state.node);
  if (const HostPlugin* host = request.cluster->find_host_plugin(plugin)) {
    const HostQuery query{*request.pod, request.cluster->cache};
    const NodeInfo* const node = query.cluster.find_node(state.node->name);
    if (result.added.empty() && result.removed.empty()) return ask_nodes(*host, query, {&node, 1}).statuses.front();
    return ask_changed_node(*host, query, *node, result.added, result.removed);
  }
  if (is_volume_plugin(plugin)) return filter_volumes(plugin, request, result.volumes, state);
  const FilterFunction function = find_filter(plugin);
  return function == nullptr ? Status{} : function(request, state);
}

}  // namespace

bool tolerates(const Toleration& toleration, const Taint& taint, bool compares_taints) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  switch (toleration.op) {
    case TolerationOperator::kEqual:
      return toleration.value == taint.value;
    case TolerationOperator::kExists:
      return true;
    case TolerationOperator::kGt:
    case TolerationOperator::kLt:
      return compares_taints && compares(toleration, taint);
  }
  return false;
}

PreFilterResult pre_filter(const Request& request) {
  PreFilterResult result;
  result.missing_state = missing_filter_state(*request.profile, *request.gates);
  for (const EnabledPlugin& plugin : request.profile->at(ExtensionPoint::kPreFilter)) {
    if (plugin.name == "NodeAffinity") pre_filter_node_affinity(request, result);
    if (plugin.name == "NodePorts" && request.ports.empty()) result.skipped.insert(plugin.name);
    if (plugin.name == "NodeDeclaredFeatures" && request.needed_features.empty()) result.skipped.insert(plugin.name);
    if (plugin.name == "PodTopologySpread") pre_filter_spread(request, result);
    if (plugin.name == "InterPodAffinity") pre_filter_affinity(request, result);
    const HostPlugin* host = request.cluster->find_host_plugin(plugin.name);
    if (host == nullptr && is_volume_plugin(plugin.name)) {
      Status status = pre_filter_volumes(plugin.name, request, result.volumes);
      if (status.code == StatusCode::kSkip) {
        result.skipped.insert(plugin.name);
      } else if (!status.ok()) {
        result.status = std::move(status);
      }
    }
    if (result.status.code == kUnresolvable || result.status.code == StatusCode::kError) break;
    if (host != nullptr && !pre_filter_host(*host, request, result)) break;
  }
  return result;
}

std::string PreFilterResult::plugin_without(const std::string& node_name) const {
  for (const auto& [plugin, names] : node_sets)
    if (!names.contains(node_name)) return plugin;
  return {};
}

PluginNames PreFilterResult::rejectors() const {
  PluginNames plugins;
  const bool is_last_word = status.code == kUnresolvable && !status.plugin.empty();
  if (!is_last_word)
    for (const auto& [plugin, names] : node_sets) plugins.insert(plugin);
  if (!status.plugin.empty()) plugins.insert(status.plugin);
  return plugins;
}

void add_pod(PreFilterResult& result, const Request& request, const Pod& other, const Node& node) {
  if (std::erase(result.removed, &other) == 0) result.added.push_back(&other);
  if (result.spread) update(*result.spread, request, other, node, 1);
  if (result.affinity) update(*result.affinity, request, other, parse_terms(other), node, 1);
  update(result.volumes, other, 1);
}

void remove_pod(PreFilterResult& result, const Request& request, const Pod& other, const Node& node) {
  if (std::erase(result.added, &other) == 0) result.removed.push_back(&other);
  if (result.spread) update(*result.spread, request, other, node, -1);
  if (result.affinity) update(*result.affinity, request, other, parse_terms(other), node, -1);
  update(result.volumes, other, -1);
}

Status filter_node(const Request& request, const PreFilterResult& result, const NodeState& state) {
  for (const EnabledPlugin& plugin : request.profile->at(ExtensionPoint::kFilter)) {
    if (result.skipped.contains(plugin.name)) continue;
    const bool misses_state = result.missing_state && result.missing_state->plugin == plugin.name;
    if (misses_state && plugin.name == "VolumeRestrictions" &&
        request.cluster->find_host_plugin(plugin.name) == nullptr)  // looks at disks before it reads its state
      if (Status status = filter_volumes(plugin.name, request, {}, state); !status.ok()) return status;
    if (misses_state) return refuse(plugin.name, StatusCode::kError, result.missing_state->text);
    if (Status status = run_filter(plugin.name, request, result, state); !status.ok()) return status;
  }
  return {};
}

}  // namespace berth::reference
