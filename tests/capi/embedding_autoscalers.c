/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of autoscalers, from C. */

#include "tests/capi/embedding_world.h"

static const char* const kShapeText =
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"shape\"},"
    "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}";

void estimates_new_nodes(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_pod* pods[3] = {make_pod(cluster, "s0", 3, ""), make_pod(cluster, "s1", 3, ""), make_pod(cluster, "s2", 5, "")};
  berth_shape shape = BERTH_SHAPE_INIT;
  const berth_shape* const shapes[1] = {&shape};
  const berth_pod* const asked[3] = {pods[0], pods[1], pods[2]};
  berth_result* result = NULL;
  const uint32_t* new_nodes;
  shape.node = kShapeText;
  shape.node_size = strlen(kShapeText);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_scale_up(snapshot, asked, 3, shapes, 1, NULL, &result, &error));
  new_nodes = column(result, BERTH_COLUMN_NEW_NODE, BERTH_TYPE_U32, 3);
  EXPECT(new_nodes[0] == 0 && new_nodes[1] == 1 && new_nodes[2] == BERTH_NO_NODE);
  EXPECT(*(const uint32_t*)column(result, BERTH_COLUMN_NODE_COUNT, BERTH_TYPE_U32, 1) == 2);
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_REASONS, 2, 3), "Insufficient cpu") == 0);
  berth_result_free(&result);
  shape.max_nodes = 1;
  EXPECT_STATUS(BERTH_OK, berth_fork_scale_up(fork, asked, 3, shapes, 1, NULL, &result, &error));
  EXPECT(*(const uint8_t*)column(result, BERTH_COLUMN_CAP, BERTH_TYPE_U8, 1) == BERTH_CAP_NODES);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_scale_up(fork, asked, 3, NULL, 1, NULL, &result, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_scale_up(fork, NULL, 3, shapes, 1, NULL, &result, &error));
  berth_pod_free(&pods[0]);
  berth_pod_free(&pods[1]);
  berth_pod_free(&pods[2]);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
}

void drains_and_replaces_nodes(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_snapshot* snapshot;
  berth_fork* fork;
  berth_shape shape = BERTH_SHAPE_INIT;
  const berth_shape* const shapes[1] = {&shape};
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  berth_result* result = NULL;
  berth_node_set* nowhere = NULL;
  uint32_t node;
  upsert_pod(cluster, "lone", 1, "a");
  snapshot = snapshot_of(cluster);
  fork = fork_of(snapshot);
  node = node_of(cluster, "a");
  EXPECT_STATUS(BERTH_OK, berth_snapshot_drain(snapshot, &node, 1, NULL, &result, &error));
  EXPECT(*(const uint8_t*)column(result, BERTH_COLUMN_REMOVABLE, BERTH_TYPE_U8, 1) == 0);
  EXPECT(*(const uint8_t*)column(result, BERTH_COLUMN_RULE, BERTH_TYPE_U8, 1) == BERTH_RULE_NO_CONTROLLER);
  berth_result_free(&result);
  options.rules_off = 1u << BERTH_RULE_NO_CONTROLLER;
  EXPECT_STATUS(BERTH_OK, berth_fork_drain(fork, &node, 1, &options, &result, &error));
  EXPECT(*(const uint8_t*)column(result, BERTH_COLUMN_REMOVABLE, BERTH_TYPE_U8, 1) == 1);
  EXPECT(*(const uint32_t*)column(result, BERTH_COLUMN_TARGET, BERTH_TYPE_U32, 1) != BERTH_NO_NODE);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_node_set_create(cluster, NULL, 0, &nowhere, &error));
  options.nodes = nowhere;
  shape.node = kShapeText;
  shape.node_size = strlen(kShapeText);
  shape.price = 7;
  EXPECT_STATUS(BERTH_OK, berth_snapshot_replace(snapshot, &node, 1, &options, shapes, 1, 1, &result, &error));
  EXPECT(*(const uint8_t*)column(result, BERTH_COLUMN_REMOVABLE, BERTH_TYPE_U8, 1) == 1);
  EXPECT(*(const int64_t*)column(result, BERTH_COLUMN_PRICE, BERTH_TYPE_I64, 1) == 7);
  EXPECT(*(const uint32_t*)column(result, BERTH_COLUMN_NEW_NODE, BERTH_TYPE_U32, 1) == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_replace(fork, &node, 1, &options, shapes, 1, 0, &result, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_drain(fork, NULL, 1, &options, &result, &error));
  berth_node_set_free(&nowhere);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
}
