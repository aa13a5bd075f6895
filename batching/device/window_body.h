// SPDX-License-Identifier: Apache-2.0
#pragma once

// The body of the kernel that commits a window: a batch whose rows stay as they were before it. Only the nodes that its
// pods were placed on, the touched ones, can have other keys than the rows hold, so that each pod evaluates these again
// and takes the best of them and of the best untouched nodes of its row. The cost of a pod does not grow with the
// number of rows. The rows are refreshed before the next batch.
//
// Pods are not visited one by one: a round proposes a node for each of the next pods, one warp a pod, as if none of the
// others were placed. Then each looks whether a proposal before its own would change its answer: the pod reads a count
// which the other changes, or the other's node is as good for it as its own. The proposals up to the first that may
// change are what the serial walk does, and are taken together. The first of a round never changes.

#include <type_traits>

#include "batching/device/cell_selection.h"
#include "batching/device/commit_body.h"
#include "batching/device/row_tournament.h"
#include "batching/device/team.h"
#include "batching/device/views.h"

namespace berth {

/// Fewest proposals of a round, where so many warps are there.
inline constexpr std::int32_t kProposalsMin = 8;

/// What is known of one cell at a pod's turn.
struct WindowCell {
  NodeKey key;               ///< the best; 0: none is feasible
  std::int32_t node;         ///< that has it; -1 likewise
  std::int32_t live_change;  ///< feasible nodes, compared with the row
};

struct CombineWindowCells {
  const std::uint32_t* rank;  ///< DeviceColumns::rank
  BERTH_HD bool is_better(const WindowCell& a, const WindowCell& b) const {
    if (a.key != b.key || a.key == 0) return a.key > b.key;
    return rank[a.node] < rank[b.node];
  }
  BERTH_HD WindowCell operator()(const WindowCell& a, const WindowCell& b) const {
    const WindowCell& best = is_better(b, a) ? b : a;
    return {best.key, best.node, a.live_change + b.live_change};
  }
};

/// The cells of a row at a pod's turn, as CellSelection reads them. A node is its own position.
struct WindowRow {
  const DeviceLayout& layout;
  const std::int32_t* live;  ///< of the row
  const WindowCell* cells;   ///< [layout.cell_count]

  BERTH_HD RowEntry top(std::int32_t cell) const { return {cells[cell].key, cells[cell].node}; }
  BERTH_HD std::int32_t node_at(std::int32_t position) const { return position; }
  /// Where counts_feasible() is false, not exact, but 0 where none is feasible, and above 1 where more are.
  BERTH_HD std::int32_t live_of(std::int32_t cell) const {
    return cells[cell].key > 0 ? live[cell] + cells[cell].live_change : 0;
  }
};

/// Whether the number of feasible nodes has to be exact: it is part of scores, or so small that the nodes which a
/// window may touch decide whether one is left, or two. A placement makes no node feasible: a cell without one stays
/// so.
/// @param pod_count  of the batch
BERTH_HD bool counts_feasible(const DeviceClass& pod_class, const DeviceRow& row, std::int32_t cell_count,
                              std::int32_t pod_count) {
  bool exact = pod_class.soft.count > 0;
  for (std::int32_t cell = 0; cell < cell_count; ++cell)
    exact = exact || (row.live[cell] > 0 && row.live[cell] < pod_count + 2);
  return exact;
}

/// Writes a node as window_node() reads it.
BERTH_HD void store_window_node(const DeviceWindowNodes& nodes, std::int32_t index, const UsualNode& node) {
  const auto store = [&](int first, const UsualOffer& offer) {
    double* values = nodes.values + first * nodes.stride + index;
    values[0] = offer.allocatable.value;
    values[nodes.stride] = offer.allocatable.reciprocal;
    values[2 * nodes.stride] = offer.requested;
    values[3 * nodes.stride] = offer.in_use;
  };
  store(0, node.cpu);
  store(4, node.memory);
  nodes.draws[index] = node.draw.bits;
  nodes.seeds[index] = node.draw.seed;
  nodes.applies[index] = node.applies ? 1 : 0;
  nodes.has_room[index] = node.has_room ? 1 : 0;
}

BERTH_HD UsualNode window_node(const DeviceWindowNodes& nodes, std::int32_t index) {
  const auto load = [&](int first) {
    const double* values = nodes.values + first * nodes.stride + index;
    UsualOffer offer;
    offer.allocatable.value = values[0];
    offer.allocatable.reciprocal = values[nodes.stride];
    offer.requested = values[2 * nodes.stride];
    offer.in_use = values[3 * nodes.stride];
    return offer;
  };
  UsualNode node;
  node.cpu = load(0);
  node.memory = load(4);
  node.draw = {nodes.draws[index], nodes.seeds[index]};
  node.applies = nodes.applies[index] != 0;
  node.has_room = nodes.has_room[index] != 0;
  return node;
}

/// What is known of a pod while its proposal is made and judged. Every thread of its warp has the same.
struct PodOfWindow {
  std::int32_t pod = 0;         ///< of the batch
  std::int32_t row_index = 0;   ///< of the batch
  std::int32_t cell_count = 0;  ///< of the row
  bool is_answered = false;     ///< otherwise the lists do not tell where it goes
  bool is_last = false;         ///< the window ends behind it
  DeviceOutcome outcome;
  WindowCell cells[kWindowCellsMax];    ///< without the pods of the round
  std::int32_t heads[kWindowCellsMax];  ///< of its lists: the first entry that is not touched
};

template <class Solo>
class WindowRound {
 public:
  /// @param solo     the warp of a proposal
  /// @param profile  whose draws DeviceWindow::nodes and `proposed` hold
  BERTH_HD WindowRound(const Solo& solo, const DeviceState& state, const DeviceBatch& batch, const DeviceWindow& window,
                       std::int32_t profile)
      : solo_(solo), state_(state), batch_(batch), window_(window), profile_(profile) {}

  /// Proposes a node for the pod, and writes it as the proposal of this number.
  BERTH_HD void propose(std::int32_t pod, std::int32_t number, PodOfWindow& mine) const {
    mine.pod = pod;
    mine.row_index = batch_.row_of_pod[pod];
    const DeviceRow& row = state_.rows.rows[mine.row_index];
    const DeviceLayout& layout = state_.rows.layouts[row.layout];
    const DeviceClass& pod_class = state_.classes.classes[row.pod_class];
    mine.cell_count = layout.cell_count;
    mine.is_answered = mine.is_last = false;
    for (std::int32_t cell = 0; cell < mine.cell_count; ++cell) mine.cells[cell] = {0, -1, 0};
    look_at_touched(row, mine);
    solo_.gather(mine.cells, mine.cell_count, CombineWindowCells{state_.columns.rank});
    look_at_tops(mine);
    if (!lists_suffice(mine)) return;
    const DeviceChoice choice =
        CellSelection<Solo, WindowRow>(solo_, state_, {layout, row.live, mine.cells}, row.pod_class, 0).select();
    mine.outcome = outcome_of(choice, pod_class, state_.classes.profiles[pod_class.profile]);
    mine.is_answered = true;
    mine.is_last = ends_behind(batch_, mine.outcome);
    if (solo_.index() != 0) return;
    window_.proposals[number] = {mine.outcome, row.pod_class};
    if (mine.outcome.kind == DeviceOutcomeKind::kPlaced)
      store_window_node(
          window_.proposed, number,
          usual_node(with_copies(state_, mine.outcome.node, pod_class, 1), state_.classes.profiles[profile_].draw));
  }

  /// Twice the proposals of the round that are known to be right when those before this one are, and 1 more when the
  /// window ends behind them.
  BERTH_HD std::int64_t right_up_to(std::int32_t number, std::int32_t count, const PodOfWindow& mine) const {
    const std::int64_t without_it = std::int64_t{2} * number;
    if (!mine.is_answered || may_change(number, mine)) return without_it;
    return mine.is_last ? without_it + 1 : std::int64_t{2} * count;
  }

  /// Places the pod as proposed. Other warps place those of the same round on other nodes.
  BERTH_HD void take(std::int32_t number, const PodOfWindow& mine) const {
    if (solo_.index() == 0) batch_.outcomes[mine.pod] = mine.outcome;
    for (std::int32_t cell = solo_.index(); cell < mine.cell_count; cell += solo_.size())
      solo_.mark(window_.heads + window_.list_of(mine.row_index, cell), mine.heads[cell]);
    if (mine.outcome.kind != DeviceOutcomeKind::kPlaced) return;
    const std::int32_t node = mine.outcome.node;
    place_on_node(solo_, state_, state_.classes.classes[state_.rows.rows[mine.row_index].pod_class], node);
    if (solo_.index() != 0) return;
    if (window_.touched_at[node] == 0) {
      const std::int32_t index = solo_.add(window_.touched_count, 1);
      window_.touched[index] = node;
      window_.touched_at[node] = index + 1;
    }
    store_window_node(window_.nodes, window_.touched_at[node] - 1, window_node(window_.proposed, number));
  }

 private:
  /// Evaluates the touched nodes again.
  BERTH_HD void look_at_touched(const DeviceRow& device_row, PodOfWindow& mine) const {
    const RowView row(state_, device_row);
    const DeviceClass& pod_class = state_.classes.classes[device_row.pod_class];
    const CombineWindowCells combine{state_.columns.rank};
    const bool counts = counts_feasible(pod_class, device_row, mine.cell_count, batch_.pod_count);
    const std::int32_t touched_count = *window_.touched_count;
    for (std::int32_t t = solo_.index(); t < touched_count; t += solo_.size()) {
      const std::int32_t node = window_.touched[t];
      const std::int32_t cell = row.cell_of(node);
      if (cell < 0) continue;
      const NodeKey now = pod_class.profile == profile_
                              ? key_of_node(state_, device_row, {state_.columns, node}, window_node(window_.nodes, t))
                              : key_of_node(state_, device_row, {state_.columns, node});
      std::int32_t change = 0;
      if (counts) change = (now > 0 ? 1 : 0) - (row.keys[row.position_of(node)] > 0 ? 1 : 0);
      mine.cells[cell] = combine(mine.cells[cell], {now, node, change});
    }
  }

  /// The best nodes that are not touched.
  BERTH_HD void look_at_tops(PodOfWindow& mine) const {
    const CombineWindowCells combine{state_.columns.rank};
    for (std::int32_t cell = 0; cell < mine.cell_count; ++cell) {
      const std::int64_t list = window_.list_of(mine.row_index, cell);
      const DeviceTop* tops = window_.tops + list * window_.tops_max;
      const std::int32_t count = window_.lists[list].count;
      std::int32_t head = window_.heads[list];
      for (int found = -1; head < count; head += solo_.size()) {
        const std::int32_t at = head + solo_.index();
        found = solo_.first_of(at < count && window_.touched_at[tops[at].node] == 0);
        if (found < 0) continue;
        head += found;
        break;
      }
      mine.heads[cell] = head < count ? head : count;
      if (head < count) mine.cells[cell] = combine(mine.cells[cell], {tops[head].key, tops[head].node, 0});
    }
  }

  /// A node that is not listed may be better than all that were looked at.
  BERTH_HD bool lists_suffice(const PodOfWindow& mine) const {
    bool all = true;
    for (std::int32_t cell = 0; cell < mine.cell_count; ++cell) {
      const NodeKey cutoff = window_.lists[window_.list_of(mine.row_index, cell)].cutoff;
      all = all && (cutoff == 0 || mine.cells[cell].key > cutoff);
    }
    return all;
  }

  /// Whether a proposal of the round before this one may change the answer, if those before that one are right.
  BERTH_HD bool may_change(std::int32_t number, const PodOfWindow& mine) const {
    const DeviceRow& row = state_.rows.rows[mine.row_index];
    const std::int32_t first = mine.pod - number;  // pod of the round
    const bool counts = counts_feasible(state_.classes.classes[row.pod_class], row, mine.cell_count, batch_.pod_count);
    if (window_.counts_after[mine.pod] >= first) return true;
    if (counts && window_.refusals_after[mine.pod] >= first) return true;
    std::int64_t any = 0;
    for (std::int32_t other = solo_.index(); other < number; other += solo_.size())
      if (may_change_by(other, row, mine, counts)) any = 1;
    return solo_.reduce(any, Sum()) > 0;
  }
  BERTH_HD bool may_change_by(std::int32_t other, const DeviceRow& device_row, const PodOfWindow& mine,
                              bool counts) const {
    const DeviceProposal& proposal = window_.proposals[other];
    if (proposal.outcome.kind != DeviceOutcomeKind::kPlaced) return false;
    const std::int32_t node = proposal.outcome.node;
    const RowView row(state_, device_row);
    const std::int32_t cell = row.cell_of(node);
    if (cell < 0) return false;
    const WindowCell& best = mine.cells[cell];
    if (best.node == node) return true;
    const DeviceClass& pod_class = state_.classes.classes[device_row.pod_class];
    const DeviceClass& placed = state_.classes.classes[proposal.pod_class];
    // Without the host ports and counts that the other pod takes on the node: they can only refuse it.
    const DeviceNode with_it = with_copies(state_, node, placed, 1);
    const NodeKey key = pod_class.profile == profile_
                            ? key_of_node(state_, device_row, with_it, window_node(window_.proposed, other))
                            : key_of_node(state_, device_row, with_it);
    if (CombineWindowCells{state_.columns.rank}.is_better({key, node, 0}, best)) return true;
    if (!counts) return false;
    const bool may_refuse = key == 0 || (pod_class.port_set >= 0 && placed.port_set >= 0);
    return may_refuse && key_of_node(state_, device_row, {state_.columns, node}) > 0;
  }

  const Solo& solo_;
  const DeviceState& state_;
  const DeviceBatch& batch_;
  const DeviceWindow& window_;
  std::int32_t profile_;
};

/// Places the pods of the batch in order, each as the serial algorithm would after all before it, until the lists do
/// not tell any more where the next pod goes.
template <class Team>
BERTH_HD void commit_window(const Team& team, const DeviceState& state, const DeviceBatch& batch,
                            const DeviceWindow& window) {
  const auto solo = team.solo();
  const std::int32_t profile = state.classes.classes[state.rows.rows[batch.row_of_pod[0]].pod_class].profile;
  const WindowRound<std::remove_const_t<decltype(solo)>> round(solo, state, batch, window, profile);
  const std::int32_t proposals_max = team.solo_count() < kProposalsMax ? team.solo_count() : kProposalsMax;
  const std::int32_t number = team.solo_index();
  std::int32_t proposed = proposals_max;
  std::int32_t pod = 0;
  PodOfWindow mine;
  for (bool is_over = false; !is_over;) {
    const std::int32_t rest = batch.pod_count - pod;
    const std::int32_t count = proposed < rest ? proposed : rest;
    if (number < count) round.propose(pod + number, number, mine);
    team.barrier();
    std::int64_t right = std::int64_t{2} * count;
    if (number < count) right = round.right_up_to(number, count, mine);
    right = team.reduce(right, Minimum());
    const auto taken = static_cast<std::int32_t>((right + 1) / 2);
    if (number < taken) round.take(number, mine);
    team.barrier();
    pod += taken;
    is_over = right % 2 != 0 || taken == 0 || pod == batch.pod_count;
    // Proposals that are not taken cost those that are: a round has some more than the last one could use.
    const std::int32_t wanted = 2 * taken + kProposalsMin;
    proposed = wanted < proposals_max ? wanted : proposals_max;
  }
  if (team.index() == 0) *batch.committed_count = pod;
}

}  // namespace berth
