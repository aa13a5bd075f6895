// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/row_selection.h"

namespace berth {

std::optional<Selection> select_in_row(const RowTile& tile, int slot, const Snapshot& snapshot, NodeOrder order,
                                       const ExcludedNodes& excluded, std::span<const ExtraNode> extras) {
  const std::int64_t in_row = tile.feasible_outside(slot, excluded);
  RawScores maxima;
  if (in_row > 0) maxima = tile.maxima_outside(slot, snapshot, excluded);
  for (const ExtraNode& extra : extras) maxima.raise_to(extra.raws);
  RowTile::Best best;
  if (in_row > 0) {
    if (maxima != tile.maxima(slot)) return std::nullopt;
    best = tile.best_outside(slot, excluded, order);
  }
  const NormalizedWeights weights = tile.normalized_weights(slot);
  for (const ExtraNode& extra : extras) {
    const NodeKey key = extra.key + make_node_key(normalized_total(extra.raws, maxima, weights), 0);
    const bool is_first = key == best.key && order.is_before(extra.node, best.node);
    if (key > best.key || is_first) best = {key, extra.node};
  }
  return Selection{in_row + static_cast<std::int64_t>(extras.size()), best.node, total_of(best.key)};
}

}  // namespace berth
