/* SPDX-License-Identifier: Apache-2.0 */
/* What handles hold, and a cap on it. */

#include "tests/capi/embedding_world.h"

static void expect_some(uint64_t bytes) { EXPECT(bytes > 0 && bytes < (uint64_t)64 << 20); }

void handles_tell_what_they_hold(const char* backend) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* engine = NULL;
  berth_cluster* cluster = NULL;
  berth_snapshot* snapshot;
  berth_fork* fork;
  berth_pod* pod;
  berth_node_set* set = NULL;
  berth_result* result = NULL;
  const berth_pod* asked[1];
  uint32_t node = 0;
  uint64_t bytes = 0;
  uint64_t with_result = 0;
  options.backend = backend;
  options.max_memory_bytes = (uint64_t)64 << 20;
  EXPECT_STATUS(BERTH_OK, berth_engine_create(&options, &engine, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_create(engine, &cluster, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert(cluster, kNodes, strlen(kNodes), &error));
  pod = make_pod(cluster, "p", 1, "");
  snapshot = snapshot_of(cluster);
  fork = fork_of(snapshot);
  asked[0] = pod;
  node = node_of(cluster, "a");
  EXPECT_STATUS(BERTH_OK, berth_node_set_create(cluster, &node, 1, &set, &error));
  EXPECT_STATUS(BERTH_OK, berth_engine_memory(engine, &bytes, &error));
  expect_some(bytes);
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, NULL, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_engine_memory(engine, &with_result, &error));
  EXPECT(with_result > bytes);
  EXPECT_STATUS(BERTH_OK, berth_cluster_memory(cluster, &bytes, &error));
  expect_some(bytes);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_memory(snapshot, &bytes, &error));
  expect_some(bytes);
  EXPECT_STATUS(BERTH_OK, berth_fork_memory(fork, &bytes, &error));
  expect_some(bytes);
  EXPECT_STATUS(BERTH_OK, berth_pod_memory(pod, &bytes, &error));
  expect_some(bytes);
  EXPECT_STATUS(BERTH_OK, berth_node_set_memory(set, &bytes, &error));
  expect_some(bytes);
  EXPECT_STATUS(BERTH_OK, berth_result_memory(result, &bytes, &error));
  expect_some(bytes);
  berth_result_free(&result);
  berth_node_set_free(&set);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
  EXPECT_STATUS(BERTH_OK, berth_engine_memory(engine, &bytes, &error));
  EXPECT(bytes == 0);
  berth_engine_free(&engine);

  engine = engine_of(backend);
  EXPECT_STATUS(BERTH_E_STATE, berth_engine_memory(engine, &bytes, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_engine_memory(engine, NULL, &error));
  berth_engine_free(&engine);
}
