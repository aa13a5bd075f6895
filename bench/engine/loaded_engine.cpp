// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/loaded_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/generate/cluster_life.h"

namespace berth {
namespace {

constexpr std::int64_t kNanosPerUnit = 1'000'000'000;
constexpr std::int64_t kMebibytes = 1 << 20;
constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRack = "rack";
constexpr int kNodesPerRack = 40;
constexpr int kTiers = 10;
constexpr std::string_view kSoftTaint = "busy";

std::string app_of(int deployment) { return fmt::format("app-{}", deployment); }
std::string team_of(int deployment) { return fmt::format("team-{}", deployment % LoadedEngine::kNamespaces); }
std::string image_of(int deployment) { return fmt::format("registry/{}:1", app_of(deployment)); }
/// Half of a namespace's Deployments.
int half_number(int deployment) { return deployment / LoadedEngine::kNamespaces % 2; }
std::string half_of(int deployment) { return half_number(deployment) == 0 ? "a" : "b"; }

Namespace namespace_in_tier(int number, int tier) {
  return {team_of(number), LabelMap{{"team", std::to_string(number)}, {"tier", std::to_string(tier)}}};
}

Service service_of(int deployment) {
  return {app_of(deployment), team_of(deployment), LabelMap{{"app", app_of(deployment)}}};
}

LabelSelector selector_of(int deployment) {
  LabelSelector own;
  own.match_labels = LabelMap{{"app", app_of(deployment)}};
  return own;
}

TopologySpreadConstraint spread(std::string_view key, int max_skew, bool is_soft, int deployment) {
  TopologySpreadConstraint constraint;
  constraint.topology_key = key;
  constraint.max_skew = max_skew;
  constraint.schedule_anyway = is_soft;
  constraint.label_selector = selector_of(deployment);
  return constraint;
}

PreferredSchedulingTerm prefer_label(std::string key, std::string value, std::int32_t weight) {
  PreferredSchedulingTerm term;
  term.weight = weight;
  term.preference.match_expressions.push_back({std::move(key), SelectorOperator::kIn, {std::move(value)}});
  return term;
}

bool is_stateful_set(int deployment) { return deployment % 2 == 1 && deployment / 2 % 5 == 4; }

/// What realmix lacks, for every second Deployment.
void add_other_terms(int deployment, std::mt19937_64& dice, PodSpec& spec) {
  switch (deployment / 2 % 5) {
    case 0:
      spec.node_affinity.emplace();
      spec.node_affinity->preferred = {
          prefer_label("label-3", fmt::format("v{}", dice() % 5), 20),
          prefer_label(std::string(kZone), fmt::format("z{}", dice() % 3), 50),
      };
      break;
    case 1:
      spec.tolerations.push_back({std::string(kSoftTaint), TolerationOperator::kExists, "", {}});
      break;
    case 2:
      spec.topology_spread_constraints = {spread(kRack, 2, true, deployment), spread(kZone, 1, true, deployment)};
      break;
    case 3: {
      PodAffinityTerm rack;
      rack.topology_key = kRack;
      rack.label_selector = selector_of(static_cast<int>(dice() % LoadedEngine::kDeployments));
      rack.namespace_selector.emplace();
      rack.namespace_selector->match_labels = LabelMap{{"tier", std::to_string(dice() % kTiers)}};
      spec.pod_affinity.emplace();
      spec.pod_affinity->preferred.push_back({10, std::move(rack)});
      break;
    }
    default:  // a StatefulSet
      break;
  }
}

}  // namespace

std::shared_ptr<const PodSpec> LoadedEngine::spec_of(int deployment) {
  const auto one_of = [&](std::initializer_list<std::int64_t> values) {
    return values.begin()[dice() % values.size()];
  };
  PodSpec spec;
  Container container;
  container.image = image_of(deployment);
  container.requests = {
      {"cpu", Quantity{static_cast<__int128>(one_of({50, 100, 250, 500})) * 1'000'000}},
      {"memory", Quantity{static_cast<__int128>(one_of({64, 128, 256, 512})) * kMebibytes * kNanosPerUnit}}};
  spec.containers.push_back(container);
  if (deployment % 2 == 0) {
    add_topology_terms(selector_of(deployment), static_cast<int>(dice() % 100), spec);
  } else {
    add_other_terms(deployment, dice, spec);
  }
  return std::make_shared<const PodSpec>(std::move(spec));
}

NodePtr LoadedEngine::make_node(const std::string& name, int number) {
  Node node;
  node.name = name;
  std::vector<std::pair<std::string, std::string>> labels{
      {std::string(kHostname), name},
      {std::string(kZone), fmt::format("z{}", number % 3)},
      {std::string(kRack), fmt::format("r{}", number / kNodesPerRack)}};
  for (int l = 0; l < 17; ++l)
    labels.emplace_back(fmt::format("label-{}", l), fmt::format("v{}", dice() % static_cast<unsigned>(l + 2)));
  node.labels = LabelMap(std::move(labels));
  node.allocatable.milli_cpu = static_cast<std::int64_t>(16 << dice() % 3) * 1000;
  node.allocatable.memory_bytes = node.allocatable.milli_cpu * 4 * kMebibytes;
  node.allocatable.ephemeral_storage_bytes = std::int64_t{90} << 30;
  node.allowed_pod_number = 110;
  if (dice() % 10 == 0) node.taints.push_back({std::string(kSoftTaint), "", TaintEffect::kPreferNoSchedule});
  for (int i = 0; i < kImagesPerNode; ++i) node.images.push_back({{image_of(any_deployment())}, 40'000'000});
  return std::make_shared<const Node>(std::move(node));
}

LoadedEngine::LoadedEngine() : config_(default_scheduler_config(FeatureGates())) {
  for (int d = 0; d < kDeployments; ++d) {
    specs_.push_back(spec_of(d));
    objects_.services.push_back(service_of(d));
  }
  for (int n = 0; n < kNamespaces; ++n) objects_.namespaces.push_back(namespace_in_tier(n, n % kTiers));
  auto cache = std::make_shared<ClusterCache>();
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back(make_node(fmt::format("node-{}", i), i));
    cache->add_node(nodes.back());
    for (int p = 0; p < kPodsPerNode; ++p) {
      running.push_back(make_pod(any_deployment(), nodes.back()->name));
      cache->add_pod(running.back());
    }
  }
  backend = std::make_unique<CpuBackend>(std::move(cache), objects_, config_, EngineConfig());
  const std::vector<PodToPlace> one_each = prepare_one_each();  // and kept, as a queue does
  backend->commit_batch(one_each, {});
  backend->settle();
  // From its second update on the fingerprint of a node is known.
  for (const NodePtr& node : nodes) backend->apply(std::vector<ClusterChange>{NodeUpsert(node)});
}

PodPtr LoadedEngine::make_pod(int deployment, const std::string& node) {
  Pod pod;
  pod.name = fmt::format("pod-{}", made_++);
  pod.stored_uid = pod.name;
  pod.namespace_ = team_of(deployment);
  std::vector<std::pair<std::string, std::string>> labels{{"app", app_of(deployment)}, {"half", half_of(deployment)}};
  if (is_stateful_set(deployment)) labels.emplace_back("statefulset.kubernetes.io/pod-name", pod.name);
  pod.labels = LabelMap(std::move(labels));
  pod.spec = specs_[static_cast<std::size_t>(deployment)];
  pod.node_name = node;
  pod.priority = static_cast<std::int32_t>(dice() % 5);
  return std::make_shared<const Pod>(std::move(pod));
}

PodPtr LoadedEngine::make_new_deployment() {
  const int deployment = kDeployments + made_;
  specs_.resize(std::max(specs_.size(), static_cast<std::size_t>(deployment) + 1));
  PodSpec spec = *spec_of(deployment);
  PodAffinityTerm apart;
  apart.label_selector = selector_of(deployment);
  apart.topology_key = kHostname;
  spec.pod_anti_affinity.emplace().preferred = {{100, std::move(apart)}};
  spec.topology_spread_constraints = {spread(kZone, 1, false, deployment)};
  specs_[static_cast<std::size_t>(deployment)] = std::make_shared<const PodSpec>(std::move(spec));
  backend->apply(std::vector<ClusterChange>{ServiceUpsert{service_of(deployment)}});
  return make_pod(deployment, "");
}

NodePtr LoadedEngine::changed(const std::function<void(Node&)>& change) {
  const std::size_t i = dice() % nodes.size();
  auto node = std::make_shared<Node>(*nodes[i]);
  change(*node);
  nodes[i] = node;
  return node;
}

Namespace LoadedEngine::relabelled_namespace() {
  return namespace_in_tier(static_cast<int>(dice() % kNamespaces), static_cast<int>(dice() % kTiers));
}

LoadedEngine::Relabelled LoadedEngine::relabelled_service() {
  const auto name_space = static_cast<int>(dice() % kNamespaces);
  service_selects_.resize(kNamespaces, -1);
  int& half = service_selects_[static_cast<std::size_t>(name_space)];
  half = half == 0 ? 1 : 0;
  Relabelled relabelled;
  for (int d = name_space; d < kDeployments; d += kNamespaces)
    if (half_number(d) == half) relabelled.deployments.push_back(d);
  const int any = relabelled.deployments.front();
  relabelled.service = {"of-a-half", team_of(any), LabelMap{{"half", half_of(any)}}};
  return relabelled;
}

std::vector<PodToPlace> LoadedEngine::prepare_one_each() {
  std::vector<PodToPlace> pods;
  for (int d = 0; d < kDeployments; ++d) pods.push_back({make_pod(d, ""), 0});
  backend->prepare(pods);
  return pods;
}

void LoadedEngine::place_one() {
  std::vector<PodToPlace> pod{{make_pod(any_deployment(), ""), 0}};
  backend->compile(pod);
  backend->commit_batch(pod, {});
  backend->undo(*pod.front().pod);
  backend->release(pod);
}

std::string node_as_json(const Node& node) {
  std::string labels, images, conditions;
  const auto next = [](std::string& list) { return list.empty() ? "" : ","; };
  for (const auto& [key, value] : node.labels) labels += fmt::format(R"({}"{}":"{}")", next(labels), key, value);
  for (const NodeImage& image : node.images)
    images +=
        fmt::format(R"({}{{"names":["{}"],"sizeBytes":{}}})", next(images), image.names.front(), image.size_bytes);
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready", "NetworkUnavailable"})
    conditions += fmt::format(
        R"({}{{"type":"{}","status":"False","lastHeartbeatTime":"2026-11-24T00:00:00Z",)"
        R"("lastTransitionTime":"2026-11-01T00:00:00Z","reason":"KubeletHasNoProblem","message":"kubelet has no problem"}})",
        next(conditions), type);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","uid":"{}","labels":{{{}}}}},"spec":{{}},)"
      R"("status":{{"allocatable":{{"cpu":"{}m","memory":"{}","ephemeral-storage":"{}","pods":"{}"}},)"
      R"("conditions":[{}],"images":[{}]}}}})",
      node.name, node.name, labels, node.allocatable.milli_cpu, node.allocatable.memory_bytes,
      node.allocatable.ephemeral_storage_bytes, node.allowed_pod_number, conditions, images);
}

}  // namespace berth
