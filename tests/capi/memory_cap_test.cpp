// SPDX-License-Identifier: Apache-2.0
// What handles hold, and an engine's cap on it: a status, after which nothing has happened and handles go on.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/answers.h"

namespace berth::test {
namespace {

constexpr int kNodes = 200;

struct Capped {
  explicit Capped(std::uint64_t cap) {
    berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
    options.backend = "cpu";
    options.max_memory_bytes = cap;
    berth_engine* made = nullptr;
    EXPECT_EQ(berth_engine_create(&options, &made, nullptr), BERTH_OK);
    engine.reset(made);
    berth_cluster* of = nullptr;
    EXPECT_EQ(berth_cluster_create(engine.get(), &of, nullptr), BERTH_OK);
    cluster.reset(of);
    for (int n = 0; n < kNodes; ++n)
      upsert(cluster.get(), node_json({.name = "n" + std::to_string(n), .cpu = 32, .zone = n % 3, .pods = 40}));
    for (int p = 0; p < 20; ++p) pods.push_back(pod_of(cluster.get(), pod_json({.name = "p" + std::to_string(p)})));
    for (const OwnedPod& pod : pods) all.push_back(pod.get());
    snapshot = snapshot_of(cluster.get());
  }
  std::uint64_t held() const {
    std::uint64_t bytes = 0;
    EXPECT_EQ(berth_engine_memory(engine.get(), &bytes, nullptr), BERTH_OK);
    return bytes;
  }
  berth_status check(std::size_t count, OwnedResult& out, berth_error* error = nullptr) const {
    berth_result* result = nullptr;
    const berth_status status =
        berth_snapshot_check_bulk(snapshot.get(), all.data(), count, nullptr, 0, &result, error);
    out.reset(result);
    return status;
  }

  OwnedEngine engine;
  OwnedCluster cluster;
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> all;
  OwnedSnapshot snapshot;
};

std::uint64_t bytes_of(const berth_fork* fork) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(berth_fork_memory(fork, &bytes, nullptr), BERTH_OK);
  return bytes;
}
std::uint64_t bytes_of(const berth_result* result) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(berth_result_memory(result, &bytes, nullptr), BERTH_OK);
  return bytes;
}
std::uint64_t bytes_of(const berth_cluster* cluster) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(berth_cluster_memory(cluster, &bytes, nullptr), BERTH_OK);
  return bytes;
}

TEST(HandleMemory, AForkHoldsWhatIsDoneToItAndNoMore) {
  const OwnedCluster cluster = make_cluster("cpu", 1);
  for (int n = 0; n < kNodes; ++n)
    upsert(cluster.get(), node_json({.name = "n" + std::to_string(n), .cpu = 32, .zone = n % 3, .pods = 40}));
  std::vector<OwnedPod> pods;
  for (int p = 0; p < 50; ++p)
    pods.push_back(pod_of(cluster.get(), pod_json({.name = "p" + std::to_string(p), .app = p % 5, .spreads = true})));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const OwnedFork fork = fork_of(snapshot.get());
  const std::uint64_t opened = bytes_of(fork.get());
  EXPECT_LT(opened, 64U << 10);
  std::uint64_t before = opened;
  for (std::uint32_t p = 0; p < 50; p += 10) {
    for (std::uint32_t i = p; i < p + 10; ++i)
      EXPECT_EQ(berth_fork_add_pod(fork.get(), pods[i].get(), 4 * i % kNodes, nullptr), BERTH_OK);
    EXPECT_GT(bytes_of(fork.get()), before);
    before = bytes_of(fork.get());
  }
  EXPECT_LT(before, 512U << 10);
  EXPECT_LT(bytes_of(fork_of(fork.get()).get()), before) << "a fork of it shares what it holds";
  EXPECT_EQ(berth_fork_revert(fork.get(), nullptr), BERTH_OK);
  EXPECT_LT(bytes_of(fork.get()), opened + 4096);
  // An engine of its own: nodes of the cluster change.
  const OwnedFork other = fork_of(snapshot.get());
  upsert(cluster.get(), node_json({.name = "n5", .cpu = 32, .zone = 0, .pods = 40}));
  std::uint32_t fits = 0;
  berth_result* result = nullptr;
  const berth_pod* const asked = pods[0].get();
  EXPECT_EQ(berth_fork_check_bulk(other.get(), &asked, 1, nullptr, 0, &result, nullptr), BERTH_OK);
  EXPECT_GT(bytes_of(OwnedResult(result).get()), kNodes * 11U);
  EXPECT_EQ(fits, 0U);
  EXPECT_GT(bytes_of(other.get()), 2 * opened);
}

TEST(HandleMemory, AClusterGrowsWithItsPodsAndShrinksWithThem) {
  const OwnedCluster cluster = make_cluster("cpu", 1);
  upsert(cluster.get(), node_json({.name = "n", .cpu = 3200, .pods = 4000}));
  const std::uint64_t empty = bytes_of(cluster.get());
  for (int p = 0; p < 1000; ++p)
    upsert(cluster.get(), pod_json({.name = "p" + std::to_string(p), .milli_cpu = 1, .node = "n", .memory_mib = 1}));
  const std::uint64_t full = bytes_of(cluster.get());
  EXPECT_GT(full, empty + 1000 * 200U);
  EXPECT_LT(full, empty + 1000 * 2000U);
  EXPECT_EQ(berth_cluster_replace(cluster.get(), "Pod", "", 0, nullptr), BERTH_OK);
  EXPECT_LT(bytes_of(cluster.get()), full - 1000 * 200U);
}

TEST(MemoryCap, IsAStatusAndHandlesGoOnWhenSomethingIsFreed) {
  Capped of(4U << 20);
  std::vector<OwnedResult> kept;
  const std::uint64_t before = of.held();
  EXPECT_LT(before, 2U << 20);
  berth_status status = BERTH_OK;
  while (status == BERTH_OK && kept.size() < 1000) {
    status = of.check(of.all.size(), kept.emplace_back());
    EXPECT_LE(of.held(), (4U << 20) + (status == BERTH_OK ? bytes_of(kept.back().get()) : 0));
  }
  EXPECT_EQ(status, BERTH_E_MEMORY);
  kept.pop_back();
  EXPECT_GT(kept.size(), 1U);
  berth_error error = BERTH_ERROR_INIT;
  OwnedResult more;
  EXPECT_EQ(of.check(of.all.size(), more, &error), BERTH_E_MEMORY);
  EXPECT_STREQ(error.object, "max_memory_bytes");
  EXPECT_EQ(more, nullptr);
  // What makes nothing works on, and what is there answers.
  EXPECT_EQ(values_of<std::uint8_t>(*kept.front(), BERTH_COLUMN_FITS).size(), of.all.size() * kNodes);
  EXPECT_EQ(berth_cluster_delete(of.cluster.get(), "Node", nullptr, "n7", nullptr, nullptr), BERTH_OK);
  kept.clear();
  EXPECT_EQ(of.check(of.all.size(), more), BERTH_OK);
  more.reset();
  EXPECT_LT(of.held(), 1U << 20) << "with the engine of a snapshot whose cluster has another node less";
}

TEST(MemoryCap, ALargeAnswerIsRefusedBeforeItIsMade) {
  const Capped of(1U << 20);
  std::vector<const berth_pod*> many(50000, of.all.front());
  const std::uint64_t before = of.held();
  berth_result* result = nullptr;
  EXPECT_EQ(berth_snapshot_check_bulk(of.snapshot.get(), many.data(), many.size(), nullptr, BERTH_NO_REASONS, &result,
                                      nullptr),
            BERTH_E_MEMORY);
  berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
  options.per_node = 1;
  EXPECT_EQ(berth_snapshot_max_replicas(of.snapshot.get(), many.data(), many.size(), &options, &result, nullptr),
            BERTH_E_MEMORY);
  EXPECT_EQ(result, nullptr);
  EXPECT_LT(of.held(), before + 65536) << "but for the state that the snapshot keeps for a reader";
}

TEST(MemoryCap, CoversForksAndNothingHasHappenedInOneThatIsRefused) {
  Capped of(1U << 20);
  std::vector<OwnedFork> forks;
  berth_status status = BERTH_OK;
  while (status == BERTH_OK && forks.size() < 10000) {
    berth_fork* fork = nullptr;
    status = berth_snapshot_fork(of.snapshot.get(), &fork, nullptr);
    if (status == BERTH_OK) forks.emplace_back(fork);
  }
  EXPECT_EQ(status, BERTH_E_MEMORY);
  ASSERT_GT(forks.size(), 3U);
  berth_fork* const fork = forks.front().get();
  EXPECT_EQ(berth_fork_add_pod(fork, of.all[0], 3, nullptr), BERTH_E_MEMORY);
  berth_result* result = nullptr;
  EXPECT_EQ(berth_fork_schedule(fork, of.all.data(), 1, nullptr, &result, nullptr), BERTH_E_MEMORY);
  std::uint32_t node = 0;
  EXPECT_EQ(berth_fork_node_of_pod(fork, "uid-p0", &node, nullptr), BERTH_OK);
  EXPECT_EQ(node, BERTH_NO_NODE);
  const std::string text = pod_json({.name = "late"});
  berth_pod* pod = nullptr;
  EXPECT_EQ(berth_pod_create(of.cluster.get(), text.data(), text.size(), nullptr, &pod, nullptr), BERTH_E_MEMORY);
  berth_node_set* set = nullptr;
  EXPECT_EQ(berth_node_set_create(of.cluster.get(), &node, 0, &set, nullptr), BERTH_E_MEMORY);
  EXPECT_EQ(berth_cluster_upsert(of.cluster.get(), text.data(), text.size(), nullptr), BERTH_E_MEMORY);
  forks.resize(2);
  EXPECT_EQ(berth_fork_schedule(fork, of.all.data(), 1, nullptr, &result, nullptr), BERTH_OK);
  berth_result_free(&result);
  EXPECT_EQ(berth_fork_commit(fork, nullptr, nullptr), BERTH_OK);
}

}  // namespace
}  // namespace berth::test
