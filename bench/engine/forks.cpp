// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/forks.h"

#include <time.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/live_heap.h"

namespace berth {
namespace {

constexpr std::size_t kStride = 97;  ///< a prime: ten classes are ten

/// One pod of each Deployment, prepared. All have a Service, and so default constraints.
struct PodsToDraw {
  std::vector<PodToPlace> with_terms;  ///< of affinity or spread
  std::vector<PodToPlace> others;

  explicit PodsToDraw(LoadedEngine& workload) {
    for (const PodToPlace& pod : workload.prepare_one_each()) {
      const PodSpec& spec = *pod.pod->spec;
      const bool has_terms = spec.pod_affinity || spec.pod_anti_affinity || !spec.topology_spread_constraints.empty();
      (has_terms ? with_terms : others).push_back(pod);
    }
  }
};

/// What happens in one fork.
struct ForkWork {
  std::vector<ClusterChange> changes;
  std::vector<PodToPlace> pods;
};

ForkWork draw_fork_work(LoadedEngine& workload, const PodsToDraw& pods, bool adds_node, std::mt19937_64& dice) {
  ForkWork work;
  for (int i = 0; i < 2; ++i)
    work.changes.push_back(PodRemoval{workload.running[dice() % workload.running.size()]->uid()});
  if (adds_node) {
    auto node = std::make_shared<Node>(*workload.nodes[dice() % workload.nodes.size()]);
    node->name = "of-a-fork";
    std::vector<std::pair<std::string, std::string>> labels;
    for (const auto& [key, value] : node->labels)
      labels.emplace_back(key, key == "kubernetes.io/hostname" ? node->name : std::string(value));
    node->labels = LabelMap(std::move(labels));
    work.changes.push_back(NodeUpsert(std::move(node)));
  }
  const std::size_t first = dice();
  for (std::size_t i = 0; i < 10; ++i) {
    const std::vector<PodToPlace>& from = i % 3 == 0 ? pods.with_terms : pods.others;
    work.pods.push_back(from[(first + i * kStride) % from.size()]);
  }
  return work;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct ForkRate {
  double per_second = 0;
  double cpu_us = 0;  ///< of one fork: says more than the rate where others use the machine
};

/// Of several threads, without drawing what happens in the forks.
ForkRate measure_forks_of(LoadedEngine& workload, const PodsToDraw& pods, bool adds_node, int threads,
                          int forks_a_thread) {
  std::vector<std::vector<ForkWork>> works(static_cast<std::size_t>(threads));
  for (std::vector<ForkWork>& of_thread : works)
    for (int i = 0; i < forks_a_thread; ++i)
      of_thread.push_back(draw_fork_work(workload, pods, adds_node, workload.dice));
  std::vector<std::thread> running;
  const double cpu_before = cpu_seconds();
  const double seconds = seconds_of([&] {
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] {
        for (const ForkWork& work : works[static_cast<std::size_t>(t)]) {
          const std::unique_ptr<Fork> fork = workload.backend->fork();
          fork->apply(work.changes);
          fork->commit_batch(work.pods, {});
        }
      });
    for (std::thread& thread : running) thread.join();
  });
  const int forks = threads * forks_a_thread;
  return {forks / seconds, (cpu_seconds() - cpu_before) / forks * 1e6};
}

/// Heap of a fork in which nothing was done, on average.
double bytes_of_open_fork(LoadedEngine& workload) {
  constexpr int kForks = 1000;
  std::vector<std::unique_ptr<Fork>> forks;
  forks.reserve(kForks);
  const double before = static_cast<double>(test::live_heap_bytes());
  for (int i = 0; i < kForks; ++i) forks.push_back(workload.backend->fork());
  return (static_cast<double>(test::live_heap_bytes()) - before) / kForks;
}

}  // namespace

void measure_forks(LoadedEngine& workload, LimitTable& table) {
  using Limit = LimitTable::Limit;
  if (!table.wants("forks")) return;
  constexpr double kOpenBytesMax = 64 * 1024;
  constexpr double kForksPerSecondMin = 10'000;
  const PodsToDraw pods(workload);
  measure_forks_of(workload, pods, false, 1, 3000);  // which builds rows of all classes
  table.row("forks: open and drop one", 20,
            [&]() -> std::function<void()> { return [&] { workload.backend->fork(); }; });
  table.figure("forks: an open one", bytes_of_open_fork(workload), "bytes", Limit::kAtMost, kOpenBytesMax);
  const ForkRate one = measure_forks_of(workload, pods, false, 1, 5000);
  const ForkRate two = measure_forks_of(workload, pods, false, 2, 5000);
  const auto reopened_before = workload.backend->stats().forks_reopened;
  const ForkRate with_node = measure_forks_of(workload, pods, true, 2, 5000);
  const auto reopened = static_cast<double>(workload.backend->stats().forks_reopened - reopened_before);
  table.figure("forks: evict 2, place 10 pods of 10 classes, 1 thread", one.per_second, "a second");
  table.figure("forks: the same, 2 threads", two.per_second, "a second", Limit::kAtLeast, kForksPerSecondMin);
  table.figure("forks: the same with a node added, 2 threads", with_node.per_second, "a second", Limit::kAtLeast,
               kForksPerSecondMin);
  table.figure("forks: CPU time of one, without a node", two.cpu_us, "us");
  table.figure("forks: CPU time of one, with a node added", with_node.cpu_us, "us");
  table.figure("forks: of 10,000 with a node, those that opened an engine", reopened, "forks", Limit::kAtMost, 0);
}

}  // namespace berth
