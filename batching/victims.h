// SPDX-License-Identifier: Apache-2.0
#pragma once

// The victims of a DryRunRequest, prepared once for all its preemptors.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "batching/backend.h"
#include "batching/pod_class.h"
#include "batching/reprieve_lanes.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// What a pod takes of its node.
struct Footprint {
  ResourceDelta delta;  ///< of the requested amounts, which alone are read by Filter
  std::vector<HostPort> ports;

  /// Requested of one resource column.
  std::int64_t amount(std::int32_t column) const {
    for (const auto& [c, amount] : delta.requested)
      if (c == column) return amount;
    return 0;
  }
};

/// The victims of all lists, one after another. Those of one template share their footprint, and those that change the
/// same topology tables their kind.
class Victims {
 public:
  struct OfList {
    std::size_t first = 0;  ///< number of the first victim
    std::size_t count = 0;
    Footprint all;  ///< of all victims together
  };

  /// @param with_kinds  kinds will be read
  /// @throws std::logic_error naming a victim whose terms the engine does not know, if so
  Victims(const DryRunRequest& request, const ClassTable& table, bool with_kinds);

  const OfList& list(std::size_t list) const { return lists_[list]; }
  std::size_t list_count() const { return lists_.size(); }
  const Footprint& footprint(std::size_t victim) const { return footprints_[footprint_of_[victim]]; }
  /// 64 victims a word, from the list's first: which of them violate a budget.
  const std::uint64_t* violating(std::size_t list) const { return violating_.data() + first_word_[list]; }

  std::size_t kind_count() const { return kinds_.size(); }
  std::size_t kind_of(std::size_t victim) const { return kind_of_[victim]; }
  const Pod& pod_of_kind(std::size_t kind) const { return *kinds_[kind].pod; }
  /// TopologyQueries::known_owner_of() its pods
  std::int32_t owner_of_kind(std::size_t kind) const { return kinds_[kind].owner; }

 private:
  std::size_t find_footprint(const Pod& pod, const ClassTable& table);
  std::size_t find_kind(const Pod& pod, const ClassTable& table);

  struct Kind {
    const Pod* pod;
    std::int32_t owner;
  };
  struct KindKey {
    const PodSpec* spec;
    std::string_view name_space;
    std::string_view labels;
    friend bool operator==(const KindKey&, const KindKey&) = default;
  };
  struct KindKeyHash {
    std::size_t operator()(const KindKey& key) const {
      const std::hash<std::string_view> hash;
      return std::hash<const void*>()(key.spec) ^ (hash(key.name_space) * 31 + hash(key.labels));
    }
  };

  std::vector<OfList> lists_;
  std::vector<std::size_t> first_word_;  ///< [list] into violating_
  std::vector<std::uint64_t> violating_;
  std::vector<std::size_t> footprint_of_;
  std::vector<std::size_t> kind_of_;
  std::vector<Footprint> footprints_;
  std::unordered_map<const void*, std::size_t> footprint_of_key_;
  std::vector<Kind> kinds_;
  std::unordered_map<KindKey, std::size_t, KindKeyHash> kind_of_key_;
};

/// The amounts of the victims and their nodes in lanes, a block for kListLanes lists that follow each other. The rows
/// are pods and the resources that most classes request.
class VictimLanes {
 public:
  /// @param classes  of the preemptors that lanes() will be asked for, one entry for each
  VictimLanes(const DryRunRequest& request, const Victims& victims, std::span<const PodClass* const> classes,
              const Snapshot& snapshot);

  /// The request of a class in lanes; size 0: the class has no room in lanes.
  LaneRequest lanes(const PodClass& pod_class) const;
  static std::size_t block_of(std::size_t list) { return list / kListLanes; }
  static std::size_t lane_of(std::size_t list) { return list % kListLanes; }
  ListBlock block(std::size_t block) const {
    const Block& of = blocks_[block];
    return {node_rows_.data() + 2 * block * rows_, node_rows_.data() + (2 * block + 1) * rows_,
            amounts_.data() + of.first_amount, rows_, of.victims};
  }
  /// The amounts of the block are exact in lanes.
  bool is_exact(std::size_t block) const { return blocks_[block].is_exact; }

 private:
  struct Block {
    std::size_t first_amount = 0;  ///< into amounts_
    std::size_t victims = 0;
    bool is_exact = true;
  };

  void choose_rows(std::span<const PodClass* const> classes, std::int32_t column_count);
  void fill_lane(Block& block, std::size_t lane, const VictimList& list, const Victims::OfList& of_list,
                 const Victims& victims, const Snapshot& snapshot, ListLanes* node_rows);

  std::vector<std::int32_t> row_of_column_;  ///< 0: none
  std::vector<std::int32_t> columns_;        ///< [row - 1]
  std::size_t rows_ = 1;
  std::vector<Block> blocks_;
  std::vector<ListLanes> node_rows_;  ///< [block x (free, allocatable) x row]
  std::vector<ListLanes> amounts_;
};

}  // namespace berth
