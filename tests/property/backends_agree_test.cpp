// SPDX-License-Identifier: Apache-2.0
// Whole runs on random clusters under random configurations: the cpu backend must give the reference's answers, pod by
// pod, whatever the batch size, the number of threads, the state of the row cache and the numbers in CpuTuning; and the
// independent checker must find nothing in what comes out.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/generate/random_cluster.h"
#include "tests/support/check_placement.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

/// Everything a case is drawn from; printed by rapidcheck when it fails.
struct Dice {
  explicit Dice(std::uint64_t seed) : engine(seed) {}
  std::int64_t upto(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(engine); }
  bool one_in(std::int64_t n) { return upto(n - 1) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(upto(static_cast<std::int64_t>(from.size()) - 1))];
  }
  std::mt19937_64 engine;
};

std::vector<ResourceWeight> draw_resources(Dice& dice) {
  std::vector<ResourceWeight> resources;
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/foo"})
    if (!dice.one_in(3)) resources.push_back({name, 1 + dice.upto(4)});
  if (resources.empty()) resources = {{"memory", 3}};
  std::shuffle(resources.begin(), resources.end(), dice.engine);
  return resources;
}

void draw_fit_args(Dice& dice, PluginArgs& args) {
  NodeResourcesFitArgs& fit = args.node_resources_fit;
  fit.strategy =
      dice.pick<ScoringStrategyType>({ScoringStrategyType::kLeastAllocated, ScoringStrategyType::kMostAllocated,
                                      ScoringStrategyType::kRequestedToCapacityRatio});
  if (dice.one_in(2)) fit.resources = draw_resources(dice);
  fit.shape.clear();
  if (fit.strategy == ScoringStrategyType::kRequestedToCapacityRatio)
    for (std::int32_t u = static_cast<std::int32_t>(dice.upto(30)); u <= 100;
         u += 1 + static_cast<std::int32_t>(dice.upto(50)))
      fit.shape.push_back({u, static_cast<std::int32_t>(dice.upto(10))});
  if (dice.one_in(4)) fit.ignored_resources = {"example.com/foo"};
  if (dice.one_in(4)) fit.ignored_resource_groups = {"nvidia.com"};
  if (dice.one_in(3)) {
    args.balanced_allocation.resources = draw_resources(dice);
    for (ResourceWeight& resource : args.balanced_allocation.resources) resource.weight = 1;
  }
}

void draw_plugin_lists(Dice& dice, Profile& profile) {
  auto& filters = profile.plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)];
  auto& scores = profile.plugins[static_cast<std::size_t>(ExtensionPoint::kScore)];
  if (dice.one_in(3)) std::shuffle(filters.begin(), filters.end(), dice.engine);
  if (dice.one_in(4)) std::erase_if(filters, [&](const EnabledPlugin&) { return dice.one_in(5); });
  if (dice.one_in(3)) std::erase_if(scores, [&](const EnabledPlugin&) { return dice.one_in(4); });
  if (dice.one_in(20)) scores.clear();
  for (const ExtensionPoint point : {ExtensionPoint::kPreScore, ExtensionPoint::kPreFilter})
    if (dice.one_in(6))
      std::erase_if(profile.plugins[static_cast<std::size_t>(point)],
                    [&](const EnabledPlugin&) { return dice.one_in(5); });
  if (dice.one_in(3))
    for (EnabledPlugin& score : scores) score.weight = 1 + static_cast<std::int32_t>(dice.upto(200));
}

void draw_added_affinity(Dice& dice, NodeAffinityArgs& args) {
  if (!dice.one_in(5)) return;
  NodeAffinity affinity;
  const NodeSelectorTerm linux_term{{{"kubernetes.io/os", SelectorOperator::kIn, {"linux"}}}, {}};
  const NodeSelectorTerm zone_term{{{"topology.kubernetes.io/zone", SelectorOperator::kExists, {}}}, {}};
  if (dice.one_in(2)) affinity.required = {linux_term, zone_term};
  if (dice.one_in(2)) affinity.preferred = {{7, zone_term}, {2, linux_term}};
  args.added_affinity = affinity;
}

void draw_topology_args(Dice& dice, PluginArgs& args) {
  if (dice.one_in(3)) args.inter_pod_affinity.hard_pod_affinity_weight = static_cast<std::int32_t>(dice.upto(100));
  args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods = dice.one_in(4);
  if (!dice.one_in(3)) return;
  args.pod_topology_spread.system_defaulting = false;
  for (const char* key : {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack"})
    for (const bool soft : {false, true}) {
      if (!dice.one_in(3)) continue;
      TopologySpreadConstraint& constraint = args.pod_topology_spread.default_constraints.emplace_back();
      constraint.max_skew = 1 + static_cast<std::int32_t>(dice.upto(3));
      constraint.topology_key = key;
      constraint.schedule_anyway = soft;
      if (!soft && dice.one_in(2)) constraint.min_domains = 1 + static_cast<std::int32_t>(dice.upto(3));
    }
}

SchedulerConfig draw_config(Dice& dice) {
  FeatureGates gates(dice.one_in(3) ? Release::k1_36 : Release::k1_35);
  if (dice.one_in(3)) gates.apply("TaintTolerationComparisonOperators=true");
  SchedulerConfig config = default_scheduler_config(gates);
  Profile& profile = config.profiles.front();
  if (dice.one_in(2)) draw_fit_args(dice, profile.args);
  draw_plugin_lists(dice, profile);
  draw_added_affinity(dice, profile.args.node_affinity);
  draw_topology_args(dice, profile.args);
  if (dice.one_in(3)) config.percentage_of_nodes_to_score = static_cast<std::int32_t>(dice.upto(100));
  return config;
}

EngineConfig draw_engine(Dice& dice) {
  EngineConfig engine;
  engine.seed = static_cast<std::uint64_t>(dice.upto(1000));
  engine.threads = 1 + static_cast<std::int32_t>(dice.upto(2));
  engine.tie_break = dice.one_in(4) ? TieBreak::kKube : dice.one_in(4) ? TieBreak::kFirst : TieBreak::kRandom;
  engine.node_sampling = dice.one_in(5) ? NodeSampling::kKube : NodeSampling::kAll;
  if (dice.one_in(3)) engine.row_bytes_max = 1;
  engine.upstream_bugs = {!dice.one_in(4), !dice.one_in(4)};
  return engine;
}

CpuTuning draw_tuning(Dice& dice) {
  CpuTuning tuning;
  if (dice.one_in(4)) return tuning;
  tuning.min_run_pods = 1 + dice.upto(4);
  tuning.run_nodes_divisor = 1000;
  tuning.slots_max = 1 + static_cast<int>(dice.upto(20));
  tuning.tiles_always = 1 + static_cast<std::size_t>(dice.upto(3));
  tuning.lookahead_pods = static_cast<std::size_t>(dice.upto(30));
  tuning.coarse_domains_max = static_cast<std::int32_t>(dice.upto(4));
  return tuning;
}

/// Pending pods in runs: each is repeated up to a dozen times under other names.
ClusterObjects draw_cluster(Dice& dice, std::uint64_t seed, bool nominated_pods = true) {
  RandomClusterOptions options;
  options.nominated_pods = nominated_pods;
  options.max_nodes = dice.one_in(8) ? 160 : 30;
  options.topology_percent = 75;
  ClusterObjects objects = random_cluster(seed, options);
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : objects.pods) {
    pods.push_back(pod);
    const bool repeatable = pod->node_name.empty() && pod->rare_fields == nullptr;
    for (std::int64_t copy = repeatable ? dice.upto(12) : 0; copy > 0; --copy) {
      auto twin = std::make_shared<Pod>();
      twin->name = pod->name + "-" + std::to_string(copy);
      twin->namespace_ = pod->namespace_;
      twin->labels = pod->labels;
      twin->spec = pod->spec;
      twin->priority = pod->priority;
      pods.push_back(std::move(twin));
    }
  }
  objects.pods = std::move(pods);
  return objects;
}

std::vector<PodToPlace> pending_pods(const ClusterObjects& objects) {
  std::vector<PodToPlace> pods;
  for (const PodPtr& pod : objects.pods)
    if (pod->node_name.empty() && !pod->terminating && pod->rare().scheduling_gates.empty() &&
        pod->spec->scheduler_name == "default-scheduler")
      pods.push_back({pod, 0, -1});
  return pods;
}

std::string describe(const Outcome& outcome, const BatchResult& batch, const Backend& backend) {
  if (outcome.kind == OutcomeKind::kPlaced)
    return std::string(backend.node_name(outcome.node)) + " with " + std::to_string(outcome.score);
  return (outcome.kind == OutcomeKind::kError ? "error: " : "") +
         batch.messages[static_cast<std::size_t>(outcome.message)];
}

/// What becomes of every pod, in batches of `batch_pods`.
/// @param ahead  all batches are compiled before the first is placed: what a later one asks tells apart pods of earlier
/// ones that seemed equal
std::vector<std::string> run(Backend& backend, std::vector<PodToPlace> pods, std::size_t batch_pods,
                             bool ahead = false) {
  std::vector<std::string> answers;
  for (std::size_t next = 0; ahead && next < pods.size(); next += batch_pods)
    backend.compile(std::span(pods).subspan(next, std::min(batch_pods, pods.size() - next)));
  for (std::size_t next = 0; next < pods.size();) {
    const std::size_t count = std::min(batch_pods, pods.size() - next);
    const std::span<PodToPlace> batch = std::span(pods).subspan(next, count);
    if (!ahead) backend.compile(batch);
    const BatchResult result = backend.commit_batch(batch, {});
    for (const Outcome& outcome : result.outcomes) answers.push_back(describe(outcome, result, backend));
    next += result.outcomes.size();
  }
  return answers;
}

struct Case {
  explicit Case(std::uint64_t seed, bool nominated_pods = true)
      : dice(seed),
        objects(draw_cluster(dice, seed, nominated_pods)),
        config(draw_config(dice)),
        engine(draw_engine(dice)),
        tuning(draw_tuning(dice)),
        cache(test::fill_cache(objects)),
        pods(pending_pods(objects)),
        batch_pods(dice.pick<std::size_t>({1, 7, 1000000})) {}

  Dice dice;
  ClusterObjects objects;
  SchedulerConfig config;
  EngineConfig engine;
  CpuTuning tuning;
  std::unique_ptr<ClusterCache> cache;
  std::vector<PodToPlace> pods;
  std::size_t batch_pods;
};

void expect_equal(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                  const std::vector<PodToPlace>& pods) {
  RC_ASSERT(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != actual[i])
      RC_FAIL("pod " + std::to_string(i) + " " + pods[i].pod->full_name() + "\n  reference: " + expected[i] +
              "\n  cpu:       " + actual[i]);
}

RC_GTEST_PROP(BackendsAgree, OnEveryPodOfARun, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  ReferenceBackend reference(*drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(*drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  expect_equal(run(reference, drawn.pods, drawn.batch_pods),
               run(cpu, drawn.pods, drawn.batch_pods, drawn.dice.one_in(2)), drawn.pods);
}

RC_GTEST_PROP(BackendsAgree, AfterRollingBackToAMark, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  CpuBackend cpu(*drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  ReferenceBackend reference(*drawn.cache, drawn.objects, drawn.config, drawn.engine);
  const auto half = static_cast<std::ptrdiff_t>(drawn.pods.size() / 2);
  const std::vector<PodToPlace> first(drawn.pods.begin(), drawn.pods.begin() + half);
  const std::vector<PodToPlace> second(drawn.pods.begin() + half, drawn.pods.end());
  run(reference, first, drawn.batch_pods);
  const std::vector<std::string> expected = run(reference, second, drawn.batch_pods);
  run(cpu, first, drawn.batch_pods);
  const CommitMark mark = cpu.mark();
  expect_equal(expected, run(cpu, second, drawn.batch_pods), second);
  cpu.rollback(mark);
  expect_equal(expected, run(cpu, second, drawn.batch_pods), second);
}

/// What a watch may bring: pods that leave or change, and now and then a node that does.
void change_cache(Dice& dice, const ClusterObjects& objects, ClusterCache& cache) {
  std::vector<PodPtr> running;
  for (const NodeInfo* info : cache.nodes_in_order())
    for (const PodPtr& pod : info->pods)
      if (!cache.is_assumed(pod->uid())) running.push_back(pod);
  for (const PodPtr& pod : running) {
    if (dice.one_in(6)) cache.remove_pod(pod->uid());
    if (!dice.one_in(6)) continue;
    auto changed = std::make_shared<Pod>();
    changed->name = pod->name;
    changed->namespace_ = pod->namespace_;
    changed->stored_uid = pod->stored_uid;
    changed->node_name = pod->node_name;
    changed->spec = pod->spec;
    changed->labels = dice.pick(objects.pods)->labels;
    changed->terminating = dice.one_in(2);
    cache.update_pod(changed);
  }
  if (!dice.one_in(3) || objects.nodes.empty()) return;
  auto node = std::make_shared<Node>(*dice.pick(objects.nodes));
  node->labels = dice.pick(objects.nodes)->labels;
  if (dice.one_in(3)) {
    cache.remove_node(node->name);
  } else {
    cache.update_node(node);
  }
}

RC_GTEST_PROP(BackendsAgree, AfterTheCacheChanged, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed, false);
  drawn.engine.node_sampling = NodeSampling::kAll;  // where the search begins is not in the cache
  CpuBackend cpu(*drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  const std::size_t half = drawn.pods.size() / 2;
  std::vector<PodToPlace> first(drawn.pods.begin(), drawn.pods.begin() + static_cast<std::ptrdiff_t>(half));
  const std::vector<PodToPlace> second(drawn.pods.begin() + static_cast<std::ptrdiff_t>(half), drawn.pods.end());
  cpu.compile(first);
  const BatchResult placed = cpu.commit_batch(first, {});
  for (std::size_t i = 0; i < placed.outcomes.size(); ++i)
    if (placed.outcomes[i].kind == OutcomeKind::kPlaced)
      drawn.cache->assume_pod(first[i].pod, cpu.node_name(placed.outcomes[i].node));
  change_cache(drawn.dice, drawn.objects, *drawn.cache);
  cpu.sync();
  ReferenceBackend reference(*drawn.cache, drawn.objects, drawn.config, drawn.engine);
  expect_equal(run(reference, second, drawn.batch_pods), run(cpu, second, drawn.batch_pods), second);
}

RC_GTEST_PROP(BackendsAgree, OnEveryEvaluation, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  ReferenceBackend reference(*drawn.cache, drawn.objects, drawn.config, drawn.engine);
  CpuBackend cpu(*drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  for (const PodToPlace& pod : drawn.pods) {
    const Evaluation expected = reference.evaluate(pod);
    const Evaluation actual = cpu.evaluate(pod);
    RC_ASSERT(expected.message == actual.message);
    RC_ASSERT(expected.error == actual.error);
    RC_ASSERT(expected.best == actual.best);
    RC_ASSERT(expected.nodes.size() == actual.nodes.size());
    for (std::size_t i = 0; i < expected.nodes.size(); ++i) {
      RC_ASSERT(expected.nodes[i].feasible == actual.nodes[i].feasible);
      RC_ASSERT(expected.nodes[i].total == actual.nodes[i].total);
      RC_ASSERT(expected.nodes[i].status == actual.nodes[i].status);
    }
  }
}

/// The checker holds every rule against a result, so it judges runs of the whole default profile.
RC_GTEST_PROP(BackendsAgree, ThatNoPlacementBreaksARule, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Dice dice(seed);
  const ClusterObjects objects = draw_cluster(dice, seed);
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  const auto cache = test::fill_cache(objects);
  const EngineConfig engine = draw_engine(dice);
  CpuBackend cpu(*cache, objects, config, engine, draw_tuning(dice));
  std::vector<PodToPlace> pods = pending_pods(objects);
  cpu.compile(pods);
  const BatchResult result = cpu.commit_batch(pods, {});
  std::vector<test::PlacedPod> placed;
  for (std::size_t i = 0; i < result.outcomes.size(); ++i)
    if (result.outcomes[i].kind == OutcomeKind::kPlaced)
      placed.push_back({pods[i].pod, std::string(cpu.node_name(result.outcomes[i].node))});
  const test::CheckRules rules = test::check_rules(config, config.profiles.front(), engine);
  for (const std::string& violation : test::check_placement(objects, placed, rules)) RC_FAIL(violation);
}

}  // namespace
}  // namespace berth
