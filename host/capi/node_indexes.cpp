// SPDX-License-Identifier: Apache-2.0
#include "host/capi/node_indexes.h"

#include <stdexcept>

#include "host/capi/what_if.h"

namespace berth::capi {
namespace {

/// Those that an earlier call found, here or in another state of the cluster.
std::shared_ptr<const NodeIndexes> known_indexes(const State& state) {
  FoundIndexes& found = state.found;
  if (found.latest != nullptr && found.latest->serve(state.facts.roster, state.fork)) return found.latest;
  if (found.found_alone > 0) return nullptr;  // the cluster's were looked at then
  std::shared_ptr<const NodeIndexes> kept = state.cluster.nodes().kept_indexes();
  if (kept == nullptr || !kept->serve(state.facts.roster, state.fork)) return nullptr;
  return found.latest = std::move(kept);
}

std::shared_ptr<const NodeIndexes> find_all(const State& state) {
  auto indexes = std::make_shared<NodeIndexes>();
  indexes->roster = state.facts.roster;
  indexes->of_entry.reserve(indexes->roster->entries().size());
  const std::shared_ptr<const void> numbering = state.fork.numbering();
  for (const Roster::Entry& entry : indexes->roster->entries()) {
    const NodeIndex node = state.fork.find_node(*state.cluster.nodes().name_of(entry.number));
    if (node == kNoNode) throw std::logic_error("a fork lacks a node of its roster");
    indexes->of_entry.push_back(node);
  }
  if (numbering == nullptr || state.fork.numbering() != numbering) return indexes;  // valid until the fork changes
  indexes->numbering = numbering;
  state.found = {indexes, 0};
  if (state.facts.roster == state.snapshot_roster) state.cluster.nodes().keep(indexes);
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
  if (std::shared_ptr<const NodeIndexes> known = known_indexes(state)) return known;
  const std::size_t enough = state.facts.roster->entries().size() / 2;
  if (state.found.found_alone + wanted < enough) {
    state.found.found_alone += wanted;
    return nullptr;
  }
  return find_all(state);
}

}  // namespace berth::capi
