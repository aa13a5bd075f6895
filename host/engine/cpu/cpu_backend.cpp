// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/cpu_backend.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "host/engine/cpu/cpu_state.h"
#include "host/engine/cpu/evaluation.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

void check_totals(const SchedulerConfig& config) {
  for (const Profile& profile : config.profiles)
    if (max_total(profile) > kMaxTotal)
      throw InputError(InputProblem{"", "profile " + profile.scheduler_name + ".plugins.score",
                                    "weights add up to a total of " + std::to_string(max_total(profile)) +
                                        ", the cpu backend holds " + std::to_string(kMaxTotal) +
                                        "; use --backend reference"});
}

class Deadline {
 public:
  explicit Deadline(std::int64_t limit_us) : limit_us_(limit_us) {}
  bool passed() const {
    return limit_us_ > 0 && std::chrono::steady_clock::now() - begin_ >= std::chrono::microseconds(limit_us_);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t limit_us_;
};

}  // namespace

void CpuBackend::State::compile(std::span<PodToPlace> pods) {
  const std::int32_t columns = snapshot.resource_count();
  table.compile(pods, not_in_cache());
  if (snapshot.resource_count() == columns) return;
  nominations.refresh_deltas(table);
  // A column that is new holds what the cache knows; what was placed since stands in `answered` alone.
  for (const AnsweredPod& pod : not_in_cache()) {
    if (pod.node < 0) continue;
    ResourceDelta added;
    for (const auto& [column, amount] : table[pod.pod_class].delta.requested)
      if (column >= columns) added.requested.emplace_back(column, amount);
    if (!added.requested.empty()) snapshot.add_requested(pod.node, added);
  }
}

std::span<const PodToPlace> CpuBackend::State::with_current_classes(std::span<const PodToPlace> pods,
                                                                    std::vector<PodToPlace>& renewed) {
  if (std::none_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return table.is_stale(pod); })) return pods;
  renewed.assign(pods.begin(), pods.end());
  compile(renewed);
  return renewed;
}

// Committing

void CpuBackend::State::commit(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  const Deadline deadline(limits.deadline_us);
  std::vector<PodToPlace> renewed;
  pods = with_current_classes(pods, renewed);
  tiles.begin_batch(pods);
  std::size_t next = 0;
  while (next < pods.size()) {
    if (result->outcomes.size() >= limits.pods_max) {
      result->stop = StopReason::kPodLimit;
      return;
    }
    // At least one pod a call, so that calling again always gets on.
    if (next > 0 && deadline.passed()) {
      result->stop = StopReason::kDeadline;
      return;
    }
    const std::size_t run = run_length(pods.subspan(next), limits.pods_max - next);
    if (run == 0 || !place_run(pods.subspan(next), run)) place_next(pods.subspan(next));
    const std::size_t done = result->outcomes.size() - next;
    if (pods[next].class_index >= 0) tiles.answered(pods[next].class_index, static_cast<std::int64_t>(done));
    next = result->outcomes.size();
    if (limits.stop_at_failure && result->outcomes.back().kind != OutcomeKind::kPlaced) {
      result->stop = StopReason::kPodWithoutNode;
      return;
    }
  }
}

// Undoing

void CpuBackend::State::undo_last() {
  const AnsweredPod last = answered.back();
  answered.pop_back();
  const std::size_t position = answered.size();
  if (last.node >= 0) take_back(last, position);
  if (const auto lost = nomination_lost.extract(position)) nominations.restore(lost.mapped(), table, snapshot);
  if (const auto start = start_before.extract(position)) next_start = start.mapped();
}

void CpuBackend::State::take_back(const AnsweredPod& last, std::size_t position) {
  const PodClass& pod_class = table[last.pod_class];
  snapshot.apply(last.node, pod_class.delta, -1);
  snapshot.write_topology().add_all(table.topology().moves_of(*last.pod, pod_class.profile), last.node, -1);
  if (auto ports = ports_before.extract(position)) snapshot.write_used_ports(last.node) = std::move(ports.mapped());
  log.append({last.node, last.pod_class, -1});
}

// The interface

CpuBackend::CpuBackend(const ClusterCache& cache, const ClusterObjects& objects, const SchedulerConfig& config,
                       const EngineConfig& engine, const CpuTuning& tuning) {
  check_totals(config);
  state_ = std::make_unique<State>(cache, objects, config, engine, tuning);
}

CpuBackend::~CpuBackend() = default;

void CpuBackend::compile(std::span<PodToPlace> pods) { state_->compile(pods); }

BatchResult CpuBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  BatchResult result;
  result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
  state_->result = &result;
  state_->message_index.clear();
  state_->arena.execute([&] { state_->commit(pods, limits); });
  state_->result = nullptr;
  return result;
}

CommitMark CpuBackend::mark() const { return {state_->answered.size()}; }

void CpuBackend::rollback(CommitMark mark) {
  State& state = *state_;
  if (mark.position > state.answered.size() || mark.position < state.in_cache)
    throw std::out_of_range("CpuBackend::rollback: no such mark, or one from before sync()");
  while (state.answered.size() > mark.position) state.undo_last();
}

Evaluation CpuBackend::evaluate(const PodToPlace& pod) {
  PodToPlace compiled = pod;
  state_->compile({&compiled, 1});
  return evaluate_pod(compiled, state_->table, state_->nominations, state_->snapshot);
}

BackendStats CpuBackend::stats() const {
  BackendStats stats;
  stats.class_count = state_->table.size();
  stats.rows_built = state_->tiles.rows_built();
  stats.node_evaluations = state_->tiles.node_evaluations() + state_->list_evaluations;
  stats.column_bytes = state_->snapshot.column_bytes();
  stats.row_bytes = state_->tiles.bytes() + state_->grouped_rows.bytes() + state_->table.node_side_bytes();
  return stats;
}

std::string_view CpuBackend::node_name(NodeIndex index) const { return state_->snapshot.node(index.value).name; }

std::int32_t CpuBackend::node_count() const { return state_->snapshot.node_count(); }

void CpuBackend::sync() {
  State& state = *state_;
  const Snapshot::Update update = state.snapshot.update(state.cache);
  for (const std::int32_t node : update.touched) state.log.append({node, -1, 0});
  if (!update.nodes_changed) state.table.topology().recount_nodes(update.touched, state.not_in_cache());
  state.in_cache = state.answered.size();
  if (!update.nodes_changed) return;
  state.tiles.clear();
  state.grouped_rows.clear();
  state.reasons.clear();
  state.table.recompile();
  state.nominations.rebuild(state.table, state.snapshot);
}

}  // namespace berth
