// SPDX-License-Identifier: Apache-2.0
// Launches: which pods go to the device together, what is uploaded before, and how outcomes are applied on the host.

#include <algorithm>
#include <cstring>
#include <string>

#include "batching/device/device_errors.h"
#include "host/engine/device/answered.h"
#include "host/engine/device/device_plan.h"
#include "host/engine/device/device_state.h"
#include "host/engine/device/nominations_of_launch.h"
#include "host/engine/device/transfer_block.h"

namespace berth {
namespace {

/// Rows to refresh, in a block that is sent to the device.
class PartsOfRefresh {
 public:
  PartsOfRefresh(const DeviceRowStore::Work::Refresh& refresh, TransferBlock& block)
      : rows_(block.add(refresh.rows)),
        first_(block.add(refresh.first_node)),
        end_(block.add(refresh.end_node)),
        nodes_(block.add(refresh.nodes)),
        row_count_(static_cast<std::int32_t>(refresh.rows.size())) {}
  DeviceRowsToRefresh in(const TransferBlock& block) const {
    return {block.at(rows_), block.at(first_), block.at(end_), block.at(nodes_), row_count_};
  }

 private:
  TransferBlock::Part<std::int32_t> rows_, first_, end_, nodes_;
  std::int32_t row_count_;
};

}  // namespace

LaunchPlan DeviceBackend::State::plan_launch(std::span<const PodToPlace> pods, std::size_t pods_max) {
  const std::size_t longest = std::min({pods.size(), pods_max, tuning.launch_pods_max});
  const std::size_t window_pods_max = std::min(tuning.window_pods_max, static_cast<std::size_t>(kWindowPodsMax));
  LaunchPlan wanted;
  wanted.fits_window = window_pods_max > 0;
  NominationsOfLaunch nominated(*this, wanted);
  for (std::size_t i = 0; i < longest; ++i) {
    if (wanted.fits_window && i == window_pods_max) break;
    const std::int32_t c = pods[i].class_index;
    if (!wanted.contains(c)) {
      if (wanted.classes.size() == rows_a_launch || !has_row(c)) break;
      add_class(c);
      wanted.fits_window = wanted.fits_window && fits_window(c);
    }
    if (!nominated.add_pod(pods[i])) break;
  }
  const std::size_t fitting = rows.fitting(wanted.classes, classes);
  return fitting == wanted.classes.size() ? wanted : wanted.first_rows(fitting);
}

void DeviceBackend::State::add_class(std::int32_t pod_class) {
  // Existing classes may request the new resource, so their deltas changed.
  // New columns and tables may have the numbers of some that are gone.
  if (known_resources != snapshot.resources_built() || columns.has_replaced_table(snapshot.topology())) {
    known_resources = snapshot.resources_built();
    reset_device();
  }
  classes.add(pod_class, table, snapshot, columns);
}

/// Throws for a cluster whose columns and a single row do not fit, before anything is uploaded.
void DeviceBackend::State::check_room() const {
  const TopologyCounts& counts = snapshot.topology();
  DeviceShape shape;
  shape.nodes = static_cast<std::uint64_t>(snapshot.slot_count());
  shape.resources = static_cast<std::uint64_t>(snapshot.resource_count());
  shape.topology_columns = static_cast<std::uint64_t>(counts.column_count());
  shape.topology_tables = static_cast<std::uint64_t>(counts.table_count());
  for (std::int32_t t = 0; t < counts.table_count(); ++t)
    shape.topology_counters += DeviceSnapshot::counter_room(counts.column(counts.column_of(t)).domain_count);
  shape.rows = 1;
  const std::uint64_t needed = plan_device(shape).total();
  // Memory of earlier columns is reused.
  const std::uint64_t room = accelerator->free_bytes() + accelerator->allocated_bytes();
  if (needed > room)
    throw DeviceOutOfMemory("", "columns of " + std::to_string(shape.nodes) + " nodes and a row", needed, room,
                            "the number of nodes, or use the cpu backend");
}

void DeviceBackend::State::update_columns() {
  if (columns.is_empty()) check_room();
  columns.update(snapshot, log);
}

/// Uploads changes and the plan, and updates the plan's rows.
DeviceBackend::State::Prepared DeviceBackend::State::prepare(const LaunchPlan& plan) {
  forks_read.reset();  // arrays may move
  update_columns();
  Prepared prepared;
  DeviceState& state = prepared.state;
  state.columns = columns.columns();
  state.counts = columns.counts();
  state.classes = classes.classes(table, columns);
  const DeviceRowStore::Work work = rows.prepare(plan, classes, log, snapshot.slot_count());
  TransferBlock block;
  const auto at_rows = block.add(work.rows);
  const auto at_build = block.add(work.build);
  const PartsOfRefresh at_refresh(work.refresh, block);
  const PartsOfRefresh at_left_out(work.left_out, block);
  const auto at_stops = block.add(plan.stops_at);
  const auto at_pods = block.add(plan.row_of_pod);
  const auto at_last = block.add(plan.last_pod);
  const auto at_committed = block.add(std::vector<std::int32_t>{-1});
  const auto at_outcomes = block.add(std::vector<DeviceOutcome>(plan.row_of_pod.size()));
  // Reserve room for the changed nodes of later batches of the same shape.
  const auto nodes_max = static_cast<std::size_t>(tuning.refresh_limit(snapshot.slot_count()));
  if (row_table.bytes() < block.bytes())
    row_table.reserve(block.bytes() + 3 * TransferBlock::bytes_of<std::int32_t>(work.rows.size()) +
                      TransferBlock::bytes_of<std::int32_t>(nodes_max));
  block.send(row_table);
  state.rows = {block.at(at_rows), classes.layouts()};
  prepared.batch.committed_count = const_cast<std::int32_t*>(block.at(at_committed));
  prepared.batch.outcomes = const_cast<DeviceOutcome*>(block.at(at_outcomes));
  prepared.first_answer = at_committed.offset;
  prepared.first_outcome = at_outcomes.offset;
  prepared.end_answers = at_outcomes.offset + plan.row_of_pod.size() * sizeof(DeviceOutcome);
  prepared.batch.row_of_pod = block.at(at_pods);
  prepared.batch.last_pod = block.at(at_last);
  prepared.batch.pod_count = static_cast<std::int32_t>(plan.row_of_pod.size());
  prepared.batch.row_count = static_cast<std::int32_t>(plan.classes.size());
  if (!work.build.empty())
    accelerator->build_rows(state, {block.at(at_build), static_cast<std::int32_t>(work.build.size())});
  if (!work.refresh.rows.empty()) accelerator->refresh_rows(state, at_refresh.in(block));
  if (!work.left_out.rows.empty()) accelerator->refresh_rows(state, at_left_out.in(block));
  if (!plan.stops_at.empty()) prepared.batch.stops_at = block.at(at_stops);
  refreshed_nodes += static_cast<std::int64_t>(work.build.size()) * snapshot.slot_count() + work.refresh.evaluations();
  return prepared;
}

/// Ensures marks of domains for this many selections, each higher than all before.
void DeviceBackend::State::ensure_scratch(std::int32_t selections) {
  const std::int64_t domains = classes.soft_domains_max();
  if (seen_domains == domains && next_mark < INT32_MAX - selections) return;
  const auto entries = static_cast<std::uint64_t>(domains + 1) * kDeviceConstraintsMax;
  seen.reserve(entries);
  seen.clear(entries);
  seen_domains = domains;
  next_mark = 1;
}

/// What the latest commit of the batch answered. Waits. @param fewest  pods that it has to have answered
std::vector<DeviceOutcome> DeviceBackend::State::answers_of(const Prepared& prepared, std::int32_t fewest) const {
  const std::vector<std::uint8_t> bytes =
      row_table.download(prepared.first_answer, prepared.end_answers - prepared.first_answer);
  std::int32_t count = 0;
  std::memcpy(&count, bytes.data(), sizeof count);
  check_answered(count, fewest, prepared.batch.pod_count);
  std::vector<DeviceOutcome> answers(static_cast<std::size_t>(count));
  const std::size_t first = prepared.first_outcome - prepared.first_answer;
  if (!answers.empty()) std::memcpy(answers.data(), bytes.data() + first, answers.size() * sizeof(DeviceOutcome));
  return answers;
}

std::int32_t DeviceBackend::State::widest_row_cells(const LaunchPlan& plan) const {
  std::int32_t widest = 0;
  for (const std::int32_t c : plan.classes) widest = std::max(widest, classes.layout(classes.layout_of(c)).cell_count);
  return widest;
}

/// The row of the class has few enough cells.
bool DeviceBackend::State::fits_window(std::int32_t pod_class) const {
  const DeviceLayout& layout = classes.layout(classes.layout_of(pod_class));
  return !layout.by_node && layout.cell_count <= kWindowCellsMax;
}

/// @return nothing when the best nodes that a window keeps do not suffice for the first pod, or there is no memory
std::vector<DeviceOutcome> DeviceBackend::State::commit_window(const LaunchPlan& plan, const Prepared& prepared) {
  const DeviceBatch& batch = prepared.batch;
  const std::int32_t cells_max = std::max(1, widest_row_cells(plan));
  const std::size_t tops_max = std::min(
      {tuning.window_tops_max, static_cast<std::size_t>(batch.pod_count), static_cast<std::size_t>(kWindowPodsMax)});
  DeviceWindow window;
  try {
    window = window_arrays.open(batch.row_count, cells_max, static_cast<std::int32_t>(tops_max), snapshot.slot_count());
  } catch (const DeviceOutOfMemory&) {
    return {};
  }
  accelerator->commit_window(prepared.state, batch, window);
  return answers_of(prepared, 0);
}

void DeviceBackend::State::launch(std::span<const PodToPlace> pods, const LaunchPlan& plan, bool stops_at_failure,
                                  std::int32_t own_nomination) {
  Prepared prepared = prepare(plan);
  ensure_scratch(prepared.batch.pod_count);
  prepared.state.scratch = {seen.data(), classes.soft_domains_max(), next_mark};
  next_mark += prepared.batch.pod_count;
  prepared.batch.stops_at_failure = stops_at_failure;
  if (plan.fits_window) {
    const std::vector<DeviceOutcome> answers = commit_window(plan, prepared);
    if (!answers.empty()) return apply_outcomes(pods, plan, own_nomination, answers, false);
  }
  accelerator->commit_batch(prepared.state, prepared.batch, widest_row_cells(plan));
  apply_outcomes(pods, plan, own_nomination, answers_of(prepared, 1), true);
}

/// Repeats a launch in the host's state, and updates the log positions of the device and its rows.
/// @param own_nomination  the node that the first pod is nominated to, where it was refused; or -1
/// @param rows_followed  each row follows the batch up to the last pod that needs it; otherwise none does
void DeviceBackend::State::apply_outcomes(std::span<const PodToPlace> pods, const LaunchPlan& plan,
                                          std::int32_t own_nomination, const std::vector<DeviceOutcome>& answers,
                                          bool rows_followed) {
  std::vector<std::uint64_t> position_before(answers.size() + 1, log.position());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    position_before[i] = log.position();
    apply_outcome(pods[i], answers[i], own_nomination, *this);
    // From here on scores may wrap, and the device's further outcomes may be wrong.
    if (snapshot.scores_may_wrap() && i + 1 < answers.size()) return reset_device();
  }
  position_before.back() = log.position();
  columns.skip_to(log.position());
  // A row missed the changes from its last pod on, or those of the whole window.
  for (std::size_t r = 0; r < plan.classes.size(); ++r) {
    const std::size_t last = rows_followed ? std::min(static_cast<std::size_t>(plan.last_pod[r]), answers.size()) : 0;
    refreshed_nodes += static_cast<std::int64_t>(position_before[last] - position_before.front());
    rows.set_position(plan.classes[r], position_before[last]);
  }
}

/// Repeats the outcome of a pod on the host. @param state  this one, or that of a fork
void DeviceBackend::State::apply_outcome(const PodToPlace& pod, const DeviceOutcome& outcome,
                                         std::int32_t own_nomination, CommitState& state) {
  if (outcome.kind == DeviceOutcomeKind::kPlaced) return state.place(pod, outcome.node, outcome.total);
  if (outcome.kind == DeviceOutcomeKind::kUnschedulable) return state.fail_everywhere(pod, own_nomination);
  state.fail(pod, OutcomeKind::kError, {state.table.score_error(pod.class_index), {}, 0});
}

}  // namespace berth
