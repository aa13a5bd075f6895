// SPDX-License-Identifier: Apache-2.0
#include "tests/support/emulated_accelerator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "batching/device/commit_body.h"
#include "batching/device/delta_body.h"
#include "batching/device/device_errors.h"
#include "batching/device/evaluation_body.h"
#include "batching/device/team.h"
#include "batching/device/window_body.h"
#include "tests/support/thread_team.h"
#include "tests/support/window_lists.h"

namespace berth::test {
namespace {

constexpr std::size_t kAlignment = 256;
/// Fresh device memory may contain anything; here it is filled with values that are never correct.
constexpr int kGarbage = 0xA5;

}  // namespace

EmulatedAccelerator::EmulatedAccelerator(const Emulation& emulation) : emulation_(emulation) {
  facts_.name = "no device: kernels run on the host";
  facts_.memory_bytes_total = facts_.memory_bytes_free = emulation.memory_bytes;
}

void EmulatedAccelerator::count_launch(std::string_view kernel) {
  if (emulation_.fails_after >= 0 && launches_ >= emulation_.fails_after)
    throw DeviceLost("device 0", std::string(kernel) + ": an error was injected");
  ++launches_;
  ++launches_of_[kernel];
}

void* EmulatedAccelerator::allocate(std::uint64_t bytes, const char* what) {
  const bool is_refused =
      emulation_.refuses_after >= 0 && allocations_ >= emulation_.refuses_after && refusals_ < emulation_.refusals_max;
  if (is_refused) ++refusals_;
  if (is_refused || bytes > free_bytes())
    throw DeviceOutOfMemory("device 0", what, bytes, is_refused ? 0 : free_bytes(), "");
  void* memory = ::operator new(std::max<std::uint64_t>(bytes, 1), std::align_val_t{kAlignment});
  try {
    blocks_.emplace(memory, bytes);
  } catch (...) {
    ::operator delete(memory, std::align_val_t{kAlignment});
    throw;
  }
  std::memset(memory, kGarbage, bytes);
  allocated_bytes_ += bytes;
  ++allocations_;
  return memory;
}

void EmulatedAccelerator::release(void* memory) noexcept {
  if (memory == nullptr) return;
  const auto at = blocks_.find(memory);
  allocated_bytes_ -= at->second;
  blocks_.erase(at);
  ::operator delete(memory, std::align_val_t{kAlignment});
}

void EmulatedAccelerator::upload(void* device, const void* host, std::uint64_t bytes) {
  std::memcpy(device, host, bytes);
  ++uploads_;
  uploaded_bytes_ += bytes;
}

void EmulatedAccelerator::download(void* host, const void* device, std::uint64_t bytes) {
  std::memcpy(host, device, bytes);
  downloaded_bytes_ += bytes;
}

void EmulatedAccelerator::copy(void* to, const void* from, std::uint64_t bytes) { std::memcpy(to, from, bytes); }

void EmulatedAccelerator::clear(void* device, std::uint64_t bytes) { std::memset(device, 0, bytes); }

DeviceSideSummary EmulatedAccelerator::evaluate_node_side(const DeviceNodeSide& side) {
  count_launch("evaluate_node_side");
  DeviceSideSummary summary;
  for (std::int32_t node = 0; node < side.node_count; ++node)
    summary = CombineSummaries()(summary, berth::evaluate_node_side(side, node));
  return summary;
}

void EmulatedAccelerator::build_rows(const DeviceState& state, const DeviceRowsToBuild& rows) {
  count_launch("build_rows");
  for (std::int32_t r = 0; r < rows.row_count; ++r) {
    const DeviceRow& device_row = state.rows.rows[rows.rows[r]];
    const RowView row(state, device_row);
    if (!row.layout.by_node) std::fill_n(row.live, row.layout.cell_count, 0);
    if (row.layout.node_at != nullptr)
      for (std::int32_t position = 0; position < row.layout.level_offset[1]; ++position) clear_if_free(row, position);
    for (std::int32_t node = 0; node < state.columns.node_count; ++node) {
      const std::int32_t cell = row.cell_of(node);
      if (cell < 0) continue;
      const std::int32_t position = row.position_of(node);
      row.keys[position] = key_of_node(state, device_row, {state.columns, node});
      if (!row.layout.by_node && row.keys[position] > 0) ++row.live[cell];
    }
    for (std::int32_t level = 1; level < row.layout.level_count; ++level)
      for (std::int32_t e = 0; e < row.layout.level_offset[level + 1] - row.layout.level_offset[level]; ++e)
        build_entry(row, level, e);
  }
}

void EmulatedAccelerator::refresh_rows(const DeviceState& state, const DeviceRowsToRefresh& rows) {
  count_launch("refresh_rows");
  for (std::int32_t r = 0; r < rows.row_count; ++r) {
    const auto refresh = [&](const auto& team) {
      refresh_nodes(team, state, state.rows.rows[rows.rows[r]], rows.nodes + rows.first_node[r],
                    rows.end_node[r] - rows.first_node[r]);
    };
    if (emulation_.threads == 1) {
      refresh(SequentialTeam());
    } else {
      run_together(emulation_.threads, refresh);
    }
  }
}

void EmulatedAccelerator::apply_delta(const DeviceState& state, const DeviceDelta& delta) {
  count_launch("apply_delta");
  for (std::int32_t i = 0; i < delta_items(delta); ++i) apply_delta_item(state, delta, i);
}

void EmulatedAccelerator::evaluate_pod(const DeviceState& state, DeviceNodeScores* nodes) {
  count_launch("evaluate_pod");
  if (emulation_.threads == 1) return berth::evaluate_pod(SequentialTeam(), state, nodes);
  run_together(emulation_.threads, [&](const ThreadTeam& team) { berth::evaluate_pod(team, state, nodes); });
}

void EmulatedAccelerator::commit_batch(const DeviceState& state, const DeviceBatch& batch, std::int32_t) {
  count_launch("commit_batch");
  if (emulation_.threads == 1) return berth::commit_batch(SequentialTeam(), state, batch);
  run_together(emulation_.threads, [&](const ThreadTeam& team) { berth::commit_batch(team, state, batch); });
}

void EmulatedAccelerator::commit_window(const DeviceState& state, const DeviceBatch& batch,
                                        const DeviceWindow& window) {
  count_launch("commit_window");
  fill_window_lists(state, batch, window);
  const auto memory = std::make_unique<WindowMemory>();
  if (emulation_.threads == 1)
    return berth::commit_window(SequentialTeam(), state, batch, window, WindowMemoryAt{memory.get()});
  run_together(emulation_.threads, [&](const ThreadTeam& team) {
    berth::commit_window(team, state, batch, window, WindowMemoryAt{memory.get()});
  });
}

void EmulatedAccelerator::commit_forks(const DeviceState* states, const DeviceBatch* batches, std::int32_t fork_count) {
  count_launch("commit_forks");
  for (std::int32_t f = 0; f < fork_count; ++f) berth::commit_batch(SequentialTeam(), states[f], batches[f]);
}

DeviceRun EmulatedAccelerator::commit_run(const DeviceState& state, const DeviceRow& row, std::int64_t pod_count) {
  count_launch("commit_run");
  const RunStart start = begin_run(state, row);
  DeviceRun run{start.feasible_count, start.normalized_total, {}};
  if (run.feasible_count == 0) return run;
  const auto collect = [&](NodeKey threshold, std::int64_t copies_max) {
    run.picks.clear();
    for (std::int32_t i = 0; i < state.columns.node_count; ++i)
      walk_copies(state, row, state.columns.in_order[i], threshold, static_cast<std::int32_t>(copies_max),
                  [&](std::int32_t, const DevicePick& pick) { run.picks.push_back(pick); });
  };
  collect(1, copies_that_bound(pod_count, run.feasible_count));
  NodeKey threshold = 1;
  if (static_cast<std::int64_t>(run.picks.size()) >= pod_count) {
    const auto nth = run.picks.begin() + (pod_count - 1);
    std::nth_element(run.picks.begin(), nth, run.picks.end(),
                     [](const DevicePick& a, const DevicePick& b) { return a.level > b.level; });
    threshold = nth->level;
  }
  collect(threshold, pod_count);
  std::stable_sort(run.picks.begin(), run.picks.end(),
                   [](const DevicePick& a, const DevicePick& b) { return a.level > b.level; });
  if (static_cast<std::int64_t>(run.picks.size()) > pod_count) run.picks.resize(static_cast<std::size_t>(pod_count));
  std::vector<std::int64_t> copies(static_cast<std::size_t>(state.columns.node_count), 0);
  for (const DevicePick& pick : run.picks) ++copies[static_cast<std::size_t>(pick.node)];
  for (std::int32_t node = 0; node < state.columns.node_count; ++node)
    place_copies(state, state.classes.classes[row.pod_class], node, copies[static_cast<std::size_t>(node)],
                 [](std::int64_t* counter, std::int64_t amount) { *counter += amount; });
  return run;
}

DeviceStats EmulatedAccelerator::stats() const {
  DeviceStats stats;
  stats.device = facts_.name;
  for (const auto& [kernel, launches] : launches_of_) stats.kernels.push_back({kernel, launches, 0, 0});
  stats.uploaded_bytes = uploaded_bytes_;
  stats.downloaded_bytes = downloaded_bytes_;
  stats.allocated_bytes = allocated_bytes_;
  return stats;
}

}  // namespace berth::test
