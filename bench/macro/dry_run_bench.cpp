// SPDX-License-Identifier: Apache-2.0
// Dry runs of preemption: 1,000 preemptors on 5,000 nodes with 20 victims each. Axes: classes of the preemptors, and
// whether they have an anti-affinity term that some victims match. Items are preemptors. A few runs are compared with
// the reference before the measurement.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/cluster/cache.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"

namespace berth {
namespace {

constexpr std::int64_t kNodes = 5000;
constexpr std::int64_t kVictims = 20;
constexpr std::uint32_t kPreemptors = 1000;
constexpr std::int64_t kMebibyte = 1 << 20;

std::shared_ptr<PodSpec> spec_of(std::int64_t milli_cpu, std::int64_t mebibytes) {
  auto spec = std::make_shared<PodSpec>();
  Container container;
  container.name = "c";
  container.requests = {{"cpu", *Quantity::parse(std::to_string(milli_cpu) + "m")},
                        {"memory", *Quantity::parse(std::to_string(mebibytes) + "Mi")}};
  spec->containers.push_back(std::move(container));
  return spec;
}

std::shared_ptr<Pod> pod_of(std::string name, std::shared_ptr<const PodSpec> spec, const char* app) {
  auto pod = std::make_shared<Pod>();
  pod->name = std::move(name);
  pod->labels = LabelMap{{"app", app}};
  pod->spec = std::move(spec);
  return pod;
}

/// Nodes that are full of victims, preemptors, and the request of every preemptor on every node.
struct Workload {
  Workload(std::int64_t classes, bool with_terms) : config(default_scheduler_config(FeatureGates())) {
    std::vector<std::shared_ptr<const PodSpec>> specs;
    for (std::int64_t i = 0; i < 10; ++i) specs.push_back(spec_of(200 + 40 * i, 512 + 64 * i));
    victims.resize(static_cast<std::size_t>(kNodes));
    for (std::int64_t n = 0; n < kNodes; ++n) {
      auto node = std::make_shared<Node>();
      node->name = "n" + std::to_string(n);
      node->labels = LabelMap{{"kubernetes.io/hostname", node->name}};
      node->allocatable.milli_cpu = 8000;
      node->allocatable.memory_bytes = 32768 * kMebibyte;
      node->allowed_pod_number = 110;
      cache->add_node(node);
      for (std::int64_t v = 0; v < kVictims; ++v) {
        auto pod = pod_of("v" + std::to_string(n) + "-" + std::to_string(v),
                          specs[static_cast<std::size_t>((n + v) % 10)], v == 3 ? "db" : "web");
        pod->node_name = node->name;
        pod->phase = PodPhase::kRunning;
        cache->add_pod(pod);
        victims[static_cast<std::size_t>(n)].push_back({pod.get(), v < 2});
      }
    }
    for (std::uint32_t p = 0; p < kPreemptors; ++p) {
      const auto spec = spec_of(1000 + static_cast<std::int64_t>(p) % classes, 2048);
      if (with_terms) {
        PodAffinityTerm term;
        term.topology_key = "kubernetes.io/hostname";
        term.label_selector.emplace();
        term.label_selector->match_labels = LabelMap{{"app", "db"}};
        spec->pod_anti_affinity.emplace().required.push_back(std::move(term));
      }
      auto pod = pod_of("p" + std::to_string(p), spec, "web");
      pod->priority = 100;
      preemptors.push_back({pod, 0, -1});
    }
  }

  /// Once the engine has fixed the order of nodes.
  DryRunRequest request(const Backend& backend, std::uint32_t preemptor_count, std::uint32_t node_count) {
    lists.clear();
    runs.clear();
    for (std::int32_t i = 0; i < backend.slot_count(); ++i) {
      const std::string name(backend.node_name({i}));
      lists.push_back({{i}, victims[static_cast<std::size_t>(std::stoll(name.substr(1)))]});
    }
    for (std::uint32_t p = 0; p < preemptor_count; ++p)
      for (std::uint32_t n = 0; n < node_count; ++n) runs.push_back({p, n});
    return {preemptors, lists, runs};
  }

  SchedulerConfig config;
  EngineConfig engine;
  std::shared_ptr<ClusterCache> cache = std::make_shared<ClusterCache>();
  ClusterObjects objects;
  std::vector<std::vector<Victim>> victims;
  std::vector<PodToPlace> preemptors;
  std::vector<VictimList> lists;
  std::vector<DryRun> runs;
};

bool equals_reference(Workload& workload, const CpuBackend& cpu) {
  ReferenceBackend reference(workload.cache, workload.objects, workload.config, workload.engine);
  reference.prepare(workload.preemptors);
  const DryRunRequest few = workload.request(cpu, 2, 3);
  const DryRunResult expected = reference.dry_run(few);
  const DryRunResult actual = cpu.dry_run(few);
  return expected.answers == actual.answers && expected.kept == actual.kept;
}

void dry_run_bench(benchmark::State& state) {
  Workload workload(state.range(0), state.range(1) != 0);
  CpuBackend cpu(workload.cache, workload.objects, workload.config, workload.engine);
  cpu.prepare(workload.preemptors);
  if (!equals_reference(workload, cpu)) {
    state.SkipWithError("the dry runs differ from the reference's");
    return;
  }
  const DryRunRequest request = workload.request(cpu, kPreemptors, static_cast<std::uint32_t>(kNodes));
  for (auto _ : state) benchmark::DoNotOptimize(cpu.dry_run(request).kept.data());
  state.SetItemsProcessed(state.iterations() * kPreemptors);
}
BENCHMARK(dry_run_bench)
    ->ArgNames({"classes", "terms"})
    ->ArgsProduct({{1, 1000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void verdicts_bench(benchmark::State& state) {
  Workload workload(1, state.range(0) != 0);
  CpuBackend cpu(workload.cache, workload.objects, workload.config, workload.engine);
  cpu.prepare(workload.preemptors);
  for (auto _ : state) benchmark::DoNotOptimize(cpu.verdicts(workload.preemptors.front()).nodes.data());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(verdicts_bench)->ArgName("terms")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth
