// SPDX-License-Identifier: Apache-2.0
// What nominations cost pods that they count against: 30,000 pods of 1,000 Deployments on 5,000 nodes, without and with
// 500 nominated pods of a higher priority. Deployments have a Service each, half of them terms about their own pods, as
// in ordinary clusters; their pods arrive mixed. Both runs alternate in each iteration; `ratio` is the speed with
// nominations divided by the speed without.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/cache.h"
#include "host/engine/cpu/cpu_backend.h"

namespace berth {
namespace {

constexpr int kNodes = 5000;
constexpr int kDeployments = 1000;
constexpr int kReplicasMean = 30;
constexpr int kNominations = 500;
constexpr int kNominatedPriority = 1000;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

struct Workload {
  Workload() : config(default_scheduler_config(FeatureGates())) {
    for (int n = 0; n < kNodes; ++n) add_node(n);
    for (int d = 0; d < kDeployments; ++d) add_deployment("app-" + std::to_string(d));
    std::shuffle(pods.begin(), pods.end(), random);
    for (int i = 0; i < kNominations; ++i) add_nomination(i);
  }

  SchedulerConfig config;
  EngineConfig engine;
  std::shared_ptr<ClusterCache> cache = std::make_shared<ClusterCache>();
  ClusterObjects objects;
  std::vector<PodToPlace> pods;
  std::vector<ClusterChange> nominations;

 private:
  int below(int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[random() % from.size()];
  }

  void add_node(int n) {
    auto node = std::make_shared<Node>();
    const std::int64_t cores = pick<std::int64_t>({16, 32, 64, 96});
    node->name = "n" + std::to_string(n);
    const std::string pool = pick<std::string>({"general", "general", "general", "batch", "gpu"});
    node->labels = LabelMap{{"kubernetes.io/hostname", node->name},
                            {"topology.kubernetes.io/zone", "z" + std::to_string(n % 3)},
                            {"pool", pool}};
    if (pool == "gpu") node->taints = {{"gpu", "true", TaintEffect::kNoSchedule}};
    node->allocatable.milli_cpu = cores * 1000 - 110;
    node->allocatable.memory_bytes = (cores * 4 - 2) * kGibibyte;
    node->allowed_pod_number = 110;
    cores_of_node.push_back(cores);
    cache->add_node(node);
  }

  static std::shared_ptr<PodSpec> spec_of(const std::string& cpu, const std::string& memory) {
    auto spec = std::make_shared<PodSpec>();
    Container container;
    container.name = "c";
    container.requests = {{"cpu", *Quantity::parse(cpu)}, {"memory", *Quantity::parse(memory)}};
    spec->containers.push_back(std::move(container));
    return spec;
  }

  void add_terms(PodSpec& spec, const LabelSelector& own_pods) {
    PodAffinityTerm term;
    term.label_selector = own_pods;
    term.topology_key = "kubernetes.io/hostname";
    const int share = below(100);
    if (share < 45) {
      spec.pod_anti_affinity.emplace().preferred.push_back({100, term});
    } else if (share < 55) {
      spec.pod_anti_affinity.emplace().required.push_back(term);
    } else if (share < 70) {
      TopologySpreadConstraint& constraint = spec.topology_spread_constraints.emplace_back();
      constraint.topology_key = "topology.kubernetes.io/zone";
      constraint.label_selector = own_pods;
    }
  }

  void add_deployment(const std::string& app) {
    const auto spec = spec_of(pick<std::string>({"50m", "100m", "250m", "500m", "1", "2"}),
                              pick<std::string>({"64Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi"}));
    LabelSelector own_pods;
    own_pods.match_labels = LabelMap{{"app", app}};
    add_terms(*spec, own_pods);
    if (below(100) < 15) spec->node_selector = LabelMap{{"pool", pick<std::string>({"general", "batch"})}};
    objects.services.push_back({app, "team", own_pods.match_labels});
    for (int replica = 1 + below(2 * kReplicasMean - 1); replica > 0; --replica) {
      auto pod = std::make_shared<Pod>();
      pod->name = app + "-" + std::to_string(replica);
      pod->namespace_ = "team";
      pod->labels = own_pods.match_labels;
      pod->spec = spec;
      pods.push_back({pod, 0, -1});
    }
  }

  /// Some leave room on their node for more pods, some do not.
  void add_nomination(int i) {
    const auto node = static_cast<std::size_t>(i) * static_cast<std::size_t>(kNodes / kNominations);
    auto pod = std::make_shared<Pod>();
    pod->name = "urgent-" + std::to_string(i);
    pod->namespace_ = "team";
    pod->labels = LabelMap{{"app", "urgent"}};
    pod->spec = spec_of(std::to_string(cores_of_node[node] * pick<std::int64_t>({300, 600, 990})) + "m", "1Gi");
    pod->priority = kNominatedPriority;
    nominations.emplace_back(NominationUpsert{pod, "n" + std::to_string(node)});
  }

  std::mt19937 random{5};
  std::vector<std::int64_t> cores_of_node;
};

/// Seconds of processor time to place all pods, which other programs on the machine hardly change. Pods that no node
/// accepts count, too.
double seconds_to_place(const Workload& workload, bool with_nominations) {
  CpuBackend cpu(workload.cache, workload.objects, workload.config, workload.engine);
  if (with_nominations) cpu.apply(workload.nominations);
  std::vector<PodToPlace> pods = workload.pods;
  cpu.compile(pods);
  const std::clock_t begin = std::clock();
  benchmark::DoNotOptimize(cpu.commit_batch(pods, {}).outcomes.data());
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void nominations_bench(benchmark::State& state) {
  Workload workload;
  workload.engine.threads = 1;
  double without = 0;
  double with = 0;
  std::int64_t placed = 0;
  for (auto _ : state) {
    without += seconds_to_place(workload, false);
    const double seconds = seconds_to_place(workload, true);
    with += seconds;
    placed += static_cast<std::int64_t>(workload.pods.size());
    state.SetIterationTime(seconds);
  }
  state.counters["pods_per_second_without"] = static_cast<double>(placed) / without;
  state.counters["pods_per_second_with"] = static_cast<double>(placed) / with;
  state.counters["ratio"] = without / with;
}
BENCHMARK(nominations_bench)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(5);

}  // namespace
}  // namespace berth
