// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "batching/guest_sides.h"
#include "batching/node_side_view.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"

namespace berth {

/// A prepared pod as const calls read it. Refers to the table and the pod, which must outlive it.
class PreparedPod {
 public:
  /// @throws std::logic_error naming the pod when Backend::prepare() has not seen it, or not since the cluster or the
  ///     registered terms changed
  PreparedPod(const PodToPlace& pod, const ClassTable& table, const Nominations& nominations, const Snapshot& snapshot)
      : PreparedPod(pod, table, nullptr, nominations, snapshot) {}
  /// @param sides  of the state, which may have guests
  PreparedPod(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations, const Snapshot& snapshot)
      : PreparedPod(pod, sides.table(), sides.guests(), nominations, snapshot) {}

  /// Non-empty: the cycle ends with this error before any node is filtered, and the rest must not be read.
  const std::string& error() const { return error_; }
  const Pod& pod() const { return pod_; }
  std::int32_t class_index() const { return class_index_; }
  const PodClass& pod_class() const { return *pod_class_; }
  const NodeSideRow& row() const { return *row_; }
  std::int32_t own_node() const { return own_node_; }  ///< that the pod is nominated to; -1: none
  const PreFilterAnswer& pre_filter() const { return pre_filter_; }
  const CompiledProfile& profile() const { return *profile_; }
  PluginNames pre_filter_rejectors() const { return berth::pre_filter_rejectors(pre_filter_, *pod_class_, *row_); }

  /// Filter may end with an error on some node.
  bool filter_may_fail() const;
  /// PreFilter refuses the pod on every node.
  bool is_refused() const { return !pre_filter_.message.empty(); }
  /// What Filter reads on the node. Read it where PreFilter does not refuse the pod there.
  NodeSideView side_of(std::int32_t node) const {
    return is_left_out(node) ? view(*open_row_, NodeSet::kIgnored) : view(*row_, NodeSet::kNarrows);
  }
  /// The same; nullopt: PreFilter refuses the pod there, whoever is evicted.
  std::optional<NodeSideView> side_on(std::int32_t node) const {
    if (is_refused_for_good() || !is_filtered(node)) return std::nullopt;
    return side_of(node);
  }
  /// The node is in PreFilter's node set, and no rule of the node side refuses it; of a pod without plugins on the
  /// host.
  bool side_accepts(std::int32_t node) const {
    return view(*row_, NodeSet::kNarrows).refusal(node) == NodeSideRow::kAccepted;
  }
  /// PreFilter's node set leaves the node out.
  bool is_left_out(std::int32_t node) const {
    return is_outside_node_set(*pod_class_, view(*row_, NodeSet::kNarrows), snapshot_, node);
  }
  /// Outside PreFilter's node set only the node that the pod is nominated to is filtered.
  bool is_filtered(std::int32_t node) const { return !is_left_out(node) || node == own_node_; }
  /// The verdict of PreFilter on a node that it refuses.
  NodeVerdict pre_filter_verdict(std::int32_t node) const;
  /// The verdict where side_on() is none.
  NodeVerdict verdict_without_side(std::int32_t node) const {
    return is_refused_for_good() ? pre_filter_verdict(node) : outside_verdict(node);
  }
  /// The verdict on a node that PreFilter's node set leaves out.
  NodeVerdict outside_verdict(std::int32_t node) const;

 private:
  PreparedPod(const PodToPlace& pod, const ClassTable& table, GuestSides* guests, const Nominations& nominations,
              const Snapshot& snapshot);
  bool is_refused_for_good() const {
    return is_refused() && pre_filter_.code == StatusCode::kUnschedulableAndUnresolvable;
  }
  NodeSideView view(const NodeSideRow& row, NodeSet node_set) const {
    return guests_ == nullptr ? NodeSideView(row) : NodeSideView(row, *guests_, class_index_, node_set);
  }

  const Pod& pod_;
  const Snapshot& snapshot_;
  GuestSides* guests_;  ///< null: there are none
  std::int32_t class_index_;
  std::string error_;
  const PodClass* pod_class_ = nullptr;
  const CompiledProfile* profile_ = nullptr;
  const NodeSideRow* row_ = nullptr;
  const NodeSideRow* open_row_ = nullptr;  ///< for `own_node_` outside PreFilter's node set
  std::int32_t own_node_ = -1;             ///< that the pod is nominated to
  PreFilterAnswer pre_filter_;
};

/// The first plugin whose PreFilter names a node set without the node. @param row  of the class
/// @param node_name  of the node
std::string_view plugin_without_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                                     std::int32_t node, std::string_view node_name);

}  // namespace berth
