/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/capi/embedding_world.h"

int failures = 0;

const char* const kNodes =
    "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"},"
    "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\"}}},"
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"b\",\"labels\":{\"disk\":\"ssd\"}},"
    "\"spec\":{\"unschedulable\":true},"
    "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"10\"}}},"
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\"},"
    "\"status\":{\"allocatable\":{\"cpu\":\"2\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}]}";
const char* const kNodeD =
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"d\"},"
    "\"status\":{\"allocatable\":{\"cpu\":\"16\",\"memory\":\"64Gi\",\"pods\":\"10\"}}}";

const char* pod_text(const char* name, int cpus, const char* node, const char* more) {
  static char text[1024];
  char bound[64] = "";
  if (node != NULL) snprintf(bound, sizeof bound, "\"nodeName\":\"%s\",", node);
  snprintf(text, sizeof text,
           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":"
           "\"uid-%s\"},"
           "\"spec\":{%s%s\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%d\",\"memory\":"
           "\"1Gi\"}}}]}}",
           name, name, bound, more, cpus);
  return text;
}

berth_engine* engine_of(const char* backend) {
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* engine = NULL;
  options.backend = backend;
  options.threads = 2;
  options.engine_config = "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\ntieBreak: first\n";
  EXPECT_STATUS(BERTH_OK, berth_engine_create(&options, &engine, &error));
  return engine;
}

berth_cluster* cluster_of(const char* backend) {
  berth_engine* engine = engine_of(backend);
  berth_cluster* cluster = NULL;
  EXPECT_STATUS(BERTH_OK, berth_cluster_create(engine, &cluster, &error));
  berth_engine_free(&engine);
  EXPECT(engine == NULL);
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert(cluster, kNodes, strlen(kNodes), &error));
  return cluster;
}

uint32_t node_of(berth_cluster* cluster, const char* name) {
  uint32_t node = BERTH_NO_NODE;
  EXPECT_STATUS(BERTH_OK, berth_cluster_find_node(cluster, name, &node, &error));
  return node;
}

berth_pod* make_pod(berth_cluster* cluster, const char* name, int cpus, const char* more) {
  berth_pod* pod = NULL;
  const char* text = pod_text(name, cpus, NULL, more);
  EXPECT_STATUS(BERTH_OK, berth_pod_create(cluster, text, strlen(text), NULL, &pod, &error));
  return pod;
}

void upsert_pod(berth_cluster* cluster, const char* name, int cpus, const char* node) {
  const char* text = pod_text(name, cpus, node, "");
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert(cluster, text, strlen(text), &error));
}

berth_snapshot* snapshot_of(berth_cluster* cluster) {
  berth_snapshot* snapshot = NULL;
  EXPECT_STATUS(BERTH_OK, berth_snapshot_create(cluster, &snapshot, &error));
  return snapshot;
}

berth_fork* fork_of(const berth_snapshot* snapshot) {
  berth_fork* fork = NULL;
  EXPECT_STATUS(BERTH_OK, berth_snapshot_fork(snapshot, &fork, &error));
  return fork;
}

const void* column(const berth_result* result, uint32_t id, uint32_t type, size_t length) {
  berth_column view = {NULL, 0, 0, 0, 0};
  EXPECT_STATUS(BERTH_OK, berth_result_column(result, id, &view, &error));
  EXPECT(view.type == type);
  EXPECT(view.length == length);
  return view.data;
}

const char* text_at(const berth_result* result, uint32_t id, size_t i, size_t length) {
  const uint32_t* numbers = column(result, id, BERTH_TYPE_U32, length);
  berth_str text = {"", 0};
  EXPECT_STATUS(BERTH_OK, berth_result_text(result, numbers[i], &text, &error));
  EXPECT(text.data[text.size] == '\0');
  return text.data;
}
