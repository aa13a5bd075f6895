// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "host/engine/cpu/row_tile.h"

namespace berth {

/// One pod of a run of equal pods: a copy on `node`, with the total of its selection.
struct RunPick {
  NodeKey order;  ///< running minimum of the node's keys up to this copy
  std::int32_t node;
  std::int32_t total;
  bool last_copy;  ///< the node is full after it
  bool ends_run;   ///< the node's further copies are not known: amounts beyond exact doubles
};

/// Places a run of equal pods at once. The k-th copy on a node has a key that is known in advance: its total and its
/// draw depend on the node's state with k copies, and on no other node. The serial walk takes copies in the order of
/// the running minimum of their node's keys: a node whose key rises, by its total or, where the profile packs, by its
/// draw, was the best before and is taken again at once. So the run is "take the best, ties in order". The picks are
/// those of the serial walk, in its order.
///
/// Ends early where a normaliser's extreme loses its last holder, since every key moves then.
/// @param tile   current to the end of the log; evaluated in lanes
/// @param count  length of the run, above 0
/// @return at most `count` picks; fewer when nodes ran out or a normaliser moved
std::vector<RunPick> select_run(const RowTile& tile, int slot, const Snapshot& snapshot, const PodClass& pod_class,
                                std::int64_t count);

}  // namespace berth
