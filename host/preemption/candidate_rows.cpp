// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/candidate_rows.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace berth {
namespace {

constexpr std::size_t kBytesMax = std::size_t{64} << 20;
constexpr std::size_t kBytesOfNode = sizeof(NodeFinding) + sizeof(CandidateCost) + 6;  // and its share of a block
static_assert(kBytesOfNode == 39);

}  // namespace

std::vector<std::uint32_t> CandidateRow::with(NodeFinding finding) const {
  std::vector<std::uint32_t> positions;
  for (auto at = findings_.begin(); (at = std::find(at, findings_.end(), finding)) != findings_.end(); ++at)
    positions.push_back(static_cast<std::uint32_t>(at - findings_.begin()));
  return positions;
}

void CandidateRow::forget_all(std::size_t nodes) {
  costs_.resize(nodes);
  blocks_.assign((nodes + kBlockNodes - 1) / kBlockNodes, {});
  findings_.assign(nodes, NodeFinding::kUnknown);
}

void CandidateRow::search(std::size_t block) {
  std::uint32_t best = kNone;
  const auto end = static_cast<std::uint32_t>(std::min(findings_.size(), (block + 1) * kBlockNodes));
  for (auto position = static_cast<std::uint32_t>(block * kBlockNodes); position < end; ++position)
    if (has_cost(position) && (best == kNone || costs_[position] < costs_[best])) best = position;
  blocks_[block] = {best, best != kNone && findings_[best] == NodeFinding::kCandidate,
                    best == kNone ? CandidateCost() : costs_[best]};
}

std::optional<std::size_t> CandidateRow::best() {
  const Block* best = nullptr;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].best == kNotSearched) search(b);
    const Block& block = blocks_[b];
    if (block.best != kNone && (best == nullptr || block.cost < best->cost)) best = &block;
  }
  return best == nullptr ? std::nullopt : std::optional<std::size_t>(best->best);
}

/// One node of a block at a time, so that nothing but the best of each block is looked at: small bounds are spread over
/// the blocks.
std::vector<std::uint32_t> CandidateRow::to_try(std::size_t count) const {
  const Block* tried = nullptr;  // the best of those
  for (const Block& block : blocks_)
    if (block.best != kNone && block.is_tried && (tried == nullptr || block.cost < tried->cost)) tried = &block;
  std::vector<const Block*> blocks;
  for (const Block& block : blocks_)
    if (block.best != kNone && !block.is_tried && (tried == nullptr || block.cost <= tried->cost))
      blocks.push_back(&block);
  if (count < blocks.size()) {
    const auto end = blocks.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(blocks.begin(), end, blocks.end(), [](const Block* a, const Block* b) {
      return std::tie(a->cost, a->best) < std::tie(b->cost, b->best);
    });
    blocks.erase(end, blocks.end());
  }
  std::vector<std::uint32_t> positions;
  positions.reserve(blocks.size());
  for (const Block* const block : blocks) positions.push_back(block->best);
  std::sort(positions.begin(), positions.end());
  return positions;
}

std::vector<std::uint32_t> CandidateRow::cheapest(std::size_t count) const {
  std::vector<std::uint32_t> positions;
  for (std::uint32_t position = 0; position < findings_.size(); ++position)
    if (has_cost(position)) positions.push_back(position);
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
  AnswerBasis basis = kept.lists_begin_ == lists.changes_begin() ? kept.basis_ : AnswerBasis();
  AnswerChanges changes = backend.answer_changes(pod, basis);
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
  row.reservations_ = std::move(changes.reservations);
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
