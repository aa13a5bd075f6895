// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/actions.h"

#include <gtest/gtest.h>

#include "host/framework/clock.h"
#include "host/simulate/scenario_reader.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

/// A scenario, played on a store.
struct Played {
  explicit Played(const std::string& text, ClusterObjects cluster = {})
      : scenario(read(text, std::move(cluster))), clock(scenario.start_us), store(clock), player(scenario, store) {}

  static Scenario read(const std::string& text, ClusterObjects cluster) {
    std::vector<std::string> warnings;
    return make_scenario(parse_scenario("apiVersion: berth.dev/v1alpha1\nkind: BerthScenario\n" + text, "f"),
                         std::move(cluster), warnings);
  }
  void until(std::int64_t second) {
    while (player.next_us() <= scenario.start_us + second * kSecondUs) {
      clock.advance_to(player.next_us());
      player.run_until(clock.now_us());
    }
  }
  bool has_pod(const std::string& name) const { return store.get<Pod>({"default", name}) != nullptr; }

  Scenario scenario;
  VirtualClock clock;
  ObjectStore store;
  ScenarioPlayer player;
};

const std::string kPod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}";
const std::string kNode =
    "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a, old: x}}, status: {allocatable: {cpu: 1}}}";

TEST(ScenarioPlayer, ActionsHappenAtTheirTimes) {
  Played played("actions:\n- {at: 5s, delete: [{kind: Pod, name: p}]}\n- {at: 2s, create: [" + kPod + "]}\n");
  played.until(1);
  EXPECT_FALSE(played.has_pod("p"));
  played.until(2);
  EXPECT_TRUE(played.has_pod("p"));
  played.until(5);
  EXPECT_FALSE(played.has_pod("p"));
  EXPECT_EQ(played.player.next_us(), ScenarioPlayer::kNeverUs);
}

TEST(ScenarioPlayer, ArrivalsComeAtTheirInterval) {
  Played played("arrivals: [{at: 1s, every: 10s, count: 3, template: " + kPod + "}]\n");
  played.until(0);
  EXPECT_EQ(played.store.count<Pod>(), 0u);
  played.until(1);
  EXPECT_EQ(played.store.count<Pod>(), 1u);
  played.until(20);
  EXPECT_EQ(played.store.count<Pod>(), 2u);
  played.until(21);
  EXPECT_EQ(played.store.count<Pod>(), 3u);
  EXPECT_TRUE(played.has_pod("p-2"));
  EXPECT_EQ(played.player.next_us(), ScenarioPlayer::kNeverUs);
}

TEST(ScenarioPlayer, NodesAreChanged) {
  Played played("actions:\n- {at: 0s, create: [" + kNode +
                "]}\n- {at: 1s, update: [{kind: Node, name: n1, unschedulable: true, labels: {zone: b, old: null}, "
                "taints: [{key: k, effect: NoExecute}]}]}\n");
  played.until(1);
  const Node& node = *played.store.get<Node>({{}, "n1"})->object;
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.labels.find("zone"), "b");
  EXPECT_FALSE(node.labels.contains("old"));
  ASSERT_EQ(node.taints.size(), 1u);
  EXPECT_EQ(node.taints[0].effect, TaintEffect::kNoExecute);
  EXPECT_EQ(node.allocatable.milli_cpu, 1000);
  EXPECT_EQ(played.player.failure_count(), 0);
}

TEST(ScenarioPlayer, StorageObjectsAreCreatedReplacedAndDeleted) {
  const std::string claim = "apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}";
  Played played("actions:\n- {at: 0s, create: [{" + claim + ", spec: {storageClassName: s}}, " +
                "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}}, " +
                "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: node}, spec: {drivers: []}}]}\n" +
                "- {at: 1s, update: [{" + claim + ", spec: {storageClassName: s, volumeName: v}}]}\n" +
                "- {at: 2s, delete: [{kind: PersistentVolumeClaim, name: c}, {kind: CSINode, name: node}, " +
                "{kind: VolumeAttachment, name: a}]}\n");
  played.until(0);
  EXPECT_TRUE(played.store.get<PersistentVolume>({{}, "v"})->object->is_available);
  EXPECT_EQ(played.store.get<VolumeClaim>({"default", "c"})->object->volume_name, "");
  played.until(1);
  EXPECT_EQ(played.store.get<VolumeClaim>({"default", "c"})->object->volume_name, "v");
  EXPECT_EQ(played.player.failure_count(), 0);
  played.until(2);
  EXPECT_EQ(played.store.count<VolumeClaim>() + played.store.count<CsiNode>(), 0U);
  ASSERT_EQ(played.player.failure_count(), 1);
  EXPECT_EQ(played.player.failures()[0].message, "volumeattachments.storage.k8s.io \"a\" not found");
}

TEST(ScenarioPlayer, RefusedActionsAreReportedAndTheOthersContinue) {
  Played played("actions:\n- {at: 0s, create: [" + kPod + ", " + kPod + ", " + kNode +
                "]}\n- {at: 1s, delete: [{kind: Pod, name: q}, {kind: Node, name: n1}], update: [{kind: Node, name: m, "
                "unschedulable: true}]}\n");
  played.until(1);
  ASSERT_EQ(played.player.failure_count(), 3);
  EXPECT_EQ(played.player.failures()[0].location, "actions[0]");
  EXPECT_EQ(played.player.failures()[0].message, "pods \"p\" already exists");
  EXPECT_EQ(played.player.failures()[1].message, "nodes \"m\" not found");
  EXPECT_EQ(played.player.failures()[1].time_us, kSecondUs);
  EXPECT_EQ(played.player.failures()[2].message, "pods \"q\" not found");
  EXPECT_EQ(played.store.count<Node>(), 0u);
}

TEST(ScenarioPlayer, AWorkloadTakesItsPodsAlong) {
  Played played("actions:\n- at: 0s\n  create:\n  - " + kPod +
                "\n  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: "
                "{matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}}\n" +
                "- {at: 1s, delete: [{kind: Deployment, name: web}]}\n");
  played.until(0);
  EXPECT_EQ(played.store.count<Pod>(), 4u);
  played.until(1);
  EXPECT_EQ(played.store.count<Pod>(), 1u);
  EXPECT_EQ(played.store.count<Workload>(), 0u);
  EXPECT_TRUE(played.has_pod("p"));
}

TEST(ScenarioPlayer, PodsOfTheClusterThatAreCreatedLaterArriveThen) {
  ClusterObjects cluster;
  for (const int second : {3, 0, 1}) {
    auto pod = std::make_shared<Pod>();
    pod->name = "at-" + std::to_string(second);
    pod->spec = std::make_shared<const PodSpec>();
    pod->creation_time_us = kDefaultStartUs + second * kSecondUs;
    cluster.pods.push_back(std::move(pod));
  }
  Played played("start: earliest\n", cluster);
  EXPECT_EQ(played.store.count<Pod>(), 1u);
  played.until(1);
  EXPECT_EQ(played.store.count<Pod>(), 2u);
  EXPECT_TRUE(played.has_pod("at-1"));
  played.until(3);
  EXPECT_TRUE(played.has_pod("at-3"));
  Played latest("", std::move(cluster));
  EXPECT_EQ(latest.store.count<Pod>(), 3u) << "the clock begins at the latest time";
}

}  // namespace
}  // namespace berth
