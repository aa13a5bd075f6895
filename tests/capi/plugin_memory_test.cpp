// SPDX-License-Identifier: Apache-2.0
// Memory runs out in calls that ask a plugin: that of examples/plugin.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "include/berth/plugin.h"
#include "tests/capi/answers.h"
#include "tests/capi/failing_calls.h"
#include "tests/capi/world.h"

namespace berth::test {
namespace {

constexpr const char* kConfig =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
    "  - plugins: {multiPoint: {enabled: [{name: Licenses, weight: 5}]}}\n"
    "    pluginConfig: [{name: Licenses, args: {prefer: few}}]\n";

std::string object_json(const char* kind, const std::string& name, const std::string& licenses,
                        const std::string& rest) {
  return R"({"apiVersion":"v1","kind":")" + std::string(kind) + R"(","metadata":{"name":")" + name +
         R"(","uid":"uid-)" + name + R"(","annotations":{"example.com/licenses":")" + licenses + "\"}}," + rest + "}";
}

std::string licensed_node(const std::string& name, const std::string& licenses) {
  return object_json("Node", name, licenses, R"("status":{"allocatable":{"cpu":"8","memory":"32Gi","pods":"20"}})");
}

std::string licensed_pod(const std::string& name, const std::string& licenses, const std::string& spec) {
  return object_json("Pod", name, licenses,
                     R"("spec":{)" + spec + R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})");
}

struct LicensedHandles {
  LicensedHandles() {
    berth_engine* made = nullptr;
    EXPECT_EQ(make_engine(&made), BERTH_OK);
    engine.reset(made);
    berth_cluster* opened = nullptr;
    EXPECT_EQ(berth_cluster_create(engine.get(), &opened, nullptr), BERTH_OK);
    cluster.reset(opened);
    for (const char* licenses : {"0", "1", "3"})
      upsert(cluster.get(), licensed_node("n" + std::string(licenses), licenses));
    upsert(cluster.get(), licensed_pod("runs", "1", R"("nodeName":"n1",)"));
    pod = pod_of(cluster.get(), licensed_pod("p", "1", R"("priority":9,)"));
    large = pod_of(cluster.get(), licensed_pod("large", "3", ""));
    all = {pod.get(), large.get()};
    snapshot = snapshot_of(cluster.get());
    fork = fork_of(snapshot.get());
  }

  static berth_status make_engine(berth_engine** engine) {
    const berth_plugin* const plugin = berth_plugin_init();
    berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
    options.scheduler_config = kConfig;
    options.backend = "cpu";
    options.threads = 2;
    options.plugins = &plugin;
    options.plugin_count = 1;
    return berth_engine_create(&options, engine, nullptr);
  }

  std::string answers() {
    berth_result* result = nullptr;
    EXPECT_EQ(berth_snapshot_check_bulk(snapshot.get(), all.data(), all.size(), nullptr, 0, &result, nullptr),
              BERTH_OK);
    std::string text = text_of(*OwnedResult(result));
    // A fork that was committed answers no more.
    if (berth_fork_check_bulk(fork.get(), all.data(), all.size(), nullptr, 0, &result, nullptr) == BERTH_OK)
      text += text_of(*OwnedResult(result));
    const OwnedSnapshot now = snapshot_of(cluster.get());
    EXPECT_EQ(berth_snapshot_check_bulk(now.get(), all.data(), all.size(), nullptr, 0, &result, nullptr), BERTH_OK);
    return text + text_of(*OwnedResult(result));
  }

  OwnedEngine engine;
  OwnedCluster cluster;
  OwnedPod pod;
  OwnedPod large;
  std::vector<const berth_pod*> all;
  OwnedSnapshot snapshot;
  OwnedFork fork;
};

using H = LicensedHandles;

std::vector<Call<H>> calls_with_licenses() {
  const std::string change = licensed_node("n3", "2");
  const std::string more = licensed_pod("more", "1", R"("nodeName":"n3",)");
  const std::string waiting = licensed_pod("waiting", "2", "");
  const auto free_result = [](berth_status status, berth_result*& result) {
    berth_result_free(&result);
    return status;
  };
  return {
      {"engine_create",
       [](H&) {
         berth_engine* engine = nullptr;
         const berth_status status = H::make_engine(&engine);
         berth_engine_free(&engine);
         return status;
       }},
      {"upsert that changes a declared value",
       [change](H& h) { return berth_cluster_upsert(h.cluster.get(), change.data(), change.size(), nullptr); }},
      {"upsert of a pod",
       [more](H& h) { return berth_cluster_upsert(h.cluster.get(), more.data(), more.size(), nullptr); }},
      {"pod_create",
       [waiting](H& h) {
         berth_pod* pod = nullptr;
         const berth_status status =
             berth_pod_create(h.cluster.get(), waiting.data(), waiting.size(), nullptr, &pod, nullptr);
         berth_pod_free(&pod);
         return status;
       }},
      {"snapshot_check_bulk",
       [free_result](H& h) {
         berth_result* result = nullptr;
         return free_result(
             berth_snapshot_check_bulk(h.snapshot.get(), h.all.data(), h.all.size(), nullptr, 0, &result, nullptr),
             result);
       }},
      {"snapshot_explain",
       [free_result](H& h) {
         berth_result* result = nullptr;
         return free_result(berth_snapshot_explain(h.snapshot.get(), h.pod.get(), 0, &result, nullptr), result);
       }},
      {"fork_schedule",
       [free_result](H& h) {
         berth_result* result = nullptr;
         return free_result(berth_fork_schedule(h.fork.get(), h.all.data(), h.all.size(), nullptr, &result, nullptr),
                            result);
       }},
      {"fork_preempt",
       [free_result](H& h) {
         berth_result* result = nullptr;
         return free_result(berth_fork_preempt(h.fork.get(), h.pod.get(), 0, &result, nullptr), result);
       }},
      {"snapshot_max_replicas",
       [free_result](H& h) {
         berth_result* result = nullptr;
         return free_result(
             berth_snapshot_max_replicas(h.snapshot.get(), h.all.data(), h.all.size(), nullptr, &result, nullptr),
             result);
       }},
      {"fork_commit", [](H& h) { return berth_fork_commit(h.fork.get(), nullptr, nullptr); }},
  };
}

TEST(OutOfMemory, CallsThatAskAPluginAreAllOrNothing) { expect_all_or_nothing(calls_with_licenses(), 16); }

}  // namespace
}  // namespace berth::test
