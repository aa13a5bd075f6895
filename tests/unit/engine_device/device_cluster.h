// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cluster from text whose columns, classes and rows are in the memory of an emulated device, uploaded by production
// code. docs/testing.md lists the words.

#include <string_view>
#include <vector>

#include "host/engine/device/device_classes.h"
#include "host/engine/device/device_rows.h"
#include "host/engine/device/device_snapshot.h"
#include "host/engine/device/transfer_block.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth::test {

struct DeviceCluster : CompiledCluster {
  explicit DeviceCluster(std::string_view text, const DeviceTuning& device_tuning = {})
      : CompiledCluster(text),
        tuning(device_tuning),
        columns(accelerator),
        classes(accelerator, tuning),
        rows(accelerator, UINT64_MAX, tuning),
        row_table(accelerator, "rows") {}

  /// Compiles the pending pods of another text later.
  std::vector<PodToPlace> compile_more(std::string_view text) {
    std::vector<PodToPlace> more;
    for (const PodPtr& pod : parse_scenario(text).pending()) more.push_back({pod, 0, -1});
    table.compile(more);
    return more;
  }
  void place(const PodToPlace& pod, std::int32_t node) { change(pod, node, 1); }
  void take_back(const PodToPlace& pod, std::int32_t node) { change(pod, node, -1); }

  void add_classes(const std::vector<std::int32_t>& pod_classes) {
    for (const std::int32_t c : pod_classes) classes.add(c, table, snapshot, columns);
  }
  /// The device's state with the rows of these classes, all current.
  DeviceState bring_up(const std::vector<std::int32_t>& pod_classes) {
    add_classes(pod_classes);
    columns.update(snapshot, log);
    DeviceState state;
    state.columns = columns.columns();
    state.counts = columns.counts();
    state.classes = classes.classes(table, columns);
    LaunchPlan plan;
    for (const std::int32_t c : pod_classes) plan.add_class(c);
    const DeviceRowStore::Work work = rows.prepare(plan, classes, log, snapshot.node_count());
    TransferBlock block;
    const auto at_rows = block.add(work.rows);
    block.send(row_table);
    state.rows = {block.at(at_rows), classes.layouts()};
    accelerator.build_rows(state, {work.build.data(), static_cast<std::int32_t>(work.build.size())});
    const DeviceRowStore::Work::Refresh& refresh = work.refresh;
    accelerator.refresh_rows(state, {refresh.rows.data(), refresh.first_node.data(), refresh.end_node.data(),
                                     refresh.nodes.data(), static_cast<std::int32_t>(refresh.rows.size())});
    return state;
  }
  DeviceState bring_up_all() {
    std::vector<std::int32_t> all;
    for (std::int32_t c = 0; c < table.size(); ++c) all.push_back(c);
    return bring_up(all);
  }

  EmulatedAccelerator accelerator;
  DeviceTuning tuning;
  DeviceSnapshot columns;
  DeviceClassTable classes;
  DeviceRowStore rows;
  DeviceArray<std::uint8_t> row_table;
  CommitLog log;

 private:
  void change(const PodToPlace& pod, std::int32_t node, int sign) {
    const PodClass& pod_class = table[pod.class_index];
    snapshot.apply(node, pod_class.delta, sign);
    snapshot.write_topology().add_all(pod_class.moves, node, sign);
    if (sign > 0) snapshot.write_used_ports(node) = pod_class.ports;
    if (sign < 0) snapshot.write_used_ports(node).clear();
    log.append({node, pod.class_index, sign});
  }
};

}  // namespace berth::test
