// SPDX-License-Identifier: Apache-2.0
// What plugins answer, and what becomes of answers that cannot be right.

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

void refuse_other_pools(Script& script, int* asked = nullptr) {
  script.evaluate = [&script, asked](berth_plugin_call* call, Script::Pod pod, const berth_plugin_nodes* nodes,
                                     berth_plugin_columns* columns) {
    if (asked != nullptr) *asked += static_cast<int>(nodes->count);
    const std::string wanted = script.value(call, pod, 0);
    for (std::size_t i = 0; i < nodes->count; ++i) {
      const berth_plugin_text pool = nodes->values[0][i];
      const std::string has = pool.data == nullptr ? "(none)" : std::string(pool.data, pool.size);
      if (has != wanted) refuse(script, call, columns, i, BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE, "other pool");
    }
    return kOk;
  };
}

TEST(PluginAnswers, DeclaredValuesOfNodeAndPodDecide) {
  Script script = by_pool();
  int asked = 0;
  refuse_other_pools(script, &asked);
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "red"));
  upsert(cluster.get(), node_with("n1", "blue"));
  upsert(
      cluster.get(),
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"},"status":{"allocatable":{"pods":"9","cpu":"8","memory":"1Gi"}}})");
  const OwnedPod red = pod_of(cluster.get(), pod_with("r", "red"));
  const OwnedPod blue = pod_of(cluster.get(), pod_with("b", "blue"));
  const OwnedPod also_red = pod_of(cluster.get(), pod_with("also", "red"));
  EXPECT_EQ(checked(cluster.get(), red.get()), "n0=0; n1=3 other pool; n2=3 other pool");
  EXPECT_EQ(checked(cluster.get(), blue.get()), "n0=3 other pool; n1=0; n2=3 other pool");
  const auto asked_of = [&](std::vector<const berth_pod*> pods) {
    berth_result* result = nullptr;
    asked = 0;
    EXPECT_EQ(berth_snapshot_check_bulk(snapshot_of(cluster.get()).get(), pods.data(), pods.size(), nullptr, 0, &result,
                                        nullptr),
              BERTH_OK);
    berth_result_free(&result);
    return asked;
  };
  const int of_one = asked_of({red.get()});
  EXPECT_GT(of_one, 0);
  EXPECT_EQ(asked_of({red.get(), also_red.get()}), of_one) << "pods of one class share their answers";
  EXPECT_EQ(asked_of({red.get(), blue.get()}), 2 * of_one);
  std::uint64_t classes[3] = {};
  EXPECT_EQ(berth_pod_class(red.get(), &classes[0], nullptr), BERTH_OK);
  EXPECT_EQ(berth_pod_class(blue.get(), &classes[1], nullptr), BERTH_OK);
  EXPECT_EQ(berth_pod_class(also_red.get(), &classes[2], nullptr), BERTH_OK);
  EXPECT_NE(classes[0], classes[1]);
  EXPECT_EQ(classes[0], classes[2]);
  EXPECT_EQ(placed(cluster.get(), red.get()), "n0");
  EXPECT_EQ(placed(cluster.get(), blue.get()), "n1");
}

TEST(PluginAnswers, PendingRefusesANodeWhereNoEvictionHelps) {
  Script script = by_pool();
  script.evaluate = [&script](berth_plugin_call* call, Script::Pod, const berth_plugin_nodes* nodes,
                              berth_plugin_columns* columns) {
    for (std::size_t i = 0; i < nodes->count; ++i) refuse(script, call, columns, i, BERTH_CODE_PENDING, "later");
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "red"));
  const OwnedPod red = pod_of(cluster.get(), pod_with("r", "red"));
  EXPECT_EQ(checked(cluster.get(), red.get()), "n0=6 later");
  EXPECT_EQ(placed(cluster.get(), red.get()), "0/1 nodes are available: 1 later.");
  berth_result* result = nullptr;
  ASSERT_EQ(berth_snapshot_preempt(snapshot_of(cluster.get()).get(), red.get(), 0, &result, nullptr), BERTH_OK);
  const OwnedResult candidates(result);
  EXPECT_TRUE(values_of<std::uint32_t>(*candidates, BERTH_COLUMN_NODE).empty());
  berth_str message{};
  EXPECT_EQ(berth_result_message(candidates.get(), &message, nullptr), BERTH_OK);
  EXPECT_EQ(std::string(message.data, message.size),
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
}

TEST(PluginAnswers, AChangedValueOfANodeIsAChangeOfTheCluster) {
  Script script = by_pool();
  refuse_other_pools(script);
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "red"));
  const OwnedPod red = pod_of(cluster.get(), pod_with("r", "red"));
  EXPECT_EQ(checked(cluster.get(), red.get()), "n0=0");
  const OwnedSnapshot before = snapshot_of(cluster.get());
  std::uint64_t versions[3] = {};
  EXPECT_EQ(berth_cluster_version(cluster.get(), &versions[0], nullptr), BERTH_OK);
  upsert(cluster.get(), node_with("n0", "red"));
  EXPECT_EQ(berth_cluster_version(cluster.get(), &versions[1], nullptr), BERTH_OK);
  upsert(cluster.get(), node_with("n0", "blue"));
  EXPECT_EQ(berth_cluster_version(cluster.get(), &versions[2], nullptr), BERTH_OK);
  EXPECT_EQ(versions[0], versions[1]);
  EXPECT_LT(versions[1], versions[2]);
  EXPECT_EQ(checked(cluster.get(), red.get()), "n0=3 other pool");
  const OwnedFork fork = fork_of(before.get());
  EXPECT_EQ(placed(cluster.get(), fork.get(), red.get()), "n0");
  const std::string text = node_with("n0", "green");
  EXPECT_EQ(berth_fork_update_node(fork.get(), text.data(), text.size(), nullptr), BERTH_OK);
  const OwnedPod green = pod_of(cluster.get(), pod_with("g", "green"));
  EXPECT_EQ(placed(cluster.get(), fork_of(fork.get()).get(), green.get()), "n0");
}

TEST(PluginAnswers, ValuesAreScalars) {
  Script script = by_pool();
  script.node_paths = {"spec.a.b", "status.n", "status.t", "status.none"};
  std::vector<std::string> seen;
  script.evaluate = [&](berth_plugin_call*, Script::Pod, const berth_plugin_nodes* nodes, berth_plugin_columns*) {
    for (std::uint32_t p = 0; p < nodes->path_count; ++p) {
      const berth_plugin_text text = nodes->values[p][0];
      seen.push_back(text.data == nullptr ? "(none)" : std::string(text.data, text.size));
    }
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  const auto node = [](const std::string& b) {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"a":{"b":)" + b +
           R"(}},"status":{"n":1.50,"t":true,"none":null,"allocatable":{"cpu":"8","memory":"1Gi","pods":"5"}}})";
  };
  upsert(cluster.get(), node(R"("text")"));
  const OwnedPod pod = pod_of(cluster.get(), pod_with("p", ""));
  EXPECT_EQ(checked(cluster.get(), pod.get()), "n=0");
  seen.resize(4);  // each engine asks for itself
  EXPECT_EQ(seen, (std::vector<std::string>{"text", "1.5", "true", "(none)"}));
  const std::string bad = node("[1]");
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_cluster_upsert(cluster.get(), bad.data(), bad.size(), &error), BERTH_E_INPUT);
  EXPECT_NE(std::string(error.text).find("a plugin reads it"), std::string::npos) << error.text;
}

TEST(PluginAnswers, ThatCannotBeRightAreErrorsOfTheCycle) {
  Script script = by_pool();
  script.flags = BERTH_PLUGIN_FILTERS | BERTH_PLUGIN_SCORES;
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "x"));
  upsert(cluster.get(), node_with("n1", "x"));
  int name = 0;
  const auto message = [&](std::int32_t code, std::uint32_t reasons, std::int64_t score) {
    script.evaluate = [=](berth_plugin_call*, Script::Pod, const berth_plugin_nodes* nodes,
                          berth_plugin_columns* columns) {
      for (std::size_t i = 0; i < nodes->count; ++i) {
        columns->codes[i] = static_cast<std::uint8_t>(code);
        columns->reasons[i] = reasons;
        columns->scores[i] = score;
      }
      return kOk;
    };
    const std::string number = std::to_string(name++);
    return placed(cluster.get(), pod_of(cluster.get(), pod_with("p" + number, number)).get());
  };
  const std::string begin = "running \"Scripted\" filter plugin: ";
  EXPECT_EQ(message(77, 0, 0), begin + "evaluate() answered the unknown code 77");
  EXPECT_EQ(message(BERTH_CODE_UNSCHEDULABLE, 0, 0), begin + "a Filter plugin gave no reason");
  EXPECT_EQ(message(BERTH_CODE_UNSCHEDULABLE, 9, 0),
            begin + "evaluate() answered with the reasons 9, which make_reasons() did not make");
  EXPECT_EQ(message(BERTH_CODE_PENDING, 0, 0), begin + "a Filter plugin gave no reason");
  EXPECT_EQ(message(BERTH_PLUGIN_SKIP, 0, 0), begin + "a Filter plugin cannot answer Skip");
  EXPECT_NE(message(kOk, 0, 101).find("plugin \"Scripted\" returns an invalid score 101"), std::string::npos);
  EXPECT_NE(message(kOk, 0, -1).find("plugin \"Scripted\" returns an invalid score -1"), std::string::npos);
  EXPECT_EQ(message(kOk, 0, 100).substr(0, 1), "n");
}

TEST(PluginAnswers, ExceptionsAndErrorsNeverBecomeAnAcceptance) {
  Script script = by_pool();
  script.flags = BERTH_PLUGIN_FILTERS | BERTH_PLUGIN_SCORES;
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "x"));
  int name = 0;
  const auto message = [&] {
    const std::string number = std::to_string(name++);
    return placed(cluster.get(), pod_of(cluster.get(), pod_with("p" + number, number)).get());
  };
  script.evaluate = [](berth_plugin_call*, Script::Pod, const berth_plugin_nodes*,
                       berth_plugin_columns*) -> std::int32_t { throw std::runtime_error("lost my mind"); };
  EXPECT_EQ(message(), "running \"Scripted\" filter plugin: lost my mind");
  script.evaluate = [](berth_plugin_call*, Script::Pod, const berth_plugin_nodes*,
                       berth_plugin_columns*) -> std::int32_t { throw 1; };
  EXPECT_EQ(message(), "running \"Scripted\" filter plugin: an exception of unknown type");
  script.evaluate = [&](berth_plugin_call* call, Script::Pod, const berth_plugin_nodes*, berth_plugin_columns*) {
    script.host->add_reason(call, "no data");
    return std::int32_t{BERTH_CODE_ERROR};
  };
  EXPECT_EQ(message(), "running \"Scripted\" filter plugin: no data");
  script.evaluate = [&](berth_plugin_call*, Script::Pod, const berth_plugin_nodes*, berth_plugin_columns*) {
    return std::int32_t{BERTH_PLUGIN_SKIP};
  };
  EXPECT_EQ(message(), "running \"Scripted\" filter plugin: evaluate() cannot answer Skip");
  script.evaluate = {};
  EXPECT_EQ(message(), "n0");
}

TEST(PluginAnswers, NormalizeBringsScoresIntoRange) {
  Script script = by_pool();
  script.flags = BERTH_PLUGIN_SCORES;
  script.evaluate = [&](berth_plugin_call* call, Script::Pod, const berth_plugin_nodes* nodes,
                        berth_plugin_columns* columns) {
    EXPECT_EQ(columns->codes, nullptr);
    for (std::size_t i = 0; i < nodes->count; ++i)
      columns->scores[i] = script.name(call, nodes->nodes[i]) == "n1" ? 5000 : 10;
    return kOk;
  };
  script.normalize = [](berth_plugin_call*, Script::Pod, std::int64_t* scores, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) scores[i] = scores[i] / 50;
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  for (const char* name : {"n0", "n1", "n2"}) upsert(cluster.get(), node_with(name, "x"));
  const OwnedPod pod = pod_of(cluster.get(), pod_with("p", "x"));
  EXPECT_EQ(placed(cluster.get(), pod.get()), "n1");
  script.normalize = {};  // the table still has the function, which now throws std::bad_function_call
  EXPECT_NE(
      placed(cluster.get(), pod.get()).find("running Normalize on Score plugins: plugin \"Scripted\" failed with"),
      std::string::npos);
}

TEST(PluginAnswers, PreFilterSkipsRefusesAndNamesNodes) {
  Script script = by_pool();
  script.pre_filter = [&](berth_plugin_call* call, Script::Pod pod) -> std::int32_t {
    const std::string pool = script.value(call, pod, 0);
    if (pool == "skip") return BERTH_PLUGIN_SKIP;
    if (pool == "only") {
      const berth_plugin_node* nodes[] = {script.host->find_node(call, "n1"), script.host->find_node(call, "nowhere")};
      EXPECT_EQ(nodes[1], nullptr);
      script.host->only_nodes(call, nodes, 2);
    }
    if (pool == "none") script.host->only_nodes(call, nullptr, 0);
    if (pool == "never") {
      EXPECT_EQ(script.host->node_count(call), 2u);
      script.host->add_reason(call, "never");
      script.host->add_reason(call, "ever");
      return BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    if (pool == "mute") return BERTH_CODE_UNSCHEDULABLE;
    if (pool == "odd") return -3;
    return BERTH_CODE_SUCCESS;
  };
  script.evaluate = [&](berth_plugin_call* call, Script::Pod, const berth_plugin_nodes* nodes,
                        berth_plugin_columns* columns) {
    for (std::size_t i = 0; i < nodes->count; ++i)
      if (script.name(call, nodes->nodes[i]) == "n0") refuse(script, call, columns, i, BERTH_CODE_UNSCHEDULABLE, "n0");
    return kOk;
  };
  const OwnedCluster cluster = cluster_with(script);
  upsert(cluster.get(), node_with("n0", "x"));
  upsert(cluster.get(), node_with("n1", "x"));
  const auto said = [&](const std::string& pool) {
    return checked(cluster.get(), pod_of(cluster.get(), pod_with(pool, pool)).get());
  };
  EXPECT_EQ(said("plain"), "n0=2 n0; n1=0");
  EXPECT_EQ(said("skip"), "n0=0; n1=0");
  EXPECT_EQ(said("never"), "n0=3 never, ever; n1=3 never, ever");
  EXPECT_EQ(placed(cluster.get(), pod_of(cluster.get(), pod_with("only", "only")).get()), "n1");
  const std::string text = placed(cluster.get(), pod_of(cluster.get(), pod_with("none", "none")).get());
  EXPECT_NE(text.find("node(s) didn't satisfy plugin Scripted"), std::string::npos) << text;
  EXPECT_EQ(placed(cluster.get(), pod_of(cluster.get(), pod_with("mute", "mute")).get()),
            "running PreFilter plugin \"Scripted\": it refused without a reason");
  EXPECT_EQ(placed(cluster.get(), pod_of(cluster.get(), pod_with("odd", "odd")).get()),
            "running PreFilter plugin \"Scripted\": pre_filter() answered the unknown code -3");
}

}  // namespace
}  // namespace berth::test
