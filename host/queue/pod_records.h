// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host/queue/queued_pod.h"
#include "host/queue/slot_index.h"
#include "host/queue/slot_table.h"

namespace berth {

/// A bit per plugin number of HintTable.
using PluginSet = std::uint64_t;

/// A pod of the queue with its place. Slots of records are used again.
struct PodRecord {
  enum class Place : std::uint8_t { kNone, kActive, kBackoff, kErrorBackoff, kUnschedulable, kHeld };
  static constexpr std::uint8_t kNotGated = UINT8_MAX;
  static constexpr std::uint32_t kNone = SlotIndex::kNone;
  static constexpr std::int64_t kExpiryUnknownUs = INT64_MAX;

  QueuedPodInfo info;
  std::int64_t expiry_us = kExpiryUnknownUs;  ///< of the backoff
  std::uint64_t order = 0;                    ///< among equal pods: who was added or returned earlier
  PluginSet unschedulable = 0;
  PluginSet pending = 0;
  std::uint32_t name_hash = 0;
  std::uint32_t position = 0;      ///< in the heap or list of its place
  std::uint32_t next = kNone;      ///< in the list of its class
  std::uint32_t previous = kNone;  ///< likewise
  std::uint32_t hint_class = kNone;
  std::uint16_t profile = 0;
  std::uint8_t gating_plugin = kNotGated;
  Place place = Place::kNone;

  PluginSet rejectors() const { return unschedulable | pending; }
  bool is_gated() const { return gating_plugin != kNotGated; }
};

/// All pods of the queue, found by namespace and name.
class PodRecords {
 public:
  static constexpr std::uint32_t kNone = SlotIndex::kNone;

  PodRecord& operator[](std::uint32_t slot) { return records_[slot]; }
  const PodRecord& operator[](std::uint32_t slot) const { return records_[slot]; }

  std::uint32_t find(const Pod& pod) const;
  /// The next create() needs no memory afterwards.
  void reserve_one() {
    records_.reserve_one();
    by_name_.reserve_one();
  }
  /// No other pod of the queue has the name.
  std::uint32_t create(PodRecord record);
  QueuedPodInfo destroy(std::uint32_t slot);
  std::size_t size() const { return by_name_.size(); }

 private:
  SlotTable<PodRecord> records_;
  SlotIndex by_name_;
};

}  // namespace berth
