// SPDX-License-Identifier: Apache-2.0
#pragma once

// What dry runs found on every node, kept for the next pod of the same class and priority.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/preemption/candidate_cost.h"
#include "host/preemption/victim_lists.h"

namespace berth {

/// What became of a node.
enum class NodeFinding : std::uint8_t {
  kUnknown,      ///< it has to be looked at
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
    costs_[position] = cost;
    set_finding(position, finding);
  }
  /// The positions of these, in order.
  std::vector<std::uint32_t> with(NodeFinding finding) const;
  /// Of the candidates of the least cost, the first; nullopt: there is no candidate.
  std::optional<std::size_t> best();
  /// Positions of the candidates of the least cost, the first ones among equals. @param count  at most so many
  std::vector<std::uint32_t> cheapest(std::size_t count) const;
  /// AnswerChanges::may_fail
  bool verdicts_may_fail() const { return verdicts_may_fail_; }

 private:
  friend class CandidateRows;

  static constexpr std::size_t kBlockNodes = 16;
  static constexpr std::uint32_t kNotSearched = UINT32_MAX;
  static constexpr std::uint32_t kNone = UINT32_MAX - 1;

  void set_finding(std::size_t position, NodeFinding finding) {
    findings_[position] = finding;
    best_of_block_[position / kBlockNodes] = kNotSearched;
  }
  void forget_all(std::size_t nodes);
  std::uint32_t best_in(std::size_t block) const;

  std::vector<NodeFinding> findings_;
  std::vector<CandidateCost> costs_;  ///< of candidates
  /// [position / kBlockNodes] the position of the best candidate, kNone, or kNotSearched since a node of it changed
  std::vector<std::uint32_t> best_of_block_;
  AnswerBasis basis_;  ///< of what the engine said
  bool verdicts_may_fail_ = true;
  std::uint64_t lists_begin_ = 0;  ///< VictimLists::changes_begin()
  std::size_t lists_seen_ = 0;     ///< of VictimLists::changed_positions()
  std::uint64_t used_at_ = 0;
};

/// The rows of a VictimLists. A finding follows from the answers of the engine for its node, of which the engine says
/// when they are void (Backend::answer_changes()), and from the list of victims of the node, of which VictimLists says
/// it. Rows take 34 bytes a node each and 64 MiB at most; beyond, those that were not used for longest are given up.
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
