// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/pod_footprint.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "host/cluster/tight_list.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

constexpr int kMemoBits = 12;
constexpr std::size_t kMemoSlots = std::size_t{1} << kMemoBits;
/// Slots that are looked at for each spec that is added.
constexpr std::size_t kMemoClears = 2;

/// Wraps around like Go's int64; adding the negated amount is the exact inverse.
void wrapping_add(std::int64_t& sum, std::int64_t amount) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(amount));
}

std::int64_t wrapping_negated(std::int64_t amount) {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(amount));
}

template <class Name>
std::int64_t& scalar_slot(ResourceAmounts& amounts, Name&& name) {
  const auto at = std::lower_bound(amounts.scalars.begin(), amounts.scalars.end(), name,
                                   [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
  if (at != amounts.scalars.end() && at->first == name) return at->second;
  const auto position = at - amounts.scalars.begin();
  make_tight_room(amounts.scalars);
  return amounts.scalars.emplace(amounts.scalars.begin() + position, std::forward<Name>(name), 0)->second;
}

void drop_scalars_of_zero(ResourceAmounts& amounts) {
  std::erase_if(amounts.scalars, [](const auto& scalar) { return scalar.second == 0; });
}

template <class Sign>
void apply_amounts(NodeInfo& node, const PodFootprint& footprint, Sign sign) {
  wrapping_add(node.requested.milli_cpu, sign(footprint.requested.milli_cpu));
  wrapping_add(node.requested.memory_bytes, sign(footprint.requested.memory_bytes));
  wrapping_add(node.requested.ephemeral_storage_bytes, sign(footprint.requested.ephemeral_storage_bytes));
  for (const auto& [name, amount] : footprint.requested.scalars) {
    wrapping_add(scalar_slot(node.requested, name), sign(amount));
  }
  wrapping_add(node.non_zero_milli_cpu, sign(footprint.non_zero_milli_cpu));
  wrapping_add(node.non_zero_memory_bytes, sign(footprint.non_zero_memory_bytes));
}

void append_host_ports(const Container& container, std::vector<HostPort>& ports) {
  for (const ContainerPort& port : container.ports) {
    if (port.host_port <= 0) continue;
    ports.push_back({port.host_ip.empty() ? "0.0.0.0" : port.host_ip, port.protocol.empty() ? "TCP" : port.protocol,
                     port.host_port});
  }
}

bool follows_from_spec(const Pod& pod) {
  return pod.rare_fields == nullptr ||
         (pod.rare_fields->status_resources.empty() && !pod.rare_fields->resize_infeasible);
}

}  // namespace

std::vector<HostPort> wanted_host_ports(const PodSpec& spec) {
  std::vector<HostPort> ports;
  for (const Container& container : spec.containers) append_host_ports(container, ports);
  for (const Container& container : spec.init_containers) {
    if (container.restart_always) append_host_ports(container, ports);
  }
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

bool surely_have_same_footprint(const Pod& a, const Pod& b) {
  return a.spec == b.spec && follows_from_spec(a) && follows_from_spec(b);
}

PodFootprint pod_footprint(const Pod& pod) {
  PodFootprint footprint;
  footprint.requested = requested_on_node(pod);
  const ResourceAmounts non_zero = non_zero_requested_on_node(pod);
  footprint.non_zero_milli_cpu = non_zero.milli_cpu;
  footprint.non_zero_memory_bytes = non_zero.memory_bytes;
  footprint.ports = wanted_host_ports(*pod.spec);
  return footprint;
}

void add_amounts(NodeInfo& node, const PodFootprint& footprint) {
  apply_amounts(node, footprint, [](std::int64_t amount) { return amount; });
}

void add_footprint(NodeInfo& node, const PodFootprint& footprint) {
  add_amounts(node, footprint);
  add_ports(node.used_ports, footprint.ports);
}

void subtract_amounts(NodeInfo& node, const PodFootprint& footprint) {
  apply_amounts(node, footprint, wrapping_negated);
  if (!footprint.requested.scalars.empty()) drop_scalars_of_zero(node.requested);
}

void return_amounts(NodeInfo& node, PodFootprint&& footprint) noexcept {
  auto scalars = std::exchange(footprint.requested.scalars, {});
  add_amounts(node, footprint);
  for (auto& [name, amount] : scalars) wrapping_add(scalar_slot(node.requested, std::move(name)), amount);
  drop_scalars_of_zero(node.requested);
}

void add_ports(std::vector<HostPort>& used, std::span<const HostPort> ports) {
  for (const HostPort& port : ports) used.insert(std::lower_bound(used.begin(), used.end(), port), port);
}

void free_ports(std::vector<HostPort>& used, std::span<const HostPort> ports) {
  for (const HostPort& port : ports) std::erase(used, port);
}

void take_off_ports(std::vector<HostPort>& used, const std::vector<HostPort>& ports) {
  for (const HostPort& port : ports) {
    const auto at = std::lower_bound(used.begin(), used.end(), port);
    if (at != used.end() && *at == port) used.erase(at);
  }
}

const PodFootprint& FootprintMemo::of(const Pod& pod) {
  if (!follows_from_spec(pod)) {
    single_ = pod_footprint(pod);
    return single_;
  }
  if (slots_.empty()) slots_.resize(kMemoSlots);
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(pod.spec.get());
  Slot& slot = slots_[(address * 0x9e3779b97f4a7c15u) >> (64 - kMemoBits)];
  // A spec that ended and another one at its address have different owners.
  if (slot.spec.owner_before(pod.spec) || pod.spec.owner_before(slot.spec)) {
    clear_expired();
    slot.footprint = pod_footprint(pod);
    slot.spec = pod.spec;
  }
  return slot.footprint;
}

void FootprintMemo::clear_expired() {
  for (std::size_t i = 0; i < kMemoClears; ++i) {
    Slot& slot = slots_[next_to_clear_];
    if (slot.spec.expired()) slot = {};
    next_to_clear_ = (next_to_clear_ + 1) % kMemoSlots;
  }
}

}  // namespace berth
