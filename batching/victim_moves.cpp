// SPDX-License-Identifier: Apache-2.0
#include "batching/victim_moves.h"

#include <algorithm>

namespace berth {

ListsOfKinds::ListsOfKinds(const Victims& victims) : first_(victims.memory().kind_count() + 1, 0) {
  const auto for_each = [&](const auto& visit) {
    for (std::size_t l = 0; l < victims.list_count(); ++l)
      for (const std::uint32_t kind : victims.list(l).kinds) visit(kind, l);
  };
  for_each([&](std::size_t kind, std::size_t /*list*/) { ++first_[kind + 1]; });
  for (std::size_t kind = 0; kind + 1 < first_.size(); ++kind) first_[kind + 1] += first_[kind];
  lists_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for_each([&](std::size_t kind, std::size_t list) { lists_[next[kind]++] = static_cast<std::uint32_t>(list); });
}

VictimMoves::VictimMoves(const PodClass& pod_class, bool affinity_skips, const ClassTable& table,
                         const Victims& victims, const ListsOfKinds* lists_of_kinds)
    : moves_of_kind_(victims.memory().kind_count(), kNotAsked), changed_lists_(victims.list_count(), 0) {
  const VictimMemory& memory = victims.memory();
  const auto changes_tables = [&](std::size_t kind) {
    if (moves_of_kind_[kind] == kNotAsked) {
      moves_.push_back(table.topology().effect(memory.pod_of_kind(kind), memory.owner_of_kind(kind),
                                               *pod_class.topology, !affinity_skips));
      moves_of_kind_[kind] = static_cast<std::uint32_t>(moves_.size() - 1);
    }
    return !moves_[moves_of_kind_[kind]].empty();
  };
  std::size_t victims_count = 0;
  for (std::size_t l = 0; l < changed_lists_.size(); ++l) victims_count += victims.list(l).count();
  if (moves_of_kind_.size() < victims_count / 2) {
    // Few kinds: when none of them changes anything, as is usual, no list need be looked at.
    bool any = false;
    for (std::size_t kind = 0; kind < moves_of_kind_.size(); ++kind) any = changes_tables(kind) || any;
    if (!any) return;
  }
  if (lists_of_kinds != nullptr) {
    for (std::size_t kind = 0; kind < moves_of_kind_.size(); ++kind) {
      const std::span<const std::uint32_t> lists = lists_of_kinds->of(kind);
      if (lists.empty() || !changes_tables(kind)) continue;
      for (const std::uint32_t list : lists) changed_lists_[list] = 1;
    }
    return;
  }
  for (std::size_t l = 0; l < changed_lists_.size(); ++l)
    for (const std::uint32_t kind : victims.list(l).kinds)
      if (changes_tables(kind)) changed_lists_[l] = 1;
}

}  // namespace berth
