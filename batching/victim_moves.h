// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "batching/pod_class.h"
#include "batching/victims.h"

namespace berth {

/// The lists in which each kind of victims occurs.
class ListsOfKinds {
 public:
  explicit ListsOfKinds(const Victims& victims);
  /// A list may repeat.
  std::span<const std::uint32_t> of(std::size_t kind) const {
    return {lists_.data() + first_[kind], first_[kind + 1] - first_[kind]};
  }

 private:
  std::vector<std::size_t> first_;  ///< [kind], and the end
  std::vector<std::uint32_t> lists_;
};

/// What the victims of a request change in the topology tables that one class reads.
class VictimMoves {
 public:
  /// @param affinity_skips  affinity_pre_filter_skips() of the class
  /// @param lists_of_kinds  null: each list is looked at, which is less work for a few classes
  /// @param known  VictimMemory::moves_for() the class; what it lacks is added. Must outlive the object
  VictimMoves(const PodClass& pod_class, bool affinity_skips, const ClassTable& table, const Victims& victims,
              const ListsOfKinds* lists_of_kinds, KindMoves& known);

  /// Of a kind that occurs in the request.
  std::span<const CountMove> of_kind(std::size_t kind) const { return known_.moves[known_.of_kind[kind]]; }
  /// Some victim of the list changes a table that the class reads.
  bool change(std::size_t list) const { return changed_lists_[list] != 0; }

 private:
  const KindMoves& known_;
  std::vector<std::uint8_t> changed_lists_;
};

}  // namespace berth
