// SPDX-License-Identifier: Apache-2.0
// Of a pod that is node-local, a placed copy changes no verdict and no score of another node. BERTH_CLUSTERS and
// BERTH_SEED change how many clusters are drawn.

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/capi/counting_world.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;
using Scores = std::vector<std::int64_t>;

constexpr int kNodes = 5;

Json any_node(Dice& dice, int number) {
  Json node = Json::parse(node_json({.name = "n" + std::to_string(number),
                                     .cpu = 1 + static_cast<int>(dice.upto(2)),
                                     .zone = number == 0 ? 0 : 1,
                                     .cordoned = dice.one_in(10)}));
  if (dice.one_in(15)) node["spec"]["taints"].push_back({{"key", "soft"}, {"effect", "PreferNoSchedule"}});
  return node;
}

/// A pod that fills a node more often than not.
Json any_pod(Dice& dice, const std::string& name) {
  PodShape shape = {.name = name, .milli_cpu = 500 + 500 * static_cast<int>(dice.upto(3))};
  shape.app = static_cast<int>(dice.upto(2));
  shape.has_port = dice.one_in(6);
  shape.gpus = dice.one_in(8) ? 1 : 0;
  switch (dice.upto(13)) {
    case 0:
      shape.spreads = true;
      break;
    case 1:
      shape.spreads_hosts = true;
      break;
    case 2:
    case 3:
      shape.alone = true;
      break;
    case 4:
      shape.apart_in_zone = true;
      break;
    case 5:
      shape.together = true;
      break;
    case 6:
      shape.near_app = static_cast<int>(dice.upto(2));
      break;
    case 7:
      shape.wants_zone = static_cast<int>(dice.upto(1));
      break;
    default:
      break;
  }
  Json pod = Json::parse(pod_json(shape));
  const Json selector = {{"matchLabels", {{"app", "x" + std::to_string(dice.upto(2))}}}};
  const std::string key = dice.one_in(2) ? kZone : kHostname;
  if (dice.one_in(12))
    pod["spec"]["topologySpreadConstraints"].push_back(
        {{"maxSkew", 1}, {"topologyKey", key}, {"whenUnsatisfiable", "ScheduleAnyway"}, {"labelSelector", selector}});
  if (dice.one_in(20))
    pod["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = {
        {{"weight", 1 + dice.upto(99)}, {"podAffinityTerm", {{"topologyKey", key}, {"labelSelector", selector}}}}};
  // Raw scores of three levels: what the second one comes to depends on the first one.
  if (dice.one_in(4))
    for (const std::string& zone_or_name : {std::string("z0"), "n" + std::to_string(1 + dice.upto(kNodes - 2))})
      pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"].push_back(
          {{"weight", 1 + dice.upto(99)},
           {"preference",
            {{"matchExpressions",
              {{{"key", zone_or_name == "z0" ? kZone : kHostname},
                {"operator", "In"},
                {"values", {zone_or_name}}}}}}}});
  return pod;
}

struct Counts {
  int local = 0, full = 0, reached = 0;
};

/// [node of the snapshot], of those that do not fit BERTH_NO_SCORE.
Scores scores_of(berth_fork* fork, const berth_pod* pod) {
  berth_result* made = nullptr;
  EXPECT_EQ(berth_fork_check_bulk(fork, &pod, 1, nullptr, BERTH_WITH_SCORES, &made, nullptr), BERTH_OK);
  return column_of<std::int64_t>(*OwnedResult(made), BERTH_COLUMN_SCORE);
}

bool is_local(const OwnedPod& pod) {
  std::int32_t local = -1;
  EXPECT_EQ(berth_pod_is_node_local(pod.get(), &local, nullptr), BERTH_OK);
  return local == 1;
}

/// Asks, places a copy on each node that fits, and looks at the others.
void check(const char* backend, std::uint64_t seed, Counts& counts) {
  Dice dice(seed);
  CountingWorld world(backend, seed);
  for (int i = 0; i < kNodes; ++i) world.upsert(any_node(dice, i).dump());
  for (int i = 0; i < 4; ++i) {
    Json pod = any_pod(dice, "runs" + std::to_string(i));
    pod["spec"]["nodeName"] = "n" + std::to_string(dice.upto(kNodes - 1));
    world.upsert(pod.dump());
  }
  if (dice.one_in(8)) world.upsert(pod_json({.name = "nominated", .nominated = "n0"}));
  for (int p = 0; p < 4; ++p) {
    Json text = any_pod(dice, "p" + std::to_string(p));
    const OwnedPod pod = pod_of(world.cluster.get(), text.dump());
    text["metadata"]["name"] = text["metadata"]["uid"] = "copy" + std::to_string(p);
    const OwnedPod copy = pod_of(world.cluster.get(), text.dump());
    const bool local = is_local(pod);
    EXPECT_EQ(is_local(copy), local);
    const OwnedSnapshot snapshot = world.snapshot();
    const OwnedFork fork = fork_of(snapshot.get());
    const Scores before = scores_of(fork.get(), pod.get());
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      if (before[n] == BERTH_NO_SCORE) continue;
      const OwnedFork with = fork_of(fork.get());
      ASSERT_EQ(berth_fork_add_pod(with.get(), copy.get(), n, nullptr), BERTH_OK);
      Scores after = scores_of(with.get(), pod.get());
      const bool is_full = after[n] == BERTH_NO_SCORE;
      after[n] = before[n];
      if (local) {
        EXPECT_EQ(after, before) << text << " on node " << n;
        ++counts.local;
        if (is_full) ++counts.full;
      } else if (after != before) {
        ++counts.reached;
      }
    }
  }
}

Counts check_all(const char* backend, std::uint64_t clusters) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + clusters && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(std::string(backend) + ", seed " + std::to_string(seed));
    check(backend, seed, counts);
  }
  return counts;
}

TEST(NodeLocalPods, PlacedCopiesChangeNoOtherNode) {
  const Counts counts = check_all("cpu", setting("BERTH_CLUSTERS", 300));
  EXPECT_GT(counts.full, 200) << "so that which nodes are feasible changes";
  EXPECT_GT(counts.reached, 100) << "copies that do change other nodes are among the pods";
}

TEST(NodeLocalPods, AreNoneWhereTheBackendHasNoClasses) { EXPECT_EQ(check_all("reference", 20).local, 0); }

TEST(NodeLocalPods, AreNoPodsThatAreNotJudged) {
  CountingWorld world("cpu", 1);
  for (const char* name : {"n0", "n1"}) world.upsert(node_json({.name = name}));
  EXPECT_TRUE(is_local(world.pod({.name = "plain"})));
  EXPECT_TRUE(is_local(world.pod({.name = "alone", .alone = true}))) << "it closes its own node";
  EXPECT_FALSE(is_local(world.pod({.name = "apart", .apart_in_zone = true})));
  EXPECT_FALSE(is_local(world.pod({.name = "claims", .has_claim = true})));
}

}  // namespace
}  // namespace berth::test
