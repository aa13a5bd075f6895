// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/schedule_run.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "host/scheduler/device_rerun.h"
#include "host/scheduler/intake.h"
#include "host/scheduler/schedule_summary.h"
#include "host/simulate/loop_run.h"

namespace berth {
namespace {

/// Placed and unplaced pods in queue order; each distinct text is kept once.
class ResultList {
 public:
  explicit ResultList(ScheduleResult& result) : result_(result) {}
  void place(const PodPtr& pod, NodeIndex node, std::int64_t score, VolumeDecisionsPtr volumes) {
    result_.placements.push_back({pod, node, score, std::move(volumes)});
  }
  void leave(const PodPtr& pod, std::string_view reason, const std::string& text, NodeIndex nominated = kNoNode) {
    const auto [at, is_new] = index_of_.try_emplace(text, static_cast<std::int32_t>(result_.messages.size()));
    if (is_new) result_.messages.push_back(text);
    result_.unplaced.push_back({pod, reason, at->second, nominated});
  }

 private:
  ScheduleResult& result_;
  std::unordered_map<std::string, std::int32_t> index_of_;
};

/// Everything that fill_summary() does not.
void write(const LoopRun& run, const Intake& intake, ScheduleResult& result) {
  using Phase = LoopRun::Phase;
  const Backend& backend = run.backend();
  result.served_by = backend.name();
  result.evictions = run.evictions();
  ResultList list(result);
  auto gated = intake.gated.begin();
  const auto write_gated_before = [&](std::size_t position) {
    for (; gated != intake.gated.end() && gated->queued_before < position; ++gated)
      list.leave(gated->pod, "SchedulingGated", gated->message);
  };
  for (std::size_t position = 0; position < run.states().size(); ++position) {
    write_gated_before(position + 1);
    const LoopRun::State& state = run.states()[position];
    const PodPtr& pod = intake.queue[position].pod;
    if (state.eviction) {
      list.leave(pod, "Preempted", preempted_text(result.evictions[*state.eviction], backend));
      continue;
    }
    switch (state.phase) {
      case Phase::kPlaced:
        list.place(pod, state.node, state.score, run.volumes_of(*pod));
        break;
      case Phase::kReserved:
        list.leave(pod, "Unschedulable",
                   "waits for plugins of its profile on node " + std::string(backend.node_name(state.node)));
        break;
      case Phase::kUntried:
        list.leave(pod, "SchedulingGated", "a PreEnqueue plugin of its profile keeps it out of the queue");
        break;
      case Phase::kUnschedulable:
        list.leave(pod, "Unschedulable", state.message, run.nomination_of(*pod));
        break;
      case Phase::kError:
        list.leave(pod, "SchedulerError", state.message);
        break;
    }
  }
  write_gated_before(SIZE_MAX);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

ScheduleResult schedule_by_loop(const ClusterObjects& objects, const ScheduleOptions& options,
                                const PluginRegistry& plugins) {
  if (options.observer != nullptr) throw std::logic_error("a run of the loop has no QueueRunObserver");
  const auto start = std::chrono::steady_clock::now();
  ScheduleResult result;
  result.seed = options.engine.seed;
  result.stats.load_seconds = options.load_seconds;
  ClusterCache loaded;
  Intake intake = partition_pods(objects, options.config, loaded);
  const auto [run, problem] = run_or_rerun(options.engine, [&](const EngineConfig& engine, bool /*again*/) {
    auto loop = std::make_unique<LoopRun>(objects, options, engine, plugins, intake, loaded);
    result.stats.compile_seconds = seconds_since(start);
    loop->run();
    return loop;
  });
  result.stats.schedule_seconds = seconds_since(start) - result.stats.compile_seconds;
  write(*run, intake, result);
  result.why = problem.empty() ? run->why_backend() : problem;
  result.skipped = std::move(intake.skipped);
  result.stats.pods = static_cast<std::int64_t>(intake.queue.size());
  fill_summary(objects, options, loaded, run->backend(), result);
  return result;
}

}  // namespace berth
