// SPDX-License-Identifier: Apache-2.0
// The scale-up estimate: shapes that copy nodes, what shapes and pods have in common, what is refused.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/capi/answers.h"

namespace berth::test {
namespace {

class ScaleUpCases : public testing::TestWithParam<const char*> {};

berth_shape shape_of(const std::string& node) {
  berth_shape shape = BERTH_SHAPE_INIT;
  shape.node = node.data();
  shape.node_size = node.size();
  return shape;
}

OwnedResult estimate(const berth_snapshot* snapshot, const std::vector<const berth_pod*>& pods,
                     const std::vector<const berth_shape*>& shapes) {
  berth_result* result = nullptr;
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_snapshot_scale_up(snapshot, pods.data(), pods.size(), shapes.data(), shapes.size(), nullptr, &result,
                                    &error),
            BERTH_OK)
      << error.object << ": " << error.text;
  return OwnedResult(result);
}

TEST_P(ScaleUpCases, CopiesANodeWithItsDaemonsAndWithoutItsStartUpTaints) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  upsert(cluster.get(), node_json({.name = "old", .cpu = 4, .cordoned = true, .tainted = true}));
  std::string daemon = pod_json({.name = "d", .milli_cpu = 1000, .node = "old"});
  daemon.insert(
      daemon.find("\"metadata\":{") + 12,
      R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"u","controller":true}],)");
  upsert(cluster.get(), daemon);
  upsert(cluster.get(), pod_json({.name = "other", .milli_cpu = 3000, .node = "old"}));
  const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "p", .milli_cpu = 2500}));
  const OwnedPod too_big = pod_of(cluster.get(), pod_json({.name = "q", .milli_cpu = 3500}));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  berth_shape shape = BERTH_SHAPE_INIT;
  shape.copy_of = node_number(cluster.get(), "old");
  const auto tainted = estimate(snapshot.get(), {pod.get()}, {&shape});
  EXPECT_EQ(texts_of(*tainted, BERTH_COLUMN_PLUGIN), std::vector<std::string>{"TaintToleration"});
  EXPECT_EQ(values_of<std::uint32_t>(*tainted, BERTH_COLUMN_NODE_COUNT), std::vector<std::uint32_t>{0});
  const char* const taint = "t";
  shape.startup_taints = &taint;
  shape.startup_taint_count = 1;
  const auto bare = estimate(snapshot.get(), {pod.get(), too_big.get()}, {&shape});
  EXPECT_EQ(values_of<std::uint32_t>(*bare, BERTH_COLUMN_NEW_NODE), (std::vector<std::uint32_t>{0, 1}));
  shape.flags = BERTH_SHAPE_WITH_PODS_OF_NODE;
  const auto with_daemon = estimate(snapshot.get(), {pod.get(), too_big.get()}, {&shape});
  EXPECT_EQ(values_of<std::uint32_t>(*with_daemon, BERTH_COLUMN_NEW_NODE),
            (std::vector<std::uint32_t>{0, BERTH_NO_NODE}));
  EXPECT_EQ(texts_of(*with_daemon, BERTH_COLUMN_REASONS)[1], "Insufficient cpu");
  EXPECT_EQ(texts_of(*with_daemon, BERTH_COLUMN_RESOURCE),
            (std::vector<std::string>{"cpu", "memory", "ephemeral-storage", "pods"}));
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  EXPECT_EQ(values_of<std::int64_t>(*with_daemon, BERTH_COLUMN_REQUESTED),
            (std::vector<std::int64_t>{3500, 2 * kGiB, 0, 2}));
  EXPECT_EQ(values_of<std::int64_t>(*with_daemon, BERTH_COLUMN_ALLOCATABLE),
            (std::vector<std::int64_t>{4000, 16 * kGiB, 0, 12}));
}

TEST_P(ScaleUpCases, ShapesThatDifferInNamesAloneHaveOneNumber) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "p", .milli_cpu = 2500}));
  const std::vector<std::string> nodes = {node_json({.name = "a"}), node_json({.name = "b"}),
                                          node_json({.name = "c", .cpu = 2}), node_json({.name = "d"})};
  std::vector<berth_shape> shapes;
  for (const std::string& node : nodes) shapes.push_back(shape_of(node));
  const berth_amount no_pods = {"pods", 0};
  shapes[3].caps = &no_pods;  // of one number with the first, and another answer
  shapes[3].cap_count = 1;
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const auto result = estimate(snapshot.get(), {pod.get()}, {&shapes[0], &shapes[1], &shapes[2], &shapes[3]});
  EXPECT_EQ(values_of<std::uint32_t>(*result, BERTH_COLUMN_SHAPE), (std::vector<std::uint32_t>{0, 0, 2, 0}));
  EXPECT_EQ(values_of<std::uint32_t>(*result, BERTH_COLUMN_NODE_COUNT), (std::vector<std::uint32_t>{1, 1, 0, 0}));
  EXPECT_EQ(values_of<std::uint8_t>(*result, BERTH_COLUMN_CAP),
            (std::vector<std::uint8_t>{BERTH_CAP_NONE, BERTH_CAP_NONE, BERTH_CAP_NONE, BERTH_CAP_RESOURCE}));
  EXPECT_EQ(texts_of(*result, BERTH_COLUMN_CAP_RESOURCE)[3], "pods");
}

TEST_P(ScaleUpCases, CountsPodsByClass) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  upsert(cluster.get(), node_json({.name = "n"}));
  upsert(cluster.get(), pod_json({.name = "d", .milli_cpu = 1500, .node = "n"}));
  const std::vector<PodShape> given = {{.name = "a", .milli_cpu = 1500},
                                       {.name = "b", .milli_cpu = 2500},
                                       {.name = "c", .milli_cpu = 1500},
                                       {.name = "d", .milli_cpu = 1500, .node = "n"},
                                       {.name = "e", .milli_cpu = 1500, .app = 1}};
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> list;
  for (const PodShape& pod : given) list.push_back(pods.emplace_back(pod_of(cluster.get(), pod_json(pod))).get());
  const std::vector<std::string> nodes = {node_json({.name = "s", .cpu = 2}), node_json({.name = "t", .cpu = 4})};
  const std::vector<berth_shape> shapes = {shape_of(nodes[0]), shape_of(nodes[1])};
  const std::vector<const berth_shape*> asked = {&shapes[0], &shapes[1]};
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  berth_scale_up_options options = BERTH_SCALE_UP_OPTIONS_INIT;
  options.flags = BERTH_AS_MOVED;
  berth_result* result = nullptr;
  ASSERT_EQ(berth_snapshot_scale_up(snapshot.get(), list.data(), list.size(), asked.data(), asked.size(), &options,
                                    &result, nullptr),
            BERTH_OK);
  const OwnedResult owned(result);
  EXPECT_EQ(values_of<std::uint32_t>(*result, BERTH_COLUMN_POD_CLASS), (std::vector<std::uint32_t>{0, 1, 0, 0, 2}));
  EXPECT_EQ(values_of<std::uint32_t>(*result, BERTH_COLUMN_PLACED_OF_CLASS),
            (std::vector<std::uint32_t>{3, 0, 1, 3, 1, 1}));
}

TEST_P(ScaleUpCases, NewNodesAreNotNumbered) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "p"}));
  const std::string node = node_json({.name = "t"});
  const berth_shape shape = shape_of(node);
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  estimate(snapshot.get(), {pod.get()}, {&shape});
  berth_str name{};
  EXPECT_EQ(berth_cluster_node_name(cluster.get(), 0, &name, nullptr), BERTH_E_NOT_FOUND);
}

TEST_P(ScaleUpCases, RefusesWhatMakesNoSense) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  upsert(cluster.get(), node_json({.name = "n"}));
  upsert(cluster.get(), pod_json({.name = "runs", .node = "n"}));
  const OwnedPod runs = pod_of(cluster.get(), pod_json({.name = "runs"}));
  const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "p"}));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const std::string node = node_json({.name = "t"});
  const auto ask = [&](std::vector<const berth_pod*> pods, const berth_shape& shape, std::uint32_t flags = 0) {
    berth_scale_up_options options = BERTH_SCALE_UP_OPTIONS_INIT;
    options.flags = flags;
    const berth_shape* const pointer = &shape;
    berth_result* result = nullptr;
    const berth_status status =
        berth_snapshot_scale_up(snapshot.get(), pods.data(), pods.size(), &pointer, 1, &options, &result, nullptr);
    EXPECT_EQ(result == nullptr, status < 0);
    berth_result_free(&result);
    return status;
  };
  berth_shape shape = shape_of(node);
  EXPECT_EQ(ask({pod.get()}, shape), BERTH_OK);
  EXPECT_EQ(ask({}, shape), BERTH_OK);
  EXPECT_EQ(ask({runs.get()}, shape), BERTH_E_EXISTS);
  EXPECT_EQ(ask({pod.get(), pod.get()}, shape), BERTH_E_ARGUMENT);
  EXPECT_EQ(ask({pod.get()}, shape, BERTH_STOP_AT_FAILURE), BERTH_E_ARGUMENT);
  shape.flags = BERTH_SHAPE_WITH_PODS_OF_NODE;
  EXPECT_EQ(ask({pod.get()}, shape), BERTH_E_ARGUMENT);
  shape = BERTH_SHAPE_INIT;
  shape.copy_of = 7;
  EXPECT_EQ(ask({pod.get()}, shape), BERTH_E_NOT_FOUND);
  const std::string no_node = "{}";
  EXPECT_EQ(ask({pod.get()}, shape_of(no_node)), BERTH_E_INPUT);
  shape = shape_of(node);
  shape.price = -1;
  EXPECT_EQ(ask({pod.get()}, shape), BERTH_E_ARGUMENT);
  shape.price = 0;
  shape.struct_size = 0;
  EXPECT_EQ(ask({pod.get()}, shape), BERTH_E_STRUCT_SIZE);
}

INSTANTIATE_TEST_SUITE_P(All, ScaleUpCases, testing::Values("cpu", "reference"));

}  // namespace
}  // namespace berth::test
