// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/embed_what_ifs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "host/objects/pod_copy.h"

namespace berth {
namespace {

/// Of all threads.
double cpu_seconds_since(std::clock_t before) { return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC; }

/// A pod of a shape that no other one has: its requests, labels and, of a third, terms among its own pods.
PodPtr make_shape(int number, bool has_terms) {
  Pod pod;
  pod.namespace_ = "default";
  pod.name = pod.stored_uid = "shape-" + std::to_string(number);
  const std::string app = "shape-app-" + std::to_string(number);
  pod.labels = LabelMap{{"app", app}};
  PodSpec spec;
  Container container;
  container.requests = {{"cpu", Quantity{static_cast<__int128>(50 + number % 1000 * 3) * 1'000'000}},
                        {"memory", Quantity{static_cast<__int128>(64 + number / 10) * (1 << 20) * 1'000'000'000}}};
  spec.containers.push_back(container);
  LabelSelector own;
  own.match_labels = LabelMap{{"app", app}};
  PodAffinityTerm term;
  term.label_selector = own;
  term.topology_key = number / 9 % 2 == 0 ? "kubernetes.io/hostname" : "topology.kubernetes.io/zone";
  TopologySpreadConstraint spread;
  spread.topology_key = term.topology_key;
  spread.label_selector = own;
  spread.max_skew = 1 + number / 18 % 2;
  if (has_terms && number % 9 == 0) spec.topology_spread_constraints = {spread};
  if (has_terms && number % 9 == 3) spec.pod_anti_affinity.emplace().required = {term};
  if (has_terms && number % 9 == 6) spec.pod_affinity.emplace().required = {term};
  pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  return std::make_shared<const Pod>(std::move(pod));
}

}  // namespace

void measure_counting(Table& table, berth_cluster* cluster) {
  constexpr std::size_t kShapes = 10000;
  for (const bool has_terms : {false, true}) {
    Bulk objects;
    for (std::size_t i = 0; i < kShapes; ++i) objects.add(*make_shape(static_cast<int>(i), has_terms));
    std::vector<berth_pod*> shapes(kShapes);
    const berth_bulk bulk = objects.view();
    CHECK(berth_pod_create_bulk(cluster, &bulk, nullptr, shapes.data(), &error));
    berth_snapshot* snapshot = nullptr;
    CHECK(berth_snapshot_create(cluster, &snapshot, &error));
    std::vector<double> seconds;
    for (int round = 0; round < 5; ++round) {
      berth_result* result = nullptr;
      seconds.push_back(
          microseconds_of(
              [&] { CHECK(berth_snapshot_max_replicas(snapshot, shapes.data(), kShapes, nullptr, &result, &error)); }) /
          1e6);
      berth_result_free(&result);
    }
    const char* const what =
        has_terms ? "max_replicas of 10,000 shapes, a third with terms" : "max_replicas of 10,000 shapes, plain";
    table.row((std::string(what) + ", first").c_str(), seconds.front(), "s", 0);
    std::sort(seconds.begin(), seconds.end());
    table.row((std::string(what) + ", median").c_str(), seconds[seconds.size() / 2], "s", has_terms ? 1 : 0.2);
    berth_snapshot_free(&snapshot);
    for (berth_pod*& shape : shapes) berth_pod_free(&shape);
  }
}

/// Shapes whose copies have to be placed: two constraints of which each closes nodes to the other.
void measure_placed_copies(Table& table, berth_cluster* cluster) {
  constexpr int kShapes = 5;
  std::vector<berth_pod*> shapes;
  for (int i = 0; i < kShapes; ++i) {
    const PodPtr plain = make_shape(9 * i, false);
    Pod pod;
    pod.namespace_ = plain->namespace_;
    pod.name = pod.stored_uid = "two-constraints-" + std::to_string(i);
    pod.labels = plain->labels;
    PodSpec spec = *plain->spec;
    for (const char* const key : {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}) {
      TopologySpreadConstraint& spread = spec.topology_spread_constraints.emplace_back();
      spread.topology_key = key;
      spread.max_skew = 3;
      spread.label_selector.emplace().match_labels = pod.labels;
    }
    pod.spec = std::make_shared<const PodSpec>(std::move(spec));
    std::string text;
    append_json(text, pod);
    CHECK(berth_pod_create(cluster, text.data(), text.size(), nullptr, &shapes.emplace_back(nullptr), &error));
  }
  berth_snapshot* snapshot = nullptr;
  berth_result* result = nullptr;
  CHECK(berth_snapshot_create(cluster, &snapshot, &error));
  const double us = microseconds_of(
      [&] { CHECK(berth_snapshot_max_replicas(snapshot, shapes.data(), kShapes, nullptr, &result, &error)); });
  berth_column counts{};
  CHECK(berth_result_column(result, BERTH_COLUMN_COUNT, &counts, &error));
  std::int64_t copies = 0;
  for (std::size_t i = 0; i < counts.length; ++i) copies += static_cast<const std::int64_t*>(counts.data)[i];
  table.row("max_replicas by placing: copies of 5 shapes", static_cast<double>(copies), "", 0);
  table.row("max_replicas by placing, each copy", us / static_cast<double>(std::max<std::int64_t>(copies, 1)), "us", 0);
  berth_result_free(&result);
  berth_snapshot_free(&snapshot);
  for (berth_pod*& shape : shapes) berth_pod_free(&shape);
}

void measure_groups(Table& table, berth_cluster* cluster, const std::vector<berth_pod*>& pods, int rounds) {
  berth_snapshot* snapshot = nullptr;
  CHECK(berth_snapshot_create(cluster, &snapshot, &error));
  const std::vector<const berth_pod*> hundred(pods.begin(), pods.begin() + 100);
  const char* const keys[] = {"rack", "topology.kubernetes.io/zone"};
  berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
  options.domain = BERTH_DOMAIN_REQUIRED;
  options.keys = keys;
  options.key_count = 2;
  berth_fork* fork = nullptr;
  berth_result* result = nullptr;
  const std::string what = "group of 100 pods of 100 Deployments in one of 125 racks or 3 zones";
  table.calls(what, std::min(rounds, 20), 0, [&](int) {
    CHECK(berth_snapshot_fork(snapshot, &fork, &error));
    CHECK(berth_fork_schedule_group(fork, hundred.data(), hundred.size(), &options, &result, &error));
    berth_result_free(&result);
    berth_fork_free(&fork);
  });
  table.calls("reserve 10 pods in a zone, and give them back", std::min(rounds, 100), 0, [&](int i) {
    berth_reserve_options where = BERTH_RESERVE_OPTIONS_INIT;
    where.key = keys[1];
    where.value = "z1";
    const std::size_t at = static_cast<std::size_t>(i) % pods.size();
    CHECK(berth_cluster_reserve(cluster, "bench", pods[at], 10, &where, &result, &error));
    berth_result_free(&result);
    const berth_status status = berth_cluster_unreserve(cluster, "bench", nullptr, nullptr, nullptr);
    if (status != BERTH_OK && status != BERTH_E_NOT_FOUND) std::exit(1);
  });
  berth_snapshot_free(&snapshot);
}

Pod pod_of_estimate(LoadedEngine& workload, int of_class) {
  Pod pod = std::move(*copy_of(*workload.make_pod(of_class, "")));
  pod.labels = LabelMap{{"app", "estimate-" + std::to_string(of_class)}};
  PodSpec spec;
  spec.containers = pod.spec->containers;
  PodAffinityTerm own;
  own.label_selector.emplace().match_labels = pod.labels;
  if (of_class % 9 == 0) {
    TopologySpreadConstraint spread;
    spread.topology_key = "topology.kubernetes.io/zone";
    spread.label_selector = own.label_selector;
    spec.topology_spread_constraints.push_back(spread);
  }
  own.topology_key = of_class % 9 == 3 ? "kubernetes.io/hostname" : "topology.kubernetes.io/zone";
  if (of_class % 9 == 3) spec.pod_anti_affinity.emplace().required.push_back(own);
  if (of_class % 9 == 6) spec.pod_affinity.emplace().required.push_back(own);
  pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  return pod;
}

namespace {

std::vector<berth_pod*> pods_of_classes(LoadedEngine& workload, berth_cluster* cluster, int classes, int copies) {
  Bulk objects;
  for (int c = 0; c < classes; ++c) {
    Pod pod = pod_of_estimate(workload, c);
    for (int i = 0; i < copies; ++i) {
      pod.name = pod.stored_uid = "estimate-" + std::to_string(c) + "-" + std::to_string(i);
      objects.add(pod);
    }
  }
  std::vector<berth_pod*> pods(static_cast<std::size_t>(classes * copies));
  const berth_bulk bulk = objects.view();
  CHECK(berth_pod_create_bulk(cluster, &bulk, nullptr, pods.data(), &error));
  return pods;
}

}  // namespace

void measure_scale_up(Table& table, LoadedEngine& workload, berth_cluster* cluster, int rounds) {
  constexpr int kShapes = 100;
  std::vector<berth_pod*> pods = pods_of_classes(workload, cluster, 500, 10);
  std::vector<std::string> texts;
  for (int s = 0; s < kShapes; ++s) {
    Node node = *workload.make_node("shape-" + std::to_string(s), s);
    node.allocatable.milli_cpu = 16000 + 320 * s;
    append_json(texts.emplace_back(), node);
  }
  std::vector<berth_shape> shapes(kShapes, berth_shape BERTH_SHAPE_INIT);
  std::vector<const berth_shape*> pointers;
  for (std::size_t s = 0; s < kShapes; ++s) {
    shapes[s].node = texts[s].data();
    shapes[s].node_size = texts[s].size();
    pointers.push_back(&shapes[s]);
  }
  const std::vector<const berth_pod*> asked(pods.begin(), pods.end());
  berth_snapshot* snapshot = nullptr;
  CHECK(berth_snapshot_create(cluster, &snapshot, &error));
  std::vector<double> seconds;
  const std::clock_t cpu_before = std::clock();
  std::int64_t nodes = 0;
  std::int64_t placed = 0;
  for (int round = 0; round < rounds; ++round) {
    berth_result* result = nullptr;
    seconds.push_back(microseconds_of([&] {
                        CHECK(berth_snapshot_scale_up(snapshot, asked.data(), asked.size(), pointers.data(),
                                                      pointers.size(), nullptr, &result, &error));
                      }) /
                      1e6);
    nodes = sum_of(result, BERTH_COLUMN_NODE_COUNT);
    placed = sum_of(result, BERTH_COLUMN_PLACED);
    berth_result_free(&result);
  }
  std::sort(seconds.begin(), seconds.end());
  table.row("scale-up estimate: 100 shapes, 5,000 pods of 500 classes", seconds[seconds.size() / 2], "s", 1);
  std::printf("  %.1f new nodes a shape, %.1f pods placed; %.2f s of processor time a call\n",
              static_cast<double>(nodes) / kShapes, static_cast<double>(placed) / kShapes,
              cpu_seconds_since(cpu_before) / rounds);
  berth_snapshot_free(&snapshot);
  for (berth_pod*& pod : pods) berth_pod_free(&pod);
}

void measure_drain(Table& table, berth_cluster* cluster, int rounds) {
  berth_snapshot* snapshot = nullptr;
  CHECK(berth_snapshot_create(cluster, &snapshot, &error));
  std::vector<std::uint32_t> nodes(LoadedEngine::kNodes);
  std::size_t count = 0;
  CHECK(berth_snapshot_nodes(snapshot, nodes.data(), nodes.size(), &count, &error));
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;  // the pods of the workload name no owner
  std::vector<double> seconds;
  const std::clock_t cpu_before = std::clock();
  std::int64_t removable = 0;
  std::size_t pods = 0;
  for (int round = 0; round < rounds; ++round) {
    berth_result* result = nullptr;
    seconds.push_back(microseconds_of([&] {
                        CHECK(berth_snapshot_drain(snapshot, nodes.data(), count, &options, &result, &error));
                      }) /
                      1e6);
    berth_column column{};
    CHECK(berth_result_column(result, BERTH_COLUMN_REMOVABLE, &column, &error));
    removable = 0;
    for (std::size_t i = 0; i < column.length; ++i) removable += static_cast<const std::uint8_t*>(column.data)[i];
    CHECK(berth_result_column(result, BERTH_COLUMN_POD, &column, &error));
    pods = column.length;
    berth_result_free(&result);
  }
  std::sort(seconds.begin(), seconds.end());
  table.row("drain of each of 5,000 nodes, 150,000 pods", seconds[seconds.size() / 2], "s", 1.5);
  std::printf("  %ld nodes removable, %zu pods; %.2f s of processor time a call\n", static_cast<long>(removable), pods,
              cpu_seconds_since(cpu_before) / rounds);
  berth_snapshot_free(&snapshot);
}

}  // namespace berth
