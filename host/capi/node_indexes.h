// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "batching/backend.h"
#include "host/capi/node_table.h"

namespace berth::capi {

struct State;

/// The nodes of a roster as forks of one numbering have them. Immutable, so that many share one.
struct NodeIndexes {
  std::shared_ptr<const Roster> roster;
  /// Fork::numbering(), which no two owners share. Weak: it may hold a copy of the cluster that only forks need.
  std::weak_ptr<const void> numbering;
  std::vector<NodeIndex> of_entry;            ///< parallel to the roster's entries
  std::vector<std::uint32_t> number_of_slot;  ///< [NodeIndex::value]; BERTH_NO_NODE: not in the roster

  bool serve(const std::shared_ptr<const Roster>& asked, const Fork& fork) const;
  std::uint64_t bytes() const;
};

/// What the calls of one thread on a state have found of its nodes.
struct FoundIndexes {
  std::shared_ptr<const NodeIndexes> latest;  ///< null: none
  std::size_t found_alone = 0;                ///< nodes that were looked for by name, or by index, since
};

/// The nodes of the state's roster in its fork, which are kept for the next calls where they stay valid.
std::shared_ptr<const NodeIndexes> indexes_of(const State& state);
/// The same where it pays. @param wanted  how many nodes the call asks about
/// @return null: the call, and those before it, ask about so few that each is better found by its name
std::shared_ptr<const NodeIndexes> indexes_for(const State& state, std::size_t wanted);
/// The number of a node of the state's fork. @param indexes  of the state; null: none
std::uint32_t number_of(const State& state, NodeIndex node, const NodeIndexes* indexes);

}  // namespace berth::capi
