// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is known of every node, from dry runs or from bounds, kept for the next pod of the same class and priority.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/preemption/candidate_cost.h"
#include "host/preemption/victim_lists.h"

namespace berth {

/// What became of a node.
enum class NodeFinding : std::uint8_t {
  kUnknown,      ///< it has to be looked at
  kBounded,      ///< not tried: a candidate there costs at least so much
  kNoCandidate,  ///< eviction does not help, there is nobody to evict, or the preemptor may not evict those
  // Of these two eviction may turn out not to help: a dry run does not say what the node says as it is.
  kNeedsNobody,  ///< the preemptor fits with all victims back, which upstream calls an error
  kCandidate,
};

/// One class and priority on the nodes of a VictimLists, by position.
class CandidateRow {
 public:
  NodeFinding finding(std::size_t position) const { return findings_[position]; }
  void set(std::size_t position, NodeFinding finding, const CandidateCost& cost = {}) {
    set_finding(position, finding);
    costs_[position] = cost;
    if (has_cost(position)) note_in_block(static_cast<std::uint32_t>(position));
  }
  /// The positions of these, in order.
  std::vector<std::uint32_t> with(NodeFinding finding) const;
  /// Of the candidates and bounded nodes of the least cost, the first; nullopt: there is none. Where it is a candidate,
  /// no node that was not tried is a better one.
  std::optional<std::size_t> best();
  /// Bounded nodes to try next, in order: at most so many of small bounds, best() among them. Call after best(), which
  /// is one.
  std::vector<std::uint32_t> to_try(std::size_t count) const;
  /// Positions of the candidates and bounded nodes of the least cost, the first ones among equals.
  /// @param count  at most so many
  std::vector<std::uint32_t> cheapest(std::size_t count) const;
  /// AnswerChanges::may_fail
  bool verdicts_may_fail() const { return verdicts_may_fail_; }
  /// AnswerChanges::reservations of the latest call of row_for()
  std::span<const NodeReservation> reservations() const { return reservations_; }

 private:
  friend class CandidateRows;

  static constexpr std::size_t kBlockNodes = 8;
  static constexpr std::uint32_t kNotSearched = UINT32_MAX;
  static constexpr std::uint32_t kNone = UINT32_MAX - 1;

  /// Not one with a cost.
  void set_finding(std::size_t position, NodeFinding finding) {
    findings_[position] = finding;
    Block& block = blocks_[position / kBlockNodes];
    if (block.best == position) block.best = kNotSearched;
  }
  /// The node has a cost now. As long as the best of its block is another one and a better one, no other is looked at.
  void note_in_block(std::uint32_t position) {
    Block& block = blocks_[position / kBlockNodes];
    if (block.best == kNotSearched) return;
    const bool is_best = block.best == kNone || costs_[position] < block.cost ||
                         (position < block.best && costs_[position] == block.cost);
    if (is_best) block = {position, findings_[position] == NodeFinding::kCandidate, costs_[position]};
  }
  bool has_cost(std::size_t position) const {
    return findings_[position] == NodeFinding::kCandidate || findings_[position] == NodeFinding::kBounded;
  }
  void forget_all(std::size_t nodes);
  struct Block {
    std::uint32_t best = kNotSearched;  ///< position of the least cost, kNone, or kNotSearched since a node changed
    bool is_tried = false;              ///< it is a candidate
    CandidateCost cost;
  };
  void search(std::size_t block);

  std::vector<NodeFinding> findings_;
  std::vector<CandidateCost> costs_;  ///< of candidates and bounded nodes
  std::vector<Block> blocks_;         ///< [position / kBlockNodes]
  AnswerBasis basis_;                 ///< of what the engine said
  bool verdicts_may_fail_ = true;
  std::vector<NodeReservation> reservations_;
  std::uint64_t lists_begin_ = 0;  ///< VictimLists::changes_begin()
  std::size_t lists_seen_ = 0;     ///< of VictimLists::changed_positions()
  std::uint64_t used_at_ = 0;
};

/// The rows of a VictimLists. A finding follows from the answers of the engine for its node, of which the engine says
/// when they are void (Backend::answer_changes()), and from the list of victims of the node, of which VictimLists says
/// it. Rows take 39 bytes a node each and 64 MiB at most; beyond, those that were not used for longest are given up.
class CandidateRows {
 public:
  /// The row for the pod, with everything unknown that may have changed since it was read last. Valid until the next
  /// call. @param lists  refreshed
  CandidateRow& row_for(const PodToPlace& pod, const Backend& backend, const VictimLists& lists);
  std::size_t size() const { return rows_.size(); }

 private:
  using Key = std::pair<std::int32_t, std::int32_t>;  ///< class, priority

  void make_room(std::size_t nodes);

  std::map<Key, CandidateRow> rows_;
  CandidateRow alone_;  ///< of a pod whose findings must not be kept
  std::uint64_t calls_ = 0;
};

}  // namespace berth
