// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_snapshot.h"

#include <algorithm>

#include "batching/node_draw.h"
#include "host/engine/device/transfer_block.h"
#include "plugins/node_ports/compile.h"

namespace berth {
namespace {

/// The values of one column, by node.
template <class Read>
auto gather(const Snapshot& snapshot, Read read) {
  std::vector<decltype(read(std::int32_t{0}))> values;
  values.reserve(static_cast<std::size_t>(snapshot.slot_count()));
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) values.push_back(read(i));
  return values;
}

void keep_each_once(std::vector<std::int32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

std::uint8_t is_taken(const std::vector<HostPort>& wanted, const std::vector<HostPort>& used) {
  return !used.empty() && ports_conflict(wanted, used) ? 1 : 0;
}

}  // namespace

DeviceSnapshot::DeviceSnapshot(Accelerator& accelerator)
    : accelerator_(accelerator),
      allocatable_(accelerator, "allocatable amounts"),
      requested_(accelerator, "requested amounts"),
      allowed_pods_(accelerator, "pod limits"),
      non_zero_milli_cpu_(accelerator, "requested cpu"),
      non_zero_memory_bytes_(accelerator, "requested memory"),
      pod_count_(accelerator, "pod counts"),
      name_hash_(accelerator, "node hashes"),
      rank_(accelerator, "node order"),
      port_taken_(accelerator, "host ports"),
      port_conflicts_(accelerator, "host ports"),
      domain_of_(accelerator, "topology domains"),
      masks_(accelerator, "nodes that count for topology"),
      exists_(accelerator, "topology domains"),
      tables_(accelerator, "topology tables"),
      weight_of_size_(accelerator, "domain weights"),
      counts_(accelerator, "topology counts"),
      totals_(accelerator, "topology counts"),
      delta_(accelerator, "changed nodes") {}

void DeviceSnapshot::clear() {
  is_empty_ = true;
  resource_count_ = column_count_ = counter_count_ = uploaded_port_sets_ = 0;
  masks_on_host_.clear();
  tables_on_host_.clear();
}

std::int32_t DeviceSnapshot::port_set(const std::vector<HostPort>& ports) {
  const auto [at, is_new] = port_set_of_.try_emplace(ports, port_set_count());
  if (is_new) port_sets_.push_back(ports);
  return at->second;
}

void DeviceSnapshot::update(const Snapshot& snapshot, const CommitLog& log) {
  // New columns and tables have current values already. Sending log entries for them again is harmless.
  if (is_empty_) upload_nodes(snapshot);
  add_resources(snapshot);
  add_columns(snapshot.topology());
  add_tables(snapshot.topology());
  add_port_sets(snapshot);
  if (!is_empty_) send_delta(snapshot, log);
  is_empty_ = false;
  position_ = log.position();
}

void DeviceSnapshot::upload_nodes(const Snapshot& snapshot) {
  node_count_ = static_cast<std::uint64_t>(snapshot.slot_count());
  allowed_pods_.assign(gather(snapshot, [&](std::int32_t i) { return snapshot.allowed_pods(i); }));
  name_hash_.assign(gather(snapshot, [&](std::int32_t i) { return snapshot.node_hash(i); }));
  rank_.assign(gather(snapshot, [&](std::int32_t i) { return node_rank(snapshot, i); }));
  non_zero_milli_cpu_.assign(gather(snapshot, [&](std::int32_t i) { return snapshot.non_zero_milli_cpu(i); }));
  non_zero_memory_bytes_.assign(gather(snapshot, [&](std::int32_t i) { return snapshot.non_zero_memory_bytes(i); }));
  pod_count_.assign(gather(snapshot, [&](std::int32_t i) { return snapshot.pod_count(i); }));
  weights_.grow(node_count_);
  std::vector<double> weights;
  for (std::size_t size = 0; size <= node_count_; ++size) weights.push_back(weights_.of(size));
  weight_of_size_.assign(weights);
}

void DeviceSnapshot::add_resources(const Snapshot& snapshot) {
  const auto resources = static_cast<std::uint64_t>(snapshot.resource_count());
  allocatable_.reserve(resources * node_count_, resource_count_ * node_count_);
  requested_.reserve(resources * node_count_, resource_count_ * node_count_);
  for (; resource_count_ < resources; ++resource_count_) {
    const auto r = static_cast<std::int32_t>(resource_count_);
    const std::uint64_t first = resource_count_ * node_count_;
    allocatable_.upload(first, gather(snapshot, [&](std::int32_t i) { return snapshot.allocatable(r, i); }));
    requested_.upload(first, gather(snapshot, [&](std::int32_t i) { return snapshot.requested(r, i); }));
  }
}

void DeviceSnapshot::add_columns(const TopologyCounts& counts) {
  const auto columns = static_cast<std::uint64_t>(counts.column_count());
  domain_of_.reserve(columns * node_count_, column_count_ * node_count_);
  for (; column_count_ < columns; ++column_count_)
    domain_of_.upload(column_count_ * node_count_, counts.column(static_cast<std::int32_t>(column_count_)).domain_of);
}

std::int32_t DeviceSnapshot::mask_of(const NodeMask& mask) {
  if (mask == nullptr) return -1;
  const auto at = std::find(masks_on_host_.begin(), masks_on_host_.end(), mask);
  if (at != masks_on_host_.end()) return static_cast<std::int32_t>(at - masks_on_host_.begin());
  const std::uint64_t kept = masks_on_host_.size() * node_count_;
  masks_.reserve(kept + node_count_, kept);
  masks_.upload(kept, *mask);
  masks_on_host_.push_back(mask);
  return static_cast<std::int32_t>(masks_on_host_.size()) - 1;
}

bool DeviceSnapshot::has_replaced_table(const TopologyCounts& counts) const {
  if (counts.tables_added() == tables_added_) return false;
  for (std::size_t t = 0; t < tables_on_host_.size(); ++t)
    if (counts.added_at(static_cast<std::int32_t>(t)) > tables_added_) return true;
  return false;
}

void DeviceSnapshot::add_tables(const TopologyCounts& counts) {
  const std::size_t known = tables_on_host_.size();
  tables_added_ = counts.tables_added();
  if (known == static_cast<std::size_t>(counts.table_count())) return;
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> exists;
  std::vector<std::int64_t> totals;
  std::vector<DeviceTable> added;
  for (auto t = static_cast<std::int32_t>(known); t < counts.table_count(); ++t) {
    const DomainColumn& column = counts.column(counts.column_of(t));
    DeviceTable table;
    table.first = static_cast<std::int64_t>(counter_count_ + values.size());
    table.column = counts.column_of(t);
    table.domain_count = column.domain_count;
    table.existing_domains = counts.existing_domains(t);
    table.mask = mask_of(counts.mask_of(t));
    added.push_back(table);
    for (std::int32_t d = 0; d <= column.domain_count; ++d) values.push_back(counts.count(t, d));
    if (counts.tracks_minimum(t)) {
      for (const std::int32_t nodes : TopologyCounts::nodes_that_count(column, counts.mask_of(t)))
        exists.push_back(nodes > 0 ? 1 : 0);
    }
    exists.resize(values.size(), 0);
    totals.push_back(counts.total(t));
  }
  counts_.reserve(counter_count_ + values.size(), counter_count_);
  exists_.reserve(counter_count_ + values.size(), counter_count_);
  totals_.reserve(known + added.size(), known);
  tables_.reserve(known + added.size(), known);
  counts_.upload(counter_count_, values);
  exists_.upload(counter_count_, exists);
  totals_.upload(known, totals);
  tables_.upload(known, added);
  counter_count_ += values.size();
  tables_on_host_.insert(tables_on_host_.end(), added.begin(), added.end());
}

void DeviceSnapshot::add_port_sets(const Snapshot& snapshot) {
  if (uploaded_port_sets_ == port_sets_.size()) return;
  port_taken_.reserve(port_sets_.size() * node_count_, uploaded_port_sets_ * node_count_);
  for (std::uint64_t s = uploaded_port_sets_; s < port_sets_.size(); ++s)
    port_taken_.upload(s * node_count_, gather(snapshot, [&](std::int32_t i) {
                         return is_taken(port_sets_[s], snapshot.used_ports(i));
                       }));
  std::vector<std::uint8_t> conflicts;
  for (const std::vector<HostPort>& placed : port_sets_)
    for (const std::vector<HostPort>& wanted : port_sets_) conflicts.push_back(is_taken(wanted, placed));
  port_conflicts_.assign(conflicts);
  uploaded_port_sets_ = port_sets_.size();
}

/// The counters of the nodes' domains, each once, with their current values.
DeviceSnapshot::ChangedCounters DeviceSnapshot::counters_of(const std::vector<std::int32_t>& nodes,
                                                            const TopologyCounts& counts) const {
  ChangedCounters changed;
  std::vector<std::int32_t> domains;
  for (std::int32_t t = 0; t < counts.table_count(); ++t) {
    const DeviceTable& table = tables_on_host_[static_cast<std::size_t>(t)];
    domains.clear();
    for (const std::int32_t node : nodes)
      if (const std::int32_t domain = counts.column(table.column)[node]; domain != 0) domains.push_back(domain);
    keep_each_once(domains);
    for (const std::int32_t domain : domains) {
      changed.at.push_back(table.first + domain);
      changed.counts.push_back(counts.count(t, domain));
    }
    changed.totals.push_back(counts.total(t));
  }
  return changed;
}

void DeviceSnapshot::send_delta(const Snapshot& snapshot, const CommitLog& log) {
  if (position_ == log.position()) return;
  std::vector<std::int32_t> nodes;
  if (log.reaches(position_)) {
    for (const LogEntry& entry : log.since(position_)) nodes.push_back(entry.node);
    keep_each_once(nodes);
  } else {
    for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) nodes.push_back(i);
  }
  const ChangedCounters changed = counters_of(nodes, snapshot.topology());
  const auto of_nodes = [&](auto read) {
    std::vector<decltype(read(std::int32_t{0}))> values;
    values.reserve(nodes.size());
    for (const std::int32_t node : nodes) values.push_back(read(node));
    return values;
  };
  std::vector<std::int64_t> requested;
  for (std::int32_t r = 0; r < snapshot.resource_count(); ++r)
    for (const std::int32_t node : nodes) requested.push_back(snapshot.requested(r, node));
  std::vector<std::uint8_t> ports;
  for (const std::vector<HostPort>& wanted : port_sets_)
    for (const std::int32_t node : nodes) ports.push_back(is_taken(wanted, snapshot.used_ports(node)));

  TransferBlock block;
  const auto at_nodes = block.add(nodes);
  const auto at_requested = block.add(requested);
  const auto at_milli_cpu = block.add(of_nodes([&](std::int32_t i) { return snapshot.non_zero_milli_cpu(i); }));
  const auto at_memory = block.add(of_nodes([&](std::int32_t i) { return snapshot.non_zero_memory_bytes(i); }));
  const auto at_pods = block.add(of_nodes([&](std::int32_t i) { return snapshot.pod_count(i); }));
  const auto at_ports = block.add(ports);
  const auto at_places = block.add(changed.at);
  const auto at_values = block.add(changed.counts);
  const auto at_totals = block.add(changed.totals);
  block.send(delta_);
  DeviceDelta delta;
  delta.nodes = block.at(at_nodes);
  delta.requested = block.at(at_requested);
  delta.non_zero_milli_cpu = block.at(at_milli_cpu);
  delta.non_zero_memory_bytes = block.at(at_memory);
  delta.pod_count = block.at(at_pods);
  delta.port_taken = block.at(at_ports);
  delta.count_at = block.at(at_places);
  delta.counts = block.at(at_values);
  delta.totals = block.at(at_totals);
  delta.node_count = static_cast<std::int32_t>(nodes.size());
  delta.resource_count = snapshot.resource_count();
  delta.port_set_count = port_set_count();
  delta.count_count = static_cast<std::int32_t>(changed.at.size());
  delta.table_count = static_cast<std::int32_t>(changed.totals.size());
  DeviceState state;
  state.columns = columns();
  state.counts = counts();
  accelerator_.apply_delta(state, delta);
}

DeviceColumns DeviceSnapshot::columns() const {
  DeviceColumns columns;
  columns.node_count = static_cast<std::int32_t>(node_count_);
  columns.stride = static_cast<std::int64_t>(node_count_);
  columns.allocatable = allocatable_.data();
  columns.allowed_pods = allowed_pods_.data();
  columns.name_hash = name_hash_.data();
  columns.rank = rank_.data();
  columns.requested = requested_.data();
  columns.non_zero_milli_cpu = non_zero_milli_cpu_.data();
  columns.non_zero_memory_bytes = non_zero_memory_bytes_.data();
  columns.pod_count = pod_count_.data();
  columns.port_taken = port_taken_.data();
  return columns;
}

DeviceCounts DeviceSnapshot::counts() const {
  DeviceCounts counts;
  counts.stride = static_cast<std::int64_t>(node_count_);
  counts.domain_of = domain_of_.data();
  counts.masks = masks_.data();
  counts.tables = tables_.data();
  counts.exists = exists_.data();
  counts.weight_of_size = weight_of_size_.data();
  counts.counts = counts_.data();
  counts.totals = totals_.data();
  return counts;
}

}  // namespace berth
