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

namespace berth {
namespace {

/// A column with more different refusals than slots, and some, is filled again, which drops those that are not used.
constexpr std::size_t kUnusedRefusals = 64;

bool runs_in(const Profile& profile, std::string_view plugin) {
  return profile.enables(ExtensionPoint::kPreFilter, plugin) || profile.enables(ExtensionPoint::kFilter, plugin) ||
         profile.enables(ExtensionPoint::kPreScore, plugin) || profile.enables(ExtensionPoint::kScore, plugin);
}

void keep_first(HostRefusal& first, const HostPart& part, const Status& status) {
  if (!status.ok() && part.filter_rank < first.rank) first = {part.filter_rank, part.column->plugin->name(), status};
}

}  // namespace

bool HostColumn::has_errors() const {
  return std::any_of(refusals.begin(), refusals.end(),
                     [](const Status& status) { return status.code == StatusCode::kError; });
}

// Of a class

bool HostPart::filters() const {
  return filter_rank != kNotEnabled && !(runs_pre_filter && column->pre_filter.code == StatusCode::kSkip);
}

bool HostPart::scores() const {
  return weight != 0 && !(runs_pre_score && column->pre_score.code == StatusCode::kSkip);
}

bool HostPart::refuses_all() const {
  const StatusCode code = column->pre_filter.code;
  return code != StatusCode::kSuccess && code != StatusCode::kSkip;
}

bool HostSide::is_idle() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const HostPart& part) { return part.is_idle() && !part.narrows(); });
}

bool HostSide::stays_idle() const {
  return std::all_of(parts.begin(), parts.end(), [](const HostPart& part) { return part.column->is_idle(); });
}

HostRefusal HostSide::refusal(std::int32_t slot) const {
  HostRefusal first{kNotEnabled};
  for (const HostPart& part : parts)
    if (part.filters()) keep_first(first, part, part.column->refusal(slot));
  return first;
}

HostRefusal HostSide::refusal_with(std::string_view node_name, std::span<const Pod* const> added,
                                   std::span<const Pod* const> removed) const {
  const NodeInfo& node = *cluster->cache().find_node(node_name);
  HostRefusal first{kNotEnabled};
  for (const HostPart& part : parts) {
    if (!part.filters()) continue;
    const HostColumn& column = *part.column;
    keep_first(first, part, ask_changed_node(*column.plugin, {*column.pod, cluster->cache()}, node, added, removed));
  }
  return first;
}

bool HostSide::is_outside_node_set(std::string_view node_name) const {
  return std::any_of(parts.begin(), parts.end(), [&](const HostPart& part) {
    return part.narrows() && !part.column->node_names->contains(std::string(node_name));
  });
}

std::string_view HostSide::narrowing_plugin(const Profile& profile, std::string_view node_name) const {
  for (const EnabledPlugin& plugin : profile.at(ExtensionPoint::kPreFilter)) {
    const HostPart* part = find(plugin.name);
    if (part != nullptr && part->narrows() && !part->column->node_names->contains(std::string(node_name)))
      return part->column->plugin->name();
  }
  return {};
}

bool HostSide::has_errors() const {
  return std::any_of(parts.begin(), parts.end(), [](const HostPart& part) { return part.column->has_errors(); });
}

const HostPart* HostSide::find(std::string_view plugin) const {
  for (const HostPart& part : parts)
    if (part.column->plugin->name() == plugin) return &part;
  return nullptr;
}

HostScores::HostScores(const HostSide& side, const Profile& profile, const std::vector<std::int32_t>& nodes) {
  for (const EnabledPlugin& plugin : profile.at(ExtensionPoint::kScore)) {
    const HostPart* part = side.find(plugin.name);
    if (part == nullptr || !part->scores()) continue;
    OfPlugin& scores = of_plugin_.emplace_back();
    scores.part = part;
    for (const std::int32_t node : nodes) scores.raw.push_back(part->column->raw_of[static_cast<std::size_t>(node)]);
    scores.normalized = scores.raw;
    std::string error = ask_normalize(*part->column->plugin, *part->column->pod, scores.normalized);
    if (error_.empty()) error_ = std::move(error);
  }
}

std::optional<HostScores::Score> HostScores::score(std::string_view plugin, std::size_t in_list) const {
  for (const OfPlugin& scores : of_plugin_)
    if (scores.part->column->plugin->name() == plugin) return Score{scores.raw[in_list], scores.normalized[in_list]};
  return std::nullopt;
}

std::int64_t HostScores::total(std::size_t in_list) const {
  std::int64_t total = 0;
  for (const OfPlugin& scores : of_plugin_) total += scores.part->weight * scores.normalized[in_list];
  return total;
}

// Of an engine

HostColumns::HostColumns(HostPlugins plugins, const EngineCluster& cluster, const Snapshot& snapshot)
    : plugins_(std::move(plugins)), cluster_(cluster), snapshot_(snapshot) {
  std::copy_if(plugins_.begin(), plugins_.end(), std::back_inserter(registered_),
               [](const auto& plugin) { return plugin == nullptr || !is_built_in(*plugin); });
  check_host_plugins(registered_);
  for (const auto& plugin : registered_)
    if (plugin_support(plugin->name()).support != Support::kUnsupported && !is_built_in_host_plugin(plugin->name()))
      throw std::invalid_argument("the host plugin \"" + std::string(plugin->name()) +
                                  "\" has the name of a plugin that is built in");
  changes_.resize(plugins_.size());
}

bool HostColumns::concern(const Pod& pod) const {
  if (!registered_.empty()) return true;
  if (pod.rare_fields == nullptr || pod.rare().volumes.empty()) return false;
  return std::any_of(plugins_.begin(), plugins_.end(), [&](const auto& plugin) { return plugin->concerns(pod); });
}

VolumeDecisionsPtr HostColumns::reserve(const Pod& pod, const Profile& profile, std::string_view node_name) const {
  if (!concern(pod)) return nullptr;
  const NodeInfo* node = cluster_.cache().find_node(node_name);
  if (node == nullptr || node->node == nullptr) return nullptr;
  for (const auto& plugin : plugins_) {
    if (!profile.enables(ExtensionPoint::kReserve, plugin->name()) || !plugin->concerns(pod)) continue;
    if (VolumeDecisionsPtr decisions = ask_reserve(*plugin, {pod, cluster_.cache()}, *node)) return decisions;
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

std::string HostColumns::signature(const Pod& pod, const Profile& profile) const {
  std::string signature;
  if (!concern(pod)) return signature;
  for (std::size_t p = 0; p < plugins_.size(); ++p) {
    if (!plugins_[p]->concerns(pod) || !runs_in(profile, plugins_[p]->name())) continue;
    const std::string part = key(p, pod);
    if (part.empty()) continue;
    const std::uint64_t head[] = {p, part.size()};
    signature.append(reinterpret_cast<const char*>(head), sizeof head).append(part);
  }
  return signature;
}

HostSide HostColumns::side(const PodPtr& pod, const Profile& profile) {
  HostSide side;
  side.cluster = &cluster_;
  if (!concern(*pod)) return side;
  for (std::size_t p = 0; p < plugins_.size(); ++p) {
    const std::string_view name = plugins_[p]->name();
    if (!plugins_[p]->concerns(*pod) || !runs_in(profile, name)) continue;
    HostPart& part = side.parts.emplace_back();
    part.column = find(p, pod);
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

std::shared_ptr<HostColumn> HostColumns::find(std::size_t plugin, const PodPtr& pod) {
  std::shared_ptr<HostColumn>& column = columns_[{plugin, key(plugin, *pod)}];
  if (column == nullptr) {
    column = std::make_shared<HostColumn>();
    column->plugin_index = plugin;
    column->plugin = plugins_[plugin].get();
    column->pod = pod;
  }
  return column;
}

bool HostColumns::is_current(const HostColumn& column) const {
  const Changes& changes = changes_[column.plugin_index];
  if (!column.is_filled || column.generation != changes.generation || column.version != column.plugin->version())
    return false;
  if (column.is_idle()) return true;
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
    if (!is_current(column)) refill(column);
  }
}

void HostColumns::refill(HostColumn& column) {
  const Changes& changes = changes_[column.plugin_index];
  const bool is_partly_current = column.is_filled && column.generation == changes.generation &&
                                 column.version == column.plugin->version() && column.position >= changes.begin &&
                                 (!column.node_names || column.node_events == changes.node_events) &&
                                 column.refusals.size() <= column.refusal_of.size() + kUnusedRefusals;
  if (is_partly_current) {
    std::vector<std::int32_t> slots(
        changes.slots.begin() + static_cast<std::ptrdiff_t>(column.position - changes.begin), changes.slots.end());
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    ask(column, slots);
  } else {
    fill_all(column);
  }
  column.position = changes.end();
  column.node_events = changes.node_events;
}

void HostColumns::fill_all(HostColumn& column) {
  const HostQuery query{*column.pod, cluster_.cache()};
  column.is_filled = false;
  column.version = column.plugin->version();
  column.generation = changes_[column.plugin_index].generation;
  HostPreFilterAnswer pre_filter = ask_pre_filter(*column.plugin, query);
  column.pre_filter = std::move(pre_filter.status);
  column.node_names = std::move(pre_filter.node_names);
  column.pre_score = ask_pre_score(*column.plugin, query);
  const auto slot_count = static_cast<std::size_t>(snapshot_.slot_count());
  column.refusals.assign(1, Status{});
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
    column.refusal_of[static_cast<std::size_t>(slot)] = 0;
    column.raw_of[static_cast<std::size_t>(slot)] = 0;
    if (!snapshot_.has_node(slot)) continue;
    asked.push_back(slot);
    nodes.push_back(cluster_.cache().find_node(snapshot_.node(slot).name));
  }
  const HostNodeAnswers answers = ask_nodes(*column.plugin, {*column.pod, cluster_.cache()}, nodes);
  stats_.nodes_asked += static_cast<std::int64_t>(asked.size());
  std::map<std::pair<StatusCode, std::vector<std::string>>, std::uint32_t> known;
  for (std::size_t r = 0; r < column.refusals.size(); ++r)
    known[{column.refusals[r].code, column.refusals[r].reasons}] = static_cast<std::uint32_t>(r);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Status& status = answers.statuses[i];
    const auto [at, is_new] =
        known.try_emplace({status.code, status.reasons}, static_cast<std::uint32_t>(column.refusals.size()));
    if (is_new) column.refusals.push_back(status);
    column.refusal_of[static_cast<std::size_t>(asked[i])] = at->second;
    column.raw_of[static_cast<std::size_t>(asked[i])] = answers.raws[i];
  }
}

// What makes columns stale

void HostColumns::note_slot(Changes& changes, std::int32_t slot) const {
  changes.slots.push_back(slot);
  // A column further behind than `kept` slots is filled again as a whole, because asking every node costs less.
  const std::size_t kept = static_cast<std::size_t>(snapshot_.slot_count()) + kUnusedRefusals;
  if (changes.slots.size() < 2 * kept) return;
  changes.begin += changes.slots.size() - kept;
  changes.slots.erase(changes.slots.begin(), changes.slots.end() - static_cast<std::ptrdiff_t>(kept));
}

/// Columns that do not skip have missed more than there is.
void HostColumns::note_everything(Changes& changes) {
  changes.begin = changes.end() + 1;
  changes.slots.clear();
}

void HostColumns::note_domain(Changes& changes, std::int32_t slot, const std::string& topology_key) const {
  const auto domain = snapshot_.node(slot).labels.find(topology_key);
  if (!domain) return note_slot(changes, slot);
  for (std::int32_t other = 0; other < snapshot_.slot_count(); ++other)
    if (snapshot_.has_node(other) && snapshot_.node(other).labels.find(topology_key) == domain)
      note_slot(changes, other);
}

void HostColumns::note_pod(const Pod& pod, std::int32_t slot) {
  if (columns_.empty() || !concern(pod)) return;  // without a column the pod's memory, mostly a cache miss, is not read
  const HostQuery query{pod, cluster_.cache()};
  for (std::size_t p = 0; p < plugins_.size(); ++p) {
    if (!plugins_[p]->concerns(pod)) continue;
    const HostReach reach = plugins_[p]->reach(query, snapshot_.node(slot));
    switch (reach.kind) {
      case HostReach::Kind::kNothing:
        break;
      case HostReach::Kind::kNode:
        note_slot(changes_[p], slot);
        break;
      case HostReach::Kind::kDomain:
        note_domain(changes_[p], slot, reach.topology_key);
        break;
      case HostReach::Kind::kEverything:
        note_everything(changes_[p]);
        break;
    }
  }
}

void HostColumns::note_node(std::int32_t slot, bool came_or_went, bool moves_pods) {
  if (moves_pods) return note_all();
  for (Changes& changes : changes_) {
    note_slot(changes, slot);
    if (came_or_went) ++changes.node_events;
  }
}

void HostColumns::note_all() {
  for (Changes& changes : changes_) ++changes.generation;
}

void HostColumns::drop_unused() {
  std::erase_if(columns_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

}  // namespace berth
