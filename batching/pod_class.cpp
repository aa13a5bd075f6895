// SPDX-License-Identifier: Apache-2.0
#include "batching/pod_class.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "host/framework/draw.h"
#include "host/framework/pod_signature.h"
#include "host/framework/unsupported.h"
#include "host/objects/pod_requests.h"
#include "plugins/host_plugins.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/rule.h"

namespace berth {
namespace {

/// A pod with what decides what it adds to a node.
Pod bare_pod(const PodClass& pod_class) {
  Pod pod;
  pod.spec = pod_class.spec;
  if (pod_class.status_pod != nullptr) pod.rare_fields = std::make_unique<const PodRare>(pod_class.status_pod->rare());
  return pod;
}

bool any_may_wrap(const std::vector<ScoredRequest>& requests) {
  return std::any_of(requests.begin(), requests.end(),
                     [](const ScoredRequest& request) { return Snapshot::may_wrap(request.amount); });
}

/// With gates that are off by default pods with volumes are known by the names of their claims: scores and some
/// refusals are of claims by name then.
bool knows_claims(const FeatureGates& gates) {
  const bool by_name = gates.enabled("StorageCapacityScoring") || gates.enabled("VolumeLimitScaling");
  return !by_name && gates.enabled("VolumeAttributesClass");
}

bool any_needs_int64(const std::vector<ScoredRequest>& requests) {
  return std::any_of(requests.begin(), requests.end(), [](const ScoredRequest& r) { return r.amount >= kExactBelow; });
}

}  // namespace

ClassTable::ClassTable(const EngineCluster& cluster, const SchedulerConfig& config, const EngineConfig& engine,
                       Snapshot& snapshot, std::uint64_t first_epoch)
    : config_(config),
      tie_break_(engine.tie_break),
      seed_(engine.seed),
      snapshot_(snapshot),
      cluster_(cluster),
      topology_(cluster, config, engine.upstream_bugs, snapshot, first_epoch, engine.arena),
      hosts_(with_built_in_host_plugins(engine.host_plugins, config), cluster, snapshot, knows_claims(config.gates)) {
  compile_profiles();
  class_of_spec_.resize(profiles_.size());
}

std::string ClassTable::with_profile(std::string signature, std::int32_t profile, const std::string& node_name) {
  signature.append(node_name).append(reinterpret_cast<const char*>(&profile), sizeof profile);
  return signature;
}

void ClassTable::compile(std::span<PodToPlace> pods, std::span<const AnsweredPod> placed) {
  const std::uint64_t columns = snapshot_.resources_built();
  // Register all queries and terms first: classes depend on all of them.
  kinds_.assign(pods.size(), TopologyIndex::kNoKind);
  for (std::size_t i = 0; i < pods.size(); ++i) kinds_[i] = topology_.kind_of(*pods[i].pod, pods[i].profile);
  // Pods before the first registered term had no kind yet.
  for (std::size_t i = 0; i < pods.size() && topology_.has_terms(); ++i)
    if (kinds_[i] == TopologyIndex::kNoKind) kinds_[i] = topology_.kind_of(*pods[i].pod, pods[i].profile);
  topology_.count_new(placed);
  make_room(pods);
  signed_at_.resize(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    pods[i].class_index = class_of(pods[i], kinds_[i]);
    pods[i].compiled_at = topology_.epoch();
    signed_at_[i] = hosts_.signatures_version();
  }
  if (snapshot_.resources_built() != columns) refresh_deltas(columns);
}

/// Where nearly all of many pods have specs of their own, the tables of classes need not grow step by step.
void ClassTable::make_room(std::span<const PodToPlace> pods) {
  constexpr std::size_t kSample = 1024;
  if (pods.size() < 4 * kSample) return;
  std::vector<const PodSpec*> specs;
  specs.reserve(kSample);
  for (std::size_t i = 0; i < kSample; ++i) specs.push_back(pods[i * (pods.size() / kSample)].pod->spec.get());
  std::sort(specs.begin(), specs.end());
  const auto different = std::unique(specs.begin(), specs.end()) - specs.begin();
  auto& of_specs = class_of_spec_[static_cast<std::size_t>(pods.front().profile)];
  if (different < std::ptrdiff_t{kSample / 10 * 9} || of_specs.contains(specs.front())) return;
  of_specs.reserve(of_specs.size() + pods.size());
  class_of_signature_.reserve(class_of_signature_.size() + pods.size());
  classes_.make_room(pods.size());
}

std::int32_t ClassTable::class_of(const PodToPlace& pod, std::int32_t kind) {
  if (pod.pod->rare_fields != nullptr)
    if (auto reason = unsupported_reason(*pod.pod, *profile(pod.profile).profile, hosts_.registered()))
      return add_error(std::move(*reason));
  const std::string host = after_signatures([&] { return hosts_.signature(*pod.pod, *profile(pod.profile).profile); });
  if (!pod.pod->node_name.empty() || has_status_resources(*pod.pod)) return find_or_add(pod, kind, host);
  if (!host.empty()) return find_by_spec(pod, kind, host);
  if (kind >= 0) {
    if (class_of_kind_.size() <= static_cast<std::size_t>(kind))
      class_of_kind_.resize(static_cast<std::size_t>(kind) + 1);
    Found& known = class_of_kind_[static_cast<std::size_t>(kind)];
    const std::uint32_t revision = topology_.revision(kind);
    if (known.revision != revision) known = {find_by_spec(pod, kind), revision};
    return known.pod_class;
  }
  return find_by_spec(pod, kind);
}

ClassTable::FoundForSpec& ClassTable::find_for_spec(const PodToPlace& pod, std::int32_t kind) {
  const auto topology = kind >= 0 ? topology_.compiled(kind) : nullptr;
  FoundForSpec& known = class_of_spec_[static_cast<std::size_t>(pod.profile)][pod.pod->spec.get()];
  if (known.spec == nullptr || known.topology != topology)
    known = {.spec = pod.pod->spec, .topology = topology, .pod_class = std::nullopt};
  known.found_at = sweeps_;
  return known;
}

std::int32_t ClassTable::note_found(std::int32_t pod_class) {
  if (!is_error(pod_class)) classes_[pod_class].found_at = sweeps_;
  return pod_class;
}

/// For a pod without a node and without host columns.
std::int32_t ClassTable::find_by_spec(const PodToPlace& pod, std::int32_t kind) {
  FoundForSpec& known = find_for_spec(pod, kind);
  if (!known.pod_class) {
    const std::int32_t found = find_or_add(pod, kind, "");
    find_for_spec(pod, kind).pod_class = found;
    return found;
  }
  return note_found(*known.pod_class);
}

/// For a pod without a node.
std::int32_t ClassTable::find_by_spec(const PodToPlace& pod, std::int32_t kind, const std::string& host) {
  auto& by_host = find_for_spec(pod, kind).by_host;
  if (const auto known = by_host.find(host); known != by_host.end()) return note_found(known->second);
  const std::int32_t found = find_or_add(pod, kind, host);
  find_for_spec(pod, kind).by_host.emplace(host, found);
  return found;
}

std::int32_t ClassTable::find_or_add(const PodToPlace& pod, std::int32_t kind, const std::string& host) {
  if (auto reason = unsupported_reason(*pod.pod, *profile(pod.profile).profile, hosts_.registered()))
    return add_error(std::move(*reason));
  return find_or_add(pod.pod->spec, pod.pod->node_name, pod.profile, kind, {pod.pod, host},
                     has_status_resources(*pod.pod) ? pod.pod : nullptr);
}

std::int32_t ClassTable::find_or_add(const std::shared_ptr<const PodSpec>& spec, const std::string& node_name,
                                     std::int32_t profile, std::int32_t kind, const HostOfPod& host,
                                     const PodPtr& status_pod) {
  static const TopologyIndex::Compiled kNothing;
  const TopologyIndex::Compiled& topology = kind >= 0 ? topology_.compile(kind) : kNothing;
  std::string signature = pod_signature(*spec);
  const std::uint64_t hash = pod_class_hash(signature);
  signature = with_profile(std::move(signature), profile, node_name);
  if (topology.program != nullptr || !topology.moves.empty()) signature += topology.signature;
  if (status_pod != nullptr) signature += status_signature(*status_pod);
  signature += host.signature;
  const auto [at, is_new] = class_of_signature_.try_emplace(std::move(signature), -1);
  if (is_new) {
    PodClass added;
    added.profile = profile;
    added.spec = spec;
    added.node_name = node_name;
    added.topology = topology.program;
    added.moves = topology.moves;
    added.signature = &at->first;
    added.status_pod = status_pod;
    if (host.pod != nullptr && hosts_.concern(*host.pod)) {
      added.host_pod = host.pod;
      added.host_signature = host.signature;
      added.host = hosts_.side(host.pod, *this->profile(profile).profile);
    }
    added.draw_seed = class_draw_seed(seed_, hash);
    fill(added);
    at->second = classes_.add(std::move(added));
  }
  classes_[at->second].found_at = sweeps_;
  return at->second;
}

std::int32_t ClassTable::add_error(std::string text) {
  const auto [at, is_new] = error_of_text_.try_emplace(text, static_cast<std::int32_t>(errors_.size()));
  if (is_new) {
    errors_.push_back(std::move(text));
    ++errors_added_;
  }
  return -2 - at->second;
}

void ClassTable::fill(PodClass& pod_class) {
  const CompiledProfile& profile = profiles_[static_cast<std::size_t>(pod_class.profile)];
  const Pod pod = bare_pod(pod_class);
  pod_class.filter_amounts = filter_requests(pod);
  pod_class.requested = compile_requested(pod_class.filter_amounts, profile.profile->args.node_resources_fit, snapshot_,
                                          cluster_.cache());
  pod_class.fit_requests = compile_scored_requests(score_requests(pod), profile.fit.resources);
  pod_class.balanced_requests = compile_scored_requests(balanced_requests(pod), profile.balanced_resources);
  // PreScore skips; where it is not enabled, Score returns 0.
  pod_class.balanced_skips = std::all_of(pod_class.balanced_requests.begin(), pod_class.balanced_requests.end(),
                                         [](const ScoredRequest& request) { return request.amount == 0; });
  pod_class.ports = wanted_host_ports(*pod_class.spec);
  pod_class.delta = delta_of(requested_on_node(pod), non_zero_requested_on_node(pod));
  pod_class.needs_int64 = pod_class.status_pod != nullptr || any_needs_int64(pod_class.fit_requests) ||
                          any_needs_int64(pod_class.balanced_requests) ||
                          std::any_of(pod_class.requested.begin(), pod_class.requested.end(),
                                      [](const RequestedResource& r) { return r.amount >= kExactBelow; });
  pod_class.requests_may_wrap =
      pod_class.needs_int64 && (any_may_wrap(pod_class.fit_requests) || any_may_wrap(pod_class.balanced_requests));
  pod_class.spread_may_be_negative =
      pod_class.topology != nullptr && std::any_of(pod_class.topology->soft.begin(), pod_class.topology->soft.end(),
                                                   [](const SoftSpread& soft) { return soft.max_skew < 1; });
}

ResourceDelta ClassTable::delta_of(const ResourceAmounts& amounts, const ResourceAmounts& non_zero) const {
  ResourceDelta delta;
  const auto add = [&](std::int32_t column, std::int64_t amount) {
    if (column != kNoColumn && amount != 0) delta.requested.emplace_back(column, amount);
  };
  add(kCpuColumn, amounts.milli_cpu);
  add(kMemoryColumn, amounts.memory_bytes);
  add(kEphemeralStorageColumn, amounts.ephemeral_storage_bytes);
  for (const auto& [name, amount] : amounts.scalars) add(snapshot_.find_resource(name), amount);
  std::sort(delta.requested.begin(), delta.requested.end());
  delta.non_zero_milli_cpu = non_zero.milli_cpu;
  delta.non_zero_memory_bytes = non_zero.memory_bytes;
  return delta;
}

ResourceDelta ClassTable::delta_of(const Pod& pod) const {
  return delta_of(requested_on_node(pod), non_zero_requested_on_node(pod));
}

/// @param columns  Snapshot::resources_built() when the deltas were right
void ClassTable::refresh_deltas(std::uint64_t columns) {
  const std::vector<std::string_view> built = snapshot_.resources_built_since(columns);
  const auto is_new = [&](const auto& scalar) {
    return std::binary_search(built.begin(), built.end(), std::string_view(scalar.first));
  };
  classes_.for_each([&](std::int32_t, PodClass& pod_class) {
    const auto& scalars = pod_class.filter_amounts.scalars;  // every resource that a pod of the class requests
    if (pod_class.status_pod != nullptr || std::any_of(scalars.begin(), scalars.end(), is_new))
      pod_class.delta = delta_of(bare_pod(pod_class));
  });
}

bool is_outside_node_set(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot,
                         std::int32_t node) {
  return row.is_outside_node_set(node) || (!pod_class.host.empty() && snapshot.has_node(node) &&
                                           pod_class.host.is_outside_node_set(snapshot.node(node).name));
}

PluginNames plugins_with_node_set(const PodClass& pod_class, const CompiledNodeSide& side) {
  PluginNames plugins = side.plugins_with_node_set();
  for (const HostPart& part : pod_class.host.parts)
    if (part.narrows()) plugins.insert(part.column->plugin->name());
  return plugins;
}

PluginNames pre_filter_rejectors(const PreFilterAnswer& answer, const PodClass& pod_class,
                                 const CompiledNodeSide& side) {
  if (answer.message.empty()) return plugins_with_node_set(pod_class, side);
  PluginNames plugins = answer.narrowing;
  if (!answer.plugin.empty()) plugins.insert(answer.plugin);
  return plugins;
}

namespace {

/// The node sets of PreFilter plugins, one after another.
class NodeSets {
 public:
  /// @return false when no node is left
  bool narrow(std::string_view plugin, const std::set<std::string>& names) {
    plugins_.insert(plugin);
    if (left_) {
      std::erase_if(*left_, [&](const std::string& name) { return !names.contains(name); });
    } else {
      left_ = names;
    }
    return !left_->empty();
  }
  const PluginNames& plugins() const { return plugins_; }
  PreFilterAnswer nothing_left() const {
    std::string text = "node(s) didn't satisfy plugin " + plugins_.names().front();
    if (plugins_.size() > 1) text = node_set_text(plugins_) + " simultaneously";
    return {.plugin = {}, .narrowing = plugins_, .message = text, .error = ""};
  }

 private:
  PluginNames plugins_;
  std::optional<std::set<std::string>> left_;
};

}  // namespace

bool ClassTable::is_pre_filter_idle(std::int32_t c, const CompiledNodeSide& side) const {
  const PodClass& pod_class = (*this)[c];
  const TopologyProgram* const topology = pod_class.topology.get();
  return !side.pre_filter_refuses && (pod_class.host.is_idle() || pod_class.host.only_refuses()) &&
         (topology == nullptr || (topology->pre_filter_error.empty() && topology->pre_filter_message.empty()));
}

PreFilterAnswer ClassTable::pre_filter(std::int32_t c, const CompiledNodeSide& side) const {
  if (is_pre_filter_idle(c, side)) return {};
  static const TopologyProgram kNothing;
  const PodClass& pod_class = (*this)[c];
  const TopologyProgram& topology = pod_class.topology != nullptr ? *pod_class.topology : kNothing;
  const HostSide& host = pod_class.host;
  NodeSets node_sets;
  PreFilterAnswer recorded;
  for (const EnabledPlugin& plugin : profile_of(c).profile->at(ExtensionPoint::kPreFilter)) {
    if (const std::string_view message = side.pre_filter_message(plugin.name); !message.empty())
      return {.plugin = plugin.name, .message = std::string(message), .error = ""};
    if (plugin.name == PodTopologySpread::name && !topology.pre_filter_error.empty())
      return {.plugin = plugin.name, .message = "", .error = topology.pre_filter_error};
    if (plugin.name == InterPodAffinity::name && !topology.pre_filter_message.empty())
      return {.plugin = plugin.name, .message = topology.pre_filter_message, .error = ""};
    const std::set<std::string>* names = side.node_names(plugin.name);
    if (const HostPart* part = host.find(plugin.name)) {
      const Status& status = part->column->pre_filter;
      if (status.code == StatusCode::kError) return {.plugin = plugin.name, .message = "", .error = status.message()};
      if (part->refuses_all()) {
        PreFilterAnswer refused{.plugin = plugin.name, .code = status.code, .message = status.message(), .error = ""};
        // Eviction may help, and reads what all the others say.
        if (status.code != StatusCode::kUnschedulable) return refused;
        recorded = std::move(refused);
      }
      if (part->narrows()) names = &*part->column->node_names;
    }
    if (names != nullptr && !node_sets.narrow(plugin.name, *names)) return node_sets.nothing_left();
  }
  if (!recorded.message.empty()) recorded.narrowing = node_sets.plugins();
  return recorded;
}

const std::string& ClassTable::score_error(std::int32_t c) {
  static const std::string kNone;
  if (!profile_of(c).scores_anything) return kNone;
  if (host_decides(c)) return score_error_with_hosts(c);
  const std::string& affinity = compiled_node_side(c).pre_score_error;
  const PodClass& pod_class = (*this)[c];
  if (!affinity.empty()) return affinity;
  if (pod_class.topology != nullptr && !pod_class.topology->pre_score_error.empty())
    return pod_class.topology->pre_score_error;
  return profile_of(c).missing_score_state;
}

/// The first error in the profile's PreScore order.
const std::string& ClassTable::score_error_with_hosts(std::int32_t c) {
  static const std::string kNone;
  const std::string& affinity = compiled_node_side(c).pre_score_error;
  const PodClass& pod_class = (*this)[c];
  const std::string& of_topology = pod_class.topology != nullptr ? pod_class.topology->pre_score_error : kNone;
  const CompiledProfile& profile = this->profile(pod_class.profile);
  for (const EnabledPlugin& plugin : profile.profile->at(ExtensionPoint::kPreScore)) {
    if (plugin.name == NodeAffinityRule::name && !affinity.empty()) return affinity;
    const bool is_topology = plugin.name == PodTopologySpread::name || plugin.name == InterPodAffinity::name;
    if (is_topology && !of_topology.empty()) return of_topology;
    const HostPart* part = pod_class.host.find(plugin.name);
    if (part != nullptr && part->column->pre_score.code == StatusCode::kError)
      return part->column->pre_score.reasons.front();
  }
  if (!affinity.empty()) return affinity;
  return of_topology.empty() ? profile.missing_score_state : of_topology;
}

std::uint64_t ClassTable::node_side_bytes() const {
  std::uint64_t bytes = 0;
  node_sides_.for_each([&](std::int32_t, const std::unique_ptr<NodeSide>& side) {
    if (side->row != nullptr) bytes += side->row->bytes();
  });
  return bytes;
}

void ClassTable::compile_profiles() {
  profiles_.clear();
  for (const Profile& profile : config_.profiles)
    profiles_.push_back(
        compile_profile(profile, config_.gates, draw_rule(profile, tie_break_, seed_), snapshot_, cluster_.cache()));
}

void ClassTable::recompile() {
  ++recompile_count_;
  hosts_.note_all();
  node_side_of_signature_.clear();
  node_sides_.clear();
  node_changes_begin_ = node_changes_end();
  node_changes_.clear();
  compile_profiles();
  classes_.for_each([&](std::int32_t, PodClass& pod_class) {
    pod_class.node_side = pod_class.open_node_side = -1;
    fill(pod_class);
  });
  refresh_deltas(0);
}

}  // namespace berth
