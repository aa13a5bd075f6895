// SPDX-License-Identifier: Apache-2.0
#pragma once

// Nodes that came, changed or went in a what-if alone: its guests. Everything else about nodes a what-if reads from the
// engine that it is of.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"

namespace berth {

/// A what-if with more guests opens an engine of its own: finding one among them costs steps.
inline constexpr std::size_t kGuestsMax = 1024;

/// A guest keeps its slot in its what-if, and its name keeps the slot: a node that goes and comes back gets the same.
struct GuestNode {
  std::int32_t slot = -1;  ///< that of the engine's node of this name, or one beyond those of the engine
  std::string name;
  NodePtr node;  ///< null: it went
  std::uint64_t name_hash = 0;
};

/// The guests of a what-if, by slot. Few.
class GuestNodes {
 public:
  bool empty() const { return guests_.empty(); }
  std::span<const GuestNode> all() const { return guests_; }
  /// null: the slot is not of a guest.
  const GuestNode* find(std::int32_t slot) const;
  const GuestNode* find(std::string_view name) const;
  /// Replaces what is known of the slot.
  void set(GuestNode guest);

 private:
  std::vector<GuestNode> guests_;  ///< ascending by slot
};

/// How node order follows from the guests: docs/behaviour/scheduler-core.md 2.5. Computed when somebody asks, which few
/// what-ifs do.
class GuestOrder {
 public:
  /// The node came to a zone, or its object was replaced; nullopt: it went.
  void note(std::int32_t slot, std::optional<std::string> zone_key) { events_.push_back({slot, std::move(zone_key)}); }
  /// The order is taken over after each list of events, as of an engine.
  void end_of_list() { events_.push_back({kEndOfList, std::nullopt}); }

  /// The nodes of one zone in order of arrival.
  struct Zone {
    std::string key;
    std::vector<std::int32_t> slots;
  };
  /// @param zones  of the engine, in their order @param order  of the engine
  std::vector<std::int32_t> after_events(std::vector<Zone> zones, std::span<const std::int32_t> order) const;

 private:
  static constexpr std::int32_t kEndOfList = -1;
  struct Event {
    std::int32_t slot;
    std::optional<std::string> zone_key;
  };
  std::vector<Event> events_;
};

}  // namespace berth
