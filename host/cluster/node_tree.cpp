// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/node_tree.h"

namespace berth {

void NodeTree::put(NodeEntry& entry, const std::string& zone_key) {
  if (entry.zone != nullptr) {
    if (entry.zone->key == zone_key) return;
    remove(entry);
  }
  auto [found, is_new] = zone_by_key_.try_emplace(zone_key);
  if (is_new) found->second = zones_.insert(zones_.end(), Zone{zone_key});
  Zone& zone = *found->second;
  entry.zone = &zone;
  entry.zone_previous = zone.last;
  (zone.last == nullptr ? zone.first : zone.last->zone_next) = &entry;
  zone.last = &entry;
  ++node_count_;
}

void NodeTree::remove(NodeEntry& entry) {
  if (entry.zone == nullptr) return;
  Zone& zone = *entry.zone;
  unlink(entry);
  --node_count_;
  if (zone.first != nullptr) return;
  const auto found = zone_by_key_.find(zone.key);
  zones_.erase(found->second);
  zone_by_key_.erase(found);
}

void NodeTree::unlink(NodeEntry& entry) {
  Zone& zone = *entry.zone;
  (entry.zone_previous == nullptr ? zone.first : entry.zone_previous->zone_next) = entry.zone_next;
  (entry.zone_next == nullptr ? zone.last : entry.zone_next->zone_previous) = entry.zone_previous;
  entry.zone_previous = entry.zone_next = nullptr;
  entry.zone = nullptr;
}

std::vector<const NodeInfo*> NodeTree::interleaved() const {
  std::vector<const NodeEntry*> heads;
  heads.reserve(zones_.size());
  for (const Zone& zone : zones_) heads.push_back(zone.first);
  std::vector<const NodeInfo*> order;
  order.reserve(node_count_);
  while (!heads.empty()) {
    std::size_t kept = 0;
    for (const NodeEntry* head : heads) {
      order.push_back(head);
      if (head->zone_next != nullptr) heads[kept++] = head->zone_next;
    }
    heads.resize(kept);
  }
  return order;
}

}  // namespace berth
