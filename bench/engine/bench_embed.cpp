// SPDX-License-Identifier: Apache-2.0
// What calls of libberth cost, through berth.h, on the nodes and running pods of bench_engine. Prints one row for each
// figure, with its limit, and counts those that are short of it.
//
//   bench_embed [ROUNDS]     1,000 calls of each unless said otherwise

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "bench/engine/loaded_engine.h"
#include "host/objects/json_out.h"
#include "host/objects/pod_copy.h"
#include "include/berth/berth.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

void check(berth_status status, const berth_error& error) {
  if (status >= 0) return;
  std::fprintf(stderr, "%s: %s: %s\n", berth_status_name(status), error.object, error.text);
  std::exit(1);
}
#define CHECK(call)                       \
  do {                                    \
    berth_error error = BERTH_ERROR_INIT; \
    check((call), error);                 \
  } while (0)

double microseconds_of(const std::function<void()>& call) {
  const Clock::time_point begin = Clock::now();
  call();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

class Table {
 public:
  /// @param limit  0: none
  void row(const char* what, double value, const char* unit, double limit) {
    const bool is_short = limit > 0 && value > limit;
    std::printf("%-62s %12.3f %-6s limit %10.3f%s\n", what, value, unit, limit, is_short ? "  SHORT" : "");
    std::fflush(stdout);
    ++rows_;
    short_ += is_short ? 1 : 0;
  }
  /// Median and 99th percentile of many calls; the limit is the median's.
  void calls(const std::string& what, int rounds, double limit_us, const std::function<void(int)>& call) {
    std::vector<double> us;
    for (int i = 0; i < rounds; ++i) us.push_back(microseconds_of([&] { call(i); }));
    std::sort(us.begin(), us.end());
    row((what + ", median").c_str(), us[us.size() / 2], "us", limit_us);
    row((what + ", p99").c_str(), us[us.size() * 99 / 100], "us", 0);
  }
  void finish() const { std::printf("bench-embed: %d rows, %d short\n", rows_, short_); }

 private:
  int rows_ = 0;
  int short_ = 0;
};

struct Bulk {
  std::string text;
  std::vector<std::uint64_t> offsets = {0};

  template <class T>
  void add(const T& object) {
    append_json(text, object);
    offsets.push_back(text.size());
  }
  berth_bulk view() const {
    berth_bulk bulk = BERTH_BULK_INIT;
    bulk.data = text.data();
    bulk.offsets = offsets.data();
    bulk.count = offsets.size() - 1;
    return bulk;
  }
};

/// Of all threads.
double cpu_seconds_since(std::clock_t before) { return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC; }

double live_mib() { return static_cast<double>(mallinfo2().uordblks) / (1 << 20); }

berth_cluster* load(Table& table, LoadedEngine& workload) {
  berth_engine* engine = nullptr;
  berth_cluster* cluster = nullptr;
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.backend = "cpu";
  CHECK(berth_engine_create(&options, &engine, &error));
  CHECK(berth_cluster_create(engine, &cluster, &error));
  berth_engine_free(&engine);
  Bulk objects;
  for (const NodePtr& node : workload.nodes) objects.add(*node);
  for (const PodPtr& pod : workload.running) objects.add(*pod);
  const berth_bulk bulk = objects.view();
  const double before = live_mib();
  const double us = microseconds_of([&] { CHECK(berth_cluster_upsert_bulk(cluster, &bulk, nullptr, &error)); });
  table.row("load 5,000 nodes and 150,000 pods by one bulk call", us / 1e6, "s", 0);
  table.row("memory of that cluster", live_mib() - before, "MiB", 0);
  return cluster;
}

std::vector<berth_pod*> make_pods(Table& table, LoadedEngine& workload, berth_cluster* cluster) {
  Bulk objects;
  for (int deployment = 0; deployment < LoadedEngine::kDeployments; ++deployment)
    objects.add(*workload.make_pod(deployment, ""));
  std::vector<berth_pod*> pods(LoadedEngine::kDeployments);
  const berth_bulk bulk = objects.view();
  const double us =
      microseconds_of([&] { CHECK(berth_pod_create_bulk(cluster, &bulk, nullptr, pods.data(), &error)); });
  table.row("prepare a pod of each of 1,000 Deployments, each", us / 1000, "us", 0);
  return pods;
}

void measure_checks(Table& table, const berth_snapshot* snapshot, const std::vector<berth_pod*>& pods, int rounds) {
  constexpr int kChecks = 200;
  std::vector<double> each;
  std::int64_t fit = 0;
  for (int round = 0; round < rounds; ++round)
    each.push_back(microseconds_of([&] {
                     for (std::size_t i = 0; i < kChecks; ++i) {
                       std::int32_t fits = 0;
                       const auto node =
                           static_cast<std::uint32_t>((static_cast<std::size_t>(round) * 37 + i * 101) % 5000);
                       CHECK(berth_snapshot_check(snapshot, pods[static_cast<std::size_t>(round) % pods.size()], node,
                                                  0, &fits, nullptr, &error));
                       fit += fits;
                     }
                   }) /
                   kChecks);
  std::sort(each.begin(), each.end());
  table.row("check one pod on one node, median", each[each.size() / 2], "us", 0.3);
  berth_result* result = nullptr;
  const std::vector<const berth_pod*> asked(pods.begin(), pods.end());
  const auto bulk = [&](std::uint32_t flags) {
    const double us = microseconds_of([&] {
      CHECK(berth_snapshot_check_bulk(snapshot, asked.data(), asked.size(), nullptr, flags, &result, &error));
    });
    berth_result_free(&result);
    return us * 1000 / (static_cast<double>(asked.size()) * LoadedEngine::kNodes);
  };
  table.row("check 1,000 pods on 5,000 nodes, without reasons, a pair", bulk(BERTH_NO_REASONS), "ns", 20);
  table.row("the same with reasons, a pair", bulk(0), "ns", 0);
  if (fit == 0) std::printf("no pod fitted anywhere\n");
}

std::int64_t sum_of(const berth_result* result, std::uint32_t id) {
  berth_column column{};
  CHECK(berth_result_column(result, id, &column, &error));
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < column.length; ++i) sum += static_cast<const std::uint32_t*>(column.data)[i];
  return sum;
}

void measure_forks(Table& table, const berth_snapshot* snapshot, const std::vector<berth_pod*>& pods, int rounds) {
  const auto ten = [&](int i) {
    std::vector<const berth_pod*> some;
    for (std::size_t k = 0; k < 10; ++k) some.push_back(pods[(static_cast<std::size_t>(i) * 10 + k) % pods.size()]);
    return some;
  };
  const auto place = [&](int i, std::uint32_t choice) {
    berth_fork* fork = nullptr;
    berth_result* result = nullptr;
    berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
    options.choice = choice;
    options.start = static_cast<std::uint32_t>(i) * 13;
    CHECK(berth_snapshot_fork(snapshot, &fork, &error));
    const std::vector<const berth_pod*> some = ten(i);
    CHECK(berth_fork_schedule(fork, some.data(), some.size(), &options, &result, &error));
    berth_result_free(&result);
    return fork;
  };
  for (int i = 0; i < 100; ++i) {  // rows of all classes
    berth_fork* fork = place(i, BERTH_CHOICE_SCORE);
    berth_fork_free(&fork);
  }
  table.calls("fork, place 10 pods by score, free", rounds, 0, [&](int i) {
    berth_fork* fork = place(i, BERTH_CHOICE_SCORE);
    berth_fork_free(&fork);
  });
  table.calls("fork, place 10 pods by first fit, free", rounds, 0, [&](int i) {
    berth_fork* fork = place(i, BERTH_CHOICE_FIRST_FIT);
    berth_fork_free(&fork);
  });
  const double before = live_mib();
  std::vector<berth_fork*> open;
  for (int i = 0; i < 10000; ++i) open.push_back(place(i, BERTH_CHOICE_SCORE));
  table.row("memory of 10,000 open forks with 10 pods each", live_mib() - before, "MiB", 200);
  for (berth_fork*& fork : open) berth_fork_free(&fork);
}

std::vector<berth_pod*> pods_of_classes(LoadedEngine& workload, berth_cluster* cluster, int classes, int copies) {
  Bulk objects;
  for (int c = 0; c < classes; ++c) {
    Pod pod = std::move(*copy_of(*workload.make_pod(c, "")));
    const std::string app = "estimate-" + std::to_string(c);
    pod.labels = LabelMap{{"app", app}};
    PodSpec spec;
    spec.containers = pod.spec->containers;
    PodAffinityTerm own;
    own.label_selector.emplace().match_labels = pod.labels;
    if (c % 9 == 0) {
      TopologySpreadConstraint spread;
      spread.topology_key = "topology.kubernetes.io/zone";
      spread.label_selector = own.label_selector;
      spec.topology_spread_constraints.push_back(spread);
    }
    own.topology_key = c % 9 == 3 ? "kubernetes.io/hostname" : "topology.kubernetes.io/zone";
    if (c % 9 == 3) spec.pod_anti_affinity.emplace().required.push_back(own);
    if (c % 9 == 6) spec.pod_affinity.emplace().required.push_back(own);
    pod.spec = std::make_shared<const PodSpec>(std::move(spec));
    for (int i = 0; i < copies; ++i) {
      pod.name = pod.stored_uid = app + "-" + std::to_string(i);
      objects.add(pod);
    }
  }
  std::vector<berth_pod*> pods(static_cast<std::size_t>(classes * copies));
  const berth_bulk bulk = objects.view();
  CHECK(berth_pod_create_bulk(cluster, &bulk, nullptr, pods.data(), &error));
  return pods;
}

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

void run(int rounds) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // so that live bytes are all in one count
  Table table;
  LoadedEngine workload;
  workload.backend.reset();
  berth_cluster* cluster = load(table, workload);
  std::vector<berth_pod*> pods = make_pods(table, workload, cluster);
  table.calls("snapshot, create and free", rounds, 20, [&](int) {
    berth_snapshot* snapshot = nullptr;
    CHECK(berth_snapshot_create(cluster, &snapshot, &error));
    berth_snapshot_free(&snapshot);
  });
  berth_snapshot* snapshot = nullptr;
  CHECK(berth_snapshot_create(cluster, &snapshot, &error));
  if (std::getenv("BERTH_BENCH_AUTOSCALERS") == nullptr) {
    measure_checks(table, snapshot, pods, rounds);
    measure_forks(table, snapshot, pods, rounds);
  }
  measure_scale_up(table, workload, cluster, std::clamp(rounds / 30, 3, 15));
  measure_drain(table, cluster, std::clamp(rounds / 30, 3, 15));
  int number = 0;
  table.calls("upsert one running pod that is new", rounds, 0, [&](int) {
    std::string text;
    append_json(text, *workload.make_pod(number % LoadedEngine::kDeployments, workload.any_node()->name));
    ++number;
    CHECK(berth_cluster_upsert(cluster, text.data(), text.size(), &error));
  });
  for (berth_pod*& pod : pods) berth_pod_free(&pod);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
  table.finish();
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::run(argc > 1 ? std::atoi(argv[1]) : 1000);
  return 0;
}
