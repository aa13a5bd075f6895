// SPDX-License-Identifier: Apache-2.0
// What plugins see of a cluster, when they are asked again, and which calls they may make.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/capi/scripted_plugin.h"

namespace berth::test {
namespace {

/// Counts pods of the zone: what a pod on a node changes elsewhere. @param reach  as the plugin says it
std::string spread_with(std::uint32_t kind) {
  Script script = by_pool();
  if (kind == BERTH_REACH_EVERYTHING) {
    script.reach = {};
  } else {
    script.reach = [kind](berth_plugin_call*, Script::Pod, Script::Node, berth_plugin_reach* reach) {
      reach->kind = kind;
      reach->topology_key = "zone";
    };
  }
  const auto pods_of_zone = [&script](berth_plugin_call* call, Script::Node node) {
    std::size_t pods = 0;
    for (std::size_t i = 0; i < script.host->node_count(call); ++i) {
      const Script::Node other = script.host->node_at(call, i);
      if (script.label(call, other, "zone") == script.label(call, node, "zone"))
        pods += script.host->node_pod_count(call, other);
    }
    return pods;
  };
  script.evaluate = [&](berth_plugin_call* call, Script::Pod, const berth_plugin_nodes* nodes,
                        berth_plugin_columns* columns) {
    for (std::size_t i = 0; i < nodes->count; ++i)
      if (pods_of_zone(call, nodes->nodes[i]) >= 2) refuse(script, call, columns, i, BERTH_CODE_UNSCHEDULABLE, "full");
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  for (int i = 0; i < 6; ++i)
    upsert(cluster.get(), node_with("n" + std::to_string(i), "x", R"("zone":"z)" + std::to_string(i % 3) + "\""));
  const OwnedFork fork = fork_of(snapshot_of(cluster.get()).get());
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> all;
  for (int i = 0; i < 8; ++i) {
    pods.push_back(pod_of(cluster.get(), pod_with("p" + std::to_string(i), "x")));
    all.push_back(pods.back().get());
  }
  berth_result* result = nullptr;
  EXPECT_EQ(berth_fork_schedule(fork.get(), all.data(), all.size(), nullptr, &result, nullptr), BERTH_OK);
  const OwnedResult owned(result);
  std::map<std::uint32_t, int> by_zone;
  for (const std::uint32_t node : values_of<std::uint32_t>(*result, BERTH_COLUMN_NODE))
    ++by_zone[node == BERTH_NO_NODE ? 99 : node % 3];
  std::string text;
  for (const auto& [zone, count] : by_zone) text += std::to_string(zone) + ":" + std::to_string(count) + " ";
  return text;
}

TEST(PluginAnswers, FollowWhatAPlacementReaches) {
  EXPECT_EQ(spread_with(BERTH_REACH_DOMAIN), "0:2 1:2 2:2 99:2 ");
  EXPECT_EQ(spread_with(BERTH_REACH_EVERYTHING), "0:2 1:2 2:2 99:2 ");
}

TEST(PluginAnswers, NewDataIsSeenByTheNextCall) {
  std::atomic<std::uint64_t> version = 5;
  std::atomic<bool> refuses = false;
  Script script = by_pool();
  script.version = [&] { return version.load(); };
  script.evaluate = [&](berth_plugin_call* call, Script::Pod, const berth_plugin_nodes* nodes,
                        berth_plugin_columns* columns) {
    for (std::size_t i = 0; i < nodes->count && refuses; ++i)
      refuse(script, call, columns, i, BERTH_CODE_UNSCHEDULABLE, "closed");
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "x"));
  const OwnedPod pod = pod_of(cluster.get(), pod_with("p", "x"));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  EXPECT_EQ(placed(cluster.get(), fork_of(snapshot.get()).get(), pod.get()), "n0");
  refuses = true;
  version = 6;
  EXPECT_EQ(placed(cluster.get(), fork_of(snapshot.get()).get(), pod.get()), "0/1 nodes are available: 1 closed.");
  refuses = false;
  version = 4;
  EXPECT_EQ(placed(cluster.get(), fork_of(snapshot.get()).get(), pod.get()), "n0");
}

/// Data that changes all the time, and readers in threads: no call fails, and plugins that take one call at a time get
/// no other.
TEST(PluginAnswers, NewDataMayComeAtAnyTime) {
  std::atomic<std::uint64_t> version = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> together = 0;
  Script script = by_pool();
  script.version = [&] { return version.load(); };
  script.evaluate = [&](berth_plugin_call*, Script::Pod, const berth_plugin_nodes*, berth_plugin_columns*) {
    if (++inside > 1) ++together;
    std::this_thread::yield();
    --inside;
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  for (int i = 0; i < 3; ++i) upsert(cluster.get(), node_with("n" + std::to_string(i), "x"));
  const OwnedPod pod = pod_of(cluster.get(), pod_with("p", "x"));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  std::atomic<bool> is_done = false;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      while (!is_done) {
        const berth_pod* const one = pod.get();
        berth_result* result = nullptr;
        const OwnedFork fork = fork_of(snapshot.get());
        const berth_status status =
            t == 0 ? berth_fork_schedule(fork.get(), &one, 1, nullptr, &result, nullptr)
                   : berth_snapshot_check_bulk(snapshot.get(), &one, 1, nullptr, 0, &result, nullptr);
        if (status != BERTH_OK) ++failed;
        berth_result_free(&result);
      }
    });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end) ++version;
  is_done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(together, 0);
}

TEST(PluginAnswers, AreAskedForNominatedPodsAndVictims) {
  Script script = by_pool();
  script.reach = [](berth_plugin_call*, Script::Pod, Script::Node, berth_plugin_reach* reach) {
    reach->kind = BERTH_REACH_NODE;
  };
  const auto pods_on = [&script](berth_plugin_call* call, Script::Node node) {
    return script.host->node_pod_count(call, node);
  };
  script.evaluate = [&](berth_plugin_call* call, Script::Pod, const berth_plugin_nodes* nodes,
                        berth_plugin_columns* columns) {
    for (std::size_t i = 0; i < nodes->count; ++i)
      if (pods_on(call, nodes->nodes[i]) >= 1) refuse(script, call, columns, i, BERTH_CODE_UNSCHEDULABLE, "taken");
    return kOk;
  };
  script.filter_changed = [&](berth_plugin_call* call, Script::Pod, Script::Node node, const Script::PodList& added,
                              const Script::PodList& removed) -> std::int32_t {
    for (const Script::Pod gone : removed) {
      bool is_there = false;
      for (std::size_t i = 0; i < pods_on(call, node); ++i)
        is_there = is_there || script.host->is_same_pod(call, gone, script.host->node_pod(call, node, i)) != 0;
      EXPECT_TRUE(is_there);
    }
    if (pods_on(call, node) + added.size() - removed.size() < 1) return BERTH_CODE_SUCCESS;
    script.host->add_reason(call, "taken");
    return BERTH_CODE_UNSCHEDULABLE;
  };
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "x"));
  upsert(cluster.get(), node_with("n1", "x"));
  upsert(cluster.get(), pod_with("runs", "x", R"("nodeName":"n0",)", R"({"phase":"Running"})"));
  upsert(cluster.get(), pod_with("waits", "x", R"("priority":50,)", R"({"nominatedNodeName":"n1"})"));
  const OwnedPod low = pod_of(cluster.get(), pod_with("low", "x"));
  EXPECT_EQ(checked(cluster.get(), low.get()), "n0=2 taken; n1=2 taken");
  const OwnedPod high = pod_of(cluster.get(), pod_with("high", "x", R"("priority":40,)"));
  berth_result* result = nullptr;
  ASSERT_EQ(berth_snapshot_preempt(snapshot_of(cluster.get()).get(), high.get(), 0, &result, nullptr), BERTH_OK);
  const OwnedResult owned(result);
  EXPECT_EQ(texts_of(*result, BERTH_COLUMN_VICTIM), std::vector<std::string>{"uid-runs"});
}

TEST(PluginCalls, OfTheSameEngineAreRefused) {
  Script script = by_pool();
  OwnedCluster cluster;
  const OwnedCluster other = make_cluster("cpu", 1);
  std::vector<berth_status> inner;
  script.evaluate = [&](berth_plugin_call*, Script::Pod, const berth_plugin_nodes*, berth_plugin_columns*) {
    std::uint64_t version = 0;
    berth_snapshot* snapshot = nullptr;
    inner = {berth_cluster_version(cluster.get(), &version, nullptr),
             berth_snapshot_create(cluster.get(), &snapshot, nullptr),
             berth_cluster_version(other.get(), &version, nullptr)};
    return kOk;
  };
  cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "x"));
  EXPECT_EQ(placed(cluster.get(), pod_of(cluster.get(), pod_with("p", "x")).get()), "n0");
  EXPECT_EQ(inner, (std::vector<berth_status>{BERTH_E_REENTRY, BERTH_E_REENTRY, BERTH_OK}));
  std::uint64_t version = 0;
  EXPECT_EQ(berth_cluster_version(cluster.get(), &version, nullptr), BERTH_OK);
}

TEST(PluginCalls, SeeNodesAndPods) {
  Script script = by_pool();
  std::string seen;
  script.evaluate = [&](berth_plugin_call* call, Script::Pod pod, const berth_plugin_nodes* nodes,
                        berth_plugin_columns*) {
    const berth_plugin_host& host = *script.host;
    const auto text = [](berth_plugin_text of) { return std::string(of.data, of.size); };
    const auto* node = nodes->nodes[0];
    berth_plugin_taint taint{};
    EXPECT_EQ(host.node_taint_count(call, node), 1u);
    EXPECT_EQ(host.node_taint(call, node, 0, &taint), 1);
    EXPECT_EQ(host.node_taint(call, node, 1, &taint), 0);
    seen = text(host.node_name(call, node)) + " " + std::to_string(host.node_is_cordoned(call, node)) + " " +
           text(taint.key) + "=" + text(taint.value) + ":" + text(taint.effect) + " " +
           std::to_string(host.node_allocatable(call, node, "cpu")) + " " +
           std::to_string(host.node_allocatable(call, node, "pods")) + " " +
           std::to_string(host.node_requested(call, node, "cpu")) + " " +
           std::to_string(host.node_requested(call, node, "pods"));
    berth_plugin_text kind{};
    berth_plugin_text name{};
    const auto* runs = host.node_pod(call, node, 0);
    EXPECT_EQ(host.node_pod(call, node, 1), nullptr);
    EXPECT_EQ(host.pod_controller(call, runs, &kind, &name, nullptr), 1);
    EXPECT_EQ(host.pod_controller(call, pod, &kind, &name, nullptr), 0);
    seen += " " + text(host.pod_namespace(call, runs)) + "/" + text(host.pod_name(call, runs)) + " " + text(kind) +
            " " + text(name) + " " + std::to_string(host.pod_priority(call, runs)) + " " +
            std::to_string(host.pod_request(call, runs, "cpu")) + " " + script.value(call, runs, 0) + " " +
            text(host.pod_scheduler(call, pod)) + " " + std::to_string(host.is_same_pod(call, pod, runs));
    berth_plugin_text label{};
    EXPECT_EQ(host.pod_label(call, runs, "app", &label), 1);
    EXPECT_EQ(host.pod_label(call, runs, "none", &label), 0);
    seen += " " + text(label);
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  upsert(
      cluster.get(),
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoExecute"}]},"status":{"allocatable":{"cpu":"8","memory":"1Gi","pods":"5"}}})");
  upsert(
      cluster.get(),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"runs","namespace":"shop","uid":"u","labels":{"app":"web"},"annotations":{"example.com/pool":"red"},"ownerReferences":[{"kind":"ReplicaSet","name":"web","uid":"o","controller":true}]},"spec":{"priority":3,"nodeName":"n","containers":[{"name":"c","resources":{"requests":{"cpu":"1500m"}}}]},"status":{"phase":"Running"}})");
  const OwnedPod pod = pod_of(cluster.get(), pod_with("p", "x", R"("tolerations":[{"operator":"Exists"}],)"));
  EXPECT_EQ(checked(cluster.get(), pod.get()), "n=0");
  EXPECT_EQ(seen, "n 1 k=v:NoExecute 8000 5 1500 1 shop/runs ReplicaSet web 3 1500 red default-scheduler 0 web");
}

}  // namespace
}  // namespace berth::test
