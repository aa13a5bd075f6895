// SPDX-License-Identifier: Apache-2.0
// Finds the node, or the reasons, of a pod or a run of equal pods.

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "batching/add_once.h"
#include "batching/node_filter.h"
#include "host/engine/cpu/cpu_state.h"
#include "host/engine/cpu/level_selection.h"

namespace berth {
namespace {

/// Pods of a run in groups that are placed before the deadline of the batch is looked at again. Few, since each
/// selection costs as much as there are groups.
constexpr std::size_t kGroupedRunMax = 32;
/// Node sides that are built at once.
constexpr std::size_t kNodeSidesAhead = 64;

/// One class on the nodes, read from its row, with the nodes that the row leaves out.
class SlotOnNodes : public ClassOnNodes {
 public:
  explicit SlotOnNodes(const TileCache::Place& at) : at_(at) {}
  bool accepts(std::int32_t node) const override { return key(node) > 0; }
  std::int64_t load_total(std::int32_t node) const override {
    return total_of(key(node)) - at_.tile->base(at_.slot, node);
  }
  Draw draw(std::int32_t node) const override { return draw_of(key(node)); }

 private:
  NodeKey key(std::int32_t node) const { return std::abs(at_.tile->key(at_.slot, node)); }
  TileCache::Place at_;
};

}  // namespace

/// Length of the run of equal pods at the front; 0 when it is too short or cannot be planned at once.
std::size_t CpuBackend::State::run_length(std::span<const PodToPlace> pods, std::size_t limit) {
  const std::int32_t c = pods.front().class_index;
  if (c < 0 || needs_list() || !plain_mode() || !table[c].ports.empty() || table[c].topology != nullptr ||
      !table.profile_of(c).has_keys || table.host_decides(c))
    return 0;
  const std::size_t run = equal_pods(pods, limit);
  return static_cast<std::int64_t>(run) >= tuning.min_run_length(snapshot.node_count()) ? run : 0;
}

bool CpuBackend::State::place_run(std::span<const PodToPlace> pods, std::size_t run) {
  const std::int32_t c = pods.front().class_index;
  if (!table.pre_filter(c).passes() || !table.score_error(c).empty()) return false;
  const TileCache::Place place = tiles.find(c, pods, snapshot, log);
  leave_out_refused(pods.front(), place);
  std::int64_t feasible = place.tile->feasible_count(place.slot);
  if (feasible == 0 || place.tile->lanes().needs_integers()) return false;

  std::vector<RunPick> picks = select_run(*place.tile, place.slot, snapshot, table[c], static_cast<std::int64_t>(run));
  if (nominations.any_against(*pods.front().pod)) cut_where_a_node_refuses(pods.front(), picks);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    answer_copy(pods[i], picks[i].node, picks[i].total, feasible);
    if (picks[i].last_copy) --feasible;
  }
  apply_copies(c);
  ways.by_runs += static_cast<std::int64_t>(picks.size());
  return !picks.empty();
}

/// Ends a run after the copy that makes a node refuse the next one because of nominations: the row leaves it out then.
void CpuBackend::State::cut_where_a_node_refuses(const PodToPlace& pod, std::vector<RunPick>& picks) {
  std::unordered_map<std::int32_t, std::int64_t> copies;
  const auto ends = [&](const RunPick& pick) {
    return nominations.is_nominated(pick.node) && nomination_answers.refuses_after(pod, pick.node, ++copies[pick.node]);
  };
  const auto at = std::find_if(picks.begin(), picks.end(), ends);
  if (at != picks.end()) picks.erase(at + 1, picks.end());
}

/// Length of the run of equal pods with topology terms at the front, each of which is placed from the current row of
/// the class; 0 where something else may have to be asked for a pod.
std::size_t CpuBackend::State::run_in_groups(std::span<const PodToPlace> pods, std::size_t limit) {
  const std::int32_t c = pods.front().class_index;
  if (c < 0 || !passes_in_batch(c) || table[c].topology == nullptr || !table[c].host.empty() || !nominations.empty() ||
      needs_list() || !plain_mode() || scores_may_leave_range(table[c], snapshot) || !table.profile_of(c).has_keys ||
      index_pays(c) || !tiles.is_close(c, log, tuning.lone_changes_min))
    return 0;
  return equal_pods(pods, std::min(limit, kGroupedRunMax));
}

/// Places what run_in_groups() found, up to the first pod that fits nowhere.
void CpuBackend::State::place_in_groups(std::span<const PodToPlace> run) {
  const std::int32_t c = run.front().class_index;
  const TileCache::Place at = tiles.find(c, run, snapshot, log);
  // Nodes that were left out for nominations which have ended.
  const std::vector<std::int32_t> left_out = nomination_answers.forget(c);
  at.tile->leave_out(snapshot, at.slot, ExcludedNodes(), 0);
  const SlotKeys keys(*at.tile, at.slot, snapshot.node_order());
  GroupedRow& row = grouped_rows.find(c, table, snapshot);
  row.note_key_changes(left_out);
  for (const PodToPlace& pod : run) {
    tiles.replay(*at.tile, snapshot, log);
    ways.note_rows(AnswerWays::WhyNot::kFewClasses);
    answer(pod, select_in_groups(c, row, keys), -1);
    if (result->outcomes.back().kind != OutcomeKind::kPlaced || !plain_mode()) return;
  }
}

void CpuBackend::State::place_next(std::span<const PodToPlace> pods) {
  std::int32_t own_nomination = -1;
  if (!answer_without_row(pods.front(), own_nomination)) select_and_place(pods, own_nomination);
}

void CpuBackend::State::select_and_place(std::span<const PodToPlace> pods, std::int32_t own_nomination) {
  const PodToPlace& pod = pods.front();
  const bool from_list = !plain_mode() || scores_may_leave_range(table[pod.class_index], snapshot);
  const bool asks_hosts = table.host_decides(pod.class_index);
  if (!table.profile_of(pod.class_index).has_keys || needs_list() ||
      (asks_hosts && (from_list || own_nomination >= 0 || concerned_by_nominations(*pod.pod) ||
                      !table.host_only_refuses(pod.class_index))))
    return answer_uncached(pod, own_nomination);
  if (asks_hosts) return answer(pod, select_beside_hosts(pods), own_nomination);
  const bool takes_index = !from_list && index_pays(pod.class_index);
  if (takes_index) {
    build_node_sides_ahead(pods);
    if (const std::optional<Selection> found = select_beside_nominated(pod)) return answer(pod, *found, own_nomination);
  }
  const NominationAnswers::Refused refused = nomination_answers.of(pod);
  note_key_changes(pod, refused);
  if (const std::optional<Selection> found = select_by_index(pods, from_list, refused.nodes)) {
    if (found->feasible_count > 0 || !fail_by_index(pod, own_nomination)) answer(pod, *found, own_nomination);
    return;
  }
  if (!from_list && refused.nodes.empty() && comes_alone(pods) &&
      lone_row.evaluate(pod.class_index, table, snapshot, log))
    return answer(pod, select_in_lone_row(pod), own_nomination);
  const TileCache::Place at = tiles.find(pod.class_index, pods, snapshot, log);
  at.tile->leave_out(snapshot, at.slot, refused.nodes, refused.version);
  if (from_list) return answer_from_list(pod, SlotOnNodes(at), refused.nodes, own_nomination);
  const bool in_groups = table[pod.class_index].topology != nullptr;
  const Selection selection =
      in_groups ? select_in_groups(pod, {*at.tile, at.slot, snapshot.node_order()}) : select_in_row(pod, at);
  answer(pod, selection, own_nomination);
}

/// Finds the node in an index that counts nominated pods as loads. Most pods need no answers of nominated nodes then.
/// @return nullopt: those answers are needed
std::optional<Selection> CpuBackend::State::select_beside_nominated(const PodToPlace& pod) {
  if (nominations.empty() || nominations.holds(*pod.pod)) return std::nullopt;
  std::optional<Selection> found = index.select_beside_nominated(pod, snapshot, log);
  if (!found) return found;
  ++ways.by_index;
  if (!scores_anything(pod.class_index)) found->total = 1;
  return found;
}

/// Finds the node where plugins on the host do no more than refuse nodes.
Selection CpuBackend::State::select_beside_hosts(std::span<const PodToPlace> pods) {
  const PodToPlace& pod = pods.front();
  ++host_pods;
  const HostRefusing refusing = table.host_refusing(pod.class_index);
  if (const std::optional<Selection> found = select_by_index(pods, false, refusing.nodes)) return *found;
  const TileCache::Place at = tiles.find(pod.class_index, pods, snapshot, log);
  note_host_refusals(pod.class_index, refusing);
  at.tile->leave_out(snapshot, at.slot, refusing.nodes, refusing.version);
  return table[pod.class_index].topology != nullptr ? select_in_groups(pod, {*at.tile, at.slot, snapshot.node_order()})
                                                    : select_in_row(pod, at);
}

/// Rows in groups read keys of nodes that plugins refuse, or refuse no longer, again.
void CpuBackend::State::note_host_refusals(std::int32_t pod_class, const HostRefusing& refusing) {
  GroupedRow* const row = grouped_rows.find_existing(pod_class);
  HostLeftOut& before = host_left_out[pod_class];
  if (before.version == refusing.version) return;
  if (row != nullptr) {
    std::vector<std::int32_t> changed;
    for (const std::int32_t node : before.nodes)
      if (!refusing.nodes.contains(node)) changed.push_back(node);
    changed.insert(changed.end(), refusing.nodes.members().begin(), refusing.nodes.members().end());
    row->note_key_changes(changed);
  }
  before.version = refusing.version;
  before.nodes.assign(refusing.nodes.members().begin(), refusing.nodes.members().end());
}

/// Builds the node side of the pod at the front, and those of the next pods beside it in other threads.
void CpuBackend::State::build_node_sides_ahead(std::span<const PodToPlace> pods) {
  if (table.built_node_side(pods.front().class_index) != nullptr) return;
  std::vector<std::int32_t> classes;
  for (const PodToPlace& pod : pods.first(std::min(pods.size(), tuning.lookahead_pods))) {
    if (classes.size() == kNodeSidesAhead) break;
    if (pod.class_index >= 0 && table.built_node_side(pod.class_index) == nullptr) add_once(classes, pod.class_index);
  }
  table.build_node_sides(classes, [this](std::size_t count, const auto& body) { arena->for_ranges(count, body); });
}

/// A placement is replayed in the rows of all classes of a batch, and in those with topology terms at some cost. In
/// small batches a row that has to be built costs more than an index that is there.
bool CpuBackend::State::index_pays(std::int32_t c) const {
  const std::int32_t from = table[c].topology != nullptr ? tuning.index_topology_classes_min : tuning.index_classes_min;
  return tiles.classes_in_batch() >= from ||
         (index.is_close(table[c].profile, log) && !tiles.is_close(c, log, tuning.lone_changes_min));
}

/// @return nullopt: take rows
std::optional<Selection> CpuBackend::State::select_by_index(std::span<const PodToPlace> pods, bool from_list,
                                                            const ExcludedNodes& refused) {
  using WhyNot = AnswerWays::WhyNot;
  const std::int32_t c = pods.front().class_index;
  std::optional<Selection> found;
  WhyNot why = from_list ? WhyNot::kMode : WhyNot::kFewClasses;
  if (!from_list && index_pays(c)) {
    found = index.select(c, refused, snapshot, log);
    why = index.why_not();
  }
  if (!found) {
    ways.note_rows(why);
    return found;
  }
  ++ways.by_index;
  if (!scores_anything(c)) found->total = 1;
  return found;
}

/// Fails a pod for which the index found no node. @return false: the index does not tell why
bool CpuBackend::State::fail_by_index(const PodToPlace& pod, std::int32_t own_nomination) {
  if (own_nomination >= 0 || nominations.any_against(*pod.pod)) return false;
  const std::span<const LoadVerdicts> verdicts = index.verdicts(pod.class_index, snapshot, log);
  if (verdicts.empty()) return false;
  if (!repeat_failure(pod)) fail_for(pod, reasons.of_counts(pod.class_index, verdicts));
  return true;
}

/// The pod at the front is one of few, or of one of many classes, and no row of its class is nearly current: one pass
/// over the nodes costs less than a tile.
bool CpuBackend::State::comes_alone(std::span<const PodToPlace> pods) const {
  const std::int32_t c = pods.front().class_index;
  return (pods.size() <= tuning.lone_pods_max || index_pays(c)) && !tiles.is_close(c, log, tuning.lone_changes_min);
}

/// Leaves those nodes out of the row that refuse the pod because of nominations. @return those nodes
const ExcludedNodes& CpuBackend::State::leave_out_refused(const PodToPlace& pod, const TileCache::Place& at) {
  const NominationAnswers::Refused refused = nomination_answers.of(pod);
  note_key_changes(pod, refused);
  at.tile->leave_out(snapshot, at.slot, refused.nodes, refused.version);
  return refused.nodes;
}

void CpuBackend::State::note_key_changes(const PodToPlace& pod, const NominationAnswers::Refused& refused) {
  if (refused.changed.empty()) return;
  if (GroupedRow* const row = grouped_rows.find_existing(pod.class_index)) row->note_key_changes(refused.changed);
}

Selection CpuBackend::State::select_in_lone_row(const PodToPlace& pod) {
  const NodeOrder order = snapshot.node_order();
  if (table[pod.class_index].topology != nullptr) return select_in_groups(pod, SlotKeys(lone_row.keys(), order));
  if (lone_row.feasible_count() == 0) return {};
  return {lone_row.feasible_count(), lone_row.best_node(order),
          scores_anything(pod.class_index) ? total_of(lone_row.best_key()) : 1};
}

Selection CpuBackend::State::select_in_row(const PodToPlace& pod, const TileCache::Place& at) const {
  const RowTile::Best best = at.tile->best(at.slot, snapshot.node_order());
  return {at.tile->feasible_count(at.slot), best.node, scores_anything(pod.class_index) ? total_of(best.key) : 1};
}

Selection CpuBackend::State::select_in_groups(const PodToPlace& pod, const SlotKeys& keys) {
  return select_in_groups(pod.class_index, grouped_rows.find(pod.class_index, table, snapshot), keys);
}

Selection CpuBackend::State::select_in_groups(std::int32_t pod_class, GroupedRow& row, const SlotKeys& keys) {
  row.catch_up(keys, table, snapshot.topology(), log);
  Selection selection = row.select(keys, snapshot.topology(), scratch);
  if (!scores_anything(pod_class)) selection.total = 1;
  return selection;
}

}  // namespace berth
