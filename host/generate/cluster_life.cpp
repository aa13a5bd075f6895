// SPDX-License-Identifier: Apache-2.0
#include "host/generate/cluster_life.h"

#include <algorithm>
#include <utility>

#include "host/cluster/tight_list.h"

namespace berth {
namespace {

constexpr int kNodesWithResource = 8;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr __int128 kNano = 1'000'000'000;
constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";

/// Numbers of one width, so that names need the same memory early and late in a history.
std::string numbered(std::string_view prefix, int number) {
  const std::string digits = std::to_string(number);
  return std::string(prefix) + std::string(8 - std::min<std::size_t>(digits.size(), 8), '0') + digits;
}

std::string resource_of(int deployment) { return numbered("example.com/r", deployment); }

std::string image_of(int deployment) { return numbered("registry/app-", deployment) + ":1"; }

}  // namespace

void add_topology_terms(const LabelSelector& own, int percentile, PodSpec& spec) {
  PodAffinityTerm host;
  host.label_selector = own;
  host.topology_key = kHostname;
  if (percentile < 45) {
    spec.pod_anti_affinity.emplace();
    spec.pod_anti_affinity->preferred.push_back({100, host});
  } else if (percentile < 55) {
    spec.pod_anti_affinity.emplace();
    spec.pod_anti_affinity->required.push_back(host);
  } else if (percentile < 70) {
    TopologySpreadConstraint zone;
    zone.topology_key = kZone;
    zone.label_selector = own;
    spec.topology_spread_constraints.push_back(zone);
  }
}

ClusterLife::ClusterLife(const ClusterLifeOptions& options) : options_(options), dice_(options.seed) {
  for (int n = 0; n < options_.nodes; ++n) nodes_.emplace_back(make_node());
  for (int d = 0; d < options_.deployments; ++d) {
    Deployment deployment = make_deployment();
    for (const std::string& name : deployment.offering) {
      NodeInLife& node = *find_node(name);
      Node object = *node.object;
      make_tight_room(object.allocatable.scalars);
      object.allocatable.scalars.emplace_back(resource_of(deployment.number), 1000);
      std::sort(object.allocatable.scalars.begin(), object.allocatable.scalars.end());
      set_node(node, std::move(object));
    }
    for (int p = 0; p < options_.nodes * options_.pods_per_node / options_.deployments; ++p)
      deployment.pods.push_back(make_pod(deployment, nodes_[upto(nodes_.size())].object->name));
    pods_on_nodes_ += static_cast<std::int64_t>(deployment.pods.size());
    deployments_.push_back(std::move(deployment));
  }
}

NodePtr ClusterLife::make_node() {
  Node node;
  node.name = numbered("node-", nodes_made_);
  std::vector<std::pair<std::string, std::string>> labels{{std::string(kHostname), node.name},
                                                          {std::string(kZone), "z" + std::to_string(upto(3))},
                                                          {"rack", numbered("rack-", nodes_made_ / 40)},
                                                          {"build", numbered("build-", nodes_made_ / 100)}};
  node.labels = LabelMap(std::move(labels));
  node.allocatable.milli_cpu = 64'000;
  node.allocatable.memory_bytes = 256 * kGibibyte;
  node.allocatable.ephemeral_storage_bytes = 90 * kGibibyte;
  node.allowed_pod_number = 110;
  for (int i = 0; i < options_.images_per_node; ++i)
    node.images.push_back(
        {{image_of(static_cast<int>(upto(static_cast<std::uint64_t>(options_.deployments))))}, 40'000'000});
  ++nodes_made_;
  return std::make_shared<const Node>(std::move(node));
}

ClusterLife::Deployment ClusterLife::make_deployment() {
  Deployment deployment;
  deployment.number = deployments_made_++;
  PodSpec spec;
  Container container;
  container.image = image_of(deployment.number);
  container.requests = {{"cpu", Quantity{static_cast<__int128>(50 + 50 * upto(4)) * 1'000'000}},
                        {"memory", Quantity{static_cast<__int128>(64 << upto(3)) * 1024 * 1024 * kNano}},
                        {resource_of(deployment.number), Quantity{kNano}}};
  spec.containers.push_back(container);
  LabelSelector own;
  own.match_labels = LabelMap{{"app", numbered("app-", deployment.number)}};
  add_topology_terms(own, static_cast<int>(upto(100)), spec);
  deployment.spec = std::make_shared<const PodSpec>(std::move(spec));
  for (int n = 0; n < std::min(kNodesWithResource, options_.nodes); ++n) {
    const std::string& name = nodes_[upto(nodes_.size())].object->name;
    if (std::find(deployment.offering.begin(), deployment.offering.end(), name) == deployment.offering.end())
      deployment.offering.push_back(name);
  }
  return deployment;
}

PodPtr ClusterLife::make_pod(const Deployment& deployment, const std::string& node) {
  Pod pod;
  pod.name = numbered("pod-", pods_made_++);
  pod.stored_uid = pod.name;
  pod.namespace_ = numbered("team-", deployment.number);
  pod.labels = LabelMap{{"app", numbered("app-", deployment.number)}};
  pod.spec = deployment.spec;
  pod.node_name = node;
  return std::make_shared<const Pod>(std::move(pod));
}

Namespace ClusterLife::namespace_of(const Deployment& deployment) const {
  return {numbered("team-", deployment.number), LabelMap{{"team", numbered("", deployment.number)}}};
}

Service ClusterLife::service_of(const Deployment& deployment) const {
  return {numbered("app-", deployment.number), numbered("team-", deployment.number),
          LabelMap{{"app", numbered("app-", deployment.number)}}};
}

std::shared_ptr<ClusterCache> ClusterLife::cache() const {
  auto cache = std::make_shared<ClusterCache>();
  for (const NodeInLife& node : nodes_) cache->add_node(node.object);
  for (const Deployment& deployment : deployments_)
    for (const PodPtr& pod : deployment.pods) cache->add_pod(pod);
  return cache;
}

ClusterObjects ClusterLife::objects() const {
  ClusterObjects objects;
  for (const Deployment& deployment : deployments_) {
    objects.namespaces.push_back(namespace_of(deployment));
    objects.services.push_back(service_of(deployment));
  }
  return objects;
}

std::vector<PodPtr> ClusterLife::pod_of_each() {
  std::vector<PodPtr> pods;
  pods.reserve(deployments_.size());
  for (const Deployment& deployment : deployments_) pods.push_back(make_pod(deployment, ""));
  return pods;
}

// Events

ClusterLife::NodeInLife* ClusterLife::find_node(const std::string& name) {
  const auto at =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const NodeInLife& node) { return node.object->name == name; });
  return at == nodes_.end() ? nullptr : &*at;
}

ClusterChange ClusterLife::set_node(NodeInLife& node, Node object) {
  node = NodeInLife(std::make_shared<const Node>(std::move(object)));
  return node.heartbeat;
}

void ClusterLife::replace_deployment() {
  deployments_.push_back(make_deployment());
  const Deployment& added = deployments_.back();
  queue_.emplace_back(NamespaceUpsert{namespace_of(added)});
  queue_.emplace_back(ServiceUpsert{service_of(added)});
  for (const std::string& name : added.offering) {
    NodeInLife& node = *find_node(name);
    Node object = *node.object;
    make_tight_room(object.allocatable.scalars);
    object.allocatable.scalars.emplace_back(resource_of(added.number), 1000);
    std::sort(object.allocatable.scalars.begin(), object.allocatable.scalars.end());
    queue_.push_back(set_node(node, std::move(object)));
  }
  const Deployment gone = std::move(deployments_.front());
  deployments_.pop_front();
  for (const PodPtr& pod : gone.pods) queue_.emplace_back(PodRemoval{pod->uid()});
  for (const std::string& name : gone.offering) {
    NodeInLife* node = find_node(name);
    if (node == nullptr) continue;
    Node object = *node->object;
    std::erase_if(object.allocatable.scalars,
                  [&](const auto& scalar) { return scalar.first == resource_of(gone.number); });
    queue_.push_back(set_node(*node, std::move(object)));
  }
  queue_.emplace_back(ServiceRemoval{numbered("team-", gone.number), numbered("app-", gone.number)});
  queue_.emplace_back(NamespaceRemoval{numbered("team-", gone.number)});
  // The controller brings the new pods one by one.
  for (std::size_t p = 0; p < gone.pods.size(); ++p) {
    Deployment& latest = deployments_.back();
    latest.pods.push_back(make_pod(latest, nodes_[upto(nodes_.size())].object->name));
    queue_.emplace_back(PodUpsert{latest.pods.back()});
  }
}

/// Its pods go with it, and as many come elsewhere.
void ClusterLife::replace_node() {
  NodeInLife& node = nodes_[upto(nodes_.size())];
  const std::string gone = node.object->name;
  const NodePtr added = make_node();
  Node object = *added;
  object.allocatable.scalars = node.object->allocatable.scalars;
  for (Deployment& deployment : deployments_) {
    std::replace(deployment.offering.begin(), deployment.offering.end(), gone, object.name);
    for (PodPtr& pod : deployment.pods) {
      if (pod->node_name != gone) continue;
      queue_.emplace_back(PodRemoval{pod->uid()});
      pod = make_pod(deployment, object.name);
    }
  }
  queue_.emplace_back(NodeRemoval{gone});
  const std::string name = object.name;
  queue_.push_back(set_node(node, std::move(object)));
  for (const Deployment& deployment : deployments_)
    for (const PodPtr& pod : deployment.pods)
      if (pod->node_name == name) queue_.emplace_back(PodUpsert{pod});
}

ClusterChange ClusterLife::change_node() {
  NodeInLife& node = nodes_[upto(nodes_.size())];
  Node object = *node.object;
  switch (upto(3)) {
    case 0:
      object.unschedulable = !object.unschedulable;
      break;
    case 1:
      object.taints =
          object.taints.empty() ? std::vector<Taint>{{"key", "", TaintEffect::kNoSchedule}} : std::vector<Taint>();
      break;
    default:
      object.allocatable.milli_cpu = 60'000 + 1000 * static_cast<std::int64_t>(upto(8));
  }
  return set_node(node, std::move(object));
}

ClusterChange ClusterLife::bind_pod() {
  Deployment& deployment = deployments_[upto(deployments_.size())];
  deployment.pods.push_back(make_pod(deployment, nodes_[upto(nodes_.size())].object->name));
  ++pods_on_nodes_;
  return PodUpsert{deployment.pods.back()};
}

ClusterChange ClusterLife::remove_pod() {
  if (pods_on_nodes_ < std::int64_t{options_.nodes} * options_.pods_per_node) return bind_pod();
  // The largest of a few, so that numbers of pods stay alike.
  std::size_t d = upto(deployments_.size());
  for (int i = 0; i < 4; ++i)
    if (const std::size_t other = upto(deployments_.size());
        deployments_[other].pods.size() > deployments_[d].pods.size())
      d = other;
  std::vector<PodPtr>& pods = deployments_[d].pods;
  if (pods.empty()) return nodes_[upto(nodes_.size())].heartbeat;
  std::swap(pods[upto(pods.size())], pods.back());
  const std::string uid = pods.back()->uid();
  pods.pop_back();
  --pods_on_nodes_;
  return PodRemoval{uid};
}

ClusterLife::Event ClusterLife::next() {
  ++events_;
  if (events_ % options_.events_per_deployment == 0) replace_deployment();
  if (queue_.empty() && upto(200) == 0) replace_node();
  if (!queue_.empty()) {
    Event event{{std::move(queue_.front())}, nullptr};
    queue_.pop_front();
    return event;
  }
  const std::uint64_t kind = upto(100);
  if (kind < 20) return {{}, make_pod(deployments_[upto(deployments_.size())], "")};
  if (kind < 30) return {{bind_pod()}, nullptr};
  if (kind < 60) return {{remove_pod()}, nullptr};
  if (kind < 70) return {{change_node()}, nullptr};
  return {{nodes_[upto(nodes_.size())].heartbeat}, nullptr};
}

void ClusterLife::placed(const PodPtr& pod, const std::string& node_name) {
  const std::string& own = pod->namespace_;
  for (Deployment& deployment : deployments_) {
    if (numbered("team-", deployment.number) != own) continue;
    Pod bound;
    bound.name = pod->name;
    bound.stored_uid = pod->stored_uid;
    bound.namespace_ = pod->namespace_;
    bound.labels = pod->labels;
    bound.spec = pod->spec;
    bound.node_name = node_name;
    deployment.pods.push_back(std::make_shared<const Pod>(std::move(bound)));
    ++pods_on_nodes_;
    queue_.emplace_back(PodUpsert{deployment.pods.back()});
    return;
  }
}

}  // namespace berth
