// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/preemption.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/generate/cluster_life.h"

namespace berth {
namespace {

constexpr int kNodes = 5000;
constexpr int kDeployments = 1000;
constexpr int kPodsPerNode = 30;
constexpr int kVictimsPerNode = 20;
constexpr int kPreemptors = 1000;
constexpr int kCalls = 5;
constexpr std::int64_t kMebibyte = 1 << 20;

struct Request {
  std::int64_t milli_cpu;
  std::int64_t mebibytes;
};

struct Template {
  std::shared_ptr<const PodSpec> spec;
  Request request;
};

Template make_template(const std::string& app, Request request, int percentile) {
  constexpr __int128 kNano = 1'000'000'000;
  PodSpec spec;
  Container container;
  container.image = "registry/" + app + ":1";
  container.requests = {{"cpu", Quantity{static_cast<__int128>(request.milli_cpu) * 1'000'000}},
                        {"memory", Quantity{static_cast<__int128>(request.mebibytes) * kMebibyte * kNano}}};
  spec.containers.push_back(container);
  LabelSelector own;
  own.match_labels = LabelMap{{"app", app}};
  add_topology_terms(own, percentile, spec);
  return {std::make_shared<const PodSpec>(std::move(spec)), request};
}

/// Full nodes, their potential victims in reprieve order, and preemptors.
class Preemption {
 public:
  Preemption() : config_(default_scheduler_config(FeatureGates())) {
    for (int n = 0; n < 50; ++n)
      objects_.namespaces.push_back({"team-" + std::to_string(n), LabelMap{{"team", std::to_string(n)}}});
    for (int d = 0; d < kDeployments; ++d) {
      const Request request{one_of({50, 100, 250, 500, 1000}), one_of({64, 128, 256, 512, 2048})};
      running_.push_back(make_template(app_of(d), request, static_cast<int>(dice_() % 100)));
    }
    const auto cache = std::make_shared<ClusterCache>();
    for (int n = 0; n < kNodes; ++n) add_full_node(n, *cache);
    engine_ = std::make_unique<CpuBackend>(cache, objects_, config_, EngineConfig());
    // A preemptor is a pod of one of the Deployments with more requests and a higher priority.
    for (int p = 0; p < kPreemptors; ++p) preemptors_.push_back({make_preemptor(p), 0});
    engine_->prepare(preemptors_);
    make_request();
  }

  DryRunResult dry_run() const { return engine_->dry_run({preemptors_, lists_, runs_}); }

 private:
  static std::string app_of(int deployment) { return "app-" + std::to_string(deployment); }
  std::int64_t one_of(std::vector<std::int64_t> values) { return values[dice_() % values.size()]; }

  std::shared_ptr<Pod> make_pod(int deployment, std::shared_ptr<const PodSpec> spec) {
    auto pod = std::make_shared<Pod>();
    pod->name = "pod-" + std::to_string(made_++);
    pod->stored_uid = pod->name;
    pod->namespace_ = "team-" + std::to_string(deployment % 50);
    pod->labels = LabelMap{{"app", app_of(deployment)}};
    pod->spec = std::move(spec);
    return pod;
  }

  void add_full_node(int number, ClusterCache& cache) {
    std::vector<std::shared_ptr<Pod>> pods;
    auto node = std::make_shared<Node>();
    node->name = "node-" + std::to_string(number);
    node->labels = LabelMap{{"kubernetes.io/hostname", node->name},
                            {"topology.kubernetes.io/zone", "z" + std::to_string(number % 3)}};
    for (int p = 0; p < kPodsPerNode; ++p) {
      const int deployment = static_cast<int>(dice_() % kDeployments);
      const Template& of = running_[static_cast<std::size_t>(deployment)];
      pods.push_back(make_pod(deployment, of.spec));
      pods.back()->node_name = node->name;
      pods.back()->priority = static_cast<std::int32_t>(dice_() % 5);
      node->allocatable.milli_cpu += of.request.milli_cpu;
      node->allocatable.memory_bytes += of.request.mebibytes * kMebibyte;
    }
    node->allocatable.milli_cpu += one_of({0, 200, 600, 1500});
    node->allocatable.memory_bytes += one_of({0, 512, 4096}) * kMebibyte;
    node->allocatable.ephemeral_storage_bytes = std::int64_t{90} << 30;
    node->allowed_pod_number = 110;
    cache.add_node(node);
    for (const auto& pod : pods) cache.add_pod(pod);
    pick_victims(std::move(pods));
  }

  /// The least important pods, the most important of them first; those that violate a budget before all.
  void pick_victims(std::vector<std::shared_ptr<Pod>> pods) {
    std::stable_sort(pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a->priority > b->priority; });
    std::vector<Victim> victims;
    for (std::size_t p = kPodsPerNode - kVictimsPerNode; p < pods.size(); ++p)
      victims.push_back({pods[p].get(), dice_() % 10 == 0});
    std::stable_sort(victims.begin(), victims.end(),
                     [](const Victim& a, const Victim& b) { return a.violates_budget && !b.violates_budget; });
    victims_.push_back(std::move(victims));
  }

  PodPtr make_preemptor(int number) {
    constexpr int kPreferring = 0, kPlain = 99, kApart = 50, kSpread = 60;  // of add_topology_terms()
    const int terms = number % 20 == 0 ? kApart : number % 20 == 10 ? kSpread : number % 2 == 0 ? kPreferring : kPlain;
    const Request request{500 + 4 * number, one_of({256, 512, 1024, 3072, 6144})};
    auto pod = make_pod(number, make_template(app_of(number), request, terms).spec);
    pod->priority = 100;
    return pod;
  }

  void make_request() {
    for (std::int32_t i = 0; i < engine_->slot_count(); ++i) {
      const std::string name(engine_->node_name({i}));
      lists_.push_back({{i}, victims_[static_cast<std::size_t>(std::stoll(name.substr(name.find('-') + 1)))]});
    }
    for (std::uint32_t p = 0; p < kPreemptors; ++p)
      for (std::uint32_t l = 0; l < lists_.size(); ++l) runs_.push_back({p, l});
  }

  std::mt19937_64 dice_{1};
  SchedulerConfig config_;
  ClusterObjects objects_;
  std::vector<Template> running_;
  std::vector<std::vector<Victim>> victims_;  ///< [number of the node]
  std::unique_ptr<CpuBackend> engine_;
  std::vector<PodToPlace> preemptors_;
  std::vector<VictimList> lists_;
  std::vector<DryRun> runs_;
  int made_ = 0;
};

/// What the answers say, as one number: equal for equal answers.
std::uint64_t digest_of(const DryRunResult& result) {
  std::uint64_t digest = 0;
  const auto add = [&](std::uint64_t value) { digest = (digest ^ value) * 0x9E3779B97F4A7C15u + (digest >> 29); };
  for (const DryRunAnswer& answer : result.answers) {
    add(static_cast<std::uint64_t>(answer.without_victims.code) << 32 | answer.without_victims.plugin.size());
    add(static_cast<std::uint64_t>(answer.violations) << 32 | answer.kept_count);
  }
  for (const std::uint64_t word : result.kept) add(word);
  return digest;
}

}  // namespace

double preemptors_per_second() {
  const Preemption preemption;
  double best = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const DryRunResult result = preemption.dry_run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, kPreemptors / seconds);
    if (i == 0)
      std::printf("answers of the dry runs: digest %016llx\n", static_cast<unsigned long long>(digest_of(result)));
  }
  return best;
}

}  // namespace berth
