// SPDX-License-Identifier: Apache-2.0
// What events cost a living engine: 5,000 nodes with 20 labels and 50 images each, 30 running pods a node, 1,000
// Deployments with a Service each, rows warm. Prints the median and the 99th percentile of each call, and the limit
// that issue "The living engine" sets; the last column is the placement of one pod after the call, which pays for what
// the call has put off. Exits with 0 whatever it measures.
//
//   bench_engine [--forks]   --forks: only the rows of forks, over an engine without events

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/engine/preemption.h"
#include "host/config/scheduler_config.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/generate/cluster_life.h"

namespace berth {
namespace {

constexpr int kNodes = 5000;
constexpr int kDeployments = 1000;
constexpr int kPodsPerNode = 30;
constexpr int kCalls = 1000;

std::shared_ptr<const PodSpec> spec_of(int deployment, std::mt19937_64& dice) {
  const auto one_of = [&](std::vector<std::int64_t> values) { return values[dice() % values.size()]; };
  PodSpec spec;
  Container container;
  container.image = "registry/app-" + std::to_string(deployment) + ":1";
  constexpr std::int64_t kNano = 1'000'000'000;
  container.requests = {{"cpu", Quantity{static_cast<__int128>(one_of({50, 100, 250, 500})) * 1'000'000}},
                        {"memory", Quantity{static_cast<__int128>(one_of({64, 128, 256, 512})) * 1024 * 1024 * kNano}}};
  spec.containers.push_back(container);
  LabelSelector own;
  own.match_labels = LabelMap{{"app", "app-" + std::to_string(deployment)}};
  add_topology_terms(own, static_cast<int>(dice() % 100), spec);
  return std::make_shared<const PodSpec>(std::move(spec));
}

Service service_of(int deployment) {
  return {"app-" + std::to_string(deployment), "team-" + std::to_string(deployment % 50),
          LabelMap{{"app", "app-" + std::to_string(deployment)}}};
}

NodePtr make_node(const std::string& name, int number, std::mt19937_64& dice) {
  Node node;
  node.name = name;
  std::vector<std::pair<std::string, std::string>> labels{
      {"kubernetes.io/hostname", name}, {"topology.kubernetes.io/zone", "z" + std::to_string(number % 3)}};
  for (int l = 0; l < 18; ++l)
    labels.emplace_back("label-" + std::to_string(l), "v" + std::to_string(dice() % static_cast<unsigned>(l + 2)));
  node.labels = LabelMap(std::move(labels));
  node.allocatable.milli_cpu = static_cast<std::int64_t>(16 << dice() % 3) * 1000;
  node.allocatable.memory_bytes = node.allocatable.milli_cpu * 4 * 1024 * 1024;
  node.allocatable.ephemeral_storage_bytes = std::int64_t{90} << 30;
  node.allowed_pod_number = 110;
  for (int i = 0; i < 50; ++i)
    node.images.push_back({{"registry/app-" + std::to_string(dice() % kDeployments) + ":1"}, 40'000'000});
  return std::make_shared<const Node>(std::move(node));
}

/// The cluster and the engine under test.
class LoadedEngine {
 public:
  LoadedEngine() : config_(default_scheduler_config(FeatureGates())) {
    for (int d = 0; d < kDeployments; ++d) {
      specs_.push_back(spec_of(d, dice));
      objects_.services.push_back(service_of(d));
    }
    for (int n = 0; n < 50; ++n)
      objects_.namespaces.push_back({"team-" + std::to_string(n), LabelMap{{"team", std::to_string(n)}}});
    auto cache = std::make_shared<ClusterCache>();
    for (int i = 0; i < kNodes; ++i) {
      nodes.push_back(make_node("node-" + std::to_string(i), i, dice));
      cache->add_node(nodes.back());
      for (int p = 0; p < kPodsPerNode; ++p) {
        running.push_back(make_pod(any_deployment(), nodes.back()->name));
        cache->add_pod(running.back());
      }
    }
    engine.emplace_back(std::make_unique<CpuBackend>(std::move(cache), objects_, config_, EngineConfig()));
    backend = engine.back().get();
    std::vector<PodToPlace> one_each;
    for (int d = 0; d < kDeployments; ++d) one_each.push_back({make_pod(d, ""), 0});
    backend->prepare(one_each);  // and kept, as a queue does
    backend->commit_batch(one_each, {});
    backend->settle();
    // From its second update on the fingerprint of a node is known.
    for (const NodePtr& node : nodes) backend->apply(std::vector<ClusterChange>{NodeUpsert(node)});
  }

  int any_deployment() { return static_cast<int>(dice() % kDeployments); }
  PodPtr make_pod(int deployment, const std::string& node) {
    Pod pod;
    pod.name = "pod-" + std::to_string(made_++);
    pod.stored_uid = pod.name;
    pod.namespace_ = "team-" + std::to_string(deployment % 50);
    pod.labels = LabelMap{{"app", "app-" + std::to_string(deployment)}};
    pod.spec = specs_[static_cast<std::size_t>(deployment)];
    pod.node_name = node;
    pod.priority = static_cast<std::int32_t>(dice() % 5);
    return std::make_shared<const Pod>(std::move(pod));
  }
  /// A pod of a Deployment with labels, selector and Service never seen.
  PodPtr make_new_deployment() {
    const int deployment = kDeployments + made_;
    specs_.resize(std::max(specs_.size(), static_cast<std::size_t>(deployment) + 1));
    specs_[static_cast<std::size_t>(deployment)] = spec_of(deployment, dice);
    backend->apply(std::vector<ClusterChange>{ServiceUpsert{service_of(deployment)}});
    return make_pod(deployment, "");
  }
  NodePtr changed(const std::function<void(Node&)>& change) {
    const std::size_t i = dice() % nodes.size();
    auto node = std::make_shared<Node>(*nodes[i]);
    change(*node);
    nodes[i] = node;
    return node;
  }
  void place_one() {
    std::vector<PodToPlace> pod{{make_pod(any_deployment(), ""), 0}};
    backend->compile(pod);
    backend->commit_batch(pod, {});
    backend->undo(*pod.front().pod);
    backend->release(pod);
  }

  std::mt19937_64 dice{1};
  std::vector<NodePtr> nodes;
  std::vector<PodPtr> running;
  CpuBackend* backend = nullptr;

 private:
  SchedulerConfig config_;
  ClusterObjects objects_;
  std::vector<std::shared_ptr<const PodSpec>> specs_;
  int made_ = 0;
  std::vector<std::unique_ptr<CpuBackend>> engine;
};

double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Table {
 public:
  explicit Table(LoadedEngine& workload) : workload_(workload) {
    std::printf("%-58s %12s %12s %12s %14s\n", "call", "median us", "p99 us", "limit us", "next pod us");
  }

  /// @param draw  makes the arguments of one call, which are not timed
  void row(const char* what, double limit_us, const std::function<std::function<void()>()>& draw) {
    std::vector<double> calls, placements;
    for (int i = 0; i < kCalls; ++i) {
      const std::function<void()> call = draw();
      calls.push_back(seconds_of(call) * 1e6);
      if (i % 20 == 0) placements.push_back(seconds_of([&] { workload_.place_one(); }) * 1e6);
    }
    std::sort(calls.begin(), calls.end());
    std::sort(placements.begin(), placements.end());
    const double median = calls[calls.size() / 2];
    const double p99 = calls[calls.size() * 99 / 100];
    const bool is_over = median > limit_us || p99 > 5 * limit_us;
    ++rows_;
    over_ += is_over ? 1 : 0;
    std::printf("%-58s %12.2f %12.2f %12.0f %14.1f%s\n", what, median, p99, limit_us, placements[placements.size() / 2],
                is_over ? "  over" : "");
    std::fflush(stdout);
  }
  /// A figure that is no call.
  void figure(const char* what, double value, const char* unit, double limit, bool is_over) {
    ++rows_;
    over_ += is_over ? 1 : 0;
    std::printf("%-58s %12.1f %s, limit %.0f%s\n", what, value, unit, limit, is_over ? "  over" : "");
    std::fflush(stdout);
  }
  void finish() const { std::printf("bench-engine: %d rows, %d over their limit\n", rows_, over_); }

 private:
  LoadedEngine& workload_;
  int rows_ = 0;
  int over_ = 0;
};

std::function<void()> applied(LoadedEngine& workload, ClusterChange change) {
  auto changes = std::make_shared<std::vector<ClusterChange>>();
  changes->push_back(std::move(change));
  return [&workload, changes] { workload.backend->apply(*changes); };
}

/// One pod of each Deployment, prepared.
std::vector<PodToPlace> prepare_one_each(LoadedEngine& workload) {
  std::vector<PodToPlace> pods;
  for (int d = 0; d < kDeployments; ++d) pods.push_back({workload.make_pod(d, ""), 0});
  workload.backend->prepare(pods);
  return pods;
}

/// What happens in one fork.
struct ForkWork {
  std::vector<ClusterChange> changes;
  std::vector<PodToPlace> pods;
};

ForkWork draw_fork_work(LoadedEngine& workload, const std::vector<PodToPlace>& pods, bool adds_node,
                        std::mt19937_64& dice) {
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
  const std::size_t first = dice() % pods.size();
  for (std::size_t i = 0; i < 10; ++i) work.pods.push_back(pods[(first + i * 97) % pods.size()]);  // of ten classes
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
ForkRate measure_forks_of(LoadedEngine& workload, const std::vector<PodToPlace>& pods, bool adds_node, int threads,
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

double heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

/// Heap of a fork in which nothing was done, on average.
double bytes_of_open_fork(LoadedEngine& workload) {
  constexpr int kForks = 1000;
  std::vector<std::unique_ptr<Fork>> forks;
  forks.reserve(kForks);
  const double before = heap_bytes();
  for (int i = 0; i < kForks; ++i) forks.push_back(workload.backend->fork());
  return (heap_bytes() - before) / kForks;
}

void measure_forks(LoadedEngine& workload, Table& table) {
  constexpr double kOpenBytesMax = 64 * 1024;
  constexpr double kForksPerSecondMin = 10'000;
  const std::vector<PodToPlace> pods = prepare_one_each(workload);
  measure_forks_of(workload, pods, false, 1, 3000);  // which builds rows of all classes
  table.row("open and drop a fork", 20, [&]() -> std::function<void()> { return [&] { workload.backend->fork(); }; });
  const double bytes = bytes_of_open_fork(workload);
  table.figure("an open fork", bytes, "bytes", kOpenBytesMax, bytes > kOpenBytesMax);
  const ForkRate one = measure_forks_of(workload, pods, false, 1, 5000);
  const ForkRate two = measure_forks_of(workload, pods, false, 2, 5000);
  const auto reopened_before = workload.backend->stats().forks_reopened;
  const ForkRate with_node = measure_forks_of(workload, pods, true, 2, 5000);
  const auto reopened = static_cast<double>(workload.backend->stats().forks_reopened - reopened_before);
  table.figure("forks: evict 2, place 10 pods of 10 classes, 1 thread", one.per_second, "a second", 0, false);
  table.figure("the same, 2 threads", two.per_second, "a second", kForksPerSecondMin,
               two.per_second < kForksPerSecondMin);
  table.figure("the same with a node added, 2 threads", with_node.per_second, "a second", kForksPerSecondMin,
               with_node.per_second < kForksPerSecondMin);
  table.figure("CPU time of a fork, without a node", two.cpu_us, "us", 0, false);
  table.figure("CPU time of a fork, with a node added", with_node.cpu_us, "us", 0, false);
  table.figure("of 10,000 forks with a node, those that opened an engine", reopened, "forks", 0, reopened > 0);
}

void measure(LoadedEngine& workload, bool only_forks) {
  Table table(workload);
  if (only_forks) {
    measure_forks(workload, table);
    return table.finish();
  }
  const auto any_node = [&]() -> const NodePtr& { return workload.nodes[workload.dice() % workload.nodes.size()]; };
  table.row("fingerprint of a node", 5,
            [&]() -> std::function<void()> { return [node = any_node()] { NodeUpsert upsert(node); }; });
  table.row("node update that changes nothing that rules read", 1,
            [&] { return applied(workload, NodeUpsert(std::make_shared<const Node>(*any_node()))); });
  table.row("pod bound by somebody else", 20, [&] {
    workload.running.push_back(workload.make_pod(workload.any_deployment(), any_node()->name));
    return applied(workload, PodUpsert{workload.running.back()});
  });
  table.row("pod removed by somebody else", 20, [&] {
    std::swap(workload.running[workload.dice() % workload.running.size()], workload.running.back());
    const std::string uid = workload.running.back()->uid();
    workload.running.pop_back();
    return applied(workload, PodRemoval{uid});
  });
  table.row("allocatable of one node", 200, [&] {
    return applied(workload, NodeUpsert(workload.changed([&](Node& node) { node.allocatable.milli_cpu += 100; })));
  });
  table.row("cordon of one node", 200, [&] {
    return applied(workload,
                   NodeUpsert(workload.changed([&](Node& node) { node.unschedulable = !node.unschedulable; })));
  });
  table.row("hard taint of one node", 200, [&] {
    return applied(workload, NodeUpsert(workload.changed([&](Node& node) {
                     if (node.taints.empty()) {
                       node.taints = {{"key-" + std::to_string(workload.dice() % 5), "", TaintEffect::kNoSchedule}};
                     } else {
                       node.taints.clear();
                     }
                   })));
  });
  table.row("label of one node", 200, [&] {
    return applied(workload, NodeUpsert(workload.changed([&](Node& node) {
                     std::vector<std::pair<std::string, std::string>> labels;
                     for (const auto& [key, value] : node.labels) labels.emplace_back(key, value);
                     labels.emplace_back("label-0", "v" + std::to_string(workload.dice() % 9));
                     node.labels = LabelMap(std::move(labels));
                   })));
  });
  int made = 0;
  table.row("node added", 500, [&] {
    workload.nodes.push_back(make_node("made-" + std::to_string(made), made, workload.dice));
    ++made;
    return applied(workload, NodeUpsert(workload.nodes.back()));
  });
  table.row("node removed", 500, [&] {
    std::swap(workload.nodes[workload.dice() % workload.nodes.size()], workload.nodes.back());
    const std::string name = workload.nodes.back()->name;
    workload.nodes.pop_back();
    return applied(workload, NodeRemoval{name});
  });
  table.row("Service relabelled", 2000, [&] {
    Service service = service_of(workload.any_deployment());
    service.selector = LabelMap{{"app", "app-" + std::to_string(workload.any_deployment())}};
    return applied(workload, ServiceUpsert{service});
  });
  table.row("prepare: a Deployment never seen", 300, [&]() -> std::function<void()> {
    auto pod = std::make_shared<std::vector<PodToPlace>>();
    pod->push_back({workload.make_new_deployment(), 0});
    return [&workload, pod] { workload.backend->compile(*pod); };
  });
  table.row("prepare: a pod of a known class", 3, [&]() -> std::function<void()> {
    auto pod = std::make_shared<std::vector<PodToPlace>>();
    pod->push_back({workload.make_pod(workload.any_deployment(), ""), 0});
    return [&workload, pod] { workload.backend->compile(*pod); };
  });
  measure_forks(workload, table);
  constexpr double kPreemptorsPerSecondMin = 2000;
  const double preemptors = preemptors_per_second();
  table.figure("dry runs: 1,000 preemptors x 5,000 nodes x 20 victims", preemptors, "preemptors a second",
               kPreemptorsPerSecondMin, preemptors < kPreemptorsPerSecondMin);
  table.finish();
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::LoadedEngine workload;
  berth::measure(workload, argc > 1 && std::string(argv[1]) == "--forks");
  return 0;
}
