// SPDX-License-Identifier: Apache-2.0
#include "host/capi/node_indexes.h"

#include <stdexcept>
#include <utility>

#include "host/capi/what_if.h"

namespace berth::capi {
namespace {

/// Those that an earlier call found, here or in another state of the cluster.
std::shared_ptr<const NodeIndexes> known_indexes(const State& state) {
  FoundIndexes& found = state.found;
  if (found.latest != nullptr && found.latest->serve(state.facts.roster, state.fork)) return found.latest;
  std::shared_ptr<const NodeIndexes> kept = state.cluster.nodes().kept_indexes();
  if (kept == nullptr || !kept->serve(state.facts.roster, state.fork)) return nullptr;
  return found.latest = std::move(kept);
}

bool is_of_snapshot(const State& state) { return state.facts.roster == state.snapshot_roster; }

std::shared_ptr<const NodeIndexes> find_all(const State& state) {
  auto indexes = std::make_shared<NodeIndexes>();
  indexes->roster = state.facts.roster;
  indexes->of_entry.reserve(indexes->roster->entries().size());
  const std::shared_ptr<const void> numbering = state.fork.numbering();
  for (const Roster::Entry& entry : indexes->roster->entries()) {
    const NodeIndex node = state.fork.find_node(*state.cluster.nodes().name_of(entry.number));
    if (node == kNoNode) throw std::logic_error("a fork lacks a node of its roster");
    indexes->of_entry.push_back(node);
    const auto slot = static_cast<std::size_t>(node.value);
    if (slot >= indexes->number_of_slot.size()) indexes->number_of_slot.resize(slot + 1, BERTH_NO_NODE);
    indexes->number_of_slot[slot] = entry.number;
  }
  if (numbering == nullptr || state.fork.numbering() != numbering) return indexes;  // valid until the fork changes
  indexes->numbering = numbering;
  state.found = {indexes, 0};
  if (is_of_snapshot(state)) state.cluster.nodes().keep(indexes);
  return indexes;
}

}  // namespace

bool NodeIndexes::serve(const std::shared_ptr<const Roster>& asked, const Fork& fork) const {
  if (roster != asked) return false;
  const std::shared_ptr<const void> now = fork.numbering();
  return now != nullptr && !numbering.owner_before(now) && !now.owner_before(numbering);
}

std::shared_ptr<const NodeIndexes> indexes_of(const State& state) {
  std::shared_ptr<const NodeIndexes> known = known_indexes(state);
  return known != nullptr ? known : find_all(state);
}

std::shared_ptr<const NodeIndexes> indexes_for(const State& state, std::size_t wanted) {
  // Those of the cluster are looked at by the first call.
  const bool is_first = state.found.found_alone == 0 || state.found.latest != nullptr;
  if (is_first)
    if (std::shared_ptr<const NodeIndexes> known = known_indexes(state)) return known;
  state.found.found_alone += wanted;
  const std::size_t found_alone =
      is_of_snapshot(state) ? state.cluster.nodes().note_found_alone(wanted) : state.found.found_alone;
  return found_alone < state.facts.roster->entries().size() / 2 ? nullptr : indexes_of(state);
}

std::uint32_t number_of(const State& state, NodeIndex node, const NodeIndexes* indexes) {
  if (node == kNoNode) return BERTH_NO_NODE;
  const auto slot = static_cast<std::size_t>(node.value);
  if (indexes != nullptr && slot < indexes->number_of_slot.size() && indexes->number_of_slot[slot] != BERTH_NO_NODE)
    return indexes->number_of_slot[slot];
  return state.cluster.nodes().number_of(state.fork.node_name(node));
}

}  // namespace berth::capi
