// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "host/generate/random_parts.h"

namespace berth {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

void add_cpu(Random& random, ResourceList& list) {
  static constexpr std::array<std::int64_t, 9> kMilli = {0, 1, 50, 100, 250, 500, 1000, 1500, 4000};
  if (random.chance(75)) set_resource(list, kCpu, thousandths(random.pick(kMilli)));
}

void add_memory(Random& random, ResourceList& list) {
  static constexpr std::array<std::int64_t, 8> kBytes = {0,
                                                         1,
                                                         64 * kMebibyte,
                                                         kDefaultMemoryRequestBytes,
                                                         kDefaultMemoryRequestBytes + 1,
                                                         kGibibyte,
                                                         3 * kGibibyte,
                                                         8 * kGibibyte};
  if (!random.chance(70)) return;
  const bool fractional = random.chance(3);  // 1.5 bytes: legal, and rounded up once per pod, not per container
  set_resource(list, kMemory, fractional ? thousandths(1500) : whole(random.pick(kBytes)));
}

void add_scalar_requests(Random& random, const RandomMoods& moods, ResourceList& list) {
  static constexpr std::array<std::pair<const char*, std::int64_t>, 6> kScalars = {{
      {"example.com/license", 1},
      {"example.org/fpga", 1},
      {"hugepages-1Gi", kGibibyte},
      {"hugepages-2Mi", 2 * kMebibyte},
      {"nvidia.com/gpu", 1},
      {"storage", 1},  // a name that no scheduler accounts
  }};
  for (const auto& [name, unit] : kScalars) {
    if (random.chance(moods.scalars / 3)) set_resource(list, name, whole(unit * random.between(0, 3)));
  }
}

ResourceList random_requests(Random& random, const RandomMoods& moods) {
  ResourceList list;
  add_cpu(random, list);
  add_memory(random, list);
  if (random.chance(15)) set_resource(list, kEphemeralStorage, whole(kGibibyte * random.between(0, 6)));
  add_scalar_requests(random, moods, list);
  return list;
}

ContainerPort random_port(Random& random) {
  static constexpr std::array<std::int32_t, 4> kPorts = {0, 80, 8080, 53};
  static constexpr std::array<const char*, 4> kProtocols = {"", "TCP", "UDP", "SCTP"};
  static constexpr std::array<const char*, 6> kAddresses = {"", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::"};
  ContainerPort port;
  port.host_port = random.pick(kPorts);
  port.container_port = port.host_port == 0 ? 9090 : port.host_port;
  port.protocol = random.pick(kProtocols);
  port.host_ip = random.pick(kAddresses);
  return port;
}

Container random_container(Random& random, const RandomMoods& moods, std::string name) {
  static constexpr std::array<const char*, 6> kImages = {
      "app:v1",
      "app:v2",
      "busybox",
      "registry.example/base",
      "registry.example:5000/tool",
      "registry.example/pinned@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
  Container container;
  container.name = std::move(name);
  container.image = random.pick(kImages);
  container.requests = random_requests(random, moods);
  if (random.chance(15)) container.limits = container.requests;
  if (random.chance(moods.ports)) {
    const std::int64_t count = random.between(1, 2);
    for (std::int64_t i = 0; i < count; ++i) container.ports.push_back(random_port(random));
  }
  container.restarts_all_containers = random.chance(moods.declared_features / 5);
  return container;
}

void add_containers(Random& random, const RandomMoods& moods, PodSpec& spec) {
  const std::int64_t count = random.chance(70) ? 1 : random.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    spec.containers.push_back(random_container(random, moods, "c" + std::to_string(i)));
  }
  if (!random.chance(moods.init_containers)) return;
  const std::int64_t init_count = random.between(1, 4);
  for (std::int64_t i = 0; i < init_count; ++i) {
    Container container = random_container(random, moods, "i" + std::to_string(i));
    container.restart_always = random.chance(50);
    spec.init_containers.push_back(std::move(container));
  }
}

/// The API server's defaulting of host-network pods; objects here are those after admission.
void copy_ports_to_host(std::vector<Container>& containers) {
  for (Container& container : containers) {
    for (ContainerPort& port : container.ports) {
      if (port.host_port == 0) port.host_port = port.container_port;
    }
  }
}

void add_pod_level_resources(Random& random, PodSpec& spec) {
  spec.has_pod_level_resources = true;
  add_cpu(random, spec.pod_level_requests);
  add_memory(random, spec.pod_level_requests);
  if (spec.pod_level_requests.empty()) set_resource(spec.pod_level_requests, kCpu, thousandths(1000));
  // Container limits of hugepages would make admission add a pod-level one.
  for (Container& container : spec.containers) container.limits.clear();
  for (Container& container : spec.init_containers) container.limits.clear();
}

void add_overhead(Random& random, PodSpec& spec) {
  set_resource(spec.overhead, kCpu, thousandths(random.between(0, 2) * 125));
  if (random.chance(50)) set_resource(spec.overhead, kMemory, whole(random.between(0, 2) * 60 * kMebibyte));
  if (random.chance(10)) set_resource(spec.overhead, "example.com/license", whole(1));
}

/// One to two values that some nodes have under `key`.
std::vector<std::string> values_for(Random& random, std::string_view key) {
  static constexpr std::array<const char*, 3> kZones = {"zone-a", "zone-b", "zone-x"};
  static constexpr std::array<const char*, 4> kOthers = {"ssd", "hdd", "general", "gpu"};
  static constexpr std::array<const char*, 4> kNumbers = {"1", "7", "007", "100"};
  std::vector<std::string> values;
  const std::int64_t count = random.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    if (key.ends_with("zone"))
      values.emplace_back(random.pick(kZones));
    else if (key == "gen")
      values.emplace_back(random.pick(kNumbers));
    else if (key == "disk" && random.chance(20))
      values.emplace_back();
    else
      values.emplace_back(random.pick(kOthers));
  }
  return values;
}

SelectorRequirement random_expression(Random& random) {
  static constexpr std::array<const char*, 5> kKeys = {"disk", "gen", "topology.kubernetes.io/zone", "example.com/pool",
                                                       "absent-key"};
  static constexpr std::array<SelectorOperator, 6> kOperators = {
      SelectorOperator::kIn,     SelectorOperator::kIn,           SelectorOperator::kNotIn,
      SelectorOperator::kExists, SelectorOperator::kDoesNotExist, SelectorOperator::kGt};
  static constexpr std::array<const char*, 6> kBounds = {"0", "5", "7", "007", "99", "9223372036854775807"};
  SelectorRequirement requirement;
  requirement.key = random.pick(kKeys);
  requirement.op = random.pick(kOperators);
  if (requirement.op == SelectorOperator::kGt) {
    requirement.key = random.chance(80) ? "gen" : "disk";
    if (random.chance(50)) requirement.op = SelectorOperator::kLt;
    requirement.values = {random.pick(kBounds)};
  } else if (requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn) {
    requirement.values = values_for(random, requirement.key);
  }
  return requirement;
}

/// Each makes a requirement malformed in one of the ways of docs/behaviour/plugins-node.md 8.1.
SelectorRequirement malformed_expression(Random& random) {
  const auto make = [](std::string key, SelectorOperator op, std::vector<std::string> values) {
    return SelectorRequirement{std::move(key), op, std::move(values)};
  };
  switch (random.below(8)) {
    case 0:
      return make("gen", SelectorOperator::kGt, {"-5"});
    case 1:
      return make("gen", SelectorOperator::kLt, {"seven"});
    case 2:
      return make("gen", SelectorOperator::kGt, {"1", "2"});
    case 3:
      return make("disk", SelectorOperator::kIn, {});
    case 4:
      return make("disk", SelectorOperator::kExists, {"ssd"});
    case 5:
      return make("a/b/c", SelectorOperator::kExists, {});
    case 6:
      return make("disk", SelectorOperator::kNotIn, {"-ssd"});
    default:
      return make("gen", SelectorOperator::kGt, {"9223372036854775808"});
  }
}

SelectorRequirement random_field(Random& random, const RandomMoods& moods, const std::vector<std::string>& node_names) {
  SelectorRequirement requirement;
  requirement.key = "metadata.name";
  requirement.op = random.chance(70) ? SelectorOperator::kIn : SelectorOperator::kNotIn;
  requirement.values.push_back(node_names.empty() || random.chance(10) ? "no-such-node" : random.pick(node_names));
  if (!random.chance(moods.malformed)) return requirement;
  switch (random.below(4)) {
    case 0:
      requirement.values.emplace_back("node-0");
      break;
    case 1:
      requirement.values.clear();
      break;
    case 2:
      requirement.key = "metadata.namespace";
      break;
    default:
      requirement.op = SelectorOperator::kExists;
      break;
  }
  return requirement;
}

NodeSelectorTerm random_term(Random& random, const RandomMoods& moods, const std::vector<std::string>& node_names) {
  NodeSelectorTerm term;
  if (random.chance(5)) return term;  // an empty term matches nothing, or is dropped
  const std::int64_t count = random.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool malformed = random.chance(moods.malformed / 2);
    term.match_expressions.push_back(malformed ? malformed_expression(random) : random_expression(random));
  }
  if (!random.chance(15)) return term;
  term.match_fields.push_back(random_field(random, moods, node_names));
  if (random.chance(30)) term.match_fields.push_back(random_field(random, moods, node_names));
  if (random.chance(60)) term.match_expressions.clear();
  return term;
}

void add_required_affinity(Random& random, const RandomMoods& moods, const std::vector<std::string>& node_names,
                           NodeAffinity& affinity) {
  affinity.required.emplace();
  if (random.chance(5)) return;  // present and empty: matches no node
  const std::int64_t count = random.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) affinity.required->push_back(random_term(random, moods, node_names));
}

void add_preferred_affinity(Random& random, const RandomMoods& moods, const std::vector<std::string>& node_names,
                            NodeAffinity& affinity) {
  static constexpr std::array<std::int32_t, 6> kWeights = {0, 1, 5, 20, 80, 100};
  // A parse error here fails the whole cycle of the pod, so it is rarer than in required terms.
  RandomMoods calmer = moods;
  calmer.malformed = moods.malformed / 6;
  const std::int64_t count = random.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    PreferredSchedulingTerm term;
    term.weight = random.pick(kWeights);
    term.preference = random_term(random, calmer, node_names);
    affinity.preferred.push_back(std::move(term));
  }
}

void add_affinity(Random& random, const RandomMoods& moods, const std::vector<std::string>& node_names, PodSpec& spec) {
  const bool required = random.chance(moods.required_affinity);
  const bool preferred = random.chance(moods.preferred_affinity);
  if (!required && !preferred) return;
  spec.node_affinity.emplace();
  if (required) add_required_affinity(random, moods, node_names, *spec.node_affinity);
  if (preferred) add_preferred_affinity(random, moods, node_names, *spec.node_affinity);
}

LabelMap random_node_selector(Random& random) {
  std::vector<std::pair<std::string, std::string>> entries;
  const std::int64_t count = random.between(1, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    SelectorRequirement drawn;
    drawn.key = random.chance(50) ? "disk" : "topology.kubernetes.io/zone";
    drawn.values = values_for(random, drawn.key);
    entries.emplace_back(drawn.key, drawn.values.front());
  }
  return LabelMap(std::move(entries));
}

Toleration random_toleration(Random& random, const RandomClusterOptions& options) {
  static constexpr std::array<const char*, 6> kKeys = {
      "", "dedicated", "dedicated", "level", "example.com/flaky", "node.kubernetes.io/unschedulable"};
  static constexpr std::array<const char*, 8> kValues = {"", "1", "5", "05", "-3", "+1", "gpu", "9223372036854775807"};
  Toleration toleration;
  toleration.key = random.pick(kKeys);
  toleration.value = random.pick(kValues);
  const std::uint64_t kind = random.below(10);
  if (kind < 4) {
    toleration.op = TolerationOperator::kExists;
    toleration.value.clear();
  } else if (kind >= 8 && options.comparison_tolerations) {
    toleration.op = kind == 8 ? TolerationOperator::kGt : TolerationOperator::kLt;
    toleration.key = "level";
  }
  static constexpr std::array<TaintEffect, 3> kEffects = {TaintEffect::kNoSchedule, TaintEffect::kPreferNoSchedule,
                                                          TaintEffect::kNoExecute};
  if (random.chance(60)) toleration.effect = random.pick(kEffects);
  return toleration;
}

}  // namespace

PodSpec random_pod_spec(Random& random, const RandomMoods& moods, const RandomClusterOptions& options,
                        const std::vector<std::string>& node_names) {
  PodSpec spec;
  if (options.foreign_scheduler_names && random.chance(moods.rare / 8)) spec.scheduler_name = "other-scheduler";
  add_containers(random, moods, spec);
  if (random.chance(moods.ports / 4)) {
    spec.host_network = true;
    copy_ports_to_host(spec.containers);
    copy_ports_to_host(spec.init_containers);
  }
  if (random.chance(moods.overhead)) add_overhead(random, spec);
  if (options.pod_level_resources && random.chance(moods.pod_level)) add_pod_level_resources(random, spec);
  if (random.chance(moods.node_selector)) spec.node_selector = random_node_selector(random);
  add_affinity(random, moods, node_names, spec);
  if (random.chance(moods.tolerations)) {
    const std::int64_t count = random.between(1, 3);
    for (std::int64_t i = 0; i < count; ++i) spec.tolerations.push_back(random_toleration(random, options));
  }
  return spec;
}

}  // namespace berth
