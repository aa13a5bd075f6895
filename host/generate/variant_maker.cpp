// SPDX-License-Identifier: Apache-2.0
#include "host/generate/variant_maker.h"

#include <string>
#include <utility>
#include <vector>

#include "host/generate/draws.h"
#include "host/generate/resource_lists.h"
#include "host/objects/label_keys.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

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
  container.image = draw(from.image, random, variant);
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
  spec.node_selector = draw(group.node_selector, random, variant);
  spec.node_affinity = group.node_affinity;
  spec.pod_affinity = group.pod_affinity;
  spec.pod_anti_affinity = group.pod_anti_affinity;
  spec.topology_spread_constraints = group.topology_spread_constraints;
  spec.tolerations = group.tolerations;
  return spec;
}

}  // namespace

Variant VariantMaker::make(Random random, std::size_t index) {
  Variant variant;
  SpecPtr spec = pools_.spec(draw_pod_spec(group_, random, index));
  variant.labels = draw(group_.labels, random, index);
  variant.spec = with_label_keys(spec, variant.labels, pools_);
  set_priority(variant, random, index);
  Pod running;  // the figure differs between pending pods and those on a node
  running.spec = variant.spec;
  running.node_name = "any";
  variant.requested = requested_on_node(running);
  return variant;
}

void VariantMaker::set_priority(Variant& variant, Random& random, std::size_t index) const {
  const PriorityClass* drawn = nullptr;
  if (group_.priority_class)
    drawn = find_class(spec_, draw(*group_.priority_class, random, index));
  else if (!group_.priority)
    drawn = default_class(spec_);
  if (drawn != nullptr) {
    variant.priority = drawn->value;
    variant.preemption_policy = drawn->preemption_policy.value_or(PreemptionPolicy::kPreemptLowerPriority);
  }
  if (group_.priority) variant.priority = *group_.priority;
  if (group_.preemption_policy) variant.preemption_policy = *group_.preemption_policy;
}

}  // namespace berth
