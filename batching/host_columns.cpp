// SPDX-License-Identifier: Apache-2.0
#include "batching/host_columns.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "batching/profile_rules.h"
#include "plugins/host_plugins.h"
#include "plugins/registry.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

bool runs_in(const Profile& profile, std::string_view plugin) {
  return profile.enables(ExtensionPoint::kPreFilter, plugin) || profile.enables(ExtensionPoint::kFilter, plugin) ||
         profile.enables(ExtensionPoint::kPreScore, plugin) || profile.enables(ExtensionPoint::kScore, plugin);
}

bool share_handles(std::span<const OwnClaim> claims) {
  return std::any_of(claims.begin(), claims.end(), [](const OwnClaim& own) { return own.shares_handle; });
}

/// In the list, or at its end.
std::uint32_t index_of(const Status& status, std::vector<Status>& list) {
  if (status.ok()) return 0;
  const auto says_it = [&](const Status& known) {
    return known.code == status.code && known.reasons == status.reasons;
  };
  const auto known = std::find_if(list.begin(), list.end(), says_it);
  const auto index = static_cast<std::uint32_t>(known - list.begin());
  if (known == list.end()) list.push_back(status);
  return index;
}

}  // namespace

HostColumns::HostColumns(HostPlugins plugins, const EngineCluster& cluster, const Snapshot& snapshot, bool knows_claims)
    : plugins_(std::move(plugins)), cluster_(cluster), snapshot_(snapshot), knows_claims_(knows_claims) {
  std::copy_if(plugins_.begin(), plugins_.end(), std::back_inserter(registered_),
               [](const auto& plugin) { return plugin == nullptr || !is_built_in(*plugin); });
  check_host_plugins(registered_);
  for (const auto& plugin : registered_)
    if (plugin_support(plugin->name()).support != Support::kUnsupported && !is_built_in_host_plugin(plugin->name()))
      throw std::invalid_argument("the host plugin \"" + std::string(plugin->name()) +
                                  "\" has the name of a plugin that is built in");
  changes_.resize(plugins_.size());
  memories_.resize(plugins_.size());
}

bool HostColumns::concern(const Pod& pod) const {
  if (!registered_.empty()) return true;
  if (!has_volumes(pod)) return false;
  return std::any_of(plugins_.begin(), plugins_.end(), [&](const auto& plugin) { return plugin->concerns(pod); });
}

VolumeDecisionsPtr HostColumns::reserve(const Pod& pod, const Profile& profile, const HostSide& side,
                                        std::string_view node_name) const {
  if (!concern(pod)) return nullptr;
  const NodeInfo* node = cluster_.cache().find_node(node_name);
  if (node == nullptr || node->node == nullptr) return nullptr;
  for (std::size_t p = 0; p < plugins_.size(); ++p) {
    if (!profile.enables(ExtensionPoint::kReserve, plugins_[p]->name()) || !plugins_[p]->concerns(pod)) continue;
    const HostQuery query{pod, cluster_.cache(), side.claims_of(p), memories_[p].get()};
    if (VolumeDecisionsPtr decisions = ask_reserve(*plugins_[p], query, *node)) return decisions;
  }
  return nullptr;
}

/// Of a column: what the plugin signs, or the pod itself.
std::string HostColumns::key(std::size_t plugin, const Pod& pod) const {
  const std::optional<std::string> read = ask_signature(*plugins_[plugin], pod);
  if (!read) {
    const Pod* const self = &pod;  // its column keeps it, so that no other pod has the address meanwhile
    return "u" + std::string(reinterpret_cast<const char*>(&self), sizeof self);
  }
  return read->empty() ? std::string() : "s" + *read;
}

std::vector<HostColumns::Signed> HostColumns::sign(const Pod& pod, const Profile& profile) {
  std::vector<Signed> signatures;
  if (!concern(pod)) return signatures;
  know_user(pod);
  const ClusterStorage& storage = cluster_.cache().storage();
  std::optional<std::vector<OwnClaim>> claims;
  if (users_of_claims() != nullptr) claims = own_claims(pod, storage, users_);
  if (claims && ((!handles_may_be_shared_ && share_handles(*claims)) || is_placed(pod))) claims = std::nullopt;
  for (std::size_t p = 0; p < plugins_.size(); ++p) {
    if (!plugins_[p]->concerns(pod) || !runs_in(profile, plugins_[p]->name())) continue;
    const auto text = claims ? plugins_[p]->sign_claims(*claims, storage) : std::nullopt;
    if (!text) {
      signatures.push_back({p, key(p, pod), false});
    } else {
      signatures.push_back({p, text->empty() ? std::string() : "c" + *text, true});
    }
  }
  return signatures;
}

std::string HostColumns::signature(const Pod& pod, const Profile& profile) {
  std::string signature;
  for (const Signed& part : sign(pod, profile)) {
    if (part.key.empty()) continue;
    const std::uint64_t head[] = {part.plugin, part.key.size()};
    signature.append(reinterpret_cast<const char*>(head), sizeof head).append(part.key);
  }
  return signature;
}

bool HostColumns::is_placed(const Pod& pod) const {
  if (!has_volumes(pod)) return false;
  return placed_.contains(&pod) || cluster_.cache().get_pod(pod.uid()) != nullptr;
}

/// The pods of a claim that two of them use are known by its name.
void HostColumns::know_user(const Pod& pod) {
  if (!has_volumes(pod)) return;
  if (!std::exchange(knows_users_, true))
    for (const PodPtr& other : cluster_.cache().pods()) users_.add(*other);
  if (users_.add(pod)) ++signatures_version_;
}

void HostColumns::note_user(const Pod& pod) {
  if (knows_users_) know_user(pod);
}

void HostColumns::forget_user(const Pod& pod) {
  if (!knows_users_ || !has_volumes(pod)) return;
  users_.remove(pod);
  forgot_users_ = true;
}

HostSide HostColumns::side(const PodPtr& pod, const Profile& profile) {
  HostSide side;
  side.cluster = &cluster_;
  side.columns = this;
  for (const Signed& signature : sign(*pod, profile)) {
    if (signature.by_claims && signature.key.empty()) {
      side.unread.push_back(signature.plugin);
      continue;
    }
    const std::string_view name = plugins_[signature.plugin]->name();
    HostPart& part = side.parts.emplace_back();
    part.column = find(signature, pod);
    part.filter_rank = filter_rank(profile, name);
    part.weight = score_weight(profile, name);
    part.runs_pre_filter = profile.enables(ExtensionPoint::kPreFilter, name);
    part.runs_pre_score = profile.enables(ExtensionPoint::kPreScore, name);
    const bool ignores_skips =
        (part.filter_rank != kNotEnabled && !part.runs_pre_filter) || (part.weight != 0 && !part.runs_pre_score);
    HostColumn& column = *part.column;
    const bool asks_more = (ignores_skips && !column.ignores_skips) || (part.weight != 0 && !column.is_scored);
    column.ignores_skips = column.ignores_skips || ignores_skips;
    column.is_scored = column.is_scored || part.weight != 0;
    if (asks_more) column.is_filled = false;
  }
  return side;
}

std::shared_ptr<HostColumn> HostColumns::find(const Signed& of, const PodPtr& pod) {
  std::shared_ptr<HostColumn>& column = columns_[{of.plugin, of.key}];
  if (column != nullptr) return column;
  auto added = std::make_shared<HostColumn>();
  added->plugin_index = of.plugin;
  added->plugin = plugins_[of.plugin].get();
  added->pod = pod;
  if (of.by_claims) {
    const std::vector<OwnClaim> claims = *own_claims(*pod, cluster_.cache().storage(), users_);
    added->claims = copies_of(claims);
    const auto waits = [](const OwnClaim& own) { return own.volume == nullptr; };
    several_wait_ = several_wait_ || std::count_if(claims.begin(), claims.end(), waits) > 1;
    added->shares_handles = added->plugin->reads_handles() && share_handles(claims);
  }
  column = std::move(added);
  return column;
}

HostQuery HostColumns::query(const HostColumn& column) {
  std::unique_ptr<HostMemory>& memory = memories_[column.plugin_index];
  if (memory == nullptr) memory = column.plugin->make_memory();
  return {*column.pod, cluster_.cache(), column.claims ? &*column.claims : nullptr, memory.get(), &users_};
}

bool HostColumns::is_current(const HostColumn& column) const {
  const Changes& changes = changes_[column.plugin_index];
  if (!column.is_filled || column.generation != changes.generation || column.version != column.plugin->version() ||
      (!column.claims && column.names != names_))
    return false;
  if (column.is_idle()) return true;
  if (changes.awaits_taken || (!column.claims && column.taken != changes.taken)) return false;
  return column.position == changes.end() && (!column.node_names || column.node_events == changes.node_events);
}

bool HostColumns::is_current(const HostSide& side) const {
  return std::all_of(side.parts.begin(), side.parts.end(),
                     [&](const HostPart& part) { return is_current(*part.column); });
}

void HostColumns::refill(const HostSide& side) {
  for (const HostPart& part : side.parts) {
    HostColumn& column = *part.column;
    // An error may have ended since: a column that holds one is filled again whenever it is asked for.
    const bool is_error = column.pre_filter.code == StatusCode::kError || column.pre_score.code == StatusCode::kError ||
                          column.has_errors();
    if (is_error) column.is_filled = false;
    changes_[column.plugin_index].awaits_taken = false;
    if (!is_current(column)) refill(column);
  }
}

void HostColumns::refill(HostColumn& column) {
  const Changes& changes = changes_[column.plugin_index];
  const bool is_partly_current = column.is_filled && column.generation == changes.generation &&
                                 (column.claims || (column.names == names_ && column.taken == changes.taken)) &&
                                 column.version == column.plugin->version() && column.position >= changes.begin &&
                                 (!column.node_names || column.node_events == changes.node_events) &&
                                 column.refusals.size() <= column.refusal_of.size() + kUnusedRefusals;
  if (is_partly_current) {
    ask(column, stale_slots(column));
  } else {
    fill_all(column);
  }
  column.position = changes.end();
  column.node_events = changes.node_events;
}

std::vector<std::int32_t> HostColumns::stale_slots(const HostColumn& column) const {
  const Changes& changes = changes_[column.plugin_index];
  std::vector<std::int32_t> slots(changes.slots.begin() + static_cast<std::ptrdiff_t>(column.position - changes.begin),
                                  changes.slots.end());
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

/// Only what its answers read of nodes has changed, and the plugin can be asked about a node with more pods.
bool HostColumns::can_follow(const HostColumn& column) const {
  const Changes& changes = changes_[column.plugin_index];
  return column.claims && !changes.awaits_taken && column.is_filled && column.generation == changes.generation &&
         column.version == column.plugin->version() && column.position >= changes.begin && column.only_refuses() &&
         column.refusals.size() <= column.refusal_of.size() + kUnusedRefusals;
}

bool HostColumns::follow(const HostSide& side) {
  for (const HostPart& part : side.parts)
    if (!is_current(*part.column) && !can_follow(*part.column)) return false;
  for (const HostPart& part : side.parts) {
    HostColumn& column = *part.column;
    if (is_current(column)) continue;
    const HostQuery asked = query(column);
    for (const std::int32_t slot : stale_slots(column)) {
      Status status;
      if (snapshot_.has_node(slot)) {
        const NodeInfo& node = *cluster_.cache().find_node(snapshot_.node(slot).name);
        status = ask_changed_node(*column.plugin, asked, node, placed_on(slot), {});
        ++stats_.nodes_asked;
      }
      set_refusal(column, slot, index_of(status, column.refusals));
    }
    column.position = changes_[column.plugin_index].end();
    if (column.shares_handles && !handles_may_be_shared_) return false;
  }
  return true;
}

HostRefusing HostColumns::refusing(const HostSide& side) {
  std::vector<const HostColumn*> columns;
  for (const HostPart& part : side.parts)
    if (part.filters() && !part.column->refusing.empty()) columns.push_back(part.column.get());
  if (columns.empty()) return {none_, 0};
  if (columns.size() == 1) return {columns.front()->refusing, columns.front()->refusing_version};
  Union& all = unions_[columns];
  std::vector<std::uint64_t> versions;
  versions.reserve(columns.size());
  for (const HostColumn* column : columns) versions.push_back(column->refusing_version);
  if (all.versions != versions) {
    all.nodes.clear();
    for (const HostColumn* column : columns)
      for (const std::int32_t node : column->refusing.members()) all.nodes.insert(node);
    all.versions = std::move(versions);
    all.version = ++last_refusing_version_;
  }
  return {all.nodes, all.version};
}

void HostColumns::fill_all(HostColumn& column) {
  const HostQuery query = this->query(column);
  column.is_filled = false;
  column.version = column.plugin->version();
  column.generation = changes_[column.plugin_index].generation;
  column.taken = changes_[column.plugin_index].taken;
  column.names = names_;
  HostPreFilterAnswer pre_filter = ask_pre_filter(*column.plugin, query);
  column.pre_filter = std::move(pre_filter.status);
  column.node_names = std::move(pre_filter.node_names);
  column.pre_score = ask_pre_score(*column.plugin, query);
  const auto slot_count = static_cast<std::size_t>(snapshot_.slot_count());
  column.refusals.assign(1, Status{});
  column.refusing.clear();
  column.refusing_version = ++last_refusing_version_;
  if (!column.is_idle()) {
    column.refusal_of.assign(slot_count, 0);
    column.raw_of.assign(slot_count, 0);
    std::vector<std::int32_t> slots(slot_count);
    std::iota(slots.begin(), slots.end(), 0);
    ask(column, slots);
    ++stats_.columns_filled;
  }
  column.is_filled = true;
}

void HostColumns::ask(HostColumn& column, std::span<const std::int32_t> slots) {
  std::vector<const NodeInfo*> nodes;
  std::vector<std::int32_t> asked;
  for (const std::int32_t slot : slots) {
    set_refusal(column, slot, 0);
    column.raw_of[static_cast<std::size_t>(slot)] = 0;
    if (!snapshot_.has_node(slot)) continue;
    asked.push_back(slot);
    nodes.push_back(cluster_.cache().find_node(snapshot_.node(slot).name));
  }
  const HostNodeAnswers answers = ask_nodes(*column.plugin, query(column), nodes);
  stats_.nodes_asked += static_cast<std::int64_t>(asked.size());
  std::map<std::pair<StatusCode, std::vector<std::string>>, std::uint32_t> known;
  for (std::size_t r = 0; r < column.refusals.size(); ++r)
    known[{column.refusals[r].code, column.refusals[r].reasons}] = static_cast<std::uint32_t>(r);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Status& status = answers.statuses[i];
    column.raw_of[static_cast<std::size_t>(asked[i])] = answers.raws[i];
    if (status.ok()) continue;
    const auto [at, is_new] =
        known.try_emplace({status.code, status.reasons}, static_cast<std::uint32_t>(column.refusals.size()));
    if (is_new) column.refusals.push_back(status);
    set_refusal(column, asked[i], at->second);
  }
}

/// @param refusal  index into HostColumn::refusals
void HostColumns::set_refusal(HostColumn& column, std::int32_t slot, std::uint32_t refusal) {
  column.refusal_of[static_cast<std::size_t>(slot)] = refusal;
  if ((refusal != 0) == column.refusing.contains(slot)) return;
  if (refusal != 0) {
    column.refusing.insert(slot);
    if (column.shares_handles) distrust_shared_handles();  // a node that has the volume may accept it
  } else {
    column.refusing.erase(slot);
  }
  column.refusing_version = ++last_refusing_version_;
}

}  // namespace berth
