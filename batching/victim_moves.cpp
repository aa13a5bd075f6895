// SPDX-License-Identifier: Apache-2.0
#include "batching/victim_moves.h"

#include <utility>

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
                         const Victims& victims, const ListsOfKinds* lists_of_kinds, KindMoves& known)
    : known_(known), changed_lists_(victims.list_count(), 0) {
  const VictimMemory& memory = victims.memory();
  known.of_kind.resize(memory.kind_count(), KindMoves::kNotAsked);
  const auto changes_tables = [&](std::size_t kind) {
    std::uint32_t& moves = known.of_kind[kind];
    if (moves == KindMoves::kNotAsked) {
      std::vector<CountMove> found = table.topology().effect(memory.pod_of_kind(kind), memory.owner_of_kind(kind),
                                                             *pod_class.topology, !affinity_skips);
      const bool is_none = found.empty();
      if (!is_none) known.moves.push_back(std::move(found));
      moves = is_none ? KindMoves::kNone : static_cast<std::uint32_t>(known.moves.size() - 1);
    }
    return moves != KindMoves::kNone;
  };
  std::size_t victims_count = 0;
  for (std::size_t l = 0; l < changed_lists_.size(); ++l) victims_count += victims.list(l).count();
  if (memory.kind_count() < victims_count / 2) {
    // Few kinds: when none of them changes anything, as is usual, no list need be looked at.
    bool any = false;
    for (std::size_t kind = 0; kind < memory.kind_count(); ++kind) any = changes_tables(kind) || any;
    if (!any) return;
  }
  if (lists_of_kinds != nullptr) {
    for (std::size_t kind = 0; kind < memory.kind_count(); ++kind) {
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
