// SPDX-License-Identifier: Apache-2.0
// A cluster of so many nodes that engines are opened of it in threads: however many there are, it answers alike.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/support/sanitized.h"

namespace berth::test {
namespace {

// Each thread reads some hundred nodes at least.
constexpr int kNodes = 1300;
constexpr int kPodsOnNode = kIsSanitized ? 2 : 5;

/// The pods of a Deployment share labels and spec; those of others have terms that count them.
PodShape drawn_pod(int number) {
  const int app = number % 37;
  return {.name = "r" + std::to_string(number),
          .milli_cpu = 100 + 10 * app,
          .app = app,
          .priority = app % 3,
          .spreads = app % 4 == 0,
          .alone = app == 5,
          .near_app = app % 9 == 1 ? app / 2 : -1};
}

OwnedCluster load(const berth_engine* engine) {
  berth_cluster* made = nullptr;
  EXPECT_EQ(berth_cluster_create(engine, &made, nullptr), BERTH_OK);
  OwnedCluster cluster(made);
  std::string list = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (int n = 0; n < kNodes; ++n) {
    const std::string name = "n" + std::to_string(n);
    list += (n > 0 ? "," : "") + node_json({.name = name, .cpu = 16, .zone = n % 3, .pods = 40});
    for (int p = 0; p < kPodsOnNode; ++p) {
      PodShape pod = drawn_pod(n * kPodsOnNode + p);
      pod.node = name;
      list += "," + pod_json(pod);
    }
  }
  upsert(made, list + "]}");
  return cluster;
}

/// What a cluster says of pods that its pods count, and that count them.
std::string answers_of(berth_cluster* cluster) {
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> list;
  for (int i = 0; i < 37; i += kIsSanitized ? 9 : 3) {
    PodShape pod = drawn_pod(i);
    pod.name = "p" + std::to_string(i);
    list.push_back(pods.emplace_back(pod_of(cluster, pod_json(pod))).get());
  }
  const OwnedSnapshot snapshot = snapshot_of(cluster);
  berth_result* result = nullptr;
  EXPECT_EQ(
      berth_snapshot_check_bulk(snapshot.get(), list.data(), list.size(), nullptr, BERTH_WITH_SCORES, &result, nullptr),
      BERTH_OK);
  return text_of(*OwnedResult(result));
}

std::string saved(berth_cluster* cluster) {
  berth_result* result = nullptr;
  EXPECT_EQ(berth_snapshot_write_memory(snapshot_of(cluster).get(), &result, nullptr), BERTH_OK);
  const OwnedResult owned(result);
  berth_str bytes{};
  EXPECT_EQ(berth_result_bytes(result, &bytes, nullptr), BERTH_OK);
  return {bytes.data, bytes.size};
}

TEST(ManyNodes, AnswerAlikeWithAnyNumberOfThreads) {
  const OwnedEngine alone = make_engine("cpu", 1, 1);
  const OwnedCluster first = load(alone.get());
  const std::string answers = answers_of(first.get());
  const std::string bytes = saved(first.get());
  for (const std::int32_t threads : {1, 2, 3, 8}) {
    const OwnedEngine engine = make_engine("cpu", 1, threads);
    EXPECT_EQ(answers_of(load(engine.get()).get()) == answers, true) << threads << " threads, loaded";
    berth_cluster* made = nullptr;
    ASSERT_EQ(berth_snapshot_open_memory(engine.get(), bytes.data(), bytes.size(), &made, nullptr, nullptr), BERTH_OK);
    const OwnedCluster opened(made);
    EXPECT_EQ(answers_of(made) == answers, true) << threads << " threads, opened";
    EXPECT_EQ(saved(made) == bytes, true) << threads << " threads, saved again";
  }
}

}  // namespace
}  // namespace berth::test
