// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/embed_forks.h"

#include <algorithm>
#include <array>
#include <memory>

#include "batching/backend.h"
#include "host/capi/handles.h"

namespace berth {
namespace {

constexpr std::size_t kPlaced = 10;
constexpr std::size_t kEvicted = 2;
constexpr std::size_t kStride = 97;  ///< a prime: ten classes are ten

/// What happens in one fork, as positions in the lists of pods.
struct ForkWork {
  std::array<std::size_t, kEvicted> evicted;
  std::array<std::size_t, kPlaced> placed;
};

ForkWork draw_work(LoadedEngine& workload) {
  ForkWork work{};
  for (std::size_t& pod : work.evicted) pod = workload.dice() % workload.running.size();
  const std::size_t first = workload.dice();
  for (std::size_t i = 0; i < kPlaced; ++i) work.placed[i] = (first + i * kStride) % LoadedEngine::kDeployments;
  return work;
}

/// On the engine of the snapshot, without berth.h.
void run_on_engine(const ForkWork& work, const LoadedEngine& workload, const berth_snapshot* snapshot,
                   const std::vector<berth_pod*>& pods) {
  std::vector<ClusterChange> changes;
  for (const std::size_t pod : work.evicted) changes.emplace_back(PodRemoval{workload.running[pod]->uid()});
  std::vector<PodToPlace> placed;
  for (const std::size_t pod : work.placed) placed.push_back(pods[pod]->pod->pod->placeable(false));
  const std::unique_ptr<Fork> fork = snapshot->snapshot->fork();
  fork->apply(changes);
  fork->commit_batch(placed, {});
}

void run_through_library(const ForkWork& work, const LoadedEngine& workload, const berth_snapshot* snapshot,
                         const std::vector<berth_pod*>& pods) {
  berth_fork* fork = nullptr;
  berth_result* result = nullptr;
  std::array<const berth_pod*, kPlaced> placed{};
  for (std::size_t i = 0; i < kPlaced; ++i) placed[i] = pods[work.placed[i]];
  CHECK(berth_snapshot_fork(snapshot, &fork, &error));
  for (const std::size_t pod : work.evicted)
    CHECK(berth_fork_remove_pod(fork, workload.running[pod]->uid().c_str(), &error));
  CHECK(berth_fork_schedule(fork, placed.data(), placed.size(), nullptr, &result, &error));
  berth_result_free(&result);
  berth_fork_free(&fork);
}

}  // namespace

void measure_fork_line(Table& table, LoadedEngine& workload, const berth_snapshot* snapshot,
                       const std::vector<berth_pod*>& pods, int rounds) {
  constexpr int kTurns = 10;
  constexpr double kRatioMax = 1.05;
  std::vector<std::vector<ForkWork>> turns(kTurns);
  for (std::vector<ForkWork>& turn : turns)
    for (int i = 0; i < rounds; ++i) turn.push_back(draw_work(workload));
  const auto us_of_a_fork = [&](const std::vector<ForkWork>& turn, const auto& run) {
    return microseconds_of([&] {
             for (const ForkWork& work : turn) run(work);
           }) /
           rounds;
  };
  const auto without = [&](const ForkWork& work) { run_on_engine(work, workload, snapshot, pods); };
  const auto with = [&](const ForkWork& work) { run_through_library(work, workload, snapshot, pods); };
  us_of_a_fork(turns.front(), without);  // rows of all classes
  us_of_a_fork(turns.front(), with);
  std::vector<double> of_engine;
  std::vector<double> of_library;
  std::vector<double> ratios;
  for (const std::vector<ForkWork>& turn : turns) {
    of_engine.push_back(us_of_a_fork(turn, without));
    of_library.push_back(us_of_a_fork(turn, with));
    ratios.push_back(of_library.back() / of_engine.back());
  }
  const auto median = [](std::vector<double>& of_turns) {
    std::ranges::sort(of_turns);
    return of_turns[of_turns.size() / 2];
  };
  table.row("fork, evict 2, place 10 pods of 10 classes, without berth.h", median(of_engine), "us", 0);
  table.row("the same through berth.h", median(of_library), "us", 0);
  table.row("the same, the second by the first, median of 10 turns", median(ratios), "", kRatioMax);
}

}  // namespace berth
