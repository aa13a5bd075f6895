// SPDX-License-Identifier: Apache-2.0
// Forks of one engine in several threads.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/answers.h"

namespace berth::test {
namespace {

constexpr std::size_t kPods = 2000;
constexpr std::size_t kThreads = 4;

PodShape shape_of(std::size_t i) {
  const bool has_terms = i % 2 == 0;
  return {.name = "p" + std::to_string(i), .app = static_cast<int>(i), .spreads = has_terms, .alone = has_terms};
}

/// A snapshot of a cluster whose nodes have changed since has an engine of its own, which forks ask to compile each
/// pod: that may outdate the pods of other forks.
TEST(Threads, ForksThatCompileSomethingDoNotOutdateThePodsOfOthers) {
  const OwnedCluster cluster = make_cluster("cpu", 1);
  for (int i = 0; i < 8; ++i) upsert(cluster.get(), node_json({.name = "n" + std::to_string(i), .zone = i % 3}));
  std::vector<OwnedPod> pods;
  for (std::size_t i = 0; i < kPods; ++i) pods.push_back(pod_of(cluster.get(), pod_json(shape_of(i))));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  upsert(cluster.get(), node_json({.name = "n0", .zone = 2}));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < kPods; i += kThreads) {
        std::int32_t fits = 0;
        const auto node = static_cast<std::uint32_t>(i % 8);
        const berth_status status =
            berth_snapshot_check(snapshot.get(), pods[i].get(), node, 0, &fits, nullptr, nullptr);
        if (status != BERTH_OK || fits != 1) ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace berth::test
