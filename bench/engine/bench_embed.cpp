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
#include <functional>
#include <string>
#include <vector>

#include "bench/engine/loaded_engine.h"
#include "host/objects/json_out.h"
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
  measure_checks(table, snapshot, pods, rounds);
  measure_forks(table, snapshot, pods, rounds);
  measure_counting(table, cluster);
  measure_placed_copies(table, cluster);
  measure_groups(table, cluster, pods, rounds);
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
