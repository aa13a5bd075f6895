// SPDX-License-Identifier: Apache-2.0
// Whole runs of named workloads (bench/workloads/*.yaml). The time is that of the engine only: from loaded objects and
// compiled classes until placements are known. When the reference is fast enough, its result is compared before the
// measurement. Run from the repository root.

#include <benchmark/benchmark.h>

#include <string>

#include "host/generate/cluster_spec.h"
#include "host/generate/generate.h"
#include "host/scheduler/scheduler.h"

namespace berth {
namespace {

constexpr std::uint64_t kClusterSeed = 1;

ScheduleOptions options_for(const std::string& backend) {
  ScheduleOptions options;
  options.config = default_scheduler_config(FeatureGates());
  options.engine.backend = backend;
  return options;
}

bool same_placements(const ScheduleResult& a, const ScheduleResult& b) {
  if (a.placements.size() != b.placements.size()) return false;
  for (std::size_t i = 0; i < a.placements.size(); ++i)
    if (a.placements[i].pod != b.placements[i].pod || a.placements[i].node != b.placements[i].node) return false;
  return true;
}

void run_workload(benchmark::State& state, const std::string& name, const std::string& backend, bool compare) {
  const ClusterObjects objects = generate_cluster(load_cluster_spec("bench/workloads/" + name + ".yaml"), kClusterSeed);
  const ScheduleOptions options = options_for(backend);
  if (compare && !same_placements(schedule(objects, options), schedule(objects, options_for("reference")))) {
    state.SkipWithError("the placements differ from the reference's");
    return;
  }
  std::int64_t pods = 0;
  for (auto _ : state) {
    const ScheduleResult result = schedule(objects, options);
    state.SetIterationTime(result.stats.schedule_seconds);
    pods += result.stats.pods;
  }
  state.SetItemsProcessed(pods);
}

#define BERTH_WORKLOAD(label, name, backend, compare) \
  BENCHMARK_CAPTURE(run_workload, label, name, backend, compare)->UseManualTime()->Unit(benchmark::kMillisecond)

BERTH_WORKLOAD(small_basic_cpu, "small-basic", "cpu", true);
BERTH_WORKLOAD(small_basic_reference, "small-basic", "reference", false);
BERTH_WORKLOAD(small_classes_cpu, "small-classes", "cpu", true);
BERTH_WORKLOAD(small_classes_reference, "small-classes", "reference", false);
BERTH_WORKLOAD(basic_cpu, "basic", "cpu", false);
BERTH_WORKLOAD(classes_20_cpu, "classes-20", "cpu", false);
BERTH_WORKLOAD(classes_256_cpu, "classes-256", "cpu", false);
BERTH_WORKLOAD(distinct_cpu, "distinct", "cpu", false);
BERTH_WORKLOAD(million_cpu, "million", "cpu", false);

}  // namespace
}  // namespace berth
