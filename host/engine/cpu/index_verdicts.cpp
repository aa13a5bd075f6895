// SPDX-License-Identifier: Apache-2.0
// Why pods find no node, from the boxes of an index: most of them are wholly short of something.

#include <algorithm>

#include "batching/load_words.h"
#include "batching/node_filter.h"
#include "host/engine/cpu/index_selection.h"

namespace berth {
namespace {

/// NodeResourcesFit says nothing of nodes that are refused by their objects, and no rule beside these refuses.
bool follows_from_loads(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& row) {
  const auto is_before_loads = [&](const Refusal& refusal) {
    return refusal.rank < profile.rank<NodeResourcesFit>() && !refusal.is_error;
  };
  return pod_class.host.empty() && (pod_class.topology == nullptr || !pod_class.topology->filters()) &&
         LoadWord::fits(pod_class) && row.node_set() == nullptr && !row.pre_filter_refuses &&
         std::all_of(row.refusals.begin() + std::min<std::ptrdiff_t>(2, std::ssize(row.refusals)), row.refusals.end(),
                     is_before_loads);
}

LoadVerdict verdict_of(const PodClass& pod_class, const LoadIndex::Shortage& shortage) {
  LoadVerdict verdict;
  verdict.is_unresolvable = shortage.forever;
  for (std::size_t r = 0; r < pod_class.requested.size(); ++r) {
    const RequestedResource& request = pod_class.requested[r];
    if ((request.column == kCpuColumn && shortage.of_cpu) || (request.column == kMemoryColumn && shortage.of_memory))
      verdict.insufficient.insert(r);
  }
  return verdict;
}

}  // namespace

void IndexSelection::add_verdict(std::uint8_t refusal, const LoadVerdict& load, std::int64_t nodes) {
  const auto known = std::find_if(verdicts_.begin(), verdicts_.end(),
                                  [&](const LoadVerdicts& of) { return of.refusal == refusal && of.load == load; });
  if (known != verdicts_.end()) {
    known->nodes += nodes;
  } else {
    verdicts_.push_back({refusal, load, nodes});
  }
}

std::span<const LoadVerdicts> IndexSelection::verdicts(std::int32_t c, const Snapshot& snapshot, const CommitLog& log) {
  verdicts_.clear();
  const PodClass& pod_class = table_[c];
  const CompiledProfile& profile = table_.profile_of(c);
  const NodeSideRow& row = table_.node_side(c);
  const OnLoads& on_loads = on_loads_of(c);
  if (!on_loads.loads || on_loads.asks_for_others || !follows_from_loads(pod_class, profile, row)) return {};
  const LoadIndex* const index = usual_index(pod_class.profile);
  if (index == nullptr || !index->is_current(log) || index->has_full_nodes() || !index->odd_nodes().empty()) return {};
  const Trees& trees = trees_.at({});
  const auto side = trees.sides.find(pod_class.node_side);
  if (side == trees.sides.end() || side->second.partition_version != trees.partition.version()) return {};
  const SideOnGroups& groups = side->second;
  for (std::size_t g = 0; g < groups.base.size(); ++g) {
    if (groups.base[g] < 0) continue;
    if (groups.refuses[g] != 0) return {};
    index->count_short(
        *on_loads.loads, static_cast<std::int32_t>(g),
        [&](const LoadIndex::Shortage& shortage, std::int64_t nodes) {
          add_verdict(NodeSideRow::kAccepted, verdict_of(pod_class, shortage), nodes);
        },
        [&](std::int32_t node) { add_verdict(NodeSideRow::kAccepted, filter_load(pod_class, snapshot, node), 1); });
  }
  for (const auto& [refusal, nodes] : groups.nodes_of_refusals) add_verdict(refusal, {}, nodes);
  return verdicts_;
}

}  // namespace berth
