// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "batching/node_side_row.h"

namespace berth {

class GuestSides;

/// The node side of a class as one state reads it: the row of the engine, and in a what-if beside it the rows of the
/// guests (batching/guest_sides.h). Refers to both, which must outlive it.
class NodeSideView {
 public:
  /// Where there are no guests.
  NodeSideView(const NodeSideRow& row)  // NOLINT(google-explicit-constructor): a row is a view of itself
      : row_(&row) {}
  /// @param pod_class, node_set  of the row
  NodeSideView(const NodeSideRow& row, GuestSides& guests, std::int32_t pod_class, NodeSet node_set)
      : row_(&row), guests_(&guests), pod_class_(pod_class), node_set_(node_set) {}

  /// What does not differ between nodes. Rows of guests give their refusals the same codes.
  const NodeSideRow& of_class() const { return *row_; }

  /// NodeSideRow::refusal() and so on, of any node.
  std::uint8_t refusal(std::int32_t node) const { return guests_ == nullptr ? row_->refusal(node) : refusal_of(node); }
  bool is_outside_node_set(std::int32_t node) const {
    return row_->outside_node_set != NodeSideRow::kAccepted && refusal(node) == row_->outside_node_set;
  }
  /// The rest is of nodes that exist.
  RawScores raws(const Snapshot& snapshot, std::int32_t node) const {
    return on(snapshot, node, [](const auto& row, const auto& nodes, auto n) { return row.raws(nodes, n); });
  }
  std::int64_t fixed_total(const Snapshot& snapshot, std::int32_t node) const {
    return on(snapshot, node, [](const auto& row, const auto& nodes, auto n) { return row.fixed_total(nodes, n); });
  }
  std::int64_t total(const Snapshot& snapshot, std::int32_t node, const RawScores& maxima) const {
    return on(snapshot, node, [&](const auto& row, const auto& nodes, auto n) { return row.total(nodes, n, maxima); });
  }
  std::optional<RuleScore> score(std::string_view plugin, const Snapshot& snapshot, std::int32_t node,
                                 const RawScores& maxima) const {
    return on(snapshot, node,
              [&](const auto& row, const auto& nodes, auto n) { return row.score(plugin, nodes, n, maxima); });
  }

 private:
  /// The row and the snapshot that have a guest as their node 0.
  struct OfGuest {
    const NodeSideRow* row = nullptr;  ///< null: no guest
    const Snapshot* node = nullptr;
  };
  OfGuest of_guest(std::int32_t node) const;
  std::uint8_t refusal_of(std::int32_t node) const;
  template <class Read>
  std::invoke_result_t<Read, const NodeSideRow&, const Snapshot&, std::int32_t> on(const Snapshot& snapshot,
                                                                                   std::int32_t node, Read read) const {
    if (guests_ != nullptr)
      if (const OfGuest guest = of_guest(node); guest.row != nullptr) return read(*guest.row, *guest.node, 0);
    return read(*row_, snapshot, node);
  }

  const NodeSideRow* row_;
  GuestSides* guests_ = nullptr;
  std::int32_t pod_class_ = -1;
  NodeSet node_set_ = NodeSet::kNarrows;
};

/// Largest raw scores of the listed nodes.
RawScores raw_maxima(const NodeSideView& view, const Snapshot& snapshot, const std::vector<std::int32_t>& nodes);

}  // namespace berth
