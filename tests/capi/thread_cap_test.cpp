// SPDX-License-Identifier: Apache-2.0
// How many threads the library has beside those of the program. A program of its own, since oneTBB keeps threads that
// any test before has needed.

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/answers.h"

namespace berth::test {
namespace {

constexpr int kNodes = 1200;
constexpr int kPods = 60;

std::size_t threads_of_process() {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()));
}

/// A cluster, a snapshot of before a node changed, which has to open an engine, and pods.
struct Asked {
  explicit Asked(const berth_engine* engine) {
    berth_cluster* made = nullptr;
    EXPECT_EQ(berth_cluster_create(engine, &made, nullptr), BERTH_OK);
    cluster.reset(made);
    upsert(made, nodes());
    for (int i = 0; i < kPods; ++i)
      pods.push_back(pod_of(made, pod_json({.name = "p" + std::to_string(i), .app = i, .spreads = i % 2 == 0})));
    for (const OwnedPod& pod : pods) list.push_back(pod.get());
  }

  static std::string nodes() {
    std::string list = R"({"apiVersion":"v1","kind":"List","items":[)";
    for (int n = 0; n < kNodes; ++n)
      list += (n > 0 ? "," : "") + node_json({.name = "n" + std::to_string(n), .cpu = 16, .zone = n % 3});
    return list + "]}";
  }

  void ask(int round) {
    upsert(cluster.get(), nodes());
    const OwnedSnapshot before = snapshot_of(cluster.get());
    upsert(cluster.get(), node_json({.name = "n0", .cpu = 17 + round}));
    const OwnedSnapshot after = snapshot_of(cluster.get());
    for (const OwnedSnapshot* const snapshot : {&before, &after}) {
      berth_result* result = nullptr;
      const OwnedFork fork = fork_of(snapshot->get());
      EXPECT_EQ(berth_fork_schedule(fork.get(), list.data(), list.size(), nullptr, &result, nullptr), BERTH_OK);
      berth_result_free(&result);
      EXPECT_EQ(berth_snapshot_max_replicas(snapshot->get(), list.data(), list.size(), nullptr, &result, nullptr),
                BERTH_OK);
      berth_result_free(&result);
      std::vector<std::string> texts;
      std::vector<berth_shape> shapes;
      std::vector<const berth_shape*> shape_list;
      for (int i = 0; i < 8; ++i) texts.push_back(node_json({.name = "t" + std::to_string(i), .cpu = 4 + i}));
      for (const std::string& text : texts) {
        shapes.push_back(BERTH_SHAPE_INIT);
        shapes.back().node = text.data();
        shapes.back().node_size = text.size();
      }
      for (const berth_shape& shape : shapes) shape_list.push_back(&shape);
      EXPECT_EQ(berth_snapshot_scale_up(snapshot->get(), list.data(), list.size(), shape_list.data(), shapes.size(),
                                        nullptr, &result, nullptr),
                BERTH_OK);
      berth_result_free(&result);
    }
  }

  OwnedCluster cluster;
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> list;
};

TEST(ThreadCap, AllClustersOfAnEngineShareItsThreads) {
  // More than one for each core, as in a program that has asked oneTBB for them.
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 16);
  std::thread([] {}).join();  // with the first thread a sanitizer begins one of its own
  const std::size_t before = threads_of_process();
  const OwnedEngine engine = make_engine("cpu", 1, 2);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&engine] {
      Asked of(engine.get());
      for (int round = 0; round < 4; ++round) of.ask(round);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(threads_of_process(), before + 1);
}

}  // namespace
}  // namespace berth::test
