// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/scheduler.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <unordered_map>

#include "host/cluster/cache.h"
#include "host/objects/errors.h"
#include "host/scheduler/backend_factory.h"
#include "host/scheduler/device_rerun.h"
#include "host/scheduler/intake.h"
#include "host/scheduler/schedule_summary.h"

namespace berth {
namespace {

/// Pods a batch when somebody watches: often enough for a progress bar, seldom enough not to be felt.
constexpr std::size_t kWatchedBatch = 1 << 15;

class Stopwatch {
 public:
  double lap_seconds() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - since_).count();
    since_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// Turns outcomes into placements and reasons, gated pods at their place in the queue; each distinct text is kept once.
class ResultWriter {
 public:
  ResultWriter(std::span<const PodToPlace> queue, std::span<const GatedPod> gated, const QueueRunResult& run,
               const Backend& backend, ScheduleResult& result)
      : queue_(queue), gated_(gated), run_(run), backend_(backend), result_(result) {}

  void write() {
    for (const BatchResult& answer : run_.answers) write(answer);
    write_gated_before(SIZE_MAX);
  }

 private:
  void write(const BatchResult& batch) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> index_of;  // by message and what PostFilter adds
    for (const Outcome& outcome : batch.outcomes) {
      const std::size_t position = written_;
      write_gated_before(++written_);
      if (write_later(position)) continue;
      std::int32_t message = -1;
      if (outcome.kind != OutcomeKind::kPlaced) {
        const std::int32_t post_filter = run_.post_filter.empty() ? -1 : run_.post_filter[position];
        const auto [at, is_new] = index_of.try_emplace({outcome.message, post_filter}, -1);
        if (is_new) at->second = message_index(text_of(batch, outcome, post_filter));
        message = at->second;
      }
      write(position, outcome, message);
    }
  }
  std::string text_of(const BatchResult& batch, const Outcome& outcome, std::int32_t post_filter) const {
    const std::string& text = batch.messages[static_cast<std::size_t>(outcome.message)].text;
    if (post_filter < 0) return text;
    return with_post_filter(text, run_.post_filter_texts[static_cast<std::size_t>(post_filter)]);
  }
  /// What became of the pod after its first attempt. @return false: nothing
  bool write_later(std::size_t position) {
    if (const auto evicted = run_.evicted_again.find(position); evicted != run_.evicted_again.end()) {
      const std::string text = preempted_text(run_.evictions[evicted->second], backend_);
      result_.unplaced.push_back({queue_[position].pod, "Preempted", message_index(text)});
      return true;
    }
    const auto later = run_.later.find(position);
    if (later == run_.later.end()) return false;
    write(position, later->second.outcome, message_index(later->second.message.text));
    return true;
  }
  void write(std::size_t position, const Outcome& outcome, std::int32_t message) {
    const PodPtr& pod = queue_[position].pod;
    if (outcome.kind == OutcomeKind::kPlaced) {
      result_.placements.push_back({pod, outcome.node, outcome.score});
      return;
    }
    const auto nominated = run_.nominated.find(position);
    result_.unplaced.push_back({pod, outcome.kind == OutcomeKind::kUnschedulable ? "Unschedulable" : "SchedulerError",
                                message, nominated == run_.nominated.end() ? kNoNode : nominated->second});
  }
  void write_gated_before(std::size_t queue_position) {
    for (; !gated_.empty() && gated_.front().queued_before < queue_position; gated_ = gated_.subspan(1))
      result_.unplaced.push_back({gated_.front().pod, "SchedulingGated", message_index(gated_.front().message)});
  }
  std::int32_t message_index(const std::string& text) {
    const auto [at, is_new] = index_of_text_.try_emplace(text, static_cast<std::int32_t>(result_.messages.size()));
    if (is_new) result_.messages.push_back(text);
    return at->second;
  }

  std::span<const PodToPlace> queue_;
  std::span<const GatedPod> gated_;  ///< still to be written
  const QueueRunResult& run_;
  const Backend& backend_;
  ScheduleResult& result_;
  std::size_t written_ = 0;  ///< pods of the queue
  std::unordered_map<std::string, std::int32_t> index_of_text_;
};

std::size_t batch_size(const ScheduleOptions& options) {
  const auto configured = static_cast<std::size_t>(std::max(options.engine.batch_pods_max, 1));
  return options.progress ? std::min(configured, kWatchedBatch) : configured;
}

/// What one backend made of the queue. The answers are turned into a result afterwards, so that the time taken is the
/// engine's alone.
struct BackendRun {
  OpenedBackend opened;
  QueueRunResult queue;
  double compile_seconds = 0;
  double schedule_seconds = 0;
};

/// @param watch  runs since the time that counts as compiling
BackendRun run_backend(const ClusterObjects& objects, const std::shared_ptr<const ClusterCache>& cache,
                       const ScheduleOptions& options, const EngineConfig& engine, Intake& intake, Stopwatch watch) {
  std::vector<PodToPlace>& queue = intake.queue;
  BackendRun run{open_backend(cache, objects, options.config, engine, options.open_accelerator), {}, 0, 0};
  run.opened.backend->compile(queue);
  run.compile_seconds = watch.lap_seconds();
  const auto report = [&](std::size_t done) {
    if (options.progress) options.progress(done, queue.size());
  };
  run.queue = QueueRun({objects, *cache, options.config, *run.opened.backend, queue, intake.nominated_positions,
                        intake.lowest_priority, options.observer},
                       options.preemption, batch_size(options), report)
                  .run();
  run.schedule_seconds = watch.lap_seconds();
  return run;
}

/// Every pod is tried once here, without a clock by which a node hint could be young enough.
void refuse_opportunistic_batching(const EngineConfig& engine) {
  if (engine.batching == Batching::kEngine) return;
  throw InputError(InputProblem{"", "batching",
                                "got \"" + std::string(to_string(engine.batching)) +
                                    "\", expected \"engine\" where pods are placed without a "
                                    "scheduling loop (simulate, record and perf have one)"});
}

}  // namespace

ScheduleResult schedule(const ClusterObjects& objects, const ScheduleOptions& options) {
  refuse_extenders(options.config);
  refuse_opportunistic_batching(options.engine);
  ScheduleResult result;
  result.seed = options.engine.seed;
  result.stats.load_seconds = options.load_seconds;

  Stopwatch watch;
  const auto cache = std::make_shared<ClusterCache>();
  Intake intake = partition_pods(objects, options.config, *cache);
  // A run leaves nothing behind but what its compile() noted in the queue.
  auto [run, problem] = run_or_rerun(options.engine, [&](const EngineConfig& engine, bool again) {
    for (PodToPlace& pod : intake.queue)
      if (again) pod = {pod.pod, pod.profile};
    return run_backend(objects, cache, options, engine, intake, again ? Stopwatch() : watch);
  });
  if (!problem.empty()) run.opened.why = std::move(problem);
  const Backend& backend = *run.opened.backend;
  result.stats.compile_seconds = run.compile_seconds;
  result.stats.schedule_seconds = run.schedule_seconds;

  result.served_by = backend.name();
  result.why = run.opened.why;
  ResultWriter(intake.queue, intake.gated, run.queue, backend, result).write();
  for (Placement& placement : result.placements)
    if (!placement.pod->rare().volumes.empty())
      placement.volumes = run.opened.backend->volume_decisions(*placement.pod);
  result.evictions = std::move(run.queue.evictions);
  result.skipped = std::move(intake.skipped);
  result.stats.pods = static_cast<std::int64_t>(intake.queue.size());
  fill_summary(objects, options, *cache, backend, result);
  return result;
}

}  // namespace berth
