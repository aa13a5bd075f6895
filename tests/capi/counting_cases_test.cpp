// SPDX-License-Identifier: Apache-2.0
// max_replicas: what is not judged, deadlines, wrong arguments.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/capi/counting_world.h"

namespace berth::test {
namespace {

/// A cluster of two empty nodes with room for three pods of a CPU each.
struct Small {
  explicit Small(const char* backend = "cpu") : world(backend, 1) {
    for (int n = 0; n < 2; ++n) world.upsert(node_json({.name = "n" + std::to_string(n), .cpu = 3, .zone = n}));
    snapshot = world.snapshot();
  }
  CountingWorld world;
  OwnedSnapshot snapshot;
};

TEST(Counting, ASnapshotAnswersAndStaysAsItIs) {
  Small small;
  const Asked asked{.shapes = {{.name = "p", .milli_cpu = 1000}}, .set = {}, .flags = 0};
  for (int round = 0; round < 2; ++round) {
    const OwnedResult result = max_replicas(small.world, nullptr, small.snapshot.get(), asked, true);
    EXPECT_EQ(column_of<std::int64_t>(*result, BERTH_COLUMN_COUNT), std::vector<std::int64_t>{6});
    EXPECT_EQ(column_of<std::int32_t>(*result, BERTH_COLUMN_COUNT_ON_NODE), (std::vector<std::int32_t>{3, 3}));
  }
}

/// Two zones of two empty nodes each: four copies of half a CPU a node, on the last one two.
TEST(Counting, EachKindOfInterplayHasItsNumber) {
  const std::vector<std::pair<PodShape, std::int64_t>> cases = {
      {{.name = "plain"}, 14},
      {{.name = "port", .has_port = true}, 4},
      {{.name = "zone", .wants_zone = 1}, 6},
      {{.name = "nothing", .milli_cpu = 0, .memory_mib = 0}, 48},
      {{.name = "host", .alone = true}, 4},
      {{.name = "apart", .apart_in_zone = true}, 2},
      {{.name = "both", .alone = true, .apart_in_zone = true}, 2},
      {{.name = "spread", .spreads = true}, 13},
      {{.name = "hosts", .spreads_hosts = true}, 11},
      {{.name = "spread-port", .spreads = true, .has_port = true}, 4},
      {{.name = "spread-host", .spreads = true, .alone = true}, 4},
      {{.name = "spread-apart", .spreads = true, .apart_in_zone = true}, 2},
      {{.name = "far", .near_app = 9}, 0},
  };
  for (const char* const backend : {"cpu", "reference"}) {
    CountingWorld world(backend, 1);
    for (int n = 0; n < 4; ++n)
      world.upsert(node_json({.name = "n" + std::to_string(n), .cpu = n == 3 ? 1 : 2, .zone = n / 2}));
    Asked asked;
    for (const auto& [shape, count] : cases) asked.shapes.push_back(shape);
    asked.shapes.push_back({.name = "together", .together = true});
    for (const bool per_node : {false, true}) {
      const OwnedResult result = max_replicas(world, nullptr, world.snapshot().get(), asked, per_node);
      const auto counts = column_of<std::int64_t>(*result, BERTH_COLUMN_COUNT);
      for (std::size_t i = 0; i < cases.size(); ++i)
        EXPECT_EQ(counts[i], cases[i].second) << cases[i].first.name << ", " << backend << ", per node " << per_node;
      EXPECT_TRUE(counts.back() == 6 || counts.back() == 8) << counts.back() << ": those of one zone, " << backend;
    }
  }
}

TEST(Counting, ManyCopiesThatHaveToBePlacedAreCounted) {
  CountingWorld world("cpu", 1);
  for (int n = 0; n < 4; ++n)
    world.upsert(node_json({.name = "n" + std::to_string(n), .zone = n / 2, .pods = n == 3 ? 2000 : 2500}));
  const PodShape shape{.name = "p", .milli_cpu = 0, .spreads = true, .spreads_hosts = true, .memory_mib = 0};
  const Asked asked{.shapes = {shape}, .set = {}, .flags = 0};
  const OwnedResult result = max_replicas(world, nullptr, world.snapshot().get(), asked, true);
  EXPECT_EQ(column_of<std::int64_t>(*result, BERTH_COLUMN_COUNT).front(), 8003);
  EXPECT_EQ(column_of<std::int32_t>(*result, BERTH_COLUMN_COUNT_ON_NODE),
            (std::vector<std::int32_t>{2001, 2001, 2001, 2000}));
}

TEST(Counting, WhatIsNotJudgedHasNoCopies) {
  for (const char* const backend : {"cpu", "reference"}) {
    Small small(backend);
    const Asked asked{.shapes = {{.name = "p", .has_claim = true}, {.name = "q"}}, .set = {}, .flags = 0};
    const OwnedResult result = max_replicas(small.world, nullptr, small.snapshot.get(), asked, true);
    EXPECT_EQ(column_of<std::int64_t>(*result, BERTH_COLUMN_COUNT), (std::vector<std::int64_t>{0, 12}));
    EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_JUDGED),
              (std::vector<std::uint8_t>{BERTH_JUDGED_NOT, BERTH_JUDGED}));
    berth_str plugin{}, reasons{};
    ASSERT_EQ(
        berth_result_text(result.get(), column_of<std::uint32_t>(*result, BERTH_COLUMN_PLUGIN)[0], &plugin, nullptr),
        BERTH_OK);
    ASSERT_EQ(
        berth_result_text(result.get(), column_of<std::uint32_t>(*result, BERTH_COLUMN_REASONS)[0], &reasons, nullptr),
        BERTH_OK);
    EXPECT_STREQ(plugin.data, "DynamicResources");
    EXPECT_NE(std::string(reasons.data).find("spec.resourceClaims"), std::string::npos) << reasons.data;
  }
}

TEST(Counting, ALateCallAnswersAPrefix) {
  Small small;
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> shapes;
  for (int i = 0; i < 3000; ++i)
    shapes.push_back(
        pods.emplace_back(
                small.world.pod({.name = "p" + std::to_string(i), .app = i, .spreads = true, .spreads_hosts = true}))
            .get());
  berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
  options.deadline_us = 1;
  berth_result* made = nullptr;
  ASSERT_EQ(berth_snapshot_max_replicas(small.snapshot.get(), shapes.data(), shapes.size(), &options, &made, nullptr),
            BERTH_DEADLINE);
  const OwnedResult result(made);
  const auto counts = column_of<std::int64_t>(*result, BERTH_COLUMN_COUNT);
  ASSERT_GE(counts.size(), 1u);
  EXPECT_LT(counts.size(), shapes.size());
  for (const std::int64_t count : counts) EXPECT_EQ(count, 12);
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_JUDGED).size(), counts.size());
}

TEST(Counting, WrongArgumentsAreRefusedAndChangeNothing) {
  Small small, other;
  const OwnedPod pod = small.world.pod({.name = "p"});
  const OwnedPod of_other = other.world.pod({.name = "p"});
  const berth_pod* const shape = pod.get();
  const berth_pod* const foreign = of_other.get();
  const berth_pod* const none = nullptr;
  auto* const untouched = reinterpret_cast<berth_result*>(&small);
  berth_result* result = untouched;
  const auto status_with = [&](const berth_pod* const* shapes, std::size_t count,
                               const berth_max_replicas_options* options) {
    berth_error error = BERTH_ERROR_INIT;
    const berth_status status =
        berth_snapshot_max_replicas(small.snapshot.get(), shapes, count, options, &result, &error);
    if (status < 0) {
      EXPECT_EQ(error.code, status);
      EXPECT_EQ(result, untouched);
    } else {
      berth_result_free(&result);
      result = untouched;
    }
    return status;
  };
  EXPECT_EQ(status_with(nullptr, 0, nullptr), BERTH_OK);
  EXPECT_EQ(status_with(&shape, 1, nullptr), BERTH_OK);
  EXPECT_EQ(status_with(nullptr, 1, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(status_with(&none, 1, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(status_with(&foreign, 1, nullptr), BERTH_E_ARGUMENT);
  const char* const keys[] = {"a", "b", "c", "d", "e"};
  const char* const empty[] = {"a", ""};
  const char* const null_key[] = {nullptr};
  const auto with = [&](auto change) {
    berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
    change(options);
    return status_with(&shape, 1, &options);
  };
  EXPECT_EQ(with([&](auto& o) { o.keys = keys, o.key_count = 4; }), BERTH_OK);
  EXPECT_EQ(with([&](auto& o) { o.keys = keys, o.key_count = 5; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([&](auto& o) { o.keys = empty, o.key_count = 2; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([&](auto& o) { o.keys = null_key, o.key_count = 1; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([&](auto& o) { o.key_count = 1; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.flags = BERTH_NO_REASONS; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.per_node = 2; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.reserved = 1; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.struct_size = 1; }), BERTH_E_STRUCT_SIZE);
  const OwnedNodeSet set = node_set(other.world, {0});
  EXPECT_EQ(with([&](auto& o) { o.nodes = set.get(); }), BERTH_E_ARGUMENT);
  EXPECT_EQ(berth_snapshot_max_replicas(nullptr, &shape, 1, nullptr, &result, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(berth_fork_max_replicas(nullptr, &shape, 1, nullptr, &result, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(berth_snapshot_max_replicas(small.snapshot.get(), &shape, 1, nullptr, nullptr, nullptr), BERTH_E_ARGUMENT);
}

TEST(Counting, AProfileWithoutResourcesHasNoEnd) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.backend = "cpu";
  options.scheduler_config =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]\n";
  berth_engine* engine = nullptr;
  ASSERT_EQ(berth_engine_create(&options, &engine, nullptr), BERTH_OK);
  const OwnedEngine owned(engine);
  CountingWorld world("cpu", 1);
  berth_cluster* made = nullptr;
  ASSERT_EQ(berth_cluster_create(engine, &made, nullptr), BERTH_OK);
  world.cluster.reset(made);
  world.upsert(node_json({.name = "n0"}));
  const OwnedSnapshot snapshot = world.snapshot();
  const OwnedPod pod = world.pod({.name = "p"});
  const berth_pod* const shape = pod.get();
  berth_result* result = nullptr;
  EXPECT_EQ(berth_snapshot_max_replicas(snapshot.get(), &shape, 1, nullptr, &result, nullptr), BERTH_E_UNSUPPORTED);
}

}  // namespace
}  // namespace berth::test
