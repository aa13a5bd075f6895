// SPDX-License-Identifier: Apache-2.0
// berth_result_json() of results with columns.

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/capi/drawn_call.h"
#include "tests/property/dice.h"
#include "tests/support/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

Json record_of(const berth_result& result) {
  berth_str text{};
  EXPECT_EQ(berth_result_json(&result, &text, nullptr), BERTH_OK);
  return Json::parse(std::string_view(text.data, text.size));
}

OwnedCluster two_nodes(const OwnedEngine& engine) {
  berth_cluster* made = nullptr;
  EXPECT_EQ(berth_cluster_create(engine.get(), &made, nullptr), BERTH_OK);
  OwnedCluster cluster(made);
  upsert(cluster.get(), node_json({.name = "roomy", .cpu = 4}));
  upsert(cluster.get(), node_json({.name = "small", .cpu = 1}));
  return cluster;
}

TEST(ResultRecord, HasTextsAndNamesInPlaceOfNumbers) {
  const OwnedEngine engine = make_engine("cpu", 7);
  const OwnedCluster cluster = two_nodes(engine);
  const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "p", .milli_cpu = 2000}));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const berth_pod* const asked = pod.get();
  berth_result* made = nullptr;
  ASSERT_EQ(berth_snapshot_check_bulk(snapshot.get(), &asked, 1, nullptr, BERTH_WITH_SCORES, &made, nullptr), BERTH_OK);
  const OwnedResult result(made);
  const Json record = record_of(*result);
  EXPECT_TRUE(matches_schema(record, "result-record"));
  EXPECT_EQ(record["release"], "1.35");
  EXPECT_EQ(record["backend"], "cpu");
  EXPECT_EQ(record["seed"], 7);
  std::uint64_t version = 0;
  ASSERT_EQ(berth_cluster_version(cluster.get(), &version, nullptr), BERTH_OK);
  EXPECT_EQ(record["version"], version);
  const Json& columns = record["columns"];
  EXPECT_EQ(columns["node"], Json({"roomy", "small"}));
  EXPECT_EQ(columns["fits"], Json({true, false}));
  EXPECT_EQ(columns["code"], Json({BERTH_CODE_SUCCESS, BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE}));
  EXPECT_EQ(columns["plugin"], Json({"", "NodeResourcesFit"}));
  EXPECT_EQ(columns["reasons"], Json({"", "Insufficient cpu"}));
  EXPECT_TRUE(columns["score"][0].is_number_integer());
  EXPECT_TRUE(columns["score"][1].is_null());
}

TEST(ResultRecord, OfAPodWithoutANodeHasNone) {
  const OwnedEngine engine = make_engine("cpu", 1);
  const OwnedCluster cluster = two_nodes(engine);
  const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "p", .milli_cpu = 9000}));
  const OwnedFork fork = fork_of(snapshot_of(cluster.get()).get());
  const berth_pod* const asked = pod.get();
  berth_result* made = nullptr;
  ASSERT_EQ(berth_fork_schedule(fork.get(), &asked, 1, nullptr, &made, nullptr), BERTH_OK);
  const OwnedResult result(made);
  const Json columns = record_of(*result)["columns"];
  EXPECT_EQ(columns["node"], Json::array({nullptr}));
  EXPECT_EQ(columns["message"][0].get<std::string>().substr(0, 22), "0/2 nodes are availabl");
}

TEST(ResultRecord, IsOneForAllThreadsThatAsk) {
  const OwnedEngine engine = make_engine("cpu", 1);
  const OwnedCluster cluster = two_nodes(engine);
  const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "p", .milli_cpu = 1}));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const std::vector<const berth_pod*> asked(200, pod.get());
  berth_result* made = nullptr;
  ASSERT_EQ(berth_snapshot_check_bulk(snapshot.get(), asked.data(), asked.size(), nullptr, 0, &made, nullptr),
            BERTH_OK);
  const OwnedResult result(made);
  std::uint64_t without = 0;
  ASSERT_EQ(berth_result_memory(result.get(), &without, nullptr), BERTH_OK);
  std::vector<berth_str> texts(4);
  std::vector<std::thread> threads;
  for (berth_str& text : texts) threads.emplace_back([&] { berth_result_json(result.get(), &text, nullptr); });
  for (std::thread& thread : threads) thread.join();
  for (const berth_str& text : texts) EXPECT_EQ(text.data, texts.front().data);
  std::uint64_t with = 0;
  ASSERT_EQ(berth_result_memory(result.get(), &with, nullptr), BERTH_OK);
  EXPECT_GE(with, without + texts.front().size);
}

TEST(ResultRecord, IsAsItsSchemaSaysOfEachVerb) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  std::set<std::string> columns_seen;
  for (std::uint64_t seed = first; seed < first + setting("BERTH_SEQUENCES", 20); ++seed) {
    Dice dice(seed);
    World world("cpu", seed);
    for (int i = 0; i < kNodes - 1; ++i) upsert(world.cluster.get(), node_json({"n" + std::to_string(i), 4, i % 3}));
    constexpr std::uint64_t kFirstCalls[] = {4, 4, 4, 4, 4, 4, 7, 8, 8, 8};
    for (std::size_t i = 0; i < 100; ++i) {
      Call call(dice, i < std::size(kFirstCalls) ? kFirstCalls[i] : below(dice, kCallKinds));
      call.on_result = [&](const berth_result& result) {
        berth_str text{};
        if (berth_result_json(&result, &text, nullptr) != BERTH_OK) return;  // an explanation that was stopped
        const Json record = Json::parse(std::string_view(text.data, text.size));
        const bool has_columns = record.contains("columns");
        EXPECT_TRUE(matches_schema(record, has_columns ? "result-record" : "explain-record"))
            << "seed " << seed << ", call " << i;
        if (!has_columns) return;
        for (const auto& [name, values] : record["columns"].items()) columns_seen.insert(name);
      };
      call.make(world);
    }
  }
  for (const char* const name :
       {"score", "victim", "count_of_value", "try_taken", "owner", "new_node", "target", "price"})
    EXPECT_TRUE(columns_seen.contains(name)) << name;
}

}  // namespace
}  // namespace berth::test
