// SPDX-License-Identifier: Apache-2.0
#pragma once

// The victims of dry runs, prepared once for all preemptors of a request, and for later requests where lists have
// versions.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "batching/pod_class.h"
#include "batching/prepared_list.h"
#include "batching/victim_lanes.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// What kinds of victims change in the topology tables that one class reads, as far as somebody asked.
struct KindMoves {
  static constexpr std::uint32_t kNotAsked = UINT32_MAX;
  static constexpr std::uint32_t kNone = 0;
  std::vector<std::uint32_t> of_kind;            ///< into `moves`; kinds beyond its end were not asked about
  std::vector<std::vector<CountMove>> moves{1};  ///< [kNone] is empty
};

/// What an engine keeps of lists of victims from one call to the next.
class VictimMemory {
 public:
  /// Call at the beginning of each call. Forgets everything where numbers of resources or terms may mean something else
  /// than before, or there is too much.
  void begin(const ClassTable& table, const Snapshot& snapshot);
  /// What was found out for a class while the terms of the engine were these. Valid until the next begin().
  /// @param affinity_skips  affinity_pre_filter_skips() of the class
  KindMoves& moves_for(std::int32_t class_index, bool affinity_skips) { return moves_[{class_index, affinity_skips}]; }
  /// Lists that are prepared from now on have lanes with what the class requests, while there is room.
  void want_lanes(const PodClass& pod_class);

  /// A list and where it lies in lanes.
  struct Prepared {
    const PreparedList* list = nullptr;
    LaneTable* lanes = nullptr;
    std::size_t position = 0;
  };
  /// Valid until the next begin(). @param with_kinds, with_lanes  kinds, or lanes, will be read
  /// @throws std::logic_error naming a victim whose terms the engine does not know, if so
  Prepared prepare(const VictimList& list, const ClassTable& table, bool with_kinds, bool with_lanes);

  const Footprint& footprint(std::uint32_t footprint) const { return footprints_[footprint].footprint; }
  std::size_t kind_count() const { return kinds_.size(); }
  const Pod& pod_of_kind(std::size_t kind) const { return *kinds_[kind].pod; }
  /// TopologyQueries::known_owner_of() its pods
  std::int32_t owner_of_kind(std::size_t kind) const { return kinds_[kind].owner; }
  const LaneColumns& columns() const { return columns_; }

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
  /// The latest list of each node.
  struct Series {
    std::uint64_t used_at = 0;  ///< number of the call
    std::vector<PreparedList> of_slot;
    LaneTable lanes;
  };

  Series& find_or_add_series(std::uint64_t number);
  struct Place {
    PreparedList& list;
    LaneTable& lanes;
    std::size_t position;
  };
  Place place_for(const VictimList& list);
  void fill(const VictimList& list, const ClassTable& table, PreparedList& prepared);
  std::uint32_t find_footprint(const Pod& pod, const ClassTable& table);
  std::uint32_t find_kind(const Pod& pod, const ClassTable& table);

  std::uint64_t call_ = 0;
  std::uint64_t sweeps_ = 0;
  std::int32_t resource_count_ = -1;
  std::size_t slot_count_ = 0;
  std::map<std::uint64_t, Series> series_;
  std::pair<std::uint64_t, Series*> latest_series_;  ///< of this call
  std::deque<PreparedList> of_call_;                 ///< without a series
  LaneTable lanes_of_call_;                          ///< [of_call_]
  LaneColumns columns_;
  std::vector<KeptFootprint> footprints_;
  std::unordered_map<const PodSpec*, std::uint32_t> footprint_of_spec_;
  std::vector<Kind> kinds_;
  std::unordered_map<KindKey, std::uint32_t, KindKeyHash> kind_of_key_;
  std::uint64_t epoch_ = 0;  ///< TopologyIndex::epoch() of moves_
  std::map<std::pair<std::int32_t, bool>, KindMoves> moves_;
};

/// The memory of an engine, whose const calls may run at the same time.
struct SharedVictimMemory {
  std::mutex mutex;
  VictimMemory memory;
};

/// Made when it is asked for first: most forks never are.
class VictimMemoryAtNeed {
 public:
  VictimMemoryAtNeed() = default;
  ~VictimMemoryAtNeed() { delete memory_.load(std::memory_order_acquire); }
  VictimMemoryAtNeed(const VictimMemoryAtNeed&) = delete;
  VictimMemoryAtNeed& operator=(const VictimMemoryAtNeed&) = delete;
  /// Any thread.
  SharedVictimMemory& get() const {
    if (SharedVictimMemory* const known = memory_.load(std::memory_order_acquire)) return *known;
    auto made = std::make_unique<SharedVictimMemory>();
    SharedVictimMemory* other = nullptr;
    if (!memory_.compare_exchange_strong(other, made.get(), std::memory_order_acq_rel)) return *other;
    return *made.release();
  }

 private:
  mutable std::atomic<SharedVictimMemory*> memory_ = nullptr;
};

/// What one call uses: the memory of the engine, or one of its own while another call uses that.
class VictimMemoryOfCall {
 public:
  explicit VictimMemoryOfCall(SharedVictimMemory& shared)
      : lock_(shared.mutex, std::try_to_lock), memory_(lock_.owns_lock() ? &shared.memory : &own_) {}
  VictimMemory& get() const { return *memory_; }

 private:
  std::unique_lock<std::mutex> lock_;
  VictimMemory own_;
  VictimMemory* memory_;
};

/// The lists of a DryRunRequest.
class Victims {
 public:
  /// @param memory  begin() was called; must outlive the object @throws what VictimMemory::prepare() throws
  Victims(const DryRunRequest& request, const ClassTable& table, bool with_kinds, bool with_lanes,
          VictimMemory& memory);

  std::size_t list_count() const { return lists_.size(); }
  const PreparedList& list(std::size_t list) const { return *lists_[list].list; }
  /// In which lanes the list lies, and where.
  const LaneTable& lanes(std::size_t list) const { return *lists_[list].lanes; }
  std::size_t position(std::size_t list) const { return lists_[list].position; }
  const Footprint& footprint(const PreparedList& list, std::size_t victim) const {
    return memory_.footprint(list.footprints[victim]);
  }
  const VictimMemory& memory() const { return memory_; }

 private:
  const VictimMemory& memory_;
  std::vector<VictimMemory::Prepared> lists_;
};

}  // namespace berth
