// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/fork_states.h"

#include <algorithm>
#include <numeric>

#include "host/engine/device/answered.h"
#include "host/engine/device/transfer_block.h"

namespace berth {
namespace {

constexpr std::uint64_t kAlignment = 16;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::uint64_t seen_entries(const ForkShape& shape) {
  return static_cast<std::uint64_t>(shape.domains_max + 1) * kDeviceConstraintsMax;
}

std::uint64_t state_bytes(const ForkShape& shape) {
  return aligned(shape.resources * shape.nodes * sizeof(std::int64_t)) +
         3 * aligned(shape.nodes * sizeof(std::int64_t)) + aligned(shape.port_sets * shape.nodes) +
         aligned(shape.counters * sizeof(std::int64_t)) + aligned(shape.tables * sizeof(std::int64_t)) +
         aligned(seen_entries(shape) * sizeof(std::int32_t));
}

std::uint64_t rows_bytes(const LaunchPlan& plan, const DeviceClassTable& classes) {
  std::uint64_t bytes = 0;
  for (const std::int32_t c : plan.classes) bytes += aligned(device_row_bytes(classes.layout(classes.layout_of(c))));
  return bytes;
}

}  // namespace

std::uint64_t ForkStates::bytes(const LaunchPlan& plan, const DeviceClassTable& classes) const {
  const std::uint64_t tables = plan.classes.size() * (sizeof(DeviceRow) + sizeof(std::int32_t)) +
                               plan.row_of_pod.size() * (sizeof(std::int32_t) + sizeof(DeviceOutcome));
  return state_bytes(shape_) + rows_bytes(plan, classes) + tables + sizeof(DeviceState) + sizeof(DeviceBatch);
}

template <class T>
T* ForkStates::copy(const T* from, std::uint64_t count, std::uint8_t*& memory) const {
  T* to = reinterpret_cast<T*>(memory);
  if (count > 0) accelerator_.copy(to, from, count * sizeof(T));
  memory += aligned(count * sizeof(T));
  return to;
}

DeviceState ForkStates::copy_state(const DeviceState& live, std::uint8_t*& memory) const {
  DeviceState fork = live;
  fork.columns.requested = copy(live.columns.requested, shape_.resources * shape_.nodes, memory);
  fork.columns.non_zero_milli_cpu = copy(live.columns.non_zero_milli_cpu, shape_.nodes, memory);
  fork.columns.non_zero_memory_bytes = copy(live.columns.non_zero_memory_bytes, shape_.nodes, memory);
  fork.columns.pod_count = copy(live.columns.pod_count, shape_.nodes, memory);
  fork.columns.port_taken = copy(live.columns.port_taken, shape_.port_sets * shape_.nodes, memory);
  fork.counts.counts = copy(live.counts.counts, shape_.counters, memory);
  fork.counts.totals = copy(live.counts.totals, shape_.tables, memory);
  const std::uint64_t seen_bytes = seen_entries(shape_) * sizeof(std::int32_t);
  fork.scratch = {reinterpret_cast<std::int32_t*>(memory), shape_.domains_max, 1};
  accelerator_.clear(memory, seen_bytes);
  memory += aligned(seen_bytes);
  return fork;
}

/// Copies the live state and the plans' rows, and writes the differences into the copies. What earlier calls opened is
/// gone.
std::vector<ForkStates::Opened> ForkStates::open(std::span<const LaunchPlan> plans, const DeviceState& live,
                                                 const DeviceRowStore& rows, const DeviceClassTable& classes,
                                                 DeviceSnapshot& columns, std::span<const ForkDifference> differences) {
  std::uint64_t bytes = 0;
  for (const LaunchPlan& plan : plans) bytes += state_bytes(shape_) + rows_bytes(plan, classes);
  memory_.reserve(bytes);

  struct Parts {
    TransferBlock::Part<DeviceRow> rows;
    TransferBlock::Part<std::int32_t> row_of_pod, last_pod;
    TransferBlock::Part<std::int32_t> all_rows, first_node, end_node, nodes;  // to refresh
    TransferBlock::Part<std::uint32_t> stops_at;
  };
  std::vector<Parts> parts;
  std::vector<bool> refreshed(plans.size());
  std::vector<Opened> opened(plans.size());
  TransferBlock tables;
  std::uint8_t* memory = memory_.data();
  for (std::size_t f = 0; f < plans.size(); ++f) {
    opened[f].state = copy_state(live, memory);
    std::vector<DeviceRow> fork_rows;
    for (const std::int32_t c : plans[f].classes) {
      const DeviceRow& row = rows.row(c);
      const DeviceLayout& layout = classes.layout(row.layout);
      fork_rows.push_back(lay_row(row.pod_class, row.layout, layout, memory));
      accelerator_.copy(memory, row.keys, row_key_bytes(layout));
      memory += aligned(device_row_bytes(layout));
    }
    // Rows of the live state leave out nothing.
    std::vector<std::int32_t> nodes = differences.empty() ? std::vector<std::int32_t>() : differences[f].nodes;
    for (std::size_t r = 0; r < fork_rows.size(); ++r) {
      const std::vector<std::int32_t>& left_out = plans[f].left_out[r].nodes;
      fork_rows[r].leaves_out = !left_out.empty();
      if (left_out.empty()) continue;
      upload_left_out(fork_rows[r], left_out, static_cast<std::int32_t>(shape_.nodes), accelerator_);
      nodes.insert(nodes.end(), left_out.begin(), left_out.end());
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::vector<std::int32_t> all_rows(plans[f].classes.size());
    std::iota(all_rows.begin(), all_rows.end(), 0);
    const std::vector<std::int32_t> from_the_first(all_rows.size(), 0);
    const std::vector<std::int32_t> to_the_last(all_rows.size(), static_cast<std::int32_t>(nodes.size()));
    parts.push_back({tables.add(fork_rows), tables.add(plans[f].row_of_pod), tables.add(plans[f].last_pod),
                     tables.add(all_rows), tables.add(from_the_first), tables.add(to_the_last), tables.add(nodes),
                     tables.add(plans[f].stops_at)});
    refreshed[f] = !nodes.empty();
  }
  tables.send(tables_);
  for (std::size_t f = 0; f < plans.size(); ++f) {
    auto& [state, batch] = opened[f];
    state.rows.rows = tables.at(parts[f].rows);
    batch.row_of_pod = tables.at(parts[f].row_of_pod);
    batch.last_pod = tables.at(parts[f].last_pod);
    batch.pod_count = static_cast<std::int32_t>(plans[f].row_of_pod.size());
    batch.row_count = static_cast<std::int32_t>(plans[f].classes.size());
    if (!plans[f].stops_at.empty()) batch.stops_at = tables.at(parts[f].stops_at);
    if (!differences.empty() && !differences[f].nodes.empty())
      columns.write_nodes(state, *differences[f].snapshot, differences[f].nodes);
    if (refreshed[f])
      accelerator_.refresh_rows(state, {tables.at(parts[f].all_rows), tables.at(parts[f].first_node),
                                        tables.at(parts[f].end_node), tables.at(parts[f].nodes), batch.row_count});
  }
  return opened;
}

std::vector<std::vector<DeviceOutcome>> ForkStates::run(std::span<const LaunchPlan> plans, const DeviceState& live,
                                                        const DeviceRowStore& rows, const DeviceClassTable& classes,
                                                        bool stops_at_failure, DeviceSnapshot& columns,
                                                        std::span<const ForkDifference> differences) {
  std::uint64_t pods = 0;
  for (const LaunchPlan& plan : plans) pods += plan.row_of_pod.size();
  outcomes_.reserve(pods);
  committed_.reserve(plans.size());
  committed_.upload(0, std::vector<std::int32_t>(plans.size(), -1));
  std::vector<DeviceState> states;
  std::vector<DeviceBatch> batches;
  std::uint64_t first = 0;
  for (auto& [state, batch] : open(plans, live, rows, classes, columns, differences)) {
    batch.stops_at_failure = stops_at_failure;
    batch.outcomes = outcomes_.data() + first;
    batch.committed_count = committed_.data() + batches.size();
    first += static_cast<std::uint64_t>(batch.pod_count);
    states.push_back(state);
    batches.push_back(batch);
  }
  states_.assign(states);
  batches_.assign(batches);
  accelerator_.commit_forks(states_.data(), batches_.data(), static_cast<std::int32_t>(plans.size()));

  const std::vector<std::int32_t> committed = committed_.download(0, plans.size());
  const std::vector<DeviceOutcome> outcomes = outcomes_.download(0, pods);
  std::vector<std::vector<DeviceOutcome>> answers;
  auto begin = outcomes.begin();
  for (std::size_t f = 0; f < plans.size(); ++f) {
    const std::size_t pod_count = plans[f].row_of_pod.size();
    check_answered(committed[f], pod_count > 0 ? 1 : 0, static_cast<std::int32_t>(pod_count));
    answers.emplace_back(begin, begin + committed[f]);
    begin += static_cast<std::ptrdiff_t>(pod_count);
  }
  return answers;
}

std::vector<DeviceNodeScores> ForkStates::evaluate(const LaunchPlan& plan, const DeviceState& live,
                                                   const DeviceRowStore& rows, const DeviceClassTable& classes,
                                                   DeviceSnapshot& columns, const ForkDifference& difference) {
  node_scores_.reserve(shape_.nodes);
  const DeviceState state = open({&plan, 1}, live, rows, classes, columns, {&difference, 1}).front().state;
  accelerator_.evaluate_pod(state, node_scores_.data());
  return node_scores_.download(0, shape_.nodes);
}

}  // namespace berth
