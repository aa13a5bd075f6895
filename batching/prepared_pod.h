// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "batching/nominations.h"
#include "batching/pod_class.h"

namespace berth {

/// A prepared pod as const calls read it. Refers to the table and the pod, which must outlive it.
class PreparedPod {
 public:
  /// @throws std::logic_error naming the pod when Backend::prepare() has not seen it, or not since the cluster or the
  ///     registered terms changed
  PreparedPod(const PodToPlace& pod, const ClassTable& table, const Nominations& nominations, const Snapshot& snapshot);

  /// Non-empty: the cycle ends with this error before any node is filtered, and the rest must not be read.
  const std::string& error() const { return error_; }
  const Pod& pod() const { return pod_; }
  std::int32_t class_index() const { return class_index_; }
  const PodClass& pod_class() const { return *pod_class_; }
  const NodeSideRow& row() const { return *row_; }
  /// The row without PreFilter's node set, for the node that the pod is nominated to.
  const NodeSideRow& open_row() const { return *open_row_; }
  std::int32_t own_node() const { return own_node_; }  ///< that the pod is nominated to; -1: none
  const PreFilterAnswer& pre_filter() const { return pre_filter_; }
  const CompiledProfile& profile() const { return *profile_; }
  PluginNames pre_filter_rejectors() const { return berth::pre_filter_rejectors(pre_filter_, *pod_class_, *row_); }

  /// Filter may end with an error on some node.
  bool filter_may_fail() const;
  /// PreFilter refuses the pod on every node.
  bool is_refused() const { return !pre_filter_.message.empty(); }
  /// What Filter reads on the node; null: PreFilter refuses the pod there, whoever is evicted.
  const NodeSideRow* row_on(std::int32_t node) const {
    if (is_refused() && pre_filter_.code == StatusCode::kUnschedulableAndUnresolvable) return nullptr;
    if (!is_outside_node_set(*pod_class_, *row_, snapshot_, node)) return row_;
    return node == own_node_ ? open_row_ : nullptr;
  }
  /// PreFilter's node set leaves the node out; row_on() may be set even so, for the node that the pod is nominated to.
  bool is_left_out(std::int32_t node) const { return is_outside_node_set(*pod_class_, *row_, snapshot_, node); }
  /// The verdict of PreFilter on a node that it refuses.
  NodeVerdict pre_filter_verdict(std::int32_t node) const;
  /// The verdict where row_on() is null.
  NodeVerdict verdict_without_row(std::int32_t node) const {
    const bool is_final = is_refused() && pre_filter_.code == StatusCode::kUnschedulableAndUnresolvable;
    return is_final ? pre_filter_verdict(node) : outside_verdict(node);
  }

 private:
  NodeVerdict outside_verdict(std::int32_t node) const;

  const Pod& pod_;
  const Snapshot& snapshot_;
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
