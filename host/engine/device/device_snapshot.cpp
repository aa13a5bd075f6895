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

/// DeviceColumns::in_order
std::vector<std::int32_t> slots_in_order(const Snapshot& snapshot) {
  std::vector<std::int32_t> slots(snapshot.in_order().begin(), snapshot.in_order().end());
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i)
    if (!snapshot.has_node(i)) slots.push_back(i);
  return slots;
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
      in_order_(accelerator, "node order"),
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
  domains_on_host_.clear();
  room_of_table_.clear();
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
  add_new(snapshot);
  NodeEventDelta no_events;
  if (!is_empty_ && position_ != log.position()) send_delta(snapshot, log, no_events);
  is_empty_ = false;
  position_ = log.position();
}

void DeviceSnapshot::update(const Snapshot& snapshot, const CommitLog& log, NodeEventDelta& delta) {
  const TopologyCounts& counts = snapshot.topology();
  // Whatever moves arrays comes before the addresses of patches.
  follow_masks(counts);
  add_new(snapshot);
  patch_amounts(snapshot, delta);
  patch_tables(counts, delta);
  send_delta(snapshot, log, delta);
  position_ = log.position();
}

void DeviceSnapshot::add_new(const Snapshot& snapshot) {
  if (is_empty_) upload_nodes(snapshot);
  if (order_version_ != snapshot.order_version()) {
    rank_.upload(0, gather(snapshot, [&](std::int32_t i) { return node_rank(snapshot, i); }));
    in_order_.upload(0, slots_in_order(snapshot));
  }
  order_version_ = snapshot.order_version();
  add_resources(snapshot);
  add_columns(snapshot.topology());
  add_tables(snapshot.topology());
  add_port_sets(snapshot);
}

void DeviceSnapshot::upload_nodes(const Snapshot& snapshot) {
  ++full_uploads_;
  node_count_ = static_cast<std::uint64_t>(snapshot.slot_count());
  allowed_pods_.assign(gather(snapshot, [&](std::int32_t i) { return snapshot.allowed_pods(i); }));
  name_hash_.assign(gather(snapshot, [&](std::int32_t i) { return snapshot.node_hash(i); }));
  rank_.assign(gather(snapshot, [&](std::int32_t i) { return node_rank(snapshot, i); }));
  in_order_.assign(slots_in_order(snapshot));
  order_version_ = snapshot.order_version();
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
  for (; column_count_ < columns; ++column_count_) {
    const std::vector<std::int32_t>& domains = counts.column(static_cast<std::int32_t>(column_count_)).domain_of;
    domain_of_.upload(column_count_ * node_count_, domains);
    domains_on_host_.push_back(domains);
  }
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
  std::vector<std::int64_t> totals;
  std::vector<DeviceTable> added;
  std::uint64_t end = counter_count_;
  for (auto t = static_cast<std::int32_t>(known); t < counts.table_count(); ++t) {
    DeviceTable table = describe_table(t, counts);
    table.first = static_cast<std::int64_t>(end);
    added.push_back(table);
    room_of_table_.push_back(counter_room(table.domain_count));
    end += room_of_table_.back();
    totals.push_back(counts.total(t));
  }
  counts_.reserve(end, counter_count_);
  exists_.reserve(end, counter_count_);
  totals_.reserve(known + added.size(), known);
  tables_.reserve(known + added.size(), known);
  counts_.clear(counter_count_, end - counter_count_);
  exists_.clear(counter_count_, end - counter_count_);
  for (std::size_t i = 0; i < added.size(); ++i)
    upload_counters(static_cast<std::int32_t>(known + i), added[i], counts);
  totals_.upload(known, totals);
  tables_.upload(known, added);
  counter_count_ = end;
  tables_on_host_.insert(tables_on_host_.end(), added.begin(), added.end());
}

/// What is not 0 of a table whose counters are all 0 on the device. Most tables of a term by host hold next to nothing.
void DeviceSnapshot::upload_counters(std::int32_t t, const DeviceTable& table, const TopologyCounts& counts) {
  constexpr std::int32_t kPage = 4096;  // counters of one transfer
  std::vector<std::int64_t> page;
  std::int32_t first = 0;
  const auto send = [&] { counts_.upload(static_cast<std::uint64_t>(table.first + first), page); };
  counts.for_each_counted(t, [&](std::int32_t domain) {
    if (page.empty() || domain - first >= kPage) {
      send();
      page.clear();
      first = domain;
    }
    page.resize(static_cast<std::size_t>(domain - first), 0);
    page.push_back(counts.count(t, domain));
  });
  send();
  if (!counts.tracks_minimum(t)) return;
  std::vector<std::uint8_t> exists;
  for (std::int32_t d = 0; d <= table.domain_count; ++d) exists.push_back(counts.exists(t, d) ? 1 : 0);
  exists_.upload(static_cast<std::uint64_t>(table.first), exists);
}

DeviceTable DeviceSnapshot::describe_table(std::int32_t table, const TopologyCounts& counts) {
  DeviceTable device;
  device.column = counts.column_of(table);
  device.domain_count = counts.column(device.column).domain_count;
  device.existing_domains = counts.existing_domains(table);
  device.mask = mask_of(counts.mask_of(table));
  return device;
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

// Events of node objects

bool DeviceSnapshot::has_room_for(const TopologyCounts& counts) const {
  for (std::size_t t = 0; t < tables_on_host_.size(); ++t) {
    const DomainColumn& column = counts.column(counts.column_of(static_cast<std::int32_t>(t)));
    if (static_cast<std::uint64_t>(column.domain_count) >= room_of_table_[t]) return false;
  }
  return true;
}

/// Tables whose mask was all nodes get one, and masks that changed for some nodes keep their places.
void DeviceSnapshot::follow_masks(const TopologyCounts& counts) {
  for (std::size_t t = 0; t < tables_on_host_.size(); ++t) {
    const NodeMask& mask = counts.mask_of(static_cast<std::int32_t>(t));
    const std::int32_t known = tables_on_host_[t].mask;
    if (known >= 0 && mask != nullptr) masks_on_host_[static_cast<std::size_t>(known)] = mask;
    if (known < 0) mask_of(mask);
  }
}

void DeviceSnapshot::patch_amounts(const Snapshot& snapshot, NodeEventDelta& delta) const {
  for (const ChangedNode& node : delta.nodes()) {
    if (node.parts == NodeParts::all()) delta.patch(name_hash_.data() + node.slot, snapshot.node_hash(node.slot));
    if (!node.parts.contains(NodePart::kAllocatable)) continue;
    delta.patch(allowed_pods_.data() + node.slot, snapshot.allowed_pods(node.slot));
    for (std::int32_t r = 0; r < snapshot.resource_count(); ++r)
      delta.patch(allocatable_.data() + static_cast<std::uint64_t>(r) * node_count_ + node.slot,
                  snapshot.allocatable(r, node.slot));
  }
}

/// What counts per domain, and which domains exist.
void DeviceSnapshot::patch_tables(const TopologyCounts& counts, NodeEventDelta& delta) {
  for (std::size_t t = 0; t < tables_on_host_.size(); ++t) {
    const auto index = static_cast<std::int32_t>(t);
    DeviceTable& known = tables_on_host_[t];
    DeviceTable now = describe_table(index, counts);
    now.first = known.first;
    const DeviceTable* const at = tables_.data() + t;
    if (now.domain_count != known.domain_count) delta.patch(&at->domain_count, now.domain_count);
    if (now.existing_domains != known.existing_domains) delta.patch(&at->existing_domains, now.existing_domains);
    if (now.mask != known.mask) delta.patch(&at->mask, now.mask);
    known = now;
    if (!counts.tracks_minimum(index)) continue;
    for (const std::int32_t domain : domains_of({}, delta, now.column, counts))
      delta.patch<std::uint8_t>(exists_.data() + now.first + domain, counts.exists(index, domain) ? 1 : 0);
  }
  for (std::size_t m = 0; m < masks_on_host_.size(); ++m)
    for (const ChangedNode& node : delta.nodes())
      delta.patch(masks_.data() + m * node_count_ + static_cast<std::uint64_t>(node.slot),
                  (*masks_on_host_[m])[static_cast<std::size_t>(node.slot)]);
}

/// After counters_of(), which reads the domains that nodes have left.
void DeviceSnapshot::patch_domains(const TopologyCounts& counts, NodeEventDelta& delta) {
  for (std::size_t c = 0; c < domains_on_host_.size(); ++c)
    for (const ChangedNode& node : delta.nodes()) {
      std::int32_t& known = domains_on_host_[c][static_cast<std::size_t>(node.slot)];
      const std::int32_t now = counts.column(static_cast<std::int32_t>(c))[node.slot];
      if (known != now) delta.patch(domain_of_.data() + c * node_count_ + static_cast<std::uint64_t>(node.slot), now);
      known = now;
    }
}

/// Each once: those of `nodes`, and those that nodes of the events were in or are in now.
std::vector<std::int32_t> DeviceSnapshot::domains_of(const std::vector<std::int32_t>& nodes,
                                                     const NodeEventDelta& events, std::int32_t column,
                                                     const TopologyCounts& counts) const {
  std::vector<std::int32_t> domains;
  domains.reserve(nodes.size() + 2 * events.nodes().size());
  for (const std::int32_t node : nodes) domains.push_back(counts.column(column)[node]);
  for (const ChangedNode& node : events.nodes()) {
    domains.push_back(counts.column(column)[node.slot]);
    domains.push_back(domains_on_host_[static_cast<std::size_t>(column)][static_cast<std::size_t>(node.slot)]);
  }
  std::erase(domains, 0);
  keep_each_once(domains);
  return domains;
}

/// The counters of the nodes' domains, each once, with their current values.
DeviceSnapshot::ChangedCounters DeviceSnapshot::counters_of(const std::vector<std::int32_t>& nodes,
                                                            const NodeEventDelta& events,
                                                            const TopologyCounts& counts) const {
  ChangedCounters changed;
  for (std::int32_t t = 0; t < counts.table_count(); ++t) {
    const DeviceTable& table = tables_on_host_[static_cast<std::size_t>(t)];
    for (const std::int32_t domain : domains_of(nodes, events, table.column, counts)) {
      changed.at.push_back(table.first + domain);
      changed.counts.push_back(counts.count(t, domain));
    }
    changed.totals.push_back(counts.total(t));
  }
  return changed;
}

void DeviceSnapshot::send_delta(const Snapshot& snapshot, const CommitLog& log, NodeEventDelta& events) {
  std::vector<std::int32_t> nodes;
  if (log.reaches(position_)) {
    for (const LogEntry& entry : log.since(position_)) nodes.push_back(entry.node);
    keep_each_once(nodes);
  } else {
    for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) nodes.push_back(i);
  }
  const ChangedCounters changed = counters_of(nodes, events, snapshot.topology());
  patch_domains(snapshot.topology(), events);
  DeviceState state;
  state.columns = columns();
  state.counts = counts();
  state.rows.layouts = events.layouts;
  send_nodes(state, snapshot, nodes, changed, events);
}

void DeviceSnapshot::write_nodes(const DeviceState& copy, const Snapshot& of, const std::vector<std::int32_t>& nodes) {
  const NodeEventDelta no_events;
  send_nodes(copy, of, nodes, counters_of(nodes, no_events, of.topology()), no_events);
}

/// One transfer and one launch.
void DeviceSnapshot::send_nodes(const DeviceState& state, const Snapshot& snapshot,
                                const std::vector<std::int32_t>& nodes, const ChangedCounters& changed,
                                const NodeEventDelta& events) {
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
  const auto at_patches = block.add(events.patches);
  const auto at_vacancies = block.add(events.vacancies);
  const auto at_vacated = block.add(events.vacated);
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
  delta.patches = block.at(at_patches);
  delta.vacancies = block.at(at_vacancies);
  delta.vacated = block.at(at_vacated);
  delta.patch_count = static_cast<std::int32_t>(events.patches.size());
  delta.vacancy_count = static_cast<std::int32_t>(events.vacancies.size());
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
  columns.in_order = in_order_.data();
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
