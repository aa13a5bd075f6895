// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/candidate_rows.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace berth {
namespace {

constexpr std::size_t kBytesMax = std::size_t{64} << 20;
constexpr std::size_t kBytesOfNode = sizeof(NodeFinding) + sizeof(CandidateCost) + 1;  // and its share of a block
static_assert(kBytesOfNode == 34);

}  // namespace

std::vector<std::uint32_t> CandidateRow::with(NodeFinding finding) const {
  std::vector<std::uint32_t> positions;
  for (auto at = findings_.begin(); (at = std::find(at, findings_.end(), finding)) != findings_.end(); ++at)
    positions.push_back(static_cast<std::uint32_t>(at - findings_.begin()));
  return positions;
}

void CandidateRow::forget_all(std::size_t nodes) {
  costs_.resize(nodes);
  best_of_block_.assign((nodes + kBlockNodes - 1) / kBlockNodes, kNotSearched);
  findings_.assign(nodes, NodeFinding::kUnknown);
}

std::uint32_t CandidateRow::best_in(std::size_t block) const {
  std::uint32_t best = kNone;
  const auto end = static_cast<std::uint32_t>(std::min(findings_.size(), (block + 1) * kBlockNodes));
  for (auto position = static_cast<std::uint32_t>(block * kBlockNodes); position < end; ++position)
    if (findings_[position] == NodeFinding::kCandidate && (best == kNone || costs_[position] < costs_[best]))
      best = position;
  return best;
}

std::optional<std::size_t> CandidateRow::best() {
  std::uint32_t best = kNone;
  for (std::size_t block = 0; block < best_of_block_.size(); ++block) {
    std::uint32_t& of_block = best_of_block_[block];
    if (of_block == kNotSearched) of_block = best_in(block);
    if (of_block != kNone && (best == kNone || costs_[of_block] < costs_[best])) best = of_block;
  }
  return best == kNone ? std::nullopt : std::optional<std::size_t>(best);
}

std::vector<std::uint32_t> CandidateRow::cheapest(std::size_t count) const {
  std::vector<std::uint32_t> positions = with(NodeFinding::kCandidate);
  const auto kept = positions.begin() + static_cast<std::ptrdiff_t>(std::min(count, positions.size()));
  std::partial_sort(positions.begin(), kept, positions.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::tie(costs_[a], a) < std::tie(costs_[b], b);
  });
  positions.erase(kept, positions.end());
  return positions;
}

/// Nothing is known of the row before it has room for all nodes, and what may have changed is unknown before the row
/// counts as one of now: where memory runs out, nothing that is void is left.
CandidateRow& CandidateRows::row_for(const PodToPlace& pod, const Backend& backend, const VictimLists& lists) {
  make_room(lists.size());
  CandidateRow& kept = rows_[{pod.class_index, pod.pod->priority}];
  AnswerBasis basis = kept.basis_;
  const AnswerChanges changes = backend.answer_changes(pod, basis);
  if (!changes.may_keep) rows_.erase({pod.class_index, pod.pod->priority});
  CandidateRow& row = changes.may_keep ? kept : alone_;
  if (!changes.may_keep || changes.all || row.lists_begin_ != lists.changes_begin()) {
    row.lists_begin_ = 0;
    row.forget_all(lists.size());
  } else {
    for (const NodeIndex node : changes.nodes)
      if (const std::size_t position = lists.find(node); position < lists.size())
        row.set_finding(position, NodeFinding::kUnknown);
    for (const std::uint32_t position : lists.changed_positions().subspan(row.lists_seen_))
      row.set_finding(position, NodeFinding::kUnknown);
  }
  row.basis_ = basis;
  row.verdicts_may_fail_ = changes.may_fail;
  row.lists_begin_ = lists.changes_begin();
  row.lists_seen_ = lists.changed_positions().size();
  row.used_at_ = ++calls_;
  return row;
}

/// For one more row.
void CandidateRows::make_room(std::size_t nodes) {
  const std::size_t rows_max = std::max<std::size_t>(1, kBytesMax / (kBytesOfNode * std::max<std::size_t>(1, nodes)));
  while (rows_.size() >= rows_max)
    rows_.erase(std::min_element(rows_.begin(), rows_.end(),
                                 [](const auto& a, const auto& b) { return a.second.used_at_ < b.second.used_at_; }));
}

}  // namespace berth
