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
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/rule.h"

namespace berth {
namespace {

/// Node events that are kept for node sides that have not taken them in: this share of the slots, and some.
constexpr std::int32_t kKeptChangesShare = 4;
constexpr std::int32_t kKeptChangesMin = 64;

/// A pod without status: what it adds to a node once it runs.
Pod bare_pod(const PodClass& pod_class) {
  Pod pod;
  pod.spec = pod_class.spec;
  return pod;
}

bool any_needs_int64(const std::vector<ScoredRequest>& requests) {
  return std::any_of(requests.begin(), requests.end(), [](const ScoredRequest& r) { return r.amount >= kExactBelow; });
}

std::string with_profile(std::string signature, std::int32_t profile, const std::string& node_name) {
  signature.append(node_name).append(reinterpret_cast<const char*>(&profile), sizeof profile);
  return signature;
}

}  // namespace

/// What plugins on the host read of a pod.
struct ClassTable::HostOfPod {
  const PodPtr& pod;
  const std::string& signature;
};

ClassTable::ClassTable(const EngineCluster& cluster, const SchedulerConfig& config, const EngineConfig& engine,
                       Snapshot& snapshot, std::uint64_t first_epoch)
    : config_(config),
      tie_break_(engine.tie_break),
      seed_(engine.seed),
      snapshot_(snapshot),
      cluster_(cluster),
      topology_(cluster, config, engine.upstream_bugs, snapshot, first_epoch),
      hosts_(engine.host_plugins, cluster, snapshot) {
  compile_profiles();
  class_of_spec_.resize(profiles_.size());
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
  for (std::size_t i = 0; i < pods.size(); ++i) {
    pods[i].class_index = class_of(pods[i], kinds_[i]);
    pods[i].compiled_at = topology_.epoch();
  }
  if (snapshot_.resources_built() != columns) refresh_deltas(columns);
}

std::int32_t ClassTable::class_of(const PodToPlace& pod, std::int32_t kind) {
  if (pod.pod->rare_fields != nullptr)
    if (auto reason = unsupported_reason(*pod.pod, *profile(pod.profile).profile, hosts_.plugins()))
      return add_error(std::move(*reason));
  const std::string host = hosts_.signature(*pod.pod, *profile(pod.profile).profile);
  if (!pod.pod->node_name.empty() || !host.empty()) return find_or_add(pod, kind, host);
  if (kind >= 0) {
    if (class_of_kind_.size() <= static_cast<std::size_t>(kind))
      class_of_kind_.resize(static_cast<std::size_t>(kind) + 1);
    Found& known = class_of_kind_[static_cast<std::size_t>(kind)];
    const std::uint32_t revision = topology_.compile(kind).revision;
    if (known.revision != revision) known = {find_or_add(pod, kind, host), revision};
    return known.pod_class;
  }
  auto& by_spec = class_of_spec_[static_cast<std::size_t>(pod.profile)];
  const auto [known, is_new] = by_spec.try_emplace(pod.pod->spec.get());
  if (is_new) known->second = {pod.pod->spec, find_or_add(pod, kind, host), 0};
  known->second.found_at = sweeps_;
  return known->second.pod_class;
}

std::int32_t ClassTable::find_or_add(const PodToPlace& pod, std::int32_t kind, const std::string& host) {
  if (auto reason = unsupported_reason(*pod.pod, *profile(pod.profile).profile, hosts_.plugins()))
    return add_error(std::move(*reason));
  return find_or_add(pod.pod->spec, pod.pod->node_name, pod.profile, kind, {pod.pod, host});
}

std::int32_t ClassTable::find_or_add(const std::shared_ptr<const PodSpec>& spec, const std::string& node_name,
                                     std::int32_t profile, std::int32_t kind, const HostOfPod& host) {
  static const TopologyIndex::Compiled kNothing;
  const TopologyIndex::Compiled& topology = kind >= 0 ? topology_.compile(kind) : kNothing;
  std::string signature = with_profile(pod_signature(*spec), profile, node_name);
  if (topology.program != nullptr || !topology.moves.empty()) signature += topology.signature;
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
    if (!hosts_.empty()) {
      added.host_pod = host.pod;
      added.host_signature = host.signature;
      added.host = hosts_.side(host.pod, *this->profile(profile).profile);
    }
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
  pod_class.draw_seed = class_draw_seed(seed_, pod_class_hash(*pod_class.spec));
  pod_class.filter_amounts = filter_requests(pod);
  pod_class.requested = compile_requested(pod_class.filter_amounts, profile.profile->args.node_resources_fit, snapshot_,
                                          cluster_.cache());
  pod_class.fit_requests = compile_scored_requests(score_requests(pod), profile.fit.resources);
  pod_class.balanced_requests = compile_scored_requests(pod_class.filter_amounts, profile.balanced_resources);
  // PreScore skips; where it is not enabled, Score returns 0.
  pod_class.balanced_skips = std::all_of(pod_class.balanced_requests.begin(), pod_class.balanced_requests.end(),
                                         [](const ScoredRequest& request) { return request.amount == 0; });
  pod_class.ports = wanted_host_ports(*pod_class.spec);
  pod_class.delta = delta_of(requested_on_node(pod), non_zero_requested_on_node(pod));
  pod_class.needs_int64 = any_needs_int64(pod_class.fit_requests) || any_needs_int64(pod_class.balanced_requests) ||
                          std::any_of(pod_class.requested.begin(), pod_class.requested.end(),
                                      [](const RequestedResource& r) { return r.amount >= kExactBelow; });
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
    if (std::any_of(scalars.begin(), scalars.end(), is_new)) pod_class.delta = delta_of(bare_pod(pod_class));
  });
}

ClassTable::NodeSide& ClassTable::find_node_side(std::int32_t c, NodeSet node_set) {
  PodClass& pod_class = classes_[c];
  const bool is_open = node_set == NodeSet::kIgnored;
  std::int32_t& index = is_open ? pod_class.open_node_side : pod_class.node_side;
  if (index < 0) {
    std::string signature = with_profile(node_side_signature(*pod_class.spec), pod_class.profile, pod_class.node_name);
    signature.push_back(is_open ? 'o' : 'n');
    const auto [at, is_new] = node_side_of_signature_.try_emplace(std::move(signature), -1);
    if (is_new) {
      auto side = std::make_unique<NodeSide>();
      side->signature = &at->first;
      side->profile = pod_class.profile;
      side->spec = pod_class.spec;
      side->node_name = pod_class.node_name;
      side->node_set = node_set;
      side->compiled = compile_node_side(side->pod(), profile_of(c), snapshot_);
      side->position = node_changes_end();
      at->second = node_sides_.add(std::move(side));
    }
    index = at->second;
  }
  NodeSide& side = *node_sides_[index];
  if (side.position != node_changes_end()) bring_up_to_date(side);
  return side;
}

const CompiledNodeSide& ClassTable::compiled_node_side(std::int32_t c) {
  return find_node_side(c, NodeSet::kNarrows).current();
}

const NodeSideRow& ClassTable::node_side(std::int32_t c, NodeSet node_set) {
  NodeSide& side = find_node_side(c, node_set);
  const auto build = [&](CompiledNodeSide& compiled) {
    return build_node_side_row(std::move(compiled), *side.spec, profile_of(c), snapshot_);
  };
  if (side.row == nullptr) {
    side.row = std::make_unique<NodeSideRow>(build(side.compiled));
  } else if (side.is_outdated) {
    *side.row = build(*side.row);
    side.is_outdated = false;
  }
  return *side.row;
}

std::uint64_t ClassTable::node_side_version(std::int32_t c) { return find_node_side(c, NodeSet::kNarrows).version; }

void ClassTable::mark_outdated(NodeSide& side) {
  if (side.row == nullptr) return;
  side.is_outdated = true;
  side.version = ++node_sides_version_;
}

void ClassTable::compile_again(NodeSide& side) {
  side.current() = compile_node_side(side.pod(), profiles_[static_cast<std::size_t>(side.profile)], snapshot_);
  mark_outdated(side);
}

/// Sums up the changes from `position` on. Sides that are needed together mostly missed the same ones.
void ClassTable::note_changes_since(std::uint64_t position) {
  if (noted_from_ == position && noted_to_ == node_changes_end()) return;
  noted_from_ = position;
  noted_to_ = node_changes_end();
  nodes_came_or_went_ = false;
  changed_nodes_.clear();
  for (auto i = static_cast<std::size_t>(position - node_changes_begin_); i < node_changes_.size(); ++i) {
    changed_nodes_.push_back({node_changes_[i].slot, node_changes_[i].parts});
    nodes_came_or_went_ = nodes_came_or_went_ || node_changes_[i].event == NodeEvent::kCameOrWent;
  }
  std::sort(changed_nodes_.begin(), changed_nodes_.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  std::size_t kept = 0;
  for (const ChangedNode& changed : changed_nodes_)
    if (kept > 0 && changed_nodes_[kept - 1].slot == changed.slot) {
      changed_nodes_[kept - 1].parts.insert(changed.parts);
    } else {
      changed_nodes_[kept++] = changed;
    }
  changed_nodes_.resize(kept);
}

void ClassTable::bring_up_to_date(NodeSide& side) {
  const CompiledProfile& profile = profiles_[static_cast<std::size_t>(side.profile)];
  const std::uint64_t position = std::exchange(side.position, node_changes_end());
  if (position < node_changes_begin_) return compile_again(side);
  note_changes_since(position);
  if (!extend_node_side(side.pod(), profile, snapshot_, nodes_came_or_went_, side.current()))
    return compile_again(side);
  if (side.row == nullptr || side.is_outdated) return;
  const bool concerns_all = std::any_of(changed_nodes_.begin(), changed_nodes_.end(), [&](const ChangedNode& changed) {
    return update_node_side_row(*side.spec, profile, snapshot_, changed.slot, changed.parts, *side.row);
  });
  if (concerns_all) mark_outdated(side);
}

void ClassTable::change_node(std::int32_t slot, NodeParts parts, NodeEvent event) {
  if (snapshot_.lacks_column()) return recompile();
  if (parts.are_load()) return;
  bool is_current = true;
  for (CompiledProfile& profile : profiles_)
    is_current = extend_rules(profile, event == NodeEvent::kCameOrWent) && is_current;
  if (!is_current) return recompile();
  node_changes_.push_back({slot, parts, event});
  ++node_sides_version_;
  // Taking in more than a share of all nodes costs as much as building the row.
  const std::int32_t kept_count = snapshot_.slot_count() / kKeptChangesShare + kKeptChangesMin;
  const auto kept = static_cast<std::size_t>(kept_count);
  if (node_changes_.size() < 2 * kept) return;
  node_changes_begin_ += node_changes_.size() - kept;
  node_changes_.erase(node_changes_.begin(), node_changes_.end() - static_cast<std::ptrdiff_t>(kept));
}

const NodeSideRow* ClassTable::built_node_side(std::int32_t c, NodeSet node_set) const {
  const PodClass& pod_class = (*this)[c];
  const std::int32_t index = node_set == NodeSet::kIgnored ? pod_class.open_node_side : pod_class.node_side;
  if (index < 0) return nullptr;
  const NodeSide& side = *node_sides_[index];
  return side.is_outdated || side.position != node_changes_end() ? nullptr : side.row.get();
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

PreFilterAnswer ClassTable::pre_filter(std::int32_t c, const CompiledNodeSide& side) const {
  static const TopologyProgram kNothing;
  const PodClass& pod_class = (*this)[c];
  const TopologyProgram& topology = pod_class.topology != nullptr ? *pod_class.topology : kNothing;
  const HostSide& host = pod_class.host;
  if (!side.pre_filter_refuses && topology.pre_filter_error.empty() && topology.pre_filter_message.empty() &&
      host.is_idle())
    return {};
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

bool ClassTable::change_namespace(const std::string& name) {
  if (!topology_.change_namespace(name)) return false;
  classes_.for_each([](std::int32_t, PodClass& pod_class) { pod_class.signature = nullptr; });
  class_of_signature_.clear();
  class_of_kind_.clear();
  for (auto& by_spec : class_of_spec_) by_spec.clear();
  return true;
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

// Giving up what is not used

bool ClassTable::is_sweep_due() const {
  const std::int32_t kept = classes_.size() + topology_.all_size();
  return all_added() - swept_at_ > static_cast<std::uint64_t>(std::max(sweep_min_, kept / sweep_share_));
}

std::vector<std::int32_t> ClassTable::sweep(const InUse& in_use) {
  std::vector<std::int32_t> kinds;
  topology_.keep_only(in_use.topology, kinds);
  for (const std::int32_t kind : kinds)
    if (static_cast<std::size_t>(kind) < class_of_kind_.size()) class_of_kind_[static_cast<std::size_t>(kind)] = {};
  renew_classes_of_kinds();
  const std::vector<std::int32_t> dropped = drop_classes(in_use.classes);
  drop_node_sides();
  hosts_.drop_unused();
  drop_resources();
  // The pods of errors are stale, and bring them again.
  errors_.clear();
  error_of_text_.clear();
  ++sweeps_;
  swept_at_ = all_added();
  return dropped;
}

/// Kinds whose program or moves refer to what is gone get the classes of those that they have now.
void ClassTable::renew_classes_of_kinds() {
  for (std::size_t k = 0; k < class_of_kind_.size(); ++k) {
    Found& found = class_of_kind_[k];
    if (found.revision == 0) continue;
    const auto kind = static_cast<std::int32_t>(k);
    const std::uint32_t revision = topology_.compile(kind).revision;
    if (is_error(found.pod_class)) {
      found = {};
    } else if (found.revision != revision) {
      const PodClass before = classes_[found.pod_class];
      found = {
          find_or_add(before.spec, before.node_name, before.profile, kind, {before.host_pod, before.host_signature}),
          revision};
      // A class that was there before may have them already.
      PodClass& now = classes_[found.pod_class];
      if (now.node_side < 0) now.node_side = before.node_side;
      if (now.open_node_side < 0) now.open_node_side = before.open_node_side;
    }
  }
}

std::vector<std::int32_t> ClassTable::drop_classes(const std::vector<std::int32_t>& in_use) {
  LiveNumbers live(classes_.end());
  for (const std::int32_t c : in_use)
    if (c >= 0) live.insert(c);
  for (const Found& found : class_of_kind_)
    if (found.revision != 0) live.insert(found.pod_class);
  for (auto& by_spec : class_of_spec_)
    std::erase_if(by_spec, [&](const auto& entry) {
      const FoundForSpec& found = entry.second;
      if (is_error(found.pod_class) || !was_found_lately(found.found_at)) return true;
      live.insert(found.pod_class);
      return false;
    });
  std::vector<std::int32_t> dropped;
  classes_.for_each([&](std::int32_t c, const PodClass& pod_class) {
    const bool is_found = pod_class.signature != nullptr && was_found_lately(pod_class.found_at);
    if (!is_found && !live.contains(c)) dropped.push_back(c);
  });
  for (const std::int32_t c : dropped) {
    if (const std::string* signature = classes_[c].signature) class_of_signature_.erase(std::string(*signature));
    classes_.remove(c);
  }
  return dropped;
}

void ClassTable::drop_node_sides() {
  LiveNumbers live(node_sides_.end());
  classes_.for_each([&](std::int32_t, const PodClass& pod_class) {
    for (const std::int32_t side : {pod_class.node_side, pod_class.open_node_side})
      if (side >= 0) live.insert(side);
  });
  for (std::int32_t s = 0; s < node_sides_.end(); ++s) {
    if (!node_sides_.has(s) || live.contains(s)) continue;
    node_side_of_signature_.erase(std::string(*node_sides_[s]->signature));
    node_sides_.remove(s);
  }
}

void ClassTable::drop_resources() {
  std::set<std::string, std::less<>> names;
  for (const CompiledProfile& profile : profiles_)
    for (const auto* resources : {&profile.fit.resources, &profile.balanced_resources})
      for (const ScoredResource& resource : *resources) names.insert(resource.name);
  classes_.for_each([&](std::int32_t, const PodClass& pod_class) {
    for (const RequestedResource& resource : pod_class.requested) names.insert(resource.name);
  });
  snapshot_.keep_resources(names);
}

}  // namespace berth
