// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_cluster.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "host/generate/node_use.h"
#include "host/generate/random_configuration.h"
#include "host/generate/random_parts.h"
#include "host/generate/random_topology.h"
#include "host/generate/random_volumes.h"
#include "host/objects/label_keys.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

constexpr std::int64_t kFirstCreationUs = 1'700'000'000'000'000;
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::uint64_t kVolumesStream = 0xD6E8FEB86659FD93ULL;
constexpr std::uint64_t kExtrasStream = 0x2545F4914F6CDD1DULL;
constexpr std::array<const char*, 3> kNamespaces = {"default", "team-a", "team-b"};

/// Whether some figure of the kubelet exceeds the container's request.
bool exceeds(const ContainerStatusResources& status, const ResourceList& requests) {
  const auto is_above = [&requests](const auto& entry) {
    const Quantity* asked = find(requests, entry.first);
    return asked == nullptr || entry.second > *asked;
  };
  return std::any_of(status.requests.begin(), status.requests.end(), is_above) ||
         std::any_of(status.allocated.begin(), status.allocated.end(), is_above);
}

/// Builds one cluster: nodes, then shapes, then running pods (which use resources), then pending ones.
class Builder {
 public:
  Builder(std::uint64_t seed, const RandomClusterOptions& options)
      : options_(options),
        random_(seed),
        moods_(draw_moods(random_, options)),
        topology_(seed, options),
        extras_(seed ^ kExtrasStream) {
    if (topology_.is_drawn()) topology_.calm(moods_);
    if (!options.configuration) return;
    const std::vector<std::string> profiles = random_configuration(seed).scheduler_names;
    if (profiles.size() > 1) second_profile_ = profiles[1];
  }

  ClusterObjects build() {
    add_namespaces();
    add_selecting_objects();
    add_nodes();
    add_shapes();
    add_running_pods();
    add_pending_pods();
    return std::move(objects_);
  }

 private:
  struct Shape {
    SpecPtr spec;  ///< before admission
    LabelMap labels;
    OwnersPtr owners;
  };

  /// Rarely zero: in a cluster without nodes every pod has the same result.
  std::int64_t draw_count(std::int32_t bound) {
    if (bound <= 0 || random_.chance(2)) return 0;
    return random_.between(1, random_.chance(40) ? std::min(bound, 6) : bound);
  }

  void add_namespaces() {
    if (topology_.is_drawn()) {
      objects_.namespaces = topology_.namespaces();
      return;
    }
    for (const char* name : kNamespaces) {
      Namespace ns;
      ns.name = name;
      ns.labels = LabelMap{{"kubernetes.io/metadata.name", name}, {"team", ns.name == "default" ? "" : name}};
      objects_.namespaces.push_back(std::move(ns));
    }
  }

  void add_selecting_objects() {
    if (!topology_.is_drawn()) return;
    objects_.services = topology_.services();
    objects_.workloads = topology_.workloads();
  }

  /// Most nodes are copies of few templates, so that ties are the normal case.
  void add_nodes() {
    const std::int64_t count = draw_count(options_.max_nodes);
    std::vector<Node> templates;
    const std::int64_t template_count = random_.between(1, 5);
    templates.reserve(static_cast<std::size_t>(template_count));
    for (std::int64_t i = 0; i < template_count; ++i) templates.push_back(random_node(random_, moods_));
    for (std::int64_t i = 0; i < count; ++i) {
      Node node = random_.chance(80) ? random_.pick(templates) : random_node(random_, moods_);
      node.name = "node-" + std::to_string(i);
      if (random_.chance(90)) add_hostname(node);
      node_names_.push_back(node.name);
      if (topology_.is_drawn()) {
        topology_.label_node(node, node_names_);
        topology_.enlarge(node);
      }
      objects_.nodes.push_back(std::make_shared<const Node>(std::move(node)));
    }
    uses_.resize(objects_.nodes.size());
  }

  static void add_hostname(Node& node) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto& [key, value] : node.labels) entries.emplace_back(key, value);
    entries.emplace_back("kubernetes.io/hostname", node.name);
    node.labels = LabelMap(std::move(entries));
  }

  void add_shapes() {
    const std::int64_t count = random_.between(1, 10);
    for (std::int64_t i = 0; i < count; ++i) {
      Shape shape;
      PodSpec spec = random_pod_spec(random_, moods_, options_, node_names_);
      if (options_.odd_quantities) add_odd_quantities(spec);
      shape.labels = LabelMap{{"app", "shape-" + std::to_string(i % 4)}, {"tier", i % 2 == 0 ? "web" : ""}};
      if (random_.chance(50)) shape.owners = make_owner(i);
      if (topology_.is_drawn()) {
        shape.labels = topology_.pod_labels();
        shape.owners = topology_.owners();
        topology_.add_rules(spec, shape.labels);
      }
      shape.spec = pools_.spec(std::move(spec));
      shapes_.push_back(std::move(shape));
    }
  }

  /// Each request may become an extreme amount.
  void add_odd_quantities(PodSpec& spec) {
    static constexpr std::array<const char*, 12> kOdd = {"0.1", "1e3",  "1500m", "1e9",   "1.5Gi", "123456789",
                                                         "1k",  "250u", "1n",    "0.5Mi", "1e-3",  "0"};
    for (auto* containers : {&spec.containers, &spec.init_containers}) {
      for (Container& container : *containers) {
        for (auto& [name, amount] : container.requests) {
          if (extras_.chance(10)) amount = Quantity::parse(extras_.pick(kOdd))->rounded_up_to_milli();
        }
      }
    }
  }

  static OwnersPtr make_owner(std::int64_t index) {
    OwnerReference owner;
    owner.api_version = "apps/v1";
    owner.kind = "ReplicaSet";
    owner.name = "set-" + std::to_string(index);
    owner.uid = "uid-" + owner.name;
    owner.controller = true;
    return std::make_shared<const std::vector<OwnerReference>>(1, std::move(owner));
  }

  Pod draw_pod(const char* prefix, std::int64_t index) {
    static constexpr std::array<std::int32_t, 8> kPriorities = {-10, 1, 5, 5, 10, 11, 100, 2'000'000'000};
    const Shape& shape = random_.pick(shapes_);
    Pod pod;
    pod.name = prefix + std::to_string(index);
    pod.namespace_ = random_.pick(kNamespaces);
    if (random_.chance(70)) pod.stored_uid = "uid-" + pod.name;
    pod.labels = shape.labels;
    pod.owners = shape.owners;
    if (topology_.is_drawn()) {
      pod.namespace_ = topology_.pick_namespace();
      if (topology_.relabels_pod()) pod.labels = topology_.pod_labels();
    }
    pod.spec = with_label_keys(shape.spec, pod.labels, pools_);
    if (random_.chance(70)) pod.creation_time_us = kFirstCreationUs + kSecondUs * random_.between(0, 20);
    if (random_.chance(moods_.priorities)) pod.priority = random_.pick(kPriorities);
    if (random_.chance(10)) pod.preemption_policy = PreemptionPolicy::kNever;
    pod.terminating = random_.chance(moods_.terminating);
    return pod;
  }

  void add_running_pods() {
    const std::int64_t count = node_names_.empty() ? 0 : draw_count(options_.max_running_pods);
    for (std::int64_t i = 0; i < count; ++i) {
      Pod pod = draw_pod("run-", i);
      pod.phase = random_.chance(95)   ? PodPhase::kRunning
                  : random_.chance(50) ? PodPhase::kPending
                                       : PodPhase::kUnknown;
      if (random_.chance(80)) pod.start_time_us = kFirstCreationUs + kSecondUs * random_.between(0, 40);
      if (options_.status_resources && random_.chance(moods_.rare)) add_status_resources(pod);
      if (place(pod)) objects_.pods.push_back(std::make_shared<const Pod>(std::move(pod)));
    }
  }

  /// @return false when no node accepts the pod
  bool place(Pod& pod) {
    if (options_.pods_on_unknown_nodes && random_.chance(moods_.rare / 10)) {
      pod.node_name = "no-such-node";
      return true;
    }
    pod.node_name = node_names_.front();  // in place before the figures are taken, which differ for running pods
    const ResourceAmounts request = requested_on_node(pod);
    std::size_t chosen = 0;
    bool room = false;
    for (int attempt = 0; attempt < 6 && !room; ++attempt) {
      chosen = random_.below(node_names_.size());
      room = uses_[chosen].has_room(*objects_.nodes[chosen], request);
    }
    if (!room && !random_.chance(moods_.overcommit)) return false;
    pod.node_name = node_names_[chosen];
    uses_[chosen].add_pod(request);
    return true;
  }

  ContainerStatusResources draw_status(const Container& container) {
    ContainerStatusResources status;
    status.container_name = container.name;
    status.has_resources = !random_.chance(10);
    if (status.has_resources) set_resource(status.requests, kCpu, thousandths(random_.between(0, 4) * 250));
    if (random_.chance(50)) set_resource(status.allocated, kCpu, thousandths(random_.between(0, 4) * 300));
    if (random_.chance(30)) set_resource(status.allocated, kMemory, whole(random_.between(0, 2) << 30));
    return status;
  }

  /// The loader drops figures that have no effect on any rule; the drawn objects have its form.
  void add_status_resources(Pod& pod) {
    auto rare = std::make_unique<PodRare>(pod.rare());
    rare->resize_infeasible = random_.chance(30);
    bool tells = rare->resize_infeasible;
    for (const auto* containers : {&pod.spec->containers, &pod.spec->init_containers}) {
      for (const Container& container : *containers) {
        ContainerStatusResources status = draw_status(container);
        if (status.requests.empty() && status.allocated.empty()) continue;
        tells = tells || exceeds(status, container.requests);
        rare->status_resources.push_back(std::move(status));
      }
    }
    if (tells) pod.rare_fields = std::move(rare);
  }

  void add_pending_pods() {
    const std::int64_t count = draw_count(options_.max_pending_pods);
    for (std::int64_t i = 0; i < count; ++i) {
      Pod pod = draw_pod("pod-", i);
      if (!node_names_.empty() && random_.chance(20)) pod.spec = pools_.spec(exact_fit());
      if (!second_profile_.empty() && extras_.chance(40)) assign_to_second_profile(pod);
      add_rare_fields(pod);
      if (options_.pending_status_resources && extras_.chance(10)) add_status_resources(pod);
      objects_.pods.push_back(std::make_shared<const Pod>(std::move(pod)));
    }
  }

  void assign_to_second_profile(Pod& pod) {
    PodSpec spec = *pod.spec;
    if (spec.scheduler_name != "default-scheduler") return;
    spec.scheduler_name = second_profile_;
    pod.spec = pools_.spec(std::move(spec));
  }

  /// Requests the free amount of some node, or one unit less or more.
  PodSpec exact_fit() {
    const std::size_t node = random_.below(node_names_.size());
    const ResourceAmounts& allocatable = objects_.nodes[node]->allocatable;
    const ResourceAmounts& used = uses_[node].requested;
    const auto asked = [this](std::int64_t free) { return std::max<std::int64_t>(0, free + random_.between(-1, 1)); };
    PodSpec spec;
    Container container;
    container.name = "c0";
    container.image = "app:v1";
    ResourceList& requests = container.requests;
    set_resource(requests, kCpu, thousandths(asked(allocatable.milli_cpu - used.milli_cpu)));
    if (random_.chance(70)) set_resource(requests, kMemory, whole(asked(allocatable.memory_bytes - used.memory_bytes)));
    for (const auto& [name, amount] : allocatable.scalars) {
      if (random_.chance(40)) set_resource(requests, name, whole(asked(amount - used.scalar(name))));
    }
    spec.containers.push_back(std::move(container));
    return spec;
  }

  void add_rare_fields(Pod& pod) {
    PodRare rare;
    bool used = false;
    if (options_.nominated_pods && random_.chance(moods_.nominated)) {
      rare.nominated_node_name = node_names_.empty() || random_.chance(15) ? "no-such-node" : random_.pick(node_names_);
      used = true;
    }
    if (options_.gated_pods && random_.chance(moods_.rare / 5)) {
      rare.scheduling_gates = {"example.com/quota"};
      if (random_.chance(50)) rare.scheduling_gates.emplace_back("b");
      used = true;
    }
    if (options_.volumes_and_claims && random_.chance(moods_.rare / 3)) {
      add_volume(rare);
      used = true;
    }
    if (used) pod.rare_fields = std::make_unique<const PodRare>(std::move(rare));
  }

  void add_volume(PodRare& rare) {
    static constexpr std::array<PodVolume::Kind, 2> kKinds = {PodVolume::Kind::kClaim, PodVolume::Kind::kEphemeral};
    if (random_.chance(30)) {
      rare.resource_claims = {"device"};
      return;
    }
    PodVolume volume;
    volume.kind = random_.pick(kKinds);
    volume.name = "data";
    rare.volumes.push_back(std::move(volume));
  }

  RandomClusterOptions options_;
  Random random_;
  RandomMoods moods_;
  RandomTopology topology_;
  Random extras_;               ///< for what options add
  std::string second_profile_;  ///< empty: there is none
  ObjectPools pools_;
  ClusterObjects objects_;
  std::vector<std::string> node_names_;
  std::vector<NodeUse> uses_;
  std::vector<Shape> shapes_;
};

}  // namespace

RandomMoods draw_moods(Random& random, const RandomClusterOptions& options) {
  static constexpr std::array<std::int32_t, 5> kRates = {0, 5, 15, 30, 60};
  RandomMoods moods;
  for (std::int32_t* rate :
       {&moods.taints, &moods.odd_labels, &moods.partial_zones, &moods.images, &moods.scalars, &moods.declared_features,
        &moods.scarce_pod_slots, &moods.init_containers, &moods.overhead, &moods.pod_level, &moods.ports,
        &moods.node_selector, &moods.required_affinity, &moods.preferred_affinity, &moods.tolerations,
        &moods.priorities, &moods.malformed, &moods.overcommit, &moods.rare}) {
    *rate = random.pick(kRates);
  }
  // These three exclude pods or nodes completely, so that high rates would leave nothing to compare.
  for (std::int32_t* rate : {&moods.unschedulable, &moods.nominated, &moods.terminating}) {
    *rate = random.pick(kRates) / 3;
  }
  if (!options.malformed_affinity) moods.malformed = 0;
  if (!options.overcommitted_nodes) moods.overcommit = 0;
  return moods;
}

ClusterObjects random_cluster(std::uint64_t seed, const RandomClusterOptions& options) {
  ClusterObjects objects = Builder(seed, options).build();
  if (Random(seed ^ kVolumesStream).chance(options.volumes_percent)) add_random_volumes(seed, objects);
  return objects;
}

}  // namespace berth
