/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that come, change and go. */
#include "tests/capi/embedding_world.h"

void bulk_input_is_all_or_nothing_or_partial(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  char text[4096] = "";
  uint64_t offsets[5] = {0};
  berth_status statuses[4];
  berth_bulk bulk = BERTH_BULK_INIT;
  berth_pod* pods[2] = {NULL, NULL};
  berth_error why = BERTH_ERROR_INIT;
  uint64_t before = 0, after = 0;
  const char* const parts[4] = {NULL,
                                "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"bad\"},\"spec\":7}",
                                "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"m\"}}", NULL};
  for (int i = 0; i < 4; ++i) {
    strcat(text, parts[i] != NULL ? parts[i] : pod_text(i == 0 ? "x" : "y", 1, "a", ""));
    offsets[i + 1] = strlen(text);
  }
  bulk.data = text;
  bulk.offsets = offsets;
  bulk.count = 4;
  EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &before, &error));
  EXPECT(berth_cluster_upsert_bulk(cluster, &bulk, NULL, &why) == BERTH_E_INPUT);
  EXPECT(strstr(why.object, "default/bad") != NULL);
  EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &after, &error));
  EXPECT(before == after);
  EXPECT(berth_cluster_upsert_bulk(cluster, &bulk, statuses, &why) == BERTH_PARTIAL);
  EXPECT(strcmp(why.object, "object 1") == 0);
  EXPECT(statuses[0] == BERTH_OK && statuses[1] == BERTH_E_INPUT && statuses[2] == BERTH_IGNORED &&
         statuses[3] == BERTH_OK);
  EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &after, &error));
  EXPECT(before < after);
  EXPECT_STATUS(BERTH_E_INPUT, berth_pod_create_bulk(cluster, &bulk, NULL, pods, &error));
  bulk.count = 1;
  EXPECT_STATUS(BERTH_OK, berth_pod_create_bulk(cluster, &bulk, NULL, pods, &error));
  berth_pod_free(&pods[0]);
  bulk.count = 0;
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert_bulk(cluster, &bulk, NULL, &error));
  offsets[1] = 0;
  offsets[0] = 5;
  bulk.count = 1;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_cluster_upsert_bulk(cluster, &bulk, statuses, &error));
  berth_cluster_free(&cluster);
}

/* Of a cluster with the node d alone: nodes that come and go with a commit are known as those of an upsert. */
static void committed_nodes_are_deleted_and_replaced(berth_cluster* cluster) {
  const char* const nodes[2] = {"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"e\"}}",
                                "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"f\"}}"};
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  size_t count = 0;
  for (int i = 0; i < 2; ++i)
    EXPECT_STATUS(BERTH_OK, berth_fork_add_node(fork, nodes[i], strlen(nodes[i]), NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_remove_node(fork, node_of(cluster, "d"), &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_commit(fork, NULL, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_delete(cluster, "Node", NULL, "d", NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_delete(cluster, "Node", NULL, "e", NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_replace(cluster, "Node", kNodeD, strlen(kNodeD), &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_delete(cluster, "Node", NULL, "f", NULL, &error));
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  snapshot = snapshot_of(cluster);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_nodes(snapshot, NULL, 0, &count, &error));
  EXPECT(count == 1);
  berth_snapshot_free(&snapshot);
}

void objects_are_replaced_and_deleted(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  const char* const service =
      "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\",\"namespace\":\"default\"},"
      "\"spec\":{\"selector\":{\"app\":\"x\"}}}";
  const char* const both =
      "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\",\"namespace\":\"default\"}}\n---\n"
      "kind: Node\napiVersion: v1\nmetadata:\n  name: in-yaml\n";
  berth_snapshot* snapshot;
  size_t count = 0;
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert(cluster, service, strlen(service), &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_delete(cluster, "Service", "default", "s", NULL, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_delete(cluster, "Service", "default", "s", NULL, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_cluster_delete(cluster, "Service", NULL, "s", NULL, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_cluster_delete(cluster, "Node", NULL, "a", "some-uid", &error));
  EXPECT_STATUS(BERTH_E_UNSUPPORTED, berth_cluster_delete(cluster, "ConfigMap", "default", "s", NULL, &error));
  upsert_pod(cluster, "x", 1, "a");
  upsert_pod(cluster, "y", 1, "a");
  EXPECT_STATUS(BERTH_OK, berth_cluster_delete(cluster, "Pod", "default", "x", NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_delete(cluster, "Pod", NULL, NULL, "uid-y", &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_delete(cluster, "Pod", NULL, NULL, "uid-y", &error));
  upsert_pod(cluster, "z", 1, "a");
  EXPECT_STATUS(BERTH_E_INPUT, berth_cluster_replace(cluster, "Pod", kNodeD, strlen(kNodeD), &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_replace(cluster, "Pod", NULL, 0, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_delete(cluster, "Pod", NULL, NULL, "uid-z", &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_replace(cluster, "Node", kNodeD, strlen(kNodeD), &error));
  snapshot = snapshot_of(cluster);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_nodes(snapshot, NULL, 0, &count, &error));
  EXPECT(count == 1);
  committed_nodes_are_deleted_and_replaced(cluster);
  /* A stream that begins as JSON goes on as YAML. */
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert(cluster, both, strlen(both), &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_delete(cluster, "Service", "default", "s", NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_delete(cluster, "Node", NULL, "in-yaml", NULL, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_find_node(cluster, "nobody", &(uint32_t){0}, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_node_name(cluster, 99, &(berth_str){0}, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_node_name(cluster, node_of(cluster, "a"), &(berth_str){0}, &error));
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
}
