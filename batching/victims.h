// SPDX-License-Identifier: Apache-2.0
#pragma once

// The victims of dry runs, prepared once for all preemptors of a request, and for later requests where lists have
// versions.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

/// A list as dry runs read it. Victims of one template share their footprint, and those that change the same topology
/// tables their kind.
struct PreparedList {
  std::uint64_t version = 0;  ///< VictimList::version
  std::uint64_t used_at = 0;  ///< number of the call
  bool has_kinds = false;
  std::vector<std::uint32_t> footprints;  ///< [victim]
  std::vector<std::uint32_t> kinds;       ///< [victim], if has_kinds
  std::vector<std::uint64_t> violating;   ///< 64 victims a word: which of them violate a budget
  Footprint all;                          ///< of all victims together
  /// [victim x all.delta.requested] their amounts side by side, so that reprieving them visits no footprint.
  std::vector<std::int64_t> amounts;

  static constexpr std::size_t kNoVictimRequests = SIZE_MAX;
  std::size_t count() const { return footprints.size(); }
  /// Position of the column within a victim's amounts.
  std::size_t index_of(std::int32_t column) const {
    for (std::size_t i = 0; i < all.delta.requested.size(); ++i)
      if (all.delta.requested[i].first == column) return i;
    return kNoVictimRequests;
  }
};

/// What an engine keeps of lists of victims from one call to the next.
class VictimMemory {
 public:
  /// Call at the beginning of each call. Forgets everything where numbers of resources or terms may mean something else
  /// than before, or there is too much.
  void begin(const ClassTable& table, const Snapshot& snapshot);
  /// Valid until the next begin(). @param with_kinds  kinds will be read
  /// @throws std::logic_error naming a victim whose terms the engine does not know, if so
  const PreparedList& prepare(const VictimList& list, const ClassTable& table, bool with_kinds);

  const Footprint& footprint(std::uint32_t footprint) const { return footprints_[footprint].footprint; }
  std::size_t kind_count() const { return kinds_.size(); }
  const Pod& pod_of_kind(std::size_t kind) const { return *kinds_[kind].pod; }
  /// TopologyQueries::known_owner_of() its pods
  std::int32_t owner_of_kind(std::size_t kind) const { return kinds_[kind].owner; }

 private:
  // Keys refer to what the entries own, so that no address is met again with another meaning.
  struct KeptFootprint {
    Footprint footprint;
    std::shared_ptr<const PodSpec> spec;
  };
  struct Kind {
    std::shared_ptr<const Pod> pod;
    std::int32_t owner;
  };
  struct KindKey {
    const PodSpec* spec;  ///< null: without terms
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

  PreparedList& find_or_add(const VictimList& list);
  void fill(const VictimList& list, const ClassTable& table, PreparedList& prepared);
  std::uint32_t find_footprint(const Pod& pod, const ClassTable& table);
  std::uint32_t find_kind(const Pod& pod, const ClassTable& table);

  std::uint64_t call_ = 0;
  std::uint64_t sweeps_ = 0;
  std::int32_t resource_count_ = -1;
  std::vector<std::vector<std::unique_ptr<PreparedList>>> of_slot_;  ///< with a version
  std::vector<std::unique_ptr<PreparedList>> of_call_;               ///< without
  std::vector<KeptFootprint> footprints_;
  std::unordered_map<const PodSpec*, std::uint32_t> footprint_of_spec_;
  std::vector<Kind> kinds_;
  std::unordered_map<KindKey, std::uint32_t, KindKeyHash> kind_of_key_;
};

/// The lists of a DryRunRequest.
class Victims {
 public:
  /// @param memory  begin() was called; must outlive the object @throws what VictimMemory::prepare() throws
  Victims(const DryRunRequest& request, const ClassTable& table, bool with_kinds, VictimMemory& memory);

  std::size_t list_count() const { return lists_.size(); }
  const PreparedList& list(std::size_t list) const { return *lists_[list]; }
  const Footprint& footprint(const PreparedList& list, std::size_t victim) const {
    return memory_.footprint(list.footprints[victim]);
  }
  const VictimMemory& memory() const { return memory_; }

 private:
  const VictimMemory& memory_;
  std::vector<const PreparedList*> lists_;
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
  void fill_lane(Block& block, std::size_t lane, const VictimList& list, const PreparedList& prepared,
                 const Victims& victims, const Snapshot& snapshot, ListLanes* node_rows);

  std::vector<std::int32_t> row_of_column_;  ///< 0: none
  std::vector<std::int32_t> columns_;        ///< [row - 1]
  std::size_t rows_ = 1;
  std::vector<Block> blocks_;
  std::vector<ListLanes> node_rows_;  ///< [block x (free, allocatable) x row]
  std::vector<ListLanes> amounts_;
};

}  // namespace berth
