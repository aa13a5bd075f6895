// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/node_tree.h"

#include <iterator>
#include <utility>

namespace berth {

/// A node left its zone, or came to one, or both.
class NodeTree::Move : public UndoStep {
 public:
  Move(NodeTree& tree, NodeEntry& entry) : tree_(tree), entry_(entry) {}
  void undo() noexcept override {
    if (came) tree_.leave(entry_);
    if (left.zone != nullptr) tree_.return_to(left, entry_);
  }
  Left left;
  bool came = false;

 private:
  NodeTree& tree_;
  NodeEntry& entry_;
};

void NodeTree::put(NodeEntry& entry, const std::string& zone_key, UndoSteps* undo) {
  if (entry.zone != nullptr && entry.zone->key == zone_key) return;
  Move* const move = undo != nullptr ? &undo->add<Move>(*this, entry) : nullptr;
  Zones made;
  auto found = zone_by_key_.find(zone_key);
  if (found == zone_by_key_.end()) {
    made.push_back(Zone{zone_key});
    found = zone_by_key_.emplace(zone_key, made.begin()).first;
  }
  Left left = leave(entry);
  zones_.splice(zones_.end(), made);
  append(*found->second, entry);
  if (move == nullptr) return;
  move->left = std::move(left);
  move->came = true;
}

void NodeTree::remove(NodeEntry& entry, UndoSteps* undo) {
  if (entry.zone == nullptr) return;
  Move* const move = undo != nullptr ? &undo->add<Move>(*this, entry) : nullptr;
  Left left = leave(entry);
  if (move != nullptr) move->left = std::move(left);
}

NodeTree::Left NodeTree::leave(NodeEntry& entry) noexcept {
  Left left;
  if (entry.zone == nullptr) return left;
  Zone& zone = *entry.zone;
  left.zone = &zone;
  left.previous = entry.zone_previous;
  left.next = entry.zone_next;
  unlink(entry);
  --node_count_;
  if (zone.first != nullptr) return left;
  const auto found = zone_by_key_.find(zone.key);
  left.zone_behind = std::next(found->second);
  left.emptied.splice(left.emptied.end(), zones_, found->second);
  left.key = zone_by_key_.extract(found);
  return left;
}

/// The inverse of leave(), from the state that it left behind.
void NodeTree::return_to(Left& left, NodeEntry& entry) noexcept {
  if (!left.emptied.empty()) {
    zones_.splice(left.zone_behind, left.emptied);
    zone_by_key_.insert(std::move(left.key));  // has the room that it had before
  }
  Zone& zone = *left.zone;
  entry.zone = &zone;
  entry.zone_previous = left.previous;
  entry.zone_next = left.next;
  (left.previous == nullptr ? zone.first : left.previous->zone_next) = &entry;
  (left.next == nullptr ? zone.last : left.next->zone_previous) = &entry;
  ++node_count_;
}

void NodeTree::append(Zone& zone, NodeEntry& entry) noexcept {
  entry.zone = &zone;
  entry.zone_previous = zone.last;
  (zone.last == nullptr ? zone.first : zone.last->zone_next) = &entry;
  zone.last = &entry;
  ++node_count_;
}

void NodeTree::unlink(NodeEntry& entry) noexcept {
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
