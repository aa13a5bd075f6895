// SPDX-License-Identifier: Apache-2.0
#include "tests/property/drawn_case.h"

#include <rapidcheck.h>

#include <algorithm>

#include "host/generate/random_cluster.h"
#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

std::vector<ResourceWeight> draw_resources(Dice& dice) {
  std::vector<ResourceWeight> resources;
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/foo"})
    if (!dice.one_in(3)) resources.push_back({name, 1 + dice.upto(4)});
  if (resources.empty()) resources = {{"memory", 3}};
  std::shuffle(resources.begin(), resources.end(), dice.engine);
  return resources;
}

std::vector<ShapePoint> draw_shape(Dice& dice) {
  std::vector<ShapePoint> shape;
  for (auto u = static_cast<std::int32_t>(dice.upto(30)); u <= 100; u += 1 + static_cast<std::int32_t>(dice.upto(50)))
    shape.push_back({u, static_cast<std::int32_t>(dice.upto(10))});
  return shape;
}

void draw_fit_args(Dice& dice, PluginArgs& args) {
  NodeResourcesFitArgs& fit = args.node_resources_fit;
  fit.strategy =
      dice.pick<ScoringStrategyType>({ScoringStrategyType::kLeastAllocated, ScoringStrategyType::kMostAllocated,
                                      ScoringStrategyType::kRequestedToCapacityRatio});
  if (dice.one_in(2)) fit.resources = draw_resources(dice);
  fit.shape.clear();
  if (fit.strategy == ScoringStrategyType::kRequestedToCapacityRatio) fit.shape = draw_shape(dice);
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
  if (!dice.one_in(3)) return;
  const std::int64_t highest = dice.one_in(2) ? 200 : 40;  // most weights up to 200 give totals beyond what a key holds
  for (EnabledPlugin& score : scores) score.weight = 1 + static_cast<std::int32_t>(dice.upto(highest));
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

void draw_profile(Dice& dice, Profile& profile) {
  if (dice.one_in(2)) draw_fit_args(dice, profile.args);
  if (dice.one_in(2) && !profile.args.volume_binding.shape.empty())
    profile.args.volume_binding.shape = draw_shape(dice);
  draw_plugin_lists(dice, profile);
  draw_added_affinity(dice, profile.args.node_affinity);
  draw_topology_args(dice, profile.args);
}

SchedulerConfig draw_config(Dice& dice) {
  FeatureGates gates(dice.one_in(3) ? Release::k1_36 : Release::k1_35);
  if (dice.one_in(3)) gates.apply("TaintTolerationComparisonOperators=true");
  for (const char* gate : {"StorageCapacityScoring=true", "VolumeLimitScaling=true"})
    if (dice.one_in(3)) gates.apply(gate);
  if (gates.release() == Release::k1_35 && dice.one_in(8)) gates.apply("VolumeAttributesClass=false");
  SchedulerConfig config = default_scheduler_config(gates);
  if (dice.one_in(3)) config.profiles.emplace_back(config.profiles.front()).scheduler_name = "second";
  for (Profile& profile : config.profiles) draw_profile(dice, profile);
  if (dice.one_in(3)) config.percentage_of_nodes_to_score = static_cast<std::int32_t>(dice.upto(100));
  return config;
}

}  // namespace

EngineConfig draw_engine(Dice& dice) {
  EngineConfig engine;
  engine.seed = static_cast<std::uint64_t>(dice.upto(1000));
  engine.threads = 1 + static_cast<std::int32_t>(dice.upto(2));
  engine.tie_break = dice.pick<TieBreak>(
      {TieBreak::kLoad, TieBreak::kLoad, TieBreak::kLoad, TieBreak::kRandom, TieBreak::kFirst, TieBreak::kKube});
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
  tuning.log_entries_min = static_cast<std::size_t>(dice.upto(20));
  tuning.lone_pods_max = static_cast<std::size_t>(dice.upto(40));
  tuning.lone_changes_min = static_cast<std::uint64_t>(dice.upto(4));
  tuning.sweep_additions_min = static_cast<std::int32_t>(dice.upto(8));
  if (dice.one_in(3)) return tuning;
  tuning.index_classes_min = tuning.index_topology_classes_min = static_cast<std::int32_t>(dice.upto(3));
  tuning.index_changes_min = static_cast<std::int64_t>(dice.upto(12));
  tuning.index_nodes_per_change = 1 + static_cast<std::int64_t>(dice.upto(20));
  tuning.index_groups_always = 1 + static_cast<std::int32_t>(dice.upto(12));
  tuning.index_nodes_per_wide_group = 1 + static_cast<std::int32_t>(dice.upto(5));
  tuning.index_moving_nodes_min = static_cast<std::int64_t>(dice.upto(20));
  tuning.index_listed_max = static_cast<std::size_t>(dice.upto(30));
  tuning.index_refused_max = static_cast<std::size_t>(dice.upto(6));
  return tuning;
}

namespace {

const std::vector<std::int32_t> kPriorities = {-1, 0, 0, 1, 5};

/// Another pending pod that asks for the same.
std::shared_ptr<Pod> twin_of(const Pod& pod, std::string name) {
  auto twin = std::make_shared<Pod>();
  twin->name = std::move(name);
  twin->namespace_ = pod.namespace_;
  twin->labels = pod.labels;
  twin->spec = pod.spec;
  twin->priority = pod.priority;
  return twin;
}

/// Pending pods like those of the cluster, of several priorities, that are nominated to its nodes.
void add_nominated_pods(Dice& dice, ClusterObjects& objects) {
  std::vector<PodPtr> models;
  for (const PodPtr& pod : objects.pods)
    if (is_pending(*pod) && pod->node_name.empty() && pod->rare_fields == nullptr) models.push_back(pod);
  if (models.empty() || objects.nodes.empty()) return;
  for (std::int64_t i = dice.upto(static_cast<std::int64_t>(objects.nodes.size())); i > 0; --i) {
    auto nominated = twin_of(*dice.pick(models), "nominated-" + std::to_string(i));
    nominated->priority = dice.pick(kPriorities);
    PodRare rare;
    rare.nominated_node_name = dice.pick(objects.nodes)->name;
    nominated->rare_fields = std::make_unique<const PodRare>(std::move(rare));
    const auto at = static_cast<std::ptrdiff_t>(dice.upto(static_cast<std::int64_t>(objects.pods.size())));
    objects.pods.insert(objects.pods.begin() + at, std::move(nominated));
  }
}

}  // namespace

ClusterObjects draw_cluster(Dice& dice, std::uint64_t seed, bool nominated_pods) {
  RandomClusterOptions options;
  options.nominated_pods = nominated_pods;
  options.max_nodes = dice.one_in(8) ? 160 : 30;
  options.topology_percent = 75;
  options.pending_status_resources = true;
  ClusterObjects objects = random_cluster(seed, options);
  const bool mixed_priorities = dice.one_in(3);
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : objects.pods) {
    pods.push_back(pod);
    const bool repeatable = pod->node_name.empty() && pod->rare_fields == nullptr;
    for (std::int64_t copy = repeatable ? dice.upto(12) : 0; copy > 0; --copy) {
      auto twin = twin_of(*pod, pod->name + "-" + std::to_string(copy));
      if (mixed_priorities && dice.one_in(4)) twin->priority = dice.pick(kPriorities);
      pods.push_back(std::move(twin));
    }
  }
  objects.pods = std::move(pods);
  if (nominated_pods && dice.one_in(2)) add_nominated_pods(dice, objects);
  return objects;
}

std::vector<PodToPlace> pending_pods(Dice& dice, const ClusterObjects& objects, std::size_t profiles) {
  std::vector<PodToPlace> pods;
  for (const PodPtr& pod : objects.pods)
    if (is_pending(*pod) && !pod->terminating && pod->rare().scheduling_gates.empty() &&
        pod->spec->scheduler_name == "default-scheduler")
      pods.push_back({pod, static_cast<std::int32_t>(dice.upto(static_cast<std::int64_t>(profiles) - 1)), -1});
  return pods;
}

namespace {

/// Half of the pods get claims, of few names, so that some share a class.
ClusterObjects with_claims(Dice& dice, ClusterObjects objects) {
  const std::vector<std::string> names = {"a",    "b",      "c",  "x1", "x2", "xb1", "z1", "z2", "z3",    "zset",
                                          "zset", "zlater", "d1", "d2", "d3", "d4",  "u1", "u2", "zfail", "dwild"};
  const std::vector<std::string> rare = {"zghost", "zbroken", "znever", "zthrow", "dsad", "uthrow"};
  for (PodPtr& pod : objects.pods) {
    if (dice.one_in(2)) continue;
    auto changed = copy_of(*pod);
    PodRare fields = changed->rare();
    fields.volumes.clear();
    for (std::int64_t i = 1 + dice.upto(2); i > 0; --i)
      fields.volumes.push_back({PodVolume::Kind::kClaim, dice.one_in(25) ? dice.pick(rare) : dice.pick(names)});
    changed->rare_fields = std::make_unique<const PodRare>(std::move(fields));
    pod = std::move(changed);
  }
  return objects;
}

}  // namespace

Case::Case(std::uint64_t seed, bool nominated_pods, bool host_plugins)
    : dice(seed),
      objects(host_plugins ? with_claims(dice, draw_cluster(dice, seed, nominated_pods))
                           : draw_cluster(dice, seed, nominated_pods)),
      config(draw_config(dice)),
      engine(draw_engine(dice)),
      tuning(draw_tuning(dice)),
      cache(fill_cache(objects)),
      pods(pending_pods(dice, objects, config.profiles.size())),
      batch_pods(dice.pick<std::size_t>({1, 7, 1000000})) {
  if (!host_plugins) return;
  host_state = std::make_shared<HostPluginState>();
  engine.host_plugins = make_host_plugins(host_state);
}

std::string describe(const Outcome& outcome, const BatchResult& batch, std::string_view node_name) {
  if (outcome.kind == OutcomeKind::kPlaced) return std::string(node_name) + " with " + std::to_string(outcome.score);
  const Message& message = batch.messages[static_cast<std::size_t>(outcome.message)];
  return (outcome.kind == OutcomeKind::kError ? "error: " : "") + message.text + " [" + to_string(message.rejectors) +
         "]";
}

void expect_equal(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                  const std::vector<PodToPlace>& pods) {
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i)
    if (expected[i] != actual[i])
      RC_FAIL("pod " + std::to_string(i) + " " + pods[i].pod->full_name() + "\n  reference: " + expected[i] +
              "\n  cpu:       " + actual[i]);
  RC_ASSERT(expected.size() == actual.size());
}

namespace {

/// Of the best nodes among all, in node order.
std::vector<std::size_t> best_positions(const Evaluation& evaluation) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < evaluation.nodes.size(); ++i)
    if (std::find(evaluation.best.begin(), evaluation.best.end(), evaluation.nodes[i].node) != evaluation.best.end())
      positions.push_back(i);
  return positions;
}

std::string text_of(const NodeEvaluation& node) {
  if (!node.feasible) return std::string(node.status.plugin) + ": " + node.status.message();
  std::string text = "total " + std::to_string(node.total);
  for (const PluginScore& score : node.scores)
    text.append(", ").append(score.plugin).append(" ").append(std::to_string(score.normalized));
  return text;
}

}  // namespace

void expect_equal(const Evaluation& expected, const Evaluation& actual) {
  RC_ASSERT(expected.message == actual.message);
  RC_ASSERT(expected.error == actual.error);
  RC_ASSERT(best_positions(expected) == best_positions(actual));
  RC_ASSERT(expected.rejectors == actual.rejectors);
  RC_ASSERT(expected.nodes.size() == actual.nodes.size());
  for (std::size_t i = 0; i < expected.nodes.size(); ++i) {
    const NodeEvaluation& node = expected.nodes[i];
    const NodeEvaluation& other = actual.nodes[i];
    if (node.feasible != other.feasible || node.total != other.total || !(node.status == other.status))
      RC_FAIL("node " + std::to_string(i) + " in node order\n  reference: " + text_of(node) +
              "\n  other:     " + text_of(other));
  }
}

RankedAnswer ranked_answer(Backend& backend, PodToPlace pod, std::string_view probed) {
  backend.prepare({&pod, 1});
  RankedAnswer answer;
  answer.probe = backend.probe(pod, probed);
  const BatchResult result = backend.commit_batch({&pod, 1}, {.ranks_nodes = true});
  answer.outcome = describe(result.outcomes.front(), result, backend);
  answer.node = backend.node_name(result.outcomes.front().node);
  for (const NodeIndex node : result.others) answer.others.emplace_back(backend.node_name(node));
  return answer;
}

}  // namespace berth::test
