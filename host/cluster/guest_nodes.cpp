// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/guest_nodes.h"

#include <algorithm>
#include <set>
#include <utility>

namespace berth {

const GuestNode* GuestNodes::find(std::int32_t slot) const {
  const auto at = std::lower_bound(guests_.begin(), guests_.end(), slot,
                                   [](const GuestNode& guest, std::int32_t wanted) { return guest.slot < wanted; });
  return at == guests_.end() || at->slot != slot ? nullptr : &*at;
}

const GuestNode* GuestNodes::find(std::string_view name) const {
  const auto at =
      std::find_if(guests_.begin(), guests_.end(), [&](const GuestNode& guest) { return guest.name == name; });
  return at == guests_.end() ? nullptr : &*at;
}

void GuestNodes::set(GuestNode guest) {
  const auto at = std::lower_bound(guests_.begin(), guests_.end(), guest.slot,
                                   [](const GuestNode& known, std::int32_t slot) { return known.slot < slot; });
  if (at != guests_.end() && at->slot == guest.slot) {
    *at = std::move(guest);
  } else {
    guests_.insert(at, std::move(guest));
  }
}

namespace {

/// Zones and nodes as NodeTree keeps them, by slot.
class ZonesOfSlots {
 public:
  explicit ZonesOfSlots(std::vector<GuestOrder::Zone> zones) : zones_(std::move(zones)) {}

  /// A node that is there moves only when its zone changed.
  void put(std::int32_t slot, const std::string& key) {
    const auto home = zone_of(slot);
    if (home != zones_.end() && home->key == key) return;
    if (home != zones_.end()) leave(home, slot);
    auto zone = std::find_if(zones_.begin(), zones_.end(), [&](const auto& known) { return known.key == key; });
    if (zone == zones_.end()) zone = zones_.insert(zones_.end(), {key, {}});
    zone->slots.push_back(slot);
  }
  void remove(std::int32_t slot) {
    if (const auto home = zone_of(slot); home != zones_.end()) leave(home, slot);
  }
  /// The first node of every zone, then the second of every zone, and so on.
  std::vector<std::int32_t> interleaved() const {
    std::vector<std::int32_t> order;
    std::size_t rounds = 0;
    for (const GuestOrder::Zone& zone : zones_) rounds = std::max(rounds, zone.slots.size());
    for (std::size_t round = 0; round < rounds; ++round)
      for (const GuestOrder::Zone& zone : zones_)
        if (round < zone.slots.size()) order.push_back(zone.slots[round]);
    return order;
  }

 private:
  using At = std::vector<GuestOrder::Zone>::iterator;
  At zone_of(std::int32_t slot) {
    return std::find_if(zones_.begin(), zones_.end(), [&](const GuestOrder::Zone& zone) {
      return std::find(zone.slots.begin(), zone.slots.end(), slot) != zone.slots.end();
    });
  }
  /// A zone without nodes is gone, and returns at the end.
  void leave(At zone, std::int32_t slot) {
    std::erase(zone->slots, slot);
    if (zone->slots.empty()) zones_.erase(zone);
  }

  std::vector<GuestOrder::Zone> zones_;
};

}  // namespace

std::vector<std::int32_t> GuestOrder::after_events(std::vector<Zone> zones,
                                                   std::span<const std::int32_t> before) const {
  std::vector<std::int32_t> order(before.begin(), before.end());
  ZonesOfSlots tree(std::move(zones));
  // Slots that have a node and are not in the order, or the other way round: with none, the order stays.
  std::set<std::int32_t> listed(before.begin(), before.end());
  std::set<std::int32_t> differing;
  for (const Event& event : events_) {
    if (event.slot == kEndOfList) {
      if (differing.empty()) continue;
      order = tree.interleaved();
      listed = std::set<std::int32_t>(order.begin(), order.end());
      differing.clear();
      continue;
    }
    if (event.zone_key) {
      tree.put(event.slot, *event.zone_key);
    } else {
      tree.remove(event.slot);
    }
    if (event.zone_key.has_value() == listed.contains(event.slot)) {
      differing.erase(event.slot);
    } else {
      differing.insert(event.slot);
    }
  }
  return order;
}

}  // namespace berth
