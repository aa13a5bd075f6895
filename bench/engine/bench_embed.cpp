// SPDX-License-Identifier: Apache-2.0
// What calls of libberth cost, through berth.h, on the nodes and running pods of bench_engine. Prints one row for each
// figure, with its limit, and counts those that are short of it.
//
//   bench_embed [ROUNDS]     1,000 calls of each unless said otherwise

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/engine/embed_forks.h"
#include "bench/engine/embed_table.h"
#include "bench/engine/embed_what_ifs.h"
#include "bench/engine/loaded_engine.h"
#include "host/objects/json_out.h"
#include "include/berth/berth.h"

namespace berth {
namespace {

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
  std::uint64_t bytes = 0;
  CHECK(berth_cluster_memory(cluster, &bytes, &error));
  table.row("the same by berth_cluster_memory()", static_cast<double>(bytes) / (1 << 20), "MiB", 0);
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
  std::uint64_t all_bytes = 0;
  for (const berth_fork* const fork : open) {
    std::uint64_t bytes = 0;
    CHECK(berth_fork_memory(fork, &bytes, &error));
    all_bytes += bytes;
  }
  table.row("the same by berth_fork_memory()", static_cast<double>(all_bytes) / (1 << 20), "MiB", 0);
  for (berth_fork*& fork : open) berth_fork_free(&fork);
}

/// Of ten pods in turn, behind a placement in the fork each.
void measure_masks(Table& table, const berth_snapshot* snapshot, const std::vector<berth_pod*>& pods, int rounds) {
  berth_fork* fork = nullptr;
  CHECK(berth_snapshot_fork(snapshot, &fork, &error));
  std::vector<std::uint8_t> fits(LoadedEngine::kNodes);
  std::size_t length = 0;
  const auto place = [&](int i) {
    const auto node = static_cast<std::uint32_t>(i * 101 % LoadedEngine::kNodes);
    CHECK(berth_fork_add_pod(fork, pods[100 + static_cast<std::size_t>(i) % 900], node, &error));
  };
  const auto ask = [&](int i) {
    const berth_pod* const pod = pods[static_cast<std::size_t>(i) % 10];
    CHECK(berth_fork_mask(fork, pod, nullptr, 0, fits.data(), fits.size(), &length, &error));
  };
  for (int i = 0; i < 10; ++i) ask(i);
  std::vector<double> us;
  for (int i = 0; i < rounds; ++i) {
    place(i);
    us.push_back(microseconds_of([&] { ask(i); }));
  }
  std::sort(us.begin(), us.end());
  table.row("mask of a pod on 5,000 nodes behind a placement, median", us[us.size() / 2], "us", 0);
  table.row("the same, p99", us[us.size() * 99 / 100], "us", 0);
  const std::array<const char*, 2> resources = {"cpu", "memory"};
  std::vector<std::int64_t> requested(resources.size() * fits.size());
  table.calls("use of cpu and memory of 5,000 nodes", rounds, 0, [&](int) {
    CHECK(berth_fork_use(fork, resources.data(), resources.size(), requested.data(), nullptr, requested.size(), &length,
                         &error));
  });
  berth_fork_free(&fork);
}

/// Preemptors that need a whole node of 64 cores each.
void measure_preemption(Table& table, berth_cluster* cluster, const berth_snapshot* snapshot, int rounds) {
  std::vector<berth_pod*> pods;
  for (int i = 0; i < rounds; ++i) {
    const std::string text = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"whole-)" + std::to_string(i) +
                             R"(","namespace":"default"},"spec":{"priority":1000000,"containers":[{"name":"c",)" +
                             R"("resources":{"requests":{"cpu":"64"}}}]}})";
    CHECK(berth_pod_create(cluster, text.data(), text.size(), nullptr, &pods.emplace_back(), &error));
  }
  std::size_t candidates = 0;
  table.calls("preemption of one pod, by a snapshot of the cluster's version", rounds, 0, [&](int i) {
    berth_result* result = nullptr;
    berth_column nodes{};
    CHECK(berth_snapshot_preempt(snapshot, pods[static_cast<std::size_t>(i) % pods.size()], 0, &result, &error));
    CHECK(berth_result_column(result, BERTH_COLUMN_NODE, &nodes, &error));
    candidates = nodes.length;
    berth_result_free(&result);
  });
  table.row("its candidates", static_cast<double>(candidates), "nodes", 0);
  for (berth_pod*& pod : pods) berth_pod_free(&pod);
}

/// Three times each, of which the median counts. The limit is that of opening.
void measure_saved(Table& table, const berth_snapshot* snapshot) {
  berth_engine* engine = nullptr;
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.backend = "cpu";
  CHECK(berth_engine_create(&options, &engine, &error));
  std::array<double, 3> write_us{};
  std::array<double, 3> open_us{};
  double mib = 0;
  for (std::size_t i = 0; i < write_us.size(); ++i) {
    berth_result* result = nullptr;
    berth_str bytes{};
    berth_cluster* opened = nullptr;
    write_us[i] = microseconds_of([&] { CHECK(berth_snapshot_write_memory(snapshot, &result, &error)); });
    CHECK(berth_result_bytes(result, &bytes, &error));
    mib = static_cast<double>(bytes.size) / (1 << 20);
    open_us[i] = microseconds_of(
        [&] { CHECK(berth_snapshot_open_memory(engine, bytes.data, bytes.size, &opened, nullptr, &error)); });
    berth_cluster_free(&opened);
    berth_result_free(&result);
  }
  std::sort(write_us.begin(), write_us.end());
  std::sort(open_us.begin(), open_us.end());
  table.row("write a snapshot of that cluster into memory", write_us[1] / 1e6, "s", 0);
  table.row("its bytes", mib, "MiB", 0);
  table.row("open them", open_us[1] / 1e6, "s", 0.1);
  berth_engine_free(&engine);
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
    measure_saved(table, snapshot);
    measure_preemption(table, cluster, snapshot, rounds);
    measure_checks(table, snapshot, pods, rounds);
    measure_forks(table, snapshot, pods, rounds);
    measure_fork_line(table, workload, snapshot, pods, std::max(rounds, 300));
    measure_masks(table, snapshot, pods, rounds);
    measure_counting(table, cluster);
    measure_placed_copies(table, cluster);
    measure_groups(table, cluster, pods, rounds);
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
