// SPDX-License-Identifier: Apache-2.0
#include "host/generate/generate.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "host/generate/draws.h"
#include "host/generate/node_use.h"
#include "host/generate/random.h"
#include "host/generate/variant_maker.h"
#include "host/objects/object_pools.h"

namespace berth {
namespace {

constexpr std::int64_t kDefaultPodSlots = 110;
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::size_t kObjectsPerTask = 4096;

enum class StreamOf : std::uint64_t { kNode = 1, kVariant, kPod, kPlacement, kService };

/// Every node, variant and pod has its own random stream: they can be generated in parallel, and a field added to one
/// does not change another.
Random stream(std::uint64_t seed, StreamOf what, std::size_t group, std::size_t index) {
  Random first(seed + static_cast<std::uint64_t>(what) * 0xD1342543DE82EF95ULL);
  Random second(first.next() ^ static_cast<std::uint64_t>(group) * 0xAF251AF3B0F025B5ULL);
  return Random(second.next() + static_cast<std::uint64_t>(index) * 0xB564EF22EC7AECE5ULL);
}

NodePtr make_node(const NodePoolSpec& pool, std::size_t index, Random random) {
  auto node = std::make_shared<Node>();
  node->name = pool.name + '-' + std::to_string(index);
  LabelEntries labels;
  labels.reserve(3 + pool.labels.size());
  if (pool.hostname_label) labels.emplace_back("kubernetes.io/hostname", node->name);
  if (!pool.regions.empty())
    labels.emplace_back("topology.kubernetes.io/region", pool.regions[index % pool.regions.size()]);
  if (!pool.zones.empty()) labels.emplace_back("topology.kubernetes.io/zone", pool.zones[index % pool.zones.size()]);
  draw_into(labels, pool.labels, random, index);
  node->labels = LabelMap(std::move(labels));
  node->taints = pool.taints;
  const ResourceList allocatable = draw(pool.allocatable, random, index);
  node->allocatable = to_amounts(allocatable);
  const Quantity* slots = find(allocatable, kPods);
  node->allowed_pod_number = slots == nullptr ? kDefaultPodSlots : slots->value();
  node->unschedulable = random.chance(pool.unschedulable_percent);
  for (const PoolImage& image : pool.images) {
    if (random.chance(image.percent)) node->images.push_back(image.image);
  }
  node->declared_features = pool.declared_features;
  return node;
}

template <class Make>
void for_each_in_parallel(std::size_t count, const Make& make) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, kObjectsPerTask), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) make(i);
  });
}

/// Finds nodes for running pods; tracks the used resources of all groups.
class RunningPods {
 public:
  explicit RunningPods(const std::vector<NodePtr>& nodes) : nodes_(nodes), uses_(nodes.size()) {}

  /// Tries `candidates` in turn, from position `start` on.
  /// @return the node with room that the pod was added to; null when there is none
  const Node* place(const Variant& variant, const std::vector<std::uint32_t>& candidates, std::size_t start) {
    for (std::size_t tried = 0; tried < candidates.size(); ++tried) {
      const std::size_t position = start + tried;
      const std::uint32_t node = candidates[position < candidates.size() ? position : position - candidates.size()];
      if (!uses_[node].has_room(*nodes_[node], variant.requested) || !ports_are_free(node, *variant.spec)) continue;
      uses_[node].add_pod(variant.requested);
      take_ports(node, *variant.spec);
      return nodes_[node].get();
    }
    return nullptr;
  }

 private:
  using Port = std::tuple<std::uint32_t, std::string, std::int32_t>;

  template <class Visit>
  static void for_each_host_port(std::uint32_t node, const PodSpec& spec, const Visit& visit) {
    for (const auto* containers : {&spec.containers, &spec.init_containers}) {
      for (const Container& container : *containers) {
        for (const ContainerPort& port : container.ports) {
          if (port.host_port > 0) visit(Port(node, port.protocol.empty() ? "TCP" : port.protocol, port.host_port));
        }
      }
    }
  }

  /// Stricter than the scheduler's rule: addresses are not distinguished.
  bool ports_are_free(std::uint32_t node, const PodSpec& spec) const {
    bool free = true;
    for_each_host_port(node, spec, [&](const Port& port) { free = free && !ports_.contains(port); });
    return free;
  }

  void take_ports(std::uint32_t node, const PodSpec& spec) {
    for_each_host_port(node, spec, [&](const Port& port) { ports_.insert(port); });
  }

  const std::vector<NodePtr>& nodes_;
  std::vector<NodeUse> uses_;
  std::set<Port> ports_;
};

bool repels_pods(const NodePoolSpec& pool) {
  return std::any_of(pool.taints.begin(), pool.taints.end(),
                     [](const Taint& taint) { return taint.effect != TaintEffect::kPreferNoSchedule; });
}

class Generator {
 public:
  Generator(const ClusterSpec& spec, std::uint64_t seed) : spec_(spec), seed_(seed) {}

  ClusterObjects generate() {
    for (const NamespaceSpec& ns : spec_.namespaces) add_namespaces(ns);
    objects_.priority_classes = spec_.priority_classes;
    for (std::size_t i = 0; i < spec_.services.size(); ++i) add_services(i);
    for (std::size_t i = 0; i < spec_.node_pools.size(); ++i) add_pool(i);
    RunningPods running(objects_.nodes);
    for (std::size_t i = 0; i < spec_.pod_groups.size(); ++i) add_group(i, running);
    return std::move(objects_);
  }

 private:
  void add_namespaces(const NamespaceSpec& from) {
    for (std::string& name : from.members()) {
      LabelEntries entries;
      for (const auto& [key, value] : from.labels) entries.emplace_back(key, value);
      entries.emplace_back("kubernetes.io/metadata.name", name);  // the API server puts it on every namespace
      objects_.namespaces.push_back({std::move(name), LabelMap(std::move(entries))});
    }
  }

  void add_services(std::size_t index) {
    const ServiceSpec& from = spec_.services[index];
    for (std::int64_t i = 0; i < from.count.value_or(1); ++i) {
      Random random = stream(seed_, StreamOf::kService, index, static_cast<std::size_t>(i));
      std::string name = from.count ? from.name + '-' + std::to_string(i) : from.name;
      LabelMap selector = draw(from.selector, random, static_cast<std::size_t>(i));
      for (const std::string& ns : members_of({from.namespace_})) objects_.services.push_back({name, ns, selector});
    }
  }

  /// Names of all namespaces for `names`, which are names of entries of the spec.
  std::vector<std::string> members_of(const std::vector<std::string>& names) const {
    std::vector<std::string> members;
    for (const std::string& name : names) {
      const auto is_named = [&](const NamespaceSpec& ns) { return ns.name == name; };
      for (const std::string& member :
           std::find_if(spec_.namespaces.begin(), spec_.namespaces.end(), is_named)->members())
        members.push_back(member);
    }
    return members;
  }

  void add_pool(std::size_t pool_index) {
    const NodePoolSpec& pool = spec_.node_pools[pool_index];
    const std::size_t first = objects_.nodes.size();
    const auto count = static_cast<std::size_t>(pool.count);
    pool_first_.push_back(first);
    objects_.nodes.resize(first + count);
    for_each_in_parallel(count, [&](std::size_t i) {
      objects_.nodes[first + i] = make_node(pool, i, stream(seed_, StreamOf::kNode, pool_index, i));
    });
  }

  std::vector<std::uint32_t> candidates_of(const PodGroupSpec& group) const {
    std::vector<std::uint32_t> candidates;
    for (std::size_t p = 0; p < spec_.node_pools.size(); ++p) {
      const NodePoolSpec& pool = spec_.node_pools[p];
      const auto& wanted = group.running_on;
      const bool named = std::find(wanted.begin(), wanted.end(), pool.name) != wanted.end();
      if (wanted.empty() ? repels_pods(pool) : !named) continue;
      for (std::int64_t i = 0; i < pool.count; ++i) {
        candidates.push_back(static_cast<std::uint32_t>(pool_first_[p] + static_cast<std::size_t>(i)));
      }
    }
    return candidates;
  }

  void add_group(std::size_t group_index, RunningPods& running) {
    const PodGroupSpec& group = spec_.pod_groups[group_index];
    const auto running_count = static_cast<std::size_t>(group.running);
    const std::size_t count = running_count + static_cast<std::size_t>(group.pending);
    if (count == 0) return;
    const std::vector<Variant> variants = make_variants(group_index);
    const std::vector<const Node*> nodes = place_running(group_index, variants, running);
    const std::vector<std::string> namespaces = members_of(group.namespaces);
    const OwnersPtr owners = group.owned_by ? add_owner(*group.owned_by, namespaces) : nullptr;
    std::vector<PodPtr> pods(count);
    for_each_in_parallel(count, [&](std::size_t i) {
      const Node* node = i < running_count ? nodes[i] : nullptr;
      if (i < running_count && node == nullptr) return;
      auto pod = make_pod(group, i, variants[variant_of(group_index, i)], node);
      pod->namespace_ = namespaces[i % namespaces.size()];
      pod->owners = owners;
      pods[i] = std::move(pod);
    });
    objects_.pods.reserve(objects_.pods.size() + count);
    for (PodPtr& pod : pods) {
      if (pod != nullptr) objects_.pods.push_back(std::move(pod));
    }
  }

  /// Adds the owner's object to each of `namespaces` that lacks it.
  OwnersPtr add_owner(const WorkloadOwnerSpec& owner, const std::vector<std::string>& namespaces) {
    for (const std::string& ns : namespaces) {
      if (!known_owners_.emplace(owner.kind, ns, owner.name).second) continue;
      Workload workload;
      workload.kind = owner.kind;
      workload.name = owner.name;
      workload.namespace_ = ns;
      workload.selector = owner.selector;
      objects_.workloads.push_back(std::move(workload));
    }
    OwnerReference reference;
    reference.api_version = owner.kind == "ReplicationController" ? "v1" : "apps/v1";
    reference.kind = owner.kind;
    reference.name = owner.name;
    reference.controller = true;
    return std::make_shared<const std::vector<OwnerReference>>(1, std::move(reference));
  }

  std::vector<Variant> make_variants(std::size_t group_index) {
    const PodGroupSpec& group = spec_.pod_groups[group_index];
    VariantMaker maker(spec_, group, pools_);
    std::vector<Variant> variants;
    variants.reserve(static_cast<std::size_t>(group.variants));
    for (std::size_t i = 0; i < static_cast<std::size_t>(group.variants); ++i) {
      variants.push_back(maker.make(stream(seed_, StreamOf::kVariant, group_index, i), i));
    }
    return variants;
  }

  std::size_t variant_of(std::size_t group_index, std::size_t pod_index) const {
    const PodGroupSpec& group = spec_.pod_groups[group_index];
    const auto count = static_cast<std::size_t>(group.variants);
    if (count == 1 || group.variants_in_turn) return pod_index % count;
    return stream(seed_, StreamOf::kPod, group_index, pod_index).below(count);
  }

  std::vector<const Node*> place_running(std::size_t group_index, const std::vector<Variant>& variants,
                                         RunningPods& running) {
    const PodGroupSpec& group = spec_.pod_groups[group_index];
    std::vector<const Node*> nodes(static_cast<std::size_t>(group.running));
    if (nodes.empty()) return nodes;
    const std::vector<std::uint32_t> candidates = candidates_of(group);
    Random random = stream(seed_, StreamOf::kPlacement, group_index, 0);
    std::vector<bool> exhausted(variants.size());  // room only shrinks, so one failed search is enough
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t drawn = random.below(candidates.size());
      const std::size_t variant = variant_of(group_index, i);
      const bool in_turn = group.placement == RunningPlacement::kRoundRobin && !candidates.empty();
      const std::size_t start = in_turn ? i % candidates.size() : drawn;
      if (!exhausted[variant]) nodes[i] = running.place(variants[variant], candidates, start);
      exhausted[variant] = nodes[i] == nullptr;
      if (nodes[i] == nullptr) ++left_out;
    }
    if (left_out > 0) warn_left_out(group, left_out);
    return nodes;
  }

  void warn_left_out(const PodGroupSpec& group, std::size_t count) {
    objects_.warnings.push_back("pods " + group.name + ": " + std::to_string(count) + " of " +
                                std::to_string(group.running) +
                                " running pods were left out, no node has room for them");
  }

  static std::shared_ptr<Pod> make_pod(const PodGroupSpec& group, std::size_t index, const Variant& variant,
                                       const Node* node) {
    auto pod = std::make_shared<Pod>();
    pod->name = group.name + '-' + std::to_string(index);
    pod->labels = variant.labels;
    pod->spec = variant.spec;
    pod->priority = variant.priority;
    pod->preemption_policy = variant.preemption_policy;
    if (group.created_at_us != 0) {
      pod->creation_time_us =
          group.created_at_us + group.created_every_s * static_cast<std::int64_t>(index) * kSecondUs;
    }
    if (node != nullptr) {
      pod->node_name = node->name;
      pod->phase = PodPhase::kRunning;
      pod->start_time_us = pod->creation_time_us;
    } else if (!group.scheduling_gates.empty()) {
      auto rare = std::make_unique<PodRare>();
      rare->scheduling_gates = group.scheduling_gates;
      pod->rare_fields = std::move(rare);
    }
    return pod;
  }

  const ClusterSpec& spec_;
  std::uint64_t seed_;
  ClusterObjects objects_;
  ObjectPools pools_;
  std::vector<std::size_t> pool_first_;                                       ///< index of the first node of each pool
  std::set<std::tuple<std::string, std::string, std::string>> known_owners_;  ///< kind, namespace, name
};

}  // namespace

ClusterObjects generate_cluster(const ClusterSpec& spec, std::uint64_t seed) {
  return spec.random ? random_cluster(seed, *spec.random) : Generator(spec, seed).generate();
}

}  // namespace berth
