// SPDX-License-Identifier: Apache-2.0
#pragma once

// The steps of a drain: what the rules say of a node's pods, and where those that leave go.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/capi/drain.h"

namespace berth::capi {

/// A node that is drained, with what is found out about it.
struct Drained {
  std::uint32_t number = 0;
  std::string name;
  NodePtr object;
  std::vector<PodPtr> pods;
  std::vector<PodFate> fates;                ///< [pods]
  std::vector<const PodHandlePtr*> handles;  ///< [pods] null: it does not move
  std::vector<std::uint32_t> targets;        ///< [pods]
  std::vector<std::string> messages;         ///< [pods]
  std::vector<std::uint32_t> new_nodes;      ///< [pods] of replacements; empty of drains
  bool is_removable = false;
  std::size_t blocking = SIZE_MAX;  ///< of the pods

  bool is_blocked() const {
    return std::ranges::any_of(fates, [](const PodFate& fate) { return fate.outcome == BERTH_POD_BLOCKS; });
  }
  void decide() {
    const auto is_in_the_way = [](const PodFate& fate) { return fate.outcome >= BERTH_POD_BLOCKS; };
    const auto first = std::ranges::find_if(fates, is_in_the_way);
    is_removable = first == fates.end();
    blocking = is_removable ? SIZE_MAX : static_cast<std::size_t>(first - fates.begin());
  }
};

/// The nodes without their pods. @throws ApiError naming a node that is not there, or is named twice
std::vector<Drained> named_nodes(const State& state, std::span<const std::uint32_t> numbers);

/// Reads the pods of each node, sorts them, and asks the rules about them, each node by itself, in the engine's arena.
void ask_rules(std::span<Drained> nodes, const State& state, const DrainOptions& options);

/// The pods that may move, prepared: one for all that no rule can tell apart, or, where they are chosen by score, each.
/// Drained::handles refer to it.
class Movers {
 public:
  /// @param fork  of the state
  Movers(const std::shared_ptr<Cluster>& cluster, std::span<Drained> nodes, bool each, Fork& fork);
  Movers(const Movers&) = delete;
  Movers& operator=(const Movers&) = delete;

  std::size_t count() const { return count_; }  ///< of the pods that may move

 private:
  std::vector<PodHandlePtr> pods_;
  std::size_t count_ = 0;
};

std::size_t count_of(std::span<const std::unique_ptr<Movers>> movers);

/// ask_rules() and Movers of all nodes, piece by piece until the watch is over. @return what Drained::handles refer to
std::vector<std::unique_ptr<Movers>> asked_and_prepared(const State& state, const std::shared_ptr<Cluster>& cluster,
                                                        std::span<Drained> nodes, const DrainOptions& options,
                                                        const StopWatch& watch);

/// Where pods may go.
struct Candidates {
  std::vector<std::uint32_t> numbers;  ///< ascending
  std::vector<bool> among;             ///< [NodeIndex] the same, of forks that keep indices; empty: not known
  std::vector<NodeIndex> indices;      ///< [numbers] in forks of this numbering; empty: each is found by its name
  std::shared_ptr<const void> numbering;
};

/// @param left_out  nodes that take no pod
/// @param wanted  about how many nodes will be asked
Candidates candidates_of(const State& state, const DrainOptions& options, std::span<const std::uint32_t> left_out,
                         std::size_t wanted);

/// Drains each node by itself, piece by piece in the engine's arena, with drain(node, candidates), which says whether
/// the node is done.
/// @return how many at the front are done
std::size_t drain_in_pieces(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<Drained> nodes,
                            const DrainOptions& options, const StopWatch& watch,
                            const std::function<bool(Drained&, const Candidates&)>& drain);

/// A fork, or a what-if whose user sees what is done.
class Place {
 public:
  explicit Place(Fork& fork) : fork_(&fork) {}
  explicit Place(WhatIf& what_if) : what_if_(&what_if) {}

  Fork& fork() const { return fork_ != nullptr ? *fork_ : what_if_->state().fork; }
  void apply(ClusterChange change) {
    std::vector<ClusterChange> changes;
    changes.push_back(std::move(change));
    if (fork_ != nullptr) return fork_->apply(changes);
    what_if_->apply(std::move(changes));
  }
  BatchResult commit(const PodHandlePtr& pod, const BatchLimits& limits) {
    const PodToPlace& to_place = pod->pod->to_place;
    if (fork_ != nullptr) return fork_->commit_batch({&to_place, 1}, limits);
    return what_if_->commit_batch({&pod, 1}, {&to_place, 1}, limits);
  }

 private:
  Fork* fork_ = nullptr;
  WhatIf* what_if_ = nullptr;
};

/// Moves the pods of one node after another.
class Moving {
 public:
  /// The arguments must outlive this.
  Moving(Place place, Cluster& cluster, const Candidates& candidates, const DrainOptions& options,
         const StopWatch& watch)
      : place_(place),
        cluster_(cluster),
        candidates_(candidates),
        watch_(watch),
        by_score_((options.flags & BERTH_DRAIN_BY_SCORE) != 0) {}

  /// Nothing moves where a pod blocks. @return false: the watch was over before all pods were tried
  bool move_pods(Drained& node);
  /// The pods stand where they stood.
  void move_back(const Drained& node);

 private:
  /// @return false: it was interrupted, and the pod stands where it stood
  bool move(Drained& node, std::size_t i);
  std::uint32_t by_score(const PodHandlePtr& pod, Drained& node, std::size_t i);
  std::vector<bool> indices_among(const Drained& node);
  NodeIndex index_of(std::uint32_t number) { return place_.fork().find_node(*cluster_.nodes().name_of(number)); }
  /// Of a candidate.
  NodeIndex index_at(std::size_t position) {
    const bool is_known = candidates_.numbering != nullptr && place_.fork().numbering() == candidates_.numbering;
    return is_known ? candidates_.indices[position] : index_of(candidates_.numbers[position]);
  }
  std::uint32_t by_first_fit(Drained& node, std::size_t i);
  std::string why_nowhere(const PodToPlace& pod, const Drained& node);

  Place place_;
  Cluster& cluster_;
  const Candidates& candidates_;
  const StopWatch& watch_;
  bool by_score_;
  std::size_t start_ = 0;
};

/// The columns of a drain.
void write(std::span<const Drained> nodes, Result& result);
/// The node as it stays.
NodeUpsert cordon(const Drained& node, const DrainOptions& options);

}  // namespace berth::capi
