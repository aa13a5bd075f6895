// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/node_side_view.h"
#include "batching/pod_class.h"
#include "host/cluster/cluster_change.h"
#include "host/config/feature_gates.h"
#include "plugins/image_locality/compile.h"

namespace berth {

/// The node sides of the guests of a what-if (host/cluster/guest_nodes.h): each from a snapshot of that node alone, by
/// the functions that build the rows of the engine, when a class is first asked about it.
class GuestSides {
 public:
  /// `table`, `gates` and `snapshot`, which is the what-if's, must outlive the object.
  GuestSides(const ClassTable& table, const FeatureGates& gates, const Snapshot& snapshot)
      : table_(table), gates_(gates), snapshot_(snapshot) {}

  /// Call when guests came, changed or went.
  void clear() {
    guests_.clear();
    image_answers_.clear();
  }
  /// The guests change the image scores of other nodes, or may: an image counts by the share of all nodes that have it.
  bool change_image_scores(std::int32_t pod_class);

  struct Side {
    const NodeSideRow* row = nullptr;  ///< of one node: 0
    const Snapshot* node = nullptr;
  };
  /// Null: the slot is not of a guest, or the guest went. Valid until clear().
  Side side(std::int32_t slot, std::int32_t pod_class, NodeSet node_set);
  bool is_guest(std::int32_t slot) const { return snapshot_.is_guest(slot); }
  /// NodeSideRow::refusal() of the guest of a slot. It does not depend on other guests and is kept when they change;
  /// guests that differ in their names alone share it, where the class reads no names.
  std::uint8_t refusal(std::int32_t slot, std::int32_t pod_class, NodeSet node_set);

 private:
  struct Guest {
    Snapshot node;
    std::vector<std::optional<ProfileRules<Rules>>> rules;  ///< [profile]
    /// By class and NodeSet. A row keeps its address.
    std::map<std::pair<std::int32_t, NodeSet>, NodeSideRow> row_of;
  };
  std::optional<ImageSpread> spread_with_guests(const std::string& image, const ImageColumn* known) const;
  bool find_change_of_image_scores(const PodClass& pod_class, const CompiledProfile& profile) const;
  void note_images(const PodClass& pod_class, Snapshot& node) const;
  NodeSideRow build(const PodClass& pod_class, NodeSet node_set, Guest& guest) const;

  /// What refusals of a guest are known by. It keeps the node, so that no other one has its address.
  struct Known {
    NodePtr node;
    std::uint32_t own = 0;   ///< a number of this node alone
    std::uint32_t kind = 0;  ///< that of all nodes that differ in their names alone
  };
  const Known& known_as(const NodePtr& node);
  bool reads_names(std::int32_t pod_class);

  const ClassTable& table_;
  const FeatureGates& gates_;
  const Snapshot& snapshot_;
  std::unordered_map<const Node*, Known> known_;
  std::map<NodeFingerprint, std::uint32_t> kinds_;
  std::unordered_map<std::uint64_t, std::uint8_t> refusals_;  ///< by number of a node or kind, class and NodeSet
  std::unordered_map<std::int32_t, bool> reads_names_;        ///< by class
  std::unordered_map<std::int32_t, Guest> guests_;            ///< by slot, that were asked about
  std::unordered_map<std::int32_t, bool> image_answers_;      ///< by class
};

/// The node sides of classes as one state reads them.
class NodeSides {
 public:
  /// Of a state without guests.
  NodeSides(ClassTable& table) : NodeSides(table, nullptr) {}  // NOLINT(google-explicit-constructor): they are its own
  /// @param guests  null: there are none
  NodeSides(ClassTable& table, GuestSides* guests) : table_(table), guests_(guests) {}
  ClassTable& table() const { return table_; }
  GuestSides* guests() const { return guests_; }  ///< null: there are none
  /// ClassTable::node_side()
  NodeSideView of(std::int32_t pod_class, NodeSet node_set = NodeSet::kNarrows) const {
    return view(table_.node_side(pod_class, node_set), pod_class, node_set);
  }
  /// The view for the node that a pod is nominated to, where PreFilter's node set does not apply.
  NodeSideView on_own_node(std::int32_t pod_class, std::int32_t node) const {
    const NodeSideView side = of(pod_class);
    return side.is_outside_node_set(node) ? of(pod_class, NodeSet::kIgnored) : side;
  }
  /// @param row  of the class, in the engine
  NodeSideView view(const NodeSideRow& row, std::int32_t pod_class, NodeSet node_set = NodeSet::kNarrows) const {
    return guests_ == nullptr ? NodeSideView(row) : NodeSideView(row, *guests_, pod_class, node_set);
  }

 private:
  ClassTable& table_;
  GuestSides* guests_;
};

}  // namespace berth
