// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/node_state.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "host/objects/pod_requests.h"

namespace berth::reference {
namespace {

void collect_ports(const Container& container, std::vector<HostPort>& ports) {
  for (const ContainerPort& port : container.ports) {
    if (port.host_port <= 0) continue;
    HostPort key{port.host_ip.empty() ? "0.0.0.0" : port.host_ip, port.protocol.empty() ? "TCP" : port.protocol,
                 port.host_port};
    if (std::find(ports.begin(), ports.end(), key) == ports.end()) ports.push_back(std::move(key));
  }
}

/// Wraps round at the int64 range, as kube-scheduler's sums do.
void add(std::int64_t& to, std::int64_t amount) {
  to = static_cast<std::int64_t>(static_cast<std::uint64_t>(to) + static_cast<std::uint64_t>(amount));
}

void add_amounts(ResourceAmounts& to, const ResourceAmounts& what) {
  add(to.milli_cpu, what.milli_cpu);
  add(to.memory_bytes, what.memory_bytes);
  add(to.ephemeral_storage_bytes, what.ephemeral_storage_bytes);
  std::map<std::string, std::int64_t> scalars(to.scalars.begin(), to.scalars.end());
  for (const auto& [name, amount] : what.scalars) add(scalars[name], amount);
  to.scalars.assign(scalars.begin(), scalars.end());
}

void subtract(std::int64_t& from, std::int64_t amount) {
  from = static_cast<std::int64_t>(static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(amount));
}

void subtract_amounts(ResourceAmounts& from, const ResourceAmounts& what) {
  subtract(from.milli_cpu, what.milli_cpu);
  subtract(from.memory_bytes, what.memory_bytes);
  subtract(from.ephemeral_storage_bytes, what.ephemeral_storage_bytes);
  std::map<std::string, std::int64_t> scalars(from.scalars.begin(), from.scalars.end());
  for (const auto& [name, amount] : what.scalars) subtract(scalars[name], amount);
  from.scalars.assign(scalars.begin(), scalars.end());
}

/// Pods without affinity, which most are, share the empty terms.
std::shared_ptr<const PodTerms> terms_of(const Pod& pod) {
  static const auto kNone = std::make_shared<const PodTerms>();
  if (!pod.spec->pod_affinity && !pod.spec->pod_anti_affinity) return kNone;
  return std::make_shared<const PodTerms>(parse_terms(pod));
}

}  // namespace

std::vector<HostPort> host_ports_of(const PodSpec& spec) {
  std::vector<HostPort> ports;
  for (const Container& container : spec.containers) collect_ports(container, ports);
  for (const Container& container : spec.init_containers) {
    if (container.restart_always) collect_ports(container, ports);
  }
  return ports;
}

void add_pod(NodeState& state, const PodPtr& pod) {
  NodeUsage& usage = state.usage;
  add_amounts(usage.requested, requested_on_node(*pod));
  const ResourceAmounts non_zero = non_zero_requested_on_node(*pod);
  add(usage.non_zero_milli_cpu, non_zero.milli_cpu);
  add(usage.non_zero_memory_bytes, non_zero.memory_bytes);
  for (HostPort& port : host_ports_of(*pod->spec)) {
    if (std::find(usage.ports.begin(), usage.ports.end(), port) == usage.ports.end()) {
      usage.ports.push_back(std::move(port));
    }
  }
  state.pods.push_back({pod, terms_of(*pod)});
}

void remove_pod(NodeState& state, const Pod& pod) {
  const auto at = std::find_if(state.pods.begin(), state.pods.end(),
                               [&](const PodOnNode& other) { return other.pod->uid() == pod.uid(); });
  if (at == state.pods.end()) throw std::logic_error("pod " + pod.full_name() + " is not on node " + state.node->name);
  // Upstream's RemovePod moves the last pod into the gap.
  if (at != state.pods.end() - 1) *at = std::move(state.pods.back());
  state.pods.pop_back();
  NodeUsage& usage = state.usage;
  subtract_amounts(usage.requested, requested_on_node(pod));
  const ResourceAmounts non_zero = non_zero_requested_on_node(pod);
  subtract(usage.non_zero_milli_cpu, non_zero.milli_cpu);
  subtract(usage.non_zero_memory_bytes, non_zero.memory_bytes);
  for (const HostPort& port : host_ports_of(*pod.spec)) std::erase(usage.ports, port);
}

}  // namespace berth::reference
