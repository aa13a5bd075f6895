// SPDX-License-Identifier: Apache-2.0
#include "host/generate/generate.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "host/generate/node_use.h"
#include "host/generate/random.h"
#include "host/generate/resource_lists.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

constexpr std::int64_t kDefaultPodSlots = 110;
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::size_t kObjectsPerTask = 4096;

enum class StreamOf : std::uint64_t { kNode = 1, kVariant, kPod, kPlacement };

/// Every node, variant and pod draws from a stream of its own: they can be made in parallel, and a field added to one
/// moves no other.
Random stream(std::uint64_t seed, StreamOf what, std::size_t group, std::size_t index) {
  Random first(seed + static_cast<std::uint64_t>(what) * 0xD1342543DE82EF95ULL);
  Random second(first.next() ^ static_cast<std::uint64_t>(group) * 0xAF251AF3B0F025B5ULL);
  return Random(second.next() + static_cast<std::uint64_t>(index) * 0xB564EF22EC7AECE5ULL);
}

std::size_t draw_index(Random& random, std::size_t count, const std::vector<std::int32_t>& weights) {
  if (weights.empty()) return random.below(count);
  std::uint64_t sum = 0;
  for (const std::int32_t weight : weights) sum += static_cast<std::uint64_t>(weight);
  std::uint64_t left = random.below(sum);
  std::size_t index = 0;
  for (; left >= static_cast<std::uint64_t>(weights[index]); ++index)
    left -= static_cast<std::uint64_t>(weights[index]);
  return index;
}

Quantity draw(const QuantityDraw& from, Random& random, std::size_t variant) {
  switch (from.kind) {
    case QuantityDraw::Kind::kFixed:
      return from.values.front();
    case QuantityDraw::Kind::kChoice:
      return from.values[draw_index(random, from.values.size(), from.weights)];
    case QuantityDraw::Kind::kRange: {
      const std::uint64_t steps = random.below(static_cast<std::uint64_t>(from.step_count));
      return Quantity{from.start.nano + from.step.nano * static_cast<__int128>(steps)};
    }
    case QuantityDraw::Kind::kSequence:
      break;
  }
  const __int128 offset = from.step.nano * static_cast<__int128>(variant);
  return Quantity{from.start.nano + (from.modulo.nano > 0 ? offset % from.modulo.nano : offset)};
}

const std::string& draw(const TextDraw& from, Random& random) {
  return from.values.size() == 1 ? from.values.front()
                                 : from.values[draw_index(random, from.values.size(), from.weights)];
}

ResourceList draw(const ResourceDraws& from, Random& random, std::size_t variant) {
  ResourceList list;
  list.reserve(from.size());
  for (const auto& [name, amount] : from) list.emplace_back(name, draw(amount, random, variant));
  return list;
}

using LabelEntries = std::vector<std::pair<std::string, std::string>>;

void draw_into(LabelEntries& entries, const TextDraws& from, Random& random) {
  for (const auto& [key, value] : from) entries.emplace_back(key, draw(value, random));
}

LabelMap draw(const TextDraws& from, Random& random) {
  if (from.empty()) return LabelMap();
  LabelEntries entries;
  draw_into(entries, from, random);
  return LabelMap(std::move(entries));
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
  draw_into(labels, pool.labels, random);
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

/// What the pods of one variant have in common.
struct Variant {
  std::shared_ptr<const PodSpec> spec;
  LabelMap labels;
  std::int32_t priority = 0;
  PreemptionPolicy preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
  ResourceAmounts requested;  ///< of a pod on a node
};

const PriorityClass* find_class(const ClusterSpec& spec, const std::string& name) {
  static const std::vector<PriorityClass> kBuiltIn = {{"system-cluster-critical", 2'000'000'000, false, {}},
                                                      {"system-node-critical", 2'000'001'000, false, {}}};
  for (const auto* classes : {&spec.priority_classes, &kBuiltIn}) {
    for (const PriorityClass& known : *classes) {
      if (known.name == name) return &known;
    }
  }
  return nullptr;
}

const PriorityClass* default_class(const ClusterSpec& spec) {
  for (const PriorityClass& known : spec.priority_classes) {
    if (known.global_default) return &known;
  }
  return nullptr;
}

/// Fills absent requests from limits, as admission does.
void add_requests_of_limits(Container& container) {
  for (const auto& [name, limit] : container.limits) {
    if (find(container.requests, name) == nullptr) set_resource(container.requests, name, limit);
  }
}

Container draw_container(const ContainerSpec& from, Random& random, std::size_t variant) {
  Container container;
  container.name = from.name;
  container.image = draw(from.image, random);
  container.requests = draw(from.requests, random, variant);
  container.limits = draw(from.limits, random, variant);
  add_requests_of_limits(container);
  container.ports = from.ports;
  container.restart_always = from.restart_always;
  return container;
}

void copy_ports_to_host(std::vector<Container>& containers) {
  for (Container& container : containers) {
    for (ContainerPort& port : container.ports) {
      if (port.host_port == 0) port.host_port = port.container_port;
    }
  }
}

PodSpec draw_pod_spec(const PodGroupSpec& group, Random& random, std::size_t variant) {
  PodSpec spec;
  spec.scheduler_name = group.scheduler_name;
  for (const ContainerSpec& container : group.containers) {
    spec.containers.push_back(draw_container(container, random, variant));
  }
  for (const ContainerSpec& container : group.init_containers) {
    spec.init_containers.push_back(draw_container(container, random, variant));
  }
  spec.host_network = group.host_network;
  if (group.host_network) {
    copy_ports_to_host(spec.containers);
    copy_ports_to_host(spec.init_containers);
  }
  spec.overhead = draw(group.overhead, random, variant);
  spec.pod_level_requests = draw(group.pod_level_requests, random, variant);
  spec.has_pod_level_resources = !spec.pod_level_requests.empty();
  spec.node_selector = draw(group.node_selector, random);
  spec.node_affinity = group.node_affinity;
  spec.tolerations = group.tolerations;
  return spec;
}

/// Makes the variants of a group; equal ones share their spec.
class VariantMaker {
 public:
  VariantMaker(const ClusterSpec& spec, const PodGroupSpec& group) : spec_(spec), group_(group) {}

  Variant make(Random random, std::size_t index) {
    Variant variant;
    variant.spec = intern(draw_pod_spec(group_, random, index));
    variant.labels = draw(group_.labels, random);
    set_priority(variant, random);
    Pod running;  // the figure differs between pending pods and those on a node
    running.spec = variant.spec;
    running.node_name = "any";
    variant.requested = requested_on_node(running);
    return variant;
  }

 private:
  /// Within a group, specs differ in nothing but what is drawn, so that is the key.
  static std::string key_of(const PodSpec& spec) {
    std::string key;
    const auto add_list = [&key](const ResourceList& list) {
      for (const auto& entry : list) {
        key.append(reinterpret_cast<const char*>(&entry.second.nano), sizeof(entry.second.nano));
      }
    };
    for (const auto* containers : {&spec.containers, &spec.init_containers}) {
      for (const Container& container : *containers) {
        add_list(container.requests);
        add_list(container.limits);
        key.append(container.image).push_back('\0');
      }
    }
    add_list(spec.overhead);
    add_list(spec.pod_level_requests);
    return key.append(spec.node_selector.bytes());
  }

  std::shared_ptr<const PodSpec> intern(PodSpec spec) {
    std::shared_ptr<const PodSpec>& known = specs_[key_of(spec)];
    if (known == nullptr) known = std::make_shared<const PodSpec>(std::move(spec));
    return known;
  }

  void set_priority(Variant& variant, Random& random) const {
    const PriorityClass* drawn = nullptr;
    if (group_.priority_class)
      drawn = find_class(spec_, draw(*group_.priority_class, random));
    else if (!group_.priority)
      drawn = default_class(spec_);
    if (drawn != nullptr) {
      variant.priority = drawn->value;
      variant.preemption_policy = drawn->preemption_policy.value_or(PreemptionPolicy::kPreemptLowerPriority);
    }
    if (group_.priority) variant.priority = *group_.priority;
    if (group_.preemption_policy) variant.preemption_policy = *group_.preemption_policy;
  }

  const ClusterSpec& spec_;
  const PodGroupSpec& group_;
  std::unordered_map<std::string, std::shared_ptr<const PodSpec>> specs_;
};

/// Finds nodes for running pods; keeps the accounts of all groups.
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

  /// Stricter than the scheduler's rule: addresses are not told apart.
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
    objects_.namespaces = spec_.namespaces;
    for (Namespace& ns : objects_.namespaces) add_name_label(ns);
    objects_.priority_classes = spec_.priority_classes;
    for (std::size_t i = 0; i < spec_.node_pools.size(); ++i) add_pool(i);
    RunningPods running(objects_.nodes);
    for (std::size_t i = 0; i < spec_.pod_groups.size(); ++i) add_group(i, running);
    return std::move(objects_);
  }

 private:
  /// The API server puts it on every namespace.
  static void add_name_label(Namespace& ns) {
    LabelEntries entries;
    for (const auto& [key, value] : ns.labels) entries.emplace_back(key, value);
    entries.emplace_back("kubernetes.io/metadata.name", ns.name);
    ns.labels = LabelMap(std::move(entries));
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
    std::vector<PodPtr> pods(count);
    for_each_in_parallel(count, [&](std::size_t i) {
      const Node* node = i < running_count ? nodes[i] : nullptr;
      if (i < running_count && node == nullptr) return;
      pods[i] = make_pod(group, i, variants[variant_of(group_index, i)], node);
    });
    objects_.pods.reserve(objects_.pods.size() + count);
    for (PodPtr& pod : pods) {
      if (pod != nullptr) objects_.pods.push_back(std::move(pod));
    }
  }

  std::vector<Variant> make_variants(std::size_t group_index) const {
    const PodGroupSpec& group = spec_.pod_groups[group_index];
    VariantMaker maker(spec_, group);
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
    std::vector<bool> exhausted(variants.size());  // room only shrinks, so one search in vain is enough
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

  static PodPtr make_pod(const PodGroupSpec& group, std::size_t index, const Variant& variant, const Node* node) {
    auto pod = std::make_shared<Pod>();
    pod->name = group.name + '-' + std::to_string(index);
    pod->namespace_ = group.namespaces[index % group.namespaces.size()];
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
  std::vector<std::size_t> pool_first_;  ///< index of the first node of each pool
};

}  // namespace

ClusterObjects generate_cluster(const ClusterSpec& spec, std::uint64_t seed) {
  return spec.random ? random_cluster(seed, *spec.random) : Generator(spec, seed).generate();
}

}  // namespace berth
