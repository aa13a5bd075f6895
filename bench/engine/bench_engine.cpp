// SPDX-License-Identifier: Apache-2.0
// What events cost a living engine (bench/engine/loaded_engine.h). Prints the median and the 99th percentile of each
// call, and the limit that issue "The living engine" sets; the last column is the placement of one pod after the call,
// which pays for what the call has put off. Exits with 0 whatever it measures.
//
//   bench_engine [TEXT]   only the rows whose names have TEXT: bench_engine forks

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/forks.h"
#include "bench/engine/limit_table.h"
#include "bench/engine/loaded_engine.h"
#include "bench/engine/preemption.h"
#include "host/objects/decode.h"
#include "host/objects/list_entries.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

std::function<void()> applied(LoadedEngine& workload, ClusterChange change) {
  auto changes = std::make_shared<std::vector<ClusterChange>>();
  changes->push_back(std::move(change));
  return [&workload, changes] { workload.backend->apply(*changes); };
}

/// From the bytes of the API server to the change that apply() takes.
void measure_reading_of_nodes(LoadedEngine& workload, LimitTable& table) {
  ObjectPools pools;
  DenseEntries entries(kDenseEntriesMax);
  ObjectDecoder decoder(pools, entries, {});
  const std::string padding(kSlicePaddingBytes, '\0');
  table.row("node decoded from JSON and fingerprinted", LimitTable::kNoLimit, [&]() -> std::function<void()> {
    const auto text = std::make_shared<const std::string>(node_as_json(*workload.any_node()) + padding);
    return [text, &decoder] {
      ItemSlice item;
      item.json = std::string_view(*text).substr(0, text->size() - kSlicePaddingBytes);
      DecodedObjects decoded;
      decoder.decode(item, "watch", 0, decoded);
      const NodeUpsert upsert(decoded.nodes.front().object);
    };
  });
  table.row("fingerprint of a node", LimitTable::kNoLimit,
            [&]() -> std::function<void()> { return [node = workload.any_node()] { const NodeUpsert upsert(node); }; });
}

void measure(LoadedEngine& workload, const std::string& only) {
  LimitTable table(workload, only);
  measure_reading_of_nodes(workload, table);
  table.row("node update that changes nothing that rules read", 1,
            [&] { return applied(workload, NodeUpsert(std::make_shared<const Node>(*workload.any_node()))); });
  table.row("pod bound by somebody else", 20, [&] {
    workload.running.push_back(workload.make_pod(workload.any_deployment(), workload.any_node()->name));
    return applied(workload, PodUpsert{workload.running.back()});
  });
  table.row("pod removed by somebody else", 20, [&] {
    std::swap(workload.running[workload.dice() % workload.running.size()], workload.running.back());
    const std::string uid = workload.running.back()->uid();
    workload.running.pop_back();
    return applied(workload, PodRemoval{uid});
  });
  table.row("allocatable of one node", 200, [&] {
    return applied(workload, NodeUpsert(workload.changed([&](Node& node) { node.allocatable.milli_cpu += 100; })));
  });
  table.row("cordon of one node", 200, [&] {
    return applied(workload,
                   NodeUpsert(workload.changed([&](Node& node) { node.unschedulable = !node.unschedulable; })));
  });
  table.row("hard taint of one node", 200, [&] {
    return applied(workload, NodeUpsert(workload.changed([&](Node& node) {
                     if (node.taints.empty()) {
                       node.taints = {{"key-" + std::to_string(workload.dice() % 5), "", TaintEffect::kNoSchedule}};
                     } else {
                       node.taints.clear();
                     }
                   })));
  });
  table.row("label of one node", 200, [&] {
    return applied(workload, NodeUpsert(workload.changed([&](Node& node) {
                     std::vector<std::pair<std::string, std::string>> labels;
                     for (const auto& [key, value] : node.labels) labels.emplace_back(key, value);
                     labels.emplace_back("label-0", "v" + std::to_string(workload.dice() % 9));
                     node.labels = LabelMap(std::move(labels));
                   })));
  });
  int made = 0;
  table.row("node added", 500, [&] {
    workload.nodes.push_back(workload.make_node("made-" + std::to_string(made), made));
    ++made;
    return applied(workload, NodeUpsert(workload.nodes.back()));
  });
  table.row("node removed", 500, [&] {
    std::swap(workload.nodes[workload.dice() % workload.nodes.size()], workload.nodes.back());
    const std::string name = workload.nodes.back()->name;
    workload.nodes.pop_back();
    return applied(workload, NodeRemoval{name});
  });
  std::vector<PodToPlace> of_each = workload.prepare_one_each();
  table.row("Service relabelled that selects ten Deployments", 2000, [&]() -> std::function<void()> {
    const LoadedEngine::Relabelled relabelled = workload.relabelled_service();
    auto change = std::make_shared<std::vector<ClusterChange>>();
    change->push_back(ServiceUpsert{relabelled.service});
    return [&workload, &of_each, change, deployments = relabelled.deployments] {
      workload.backend->apply(*change);
      // What was put off until the next pods of these Deployments.
      for (const int d : deployments) workload.backend->prepare({&of_each[static_cast<std::size_t>(d)], 1});
    };
  });
  table.row("namespace relabelled that terms of ten Deployments name", 2000,
            [&] { return applied(workload, NamespaceUpsert{workload.relabelled_namespace()}); });
  std::vector<PodToPlace> lone;
  const auto prepare_next = [&](PodPtr pod) -> std::function<void()> {
    workload.backend->release(lone);
    lone.assign({{std::move(pod), 0}});
    return [&] { workload.backend->prepare(lone); };
  };
  table.row("prepare: a Deployment never seen", 300, [&] { return prepare_next(workload.make_new_deployment()); });
  table.row("prepare: a pod of a known class", 3,
            [&] { return prepare_next(workload.make_pod(workload.any_deployment(), "")); });
  workload.backend->release(lone);
  measure_forks(workload, table);
  constexpr std::string_view kDryRuns = "dry runs: 1,000 preemptors x 5,000 nodes x 20 victims";
  if (table.wants(kDryRuns))
    table.figure(kDryRuns, preemptors_per_second(), "preemptors a second", LimitTable::Limit::kAtLeast, 2000);
  table.finish();
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::LoadedEngine workload;
  berth::measure(workload, argc > 1 ? argv[1] : "");
  return 0;
}
