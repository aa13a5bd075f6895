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
    : of_kind_(victims.memory().kind_count()), changed_lists_(victims.list_count(), 0) {
  const VictimMemory& memory = victims.memory();
  for (std::size_t kind = 0; kind < of_kind_.size(); ++kind) {
    of_kind_[kind] = table.topology().effect(memory.pod_of_kind(kind), memory.owner_of_kind(kind), *pod_class.topology,
                                             !affinity_skips);
    if (of_kind_[kind].empty() || lists_of_kinds == nullptr) continue;
    for (const std::uint32_t list : lists_of_kinds->of(kind)) changed_lists_[list] = 1;
  }
  if (lists_of_kinds != nullptr) return;
  for (std::size_t l = 0; l < changed_lists_.size(); ++l) {
    const std::vector<std::uint32_t>& kinds = victims.list(l).kinds;
    changed_lists_[l] =
        std::any_of(kinds.begin(), kinds.end(), [&](std::uint32_t kind) { return !of_kind_[kind].empty(); });
  }
}

}  // namespace berth
