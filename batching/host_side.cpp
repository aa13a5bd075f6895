// SPDX-License-Identifier: Apache-2.0
// What the columns of a class say together.

#include <algorithm>
#include <utility>

#include "batching/host_columns.h"
#include "batching/profile_rules.h"

namespace berth {
namespace {

void keep_first(HostRefusal& first, const HostPart& part, const Status& status) {
  if (!status.ok() && part.filter_rank < first.rank) first = {part.filter_rank, part.column->plugin->name(), status};
}

}  // namespace

bool HostColumn::has_errors() const {
  return std::any_of(refusals.begin(), refusals.end(),
                     [](const Status& status) { return status.code == StatusCode::kError; });
}

bool HostColumn::only_refuses() const {
  const bool passes = pre_filter.code == StatusCode::kSuccess || pre_filter.code == StatusCode::kSkip;
  return passes && !node_names && pre_score.code != StatusCode::kError && !has_errors();
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

bool HostSide::only_refuses() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const HostPart& part) { return part.column->only_refuses() && !part.scores(); });
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
  std::vector<const Pod*> all_added;
  if (const std::span<const Pod* const> placed = columns->placed_on(node_name); !placed.empty()) {
    all_added.assign(placed.begin(), placed.end());
    all_added.insert(all_added.end(), added.begin(), added.end());
    added = all_added;
  }
  HostRefusal first{kNotEnabled};
  for (const HostPart& part : parts) {
    if (!part.filters()) continue;
    const HostColumn& column = *part.column;
    const HostQuery query{*column.pod, cluster->cache(), column.claims ? &*column.claims : nullptr};
    keep_first(first, part, ask_changed_node(*column.plugin, query, node, added, removed));
  }
  return first;
}

const ClaimCopies* HostSide::claims_of(std::size_t plugin_index) const {
  for (const HostPart& part : parts)
    if (part.column->plugin_index == plugin_index) return part.column->claims ? &*part.column->claims : nullptr;
  return nullptr;
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

}  // namespace berth
