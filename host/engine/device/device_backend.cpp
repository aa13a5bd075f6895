// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_backend.h"

#include <algorithm>
#include <optional>

#include "batching/commit_state.h"
#include "batching/device/device_errors.h"
#include "batching/node_filter.h"
#include "host/engine/device/device_classes.h"
#include "host/engine/device/device_plan.h"
#include "host/engine/device/device_rows.h"
#include "host/engine/device/device_snapshot.h"
#include "host/engine/device/fork_states.h"
#include "host/engine/device/launch_plan.h"
#include "host/engine/device/transfer_block.h"

namespace berth {

struct DeviceBackend::State : CommitState {
  State(std::unique_ptr<Accelerator> device, const ClusterCache& cluster_cache, const ClusterObjects& objects,
        const SchedulerConfig& scheduler_config, const EngineConfig& engine_config, const DeviceTuning& device_tuning)
      : CommitState(cluster_cache, objects, scheduler_config, engine_config, device->name()),
        accelerator(std::move(device)),
        tuning(device_tuning),
        columns(*accelerator),
        classes(*accelerator, tuning),
        rows(*accelerator, row_bytes_max(), tuning),
        row_table(*accelerator, "a batch"),
        outcomes(*accelerator, "outcomes of a batch"),
        committed(*accelerator, "outcomes of a batch"),
        seen(*accelerator, "marks of topology domains") {}

  std::unique_ptr<Accelerator> accelerator;
  DeviceTuning tuning;
  DeviceSnapshot columns;
  DeviceClassTable classes;
  DeviceRowStore rows;
  DeviceArray<std::uint8_t> row_table;
  DeviceArray<DeviceOutcome> outcomes;
  DeviceArray<std::int32_t> committed;
  DeviceArray<std::int32_t> seen;
  std::int64_t seen_domains = -1;  ///< that `seen` has room for and is cleared for
  std::int32_t next_mark = 1;
  std::int32_t known_resources = 0;
  std::size_t rows_a_launch = tuning.launch_rows_max;  ///< lowered where memory turns out to be short
  std::int64_t refreshed_nodes = 0;                    ///< (class, node) evaluations in launches

  std::uint64_t row_bytes_max() const {
    const std::uint64_t free = accelerator->free_bytes();
    const std::uint64_t wanted = engine.device_memory_bytes_max != 0 ? engine.device_memory_bytes_max : free / 5 * 4;
    return std::min(wanted, free);
  }

  /// Runs the body of a call. @throws what it throws; the host's state is then as before the call, and the device's is
  /// made anew by the next one
  template <class Body>
  void all_or_nothing(Body body);

  bool is_for_device(const PodToPlace& pod);
  void commit(std::span<const PodToPlace> pods, const BatchLimits& limits);
  void answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure);
  void answer_on_device(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure);
  void answer_on_host(const PodToPlace& pod);
  std::size_t run_length(std::span<const PodToPlace> pods, std::size_t limit);
  bool place_run(std::span<const PodToPlace> pods);
  LaunchPlan plan_launch(std::span<const PodToPlace> pods, std::size_t pods_max);
  void add_class(std::int32_t pod_class);
  void check_room() const;
  void update_columns();
  /// A launch that is ready on the device.
  struct Prepared {
    DeviceState state;
    DeviceBatch batch;
  };
  Prepared prepare(const LaunchPlan& plan);
  void ensure_scratch(std::int32_t selections);
  void launch(std::span<const PodToPlace> pods, const LaunchPlan& plan, bool stops_at_failure);
  void take_up_all(std::span<const PodToPlace> pods, const LaunchPlan& plan, const std::vector<DeviceOutcome>& answers);
  void take_up(const PodToPlace& pod, const DeviceOutcome& outcome);
  std::vector<std::vector<PodToPlace>> current(std::span<const std::span<const PodToPlace>> forks);
  std::optional<LaunchPlan> plan_fork(std::span<const PodToPlace> pods);
  struct Wave {
    std::size_t fork_count = 0;
    LaunchPlan rows;  ///< of all its forks, without pods
  };
  Wave next_wave(std::span<const LaunchPlan> plans, const ForkStates& states) const;
  /// @return no result at all when the host has to answer some pod
  std::vector<BatchResult> try_forks(std::span<const std::span<const PodToPlace>> forks, const BatchLimits& limits);
  BatchResult replay_fork(std::span<const PodToPlace> pods, const std::vector<DeviceOutcome>& answers,
                          bool stops_at_failure);
  void reset_device();
};

/// The device can answer the pod by itself; then nothing but rows and counters decides.
bool DeviceBackend::State::is_for_device(const PodToPlace& pod) {
  const std::int32_t c = pod.class_index;
  return snapshot.node_count() > 0 && c >= 0 && nominations.empty() && plain_mode() &&
         DeviceClassTable::can_serve(table[c], table.profile_of(c)) && !scores_may_leave_range(table[c], snapshot) &&
         table.pre_filter(c).passes();
}

template <class Body>
void DeviceBackend::State::all_or_nothing(Body body) {
  const CommitMark before = mark();
  try {
    body();
  } catch (...) {
    // Launches of the same call may have been taken up: the caller is given no outcome of them, so they must not stand.
    result = nullptr;
    reset_device();
    rollback(before);
    throw;
  }
  result = nullptr;
}

void DeviceBackend::State::commit(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  std::vector<PodToPlace> renewed;
  pods = with_current_classes(pods, renewed);
  run_batch(pods, limits, [&](std::span<const PodToPlace> rest, std::size_t pods_max) {
    answer_front(rest, pods_max, limits.stop_at_failure);
  });
}

/// What the device holds is not known any more: everything is uploaded and built anew when it is needed.
void DeviceBackend::State::reset_device() {
  columns.clear();
  classes.clear();
  rows.clear();
  seen_domains = -1;
}

void DeviceBackend::State::answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure) {
  if (repeat_failure(pods.front())) return;
  if (!is_for_device(pods.front())) return answer_on_host(pods.front());
  // Rows are what can be given up: first those that are kept for later, then some of those side by side. Nothing is
  // taken up before the last allocation of a launch.
  for (bool holds_nothing = false;; holds_nothing = true) {
    try {
      return answer_on_device(pods, pods_max, stops_at_failure);
    } catch (const DeviceOutOfMemory&) {
      if (holds_nothing && rows_a_launch == 1) throw;
      if (holds_nothing) rows_a_launch = (rows_a_launch + 1) / 2;
      reset_device();
    }
  }
}

void DeviceBackend::State::answer_on_device(std::span<const PodToPlace> pods, std::size_t pods_max,
                                            bool stops_at_failure) {
  const std::size_t run = run_length(pods, pods_max);
  if (run > 0 && place_run(pods.first(run))) return;
  launch(pods, plan_launch(pods, pods_max), stops_at_failure);
}

void DeviceBackend::State::answer_on_host(const PodToPlace& pod) {
  std::int32_t own_nomination = -1;
  if (answer_without_row(pod, own_nomination)) return;
  const std::int32_t c = pod.class_index;
  const UncachedClass nodes(table[c], table.profile_of(c), table.node_side(c), snapshot, draws());
  std::vector<std::int32_t> refused = refused_by_nominations(pod);
  std::erase_if(refused, [&](std::int32_t node) { return !nodes.accepts(node); });
  answer_from_list(pod, nodes, refused, own_nomination);
}

// Runs

/// Length of the run of equal pods at the front, 0 when it is too short to be placed at once or may not be.
std::size_t DeviceBackend::State::run_length(std::span<const PodToPlace> pods, std::size_t limit) {
  const std::int32_t c = pods.front().class_index;
  if (!table[c].ports.empty() || table[c].topology != nullptr || !table.score_error(c).empty()) return 0;
  const std::size_t run = equal_pods(pods, std::min(limit, static_cast<std::size_t>(tuning.run_pods_max)));
  return static_cast<std::int64_t>(run) >= tuning.min_run_length(snapshot.node_count()) ? run : 0;
}

bool DeviceBackend::State::place_run(std::span<const PodToPlace> pods) {
  const std::int32_t c = pods.front().class_index;
  add_class(c);
  if (!classes.layout(classes.layout_of(c)).in_order) return false;
  LaunchPlan plan;
  plan.add_class(c);
  const Prepared prepared = prepare(plan);
  const DeviceRun run = accelerator->commit_run(prepared.state, rows.row(c), static_cast<std::int64_t>(pods.size()));
  if (run.feasible_count == 0) return false;
  std::int64_t feasible = run.feasible_count;
  rows.set_position(c, log.position());
  for (std::size_t i = 0; i < run.picks.size(); ++i) {
    const DevicePick& pick = run.picks[i];
    place_copy(pods[i], pick.node, pick.total + run.normalized_total, feasible);
    if (pick.is_last) --feasible;
    if (snapshot.scores_may_wrap() && i + 1 < run.picks.size()) {
      reset_device();
      return true;
    }
  }
  columns.skip_to(log.position());
  return true;
}

// Launches

LaunchPlan DeviceBackend::State::plan_launch(std::span<const PodToPlace> pods, std::size_t pods_max) {
  const std::size_t longest = std::min({pods.size(), pods_max, tuning.launch_pods_max});
  LaunchPlan wanted;
  for (std::size_t i = 0; i < longest; ++i) {
    const std::int32_t c = pods[i].class_index;
    if (!wanted.knows(c)) {
      if (wanted.classes.size() == rows_a_launch || !is_for_device(pods[i])) break;
      add_class(c);
    }
    wanted.add_pod(c);
  }
  const std::size_t fitting = rows.fitting(wanted.classes, classes);
  if (fitting == wanted.classes.size()) return wanted;
  LaunchPlan plan;
  for (const std::int32_t row : wanted.row_of_pod) {
    if (static_cast<std::size_t>(row) >= fitting) break;
    plan.add_pod(wanted.classes[static_cast<std::size_t>(row)]);
  }
  return plan;
}

void DeviceBackend::State::add_class(std::int32_t pod_class) {
  // A new resource may be asked for by classes that are known: what they add to a node was made anew.
  if (known_resources != snapshot.resource_count()) {
    known_resources = snapshot.resource_count();
    rows.clear();
    classes.clear();
  }
  classes.add(pod_class, draws(), table, snapshot, columns);
}

/// Refuses a cluster whose columns and a single row do not fit, before anything is uploaded.
void DeviceBackend::State::check_room() const {
  const TopologyCounts& counts = snapshot.topology();
  DeviceShape shape;
  shape.nodes = static_cast<std::uint64_t>(snapshot.node_count());
  shape.resources = static_cast<std::uint64_t>(snapshot.resource_count());
  shape.topology_columns = static_cast<std::uint64_t>(counts.column_count());
  shape.topology_tables = static_cast<std::uint64_t>(counts.table_count());
  for (std::int32_t t = 0; t < counts.table_count(); ++t)
    shape.topology_counters += static_cast<std::uint64_t>(counts.column(counts.column_of(t)).domain_count) + 1;
  shape.rows = 1;
  const std::uint64_t needed = plan_device(shape).total();
  // What columns of an earlier state hold is theirs to use again.
  const std::uint64_t room = accelerator->free_bytes() + accelerator->allocated_bytes();
  if (needed > room)
    throw DeviceOutOfMemory("", "columns of " + std::to_string(shape.nodes) + " nodes and a row", needed, room,
                            "the number of nodes, or use the cpu backend");
}

void DeviceBackend::State::update_columns() {
  if (columns.is_empty()) check_room();
  columns.update(snapshot, log);
}

/// Uploads what changed and the plan, and brings the plan's rows up to date.
DeviceBackend::State::Prepared DeviceBackend::State::prepare(const LaunchPlan& plan) {
  update_columns();
  Prepared prepared;
  DeviceState& state = prepared.state;
  state.columns = columns.columns();
  state.counts = columns.counts();
  state.classes = classes.classes(table, columns);
  const DeviceRowStore::Work work = rows.prepare(plan.classes, classes, log, snapshot.node_count());
  TransferBlock block;
  const auto at_rows = block.add(work.rows);
  const auto at_build = block.add(work.build);
  const auto at_refresh = block.add(work.refresh);
  const auto at_first = block.add(work.first_node);
  const auto at_nodes = block.add(work.nodes);
  const auto at_pods = block.add(plan.row_of_pod);
  const auto at_last = block.add(plan.last_pod);
  // A later batch of the same shape has changed nodes to tell of as well; it finds room.
  const auto nodes_max = static_cast<std::size_t>(tuning.refresh_limit(snapshot.node_count()));
  if (row_table.bytes() < block.bytes())
    row_table.reserve(block.bytes() + 2 * TransferBlock::bytes_of<std::int32_t>(work.rows.size()) +
                      TransferBlock::bytes_of<std::int32_t>(nodes_max));
  block.send(row_table);
  state.rows = {block.at(at_rows), classes.layouts()};
  prepared.batch.row_of_pod = block.at(at_pods);
  prepared.batch.last_pod = block.at(at_last);
  prepared.batch.pod_count = static_cast<std::int32_t>(plan.row_of_pod.size());
  prepared.batch.row_count = static_cast<std::int32_t>(plan.classes.size());
  if (!work.build.empty())
    accelerator->build_rows(state, {block.at(at_build), static_cast<std::int32_t>(work.build.size())});
  if (!work.refresh.empty())
    accelerator->refresh_rows(
        state, {block.at(at_refresh), block.at(at_first), block.at(at_nodes),
                static_cast<std::int32_t>(work.refresh.size()), static_cast<std::int32_t>(work.nodes.size())});
  refreshed_nodes += static_cast<std::int64_t>(work.build.size()) * snapshot.node_count();
  return prepared;
}

/// Marks of domains for this many selections, each above all before.
void DeviceBackend::State::ensure_scratch(std::int32_t selections) {
  const std::int64_t domains = classes.soft_domains_max();
  if (seen_domains == domains && next_mark < INT32_MAX - selections) return;
  const auto entries = static_cast<std::uint64_t>(domains + 1) * kDeviceConstraintsMax;
  seen.reserve(entries);
  seen.clear(entries);
  seen_domains = domains;
  next_mark = 1;
}

void DeviceBackend::State::launch(std::span<const PodToPlace> pods, const LaunchPlan& plan, bool stops_at_failure) {
  auto [state, batch] = prepare(plan);
  ensure_scratch(batch.pod_count);
  state.scratch = {seen.data(), classes.soft_domains_max(), next_mark};
  next_mark += batch.pod_count;
  outcomes.reserve(static_cast<std::uint64_t>(batch.pod_count));
  committed.reserve(1);
  batch.stops_at_failure = stops_at_failure;
  batch.outcomes = outcomes.data();
  batch.committed_count = committed.data();
  std::int32_t widest = 0;
  for (const std::int32_t c : plan.classes) widest = std::max(widest, classes.layout(classes.layout_of(c)).cell_count);
  accelerator->commit_batch(state, batch, widest);
  const std::int32_t answered_count = committed.download(0, 1).front();
  take_up_all(pods, plan, outcomes.download(0, static_cast<std::uint64_t>(answered_count)));
}

/// Repeats a launch in the host's state, and notes how far the device and each row are.
void DeviceBackend::State::take_up_all(std::span<const PodToPlace> pods, const LaunchPlan& plan,
                                       const std::vector<DeviceOutcome>& answers) {
  std::vector<std::uint64_t> position_before(answers.size() + 1, log.position());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    position_before[i] = log.position();
    take_up(pods[i], answers[i]);
    // From here on scores may wrap round, and what the device answered behind it is not to be trusted.
    if (snapshot.scores_may_wrap() && i + 1 < answers.size()) return reset_device();
  }
  position_before.back() = log.position();
  columns.skip_to(log.position());
  // A row missed what came from its last pod on.
  for (std::size_t r = 0; r < plan.classes.size(); ++r) {
    const std::size_t last = std::min(static_cast<std::size_t>(plan.last_pod[r]), answers.size());
    refreshed_nodes += static_cast<std::int64_t>(position_before[last] - position_before.front());
    rows.set_position(plan.classes[r], position_before[last]);
  }
}

/// What the device did with a pod, repeated in the host's state.
void DeviceBackend::State::take_up(const PodToPlace& pod, const DeviceOutcome& outcome) {
  if (outcome.kind == DeviceOutcomeKind::kPlaced) return place(pod, outcome.node, outcome.total);
  if (outcome.kind == DeviceOutcomeKind::kUnschedulable) return fail_everywhere(pod, false, -1);
  fail(pod, OutcomeKind::kError, table.score_error(pod.class_index));
}

// Forks

/// Compiled anew until no later question tells pods of any fork apart.
std::vector<std::vector<PodToPlace>> DeviceBackend::State::current(std::span<const std::span<const PodToPlace>> forks) {
  std::vector<std::vector<PodToPlace>> renewed;
  for (const std::span<const PodToPlace> pods : forks) renewed.emplace_back(pods.begin(), pods.end());
  const auto is_stale = [&](const PodToPlace& pod) { return table.is_stale(pod); };
  for (bool again = true; again;) {
    again = false;
    for (std::vector<PodToPlace>& pods : renewed) {
      if (std::none_of(pods.begin(), pods.end(), is_stale)) continue;
      compile(pods);
      again = true;
    }
  }
  return renewed;
}

/// The plan of a fork, or nothing when the host has to answer one of its pods or its rows do not fit.
std::optional<LaunchPlan> DeviceBackend::State::plan_fork(std::span<const PodToPlace> pods) {
  LaunchPlan plan;
  for (const PodToPlace& pod : pods) {
    if (!plan.knows(pod.class_index)) {
      if (!is_for_device(pod)) return std::nullopt;
      add_class(pod.class_index);
    }
    plan.add_pod(pod.class_index);
  }
  if (rows.fitting(plan.classes, classes) < plan.classes.size()) return std::nullopt;
  return plan;
}

/// Forks next to one another whose copies and rows the device holds at once; at least one.
DeviceBackend::State::Wave DeviceBackend::State::next_wave(std::span<const LaunchPlan> plans,
                                                           const ForkStates& states) const {
  const std::uint64_t room = accelerator->free_bytes() / 10 * 9;
  std::uint64_t bytes = 0;
  std::uint64_t row_bytes = 0;
  Wave wave;
  for (; wave.fork_count < plans.size() && wave.fork_count < tuning.wave_forks_max; ++wave.fork_count) {
    const LaunchPlan& plan = plans[wave.fork_count];
    bytes += states.bytes(plan, classes);
    for (const std::int32_t c : plan.classes)
      if (!wave.rows.knows(c)) row_bytes += device_row_bytes(classes.layout(classes.layout_of(c)));
    if (wave.fork_count > 0 && (bytes > room || row_bytes > rows.bytes_max())) break;
    for (const std::int32_t c : plan.classes) wave.rows.add_class(c);
  }
  return wave;
}

std::vector<BatchResult> DeviceBackend::State::try_forks(std::span<const std::span<const PodToPlace>> forks,
                                                         const BatchLimits& limits) {
  const std::vector<std::vector<PodToPlace>> pods = current(forks);
  std::vector<LaunchPlan> plans;
  for (const std::vector<PodToPlace>& fork : pods) {
    std::optional<LaunchPlan> plan = plan_fork(fork);
    if (!plan) return {};
    plans.push_back(std::move(*plan));
  }
  std::vector<BatchResult> results;
  for (std::size_t next = 0; next < plans.size();) {
    update_columns();
    ForkStates states(*accelerator, {columns.node_count(), columns.resource_count(),
                                     static_cast<std::uint64_t>(columns.port_set_count()), columns.counter_count(),
                                     columns.table_count(), classes.soft_domains_max()});
    const Wave wave = next_wave(std::span(plans).subspan(next), states);
    const Prepared live = prepare(wave.rows);
    const auto answers =
        states.run(std::span(plans).subspan(next, wave.fork_count), live.state, rows, classes, limits.stop_at_failure);
    for (std::size_t f = 0; f < wave.fork_count; ++f)
      results.push_back(replay_fork(pods[next + f], answers[f], limits.stop_at_failure));
    if (snapshot.scores_may_wrap()) {  // in some fork; the host answers them all
      reset_device();
      return {};
    }
    // Nothing changed in the end, on the device nor here, though the log has grown.
    columns.skip_to(log.position());
    for (const std::int32_t c : wave.rows.classes) rows.set_position(c, log.position());
    next += wave.fork_count;
  }
  return results;
}

/// The answers of a fork in full, from the host's state, which is as before afterwards.
BatchResult DeviceBackend::State::replay_fork(std::span<const PodToPlace> pods,
                                              const std::vector<DeviceOutcome>& answers, bool stops_at_failure) {
  BatchResult replayed;
  result = &replayed;
  const CommitMark before = mark();
  BatchLimits limits;
  limits.pods_max = answers.size();
  limits.stop_at_failure = stops_at_failure;
  std::size_t next = 0;
  run_batch(pods, limits,
            [&](std::span<const PodToPlace> rest, std::size_t) { take_up(rest.front(), answers[next++]); });
  rollback(before);
  return replayed;
}

// The interface

DeviceBackend::DeviceBackend(std::unique_ptr<Accelerator> accelerator, const ClusterCache& cache,
                             const ClusterObjects& objects, const SchedulerConfig& config, const EngineConfig& engine,
                             const DeviceTuning& tuning)
    : state_(std::make_unique<State>(std::move(accelerator), cache, objects, config, engine, tuning)) {}

DeviceBackend::~DeviceBackend() = default;

std::string_view DeviceBackend::name() const { return state_->accelerator->name(); }

void DeviceBackend::compile(std::span<PodToPlace> pods) { state_->compile(pods); }

BatchResult DeviceBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  BatchResult result;
  result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
  state_->all_or_nothing([&] {
    state_->result = &result;
    state_->commit(pods, limits);
  });
  return result;
}

std::vector<BatchResult> DeviceBackend::try_forks(std::span<const std::span<const PodToPlace>> forks,
                                                  const BatchLimits& limits) {
  // Limits that count pods or time are the host's to watch.
  const bool side_by_side = !forks.empty() && limits.deadline_us == 0 && limits.pods_max == SIZE_MAX;
  std::vector<BatchResult> results;
  try {
    if (side_by_side) state_->all_or_nothing([&] { results = state_->try_forks(forks, limits); });
  } catch (const DeviceOutOfMemory&) {
    results.clear();  // one after another they take no more than a batch
  }
  if (results.empty()) state_->all_or_nothing([&] { results = Backend::try_forks(forks, limits); });
  return results;
}

CommitMark DeviceBackend::mark() const { return state_->mark(); }

void DeviceBackend::rollback(CommitMark mark) { state_->rollback(mark); }

Evaluation DeviceBackend::evaluate(const PodToPlace& pod) { return state_->evaluate(pod); }

BackendStats DeviceBackend::stats() const {
  BackendStats stats;
  stats.class_count = state_->table.size();
  stats.rows_built = state_->rows.rows_built();
  stats.node_evaluations = state_->refreshed_nodes + state_->list_evaluations;
  stats.column_bytes = state_->snapshot.column_bytes();
  stats.row_bytes = state_->rows.bytes() + state_->table.node_side_bytes();
  stats.device = state_->accelerator->stats();
  return stats;
}

std::string_view DeviceBackend::node_name(NodeIndex index) const { return state_->snapshot.node(index.value).name; }

std::int32_t DeviceBackend::node_count() const { return state_->snapshot.node_count(); }

void DeviceBackend::sync() {
  if (!state_->sync().nodes_changed) return;
  state_->reset_device();
  state_->rows_a_launch = state_->tuning.launch_rows_max;
}

const Accelerator& DeviceBackend::accelerator() const { return *state_->accelerator; }

}  // namespace berth
