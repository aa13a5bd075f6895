/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots and forks. */
#include "tests/capi/embedding_world.h"

void a_snapshot_stays_as_it_was(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pod = make_pod(cluster, "p", 3, "");
  berth_snapshot* before = snapshot_of(cluster);
  berth_snapshot* after;
  const uint32_t a = node_of(cluster, "a");
  uint64_t first = 0, second = 0;
  size_t count = 0;
  uint32_t nodes[2];
  int32_t fits = -1;
  upsert_pod(cluster, "old", 3, "a");
  EXPECT_STATUS(BERTH_OK, berth_cluster_delete(cluster, "Node", NULL, "c", NULL, &error));
  after = snapshot_of(cluster);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(before, pod, a, 0, &fits, NULL, &error));
  EXPECT(fits == 1);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(after, pod, a, 0, &fits, NULL, &error));
  EXPECT(fits == 0);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_version(before, &first, &error));
  EXPECT_STATUS(BERTH_OK, berth_snapshot_version(after, &second, &error));
  EXPECT(first < second);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_nodes(before, NULL, 0, &count, &error));
  EXPECT(count == 3);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_nodes(after, nodes, 2, &count, &error));
  EXPECT(count == 2 && nodes[0] == a);
  EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &first, &error));
  EXPECT(first == second);
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert(cluster, kNodes, 0, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &first, &error));
  EXPECT(first == second);
  berth_snapshot_free(&before);
  berth_snapshot_free(&after);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
}

void forks_place_revert_and_commit(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pods[3] = {make_pod(cluster, "p0", 3, ""), make_pod(cluster, "p1", 2, ""), make_pod(cluster, "p2", 3, "")};
  const berth_pod* asked[3] = {pods[0], pods[1], pods[2]};
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork *fork = fork_of(snapshot), *child = NULL, *late = fork_of(snapshot);
  berth_result* result = NULL;
  berth_str text = {"", 0};
  const uint32_t a = node_of(cluster, "a"), c = node_of(cluster, "c");
  const uint32_t* nodes;
  uint32_t node = 0;
  uint64_t version = 0, now = 0;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 3, NULL, &result, &error));
  nodes = column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 3);
  EXPECT(nodes[0] == a && nodes[1] == c && nodes[2] == BERTH_NO_NODE);
  EXPECT(strncmp(text_at(result, BERTH_COLUMN_MESSAGE, 2, 3), "0/3 nodes are available: ", 25) == 0);
  EXPECT(((const int64_t*)column(result, BERTH_COLUMN_SCORE, BERTH_TYPE_I64, 3))[2] == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_E_EXISTS, berth_fork_schedule(fork, asked, 1, NULL, &result, &error));

  EXPECT_STATUS(BERTH_OK, berth_fork_fork(fork, &child, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_unschedule(child, pods[0], &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_fork_unschedule(child, pods[0], &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(child, asked + 2, 1, NULL, &result, &error));
  EXPECT(((const uint32_t*)column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 1))[0] == a);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_revert(child, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_node_of_pod(child, "uid-p0", &node, &error));
  EXPECT(node == a);
  EXPECT_STATUS(BERTH_OK, berth_fork_remove_pod(child, "uid-p1", &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_commit(child, &version, &error));
  EXPECT_STATUS(BERTH_E_STATE, berth_fork_revert(child, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_node_of_pod(fork, "uid-p1", &node, &error));
  EXPECT(node == BERTH_NO_NODE);
  berth_fork_free(&child);

  EXPECT_STATUS(BERTH_OK, berth_fork_commit(fork, &version, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &now, &error));
  EXPECT(version == now);
  EXPECT_STATUS(BERTH_OK, berth_fork_add_pod(late, pods[1], c, &error));
  EXPECT_STATUS(BERTH_E_STALE, berth_fork_commit(late, NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_node_of_pod(late, "uid-p1", &node, &error));
  EXPECT(node == c);
  EXPECT_STATUS(BERTH_E_EXISTS, berth_cluster_assume(cluster, pods[0], a, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_forget(cluster, pods[0], &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_forget(cluster, pods[0], &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_assume(cluster, pods[0], 99, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_assume(cluster, pods[0], a, &error));
  EXPECT_STATUS(BERTH_OK, berth_pod_uid(pods[0], &text, &error));
  EXPECT(strcmp(text.data, "uid-p0") == 0);
  berth_fork_free(&fork);
  berth_fork_free(&late);
  berth_snapshot_free(&snapshot);
  for (int i = 0; i < 3; ++i) berth_pod_free(&pods[i]);
  berth_cluster_free(&cluster);
}

void children_of_a_changed_fork_are_stale(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pod = make_pod(cluster, "p", 1, "");
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork *fork = fork_of(snapshot), *child = NULL;
  EXPECT_STATUS(BERTH_OK, berth_fork_fork(fork, &child, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_add_pod(fork, pod, node_of(cluster, "a"), &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_add_pod(child, pod, node_of(cluster, "c"), &error));
  EXPECT_STATUS(BERTH_E_STALE, berth_fork_revert(child, &error));
  EXPECT_STATUS(BERTH_E_STALE, berth_fork_commit(child, NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_commit(fork, NULL, &error));
  EXPECT_STATUS(BERTH_E_STALE, berth_fork_commit(child, NULL, &error));
  berth_fork_free(&child);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
}

void nodes_come_and_go_in_forks(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pod = make_pod(cluster, "big", 8, "");
  const berth_pod* asked[1] = {pod};
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_result* result = NULL;
  uint32_t d = 0, nodes[4];
  size_t count = 0;
  int32_t fits = -1;
  EXPECT_STATUS(BERTH_E_INPUT, berth_fork_add_node(fork, kNodes, strlen(kNodes), NULL, &error)); /* three are not one */
  EXPECT_STATUS(BERTH_OK, berth_fork_add_node(fork, kNodeD, strlen(kNodeD), &d, &error));
  EXPECT_STATUS(BERTH_E_EXISTS, berth_fork_add_node(fork, kNodeD, strlen(kNodeD), &d, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_update_node(fork, kNodeD, strlen(kNodeD), &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_check(fork, pod, d, 0, &fits, NULL, &error));
  EXPECT(fits == 1);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pod, d, 0, &fits, NULL, &error));
  EXPECT(fits == 0);
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, NULL, &result, &error));
  EXPECT(((const uint32_t*)column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 1))[0] == d);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_nodes(fork, nodes, 4, &count, &error));
  EXPECT(count == 4 && nodes[3] == d);
  EXPECT_STATUS(BERTH_OK, berth_fork_remove_node(fork, d, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_fork_remove_node(fork, d, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_fork_update_node(fork, kNodeD, strlen(kNodeD), &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_fork_add_pod(fork, pod, d, &error));
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
}

void a_running_pod_is_moved(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pod = NULL;
  const berth_pod* asked[1];
  berth_snapshot* snapshot;
  berth_fork* fork;
  berth_result* result = NULL;
  berth_node_set* set = NULL;
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  const uint32_t a = node_of(cluster, "a"), c = node_of(cluster, "c");
  uint32_t node = 0;
  int32_t fits = -1;
  const char* text;
  upsert_pod(cluster, "runs", 3, "a");
  text = pod_text("runs", 3, "a", "");
  EXPECT_STATUS(BERTH_OK, berth_pod_create(cluster, text, strlen(text), NULL, &pod, &error));
  asked[0] = pod;
  snapshot = snapshot_of(cluster);
  fork = fork_of(snapshot);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pod, a, 0, &fits, NULL, &error));
  EXPECT(fits == 0); /* beside itself */
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pod, a, BERTH_AS_MOVED, &fits, NULL, &error));
  EXPECT(fits == 1);
  EXPECT_STATUS(BERTH_OK, berth_node_set_create(cluster, &c, 1, &set, &error));
  options.flags = BERTH_AS_MOVED;
  options.nodes = set;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, &options, &result, &error));
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 1))[0] == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_node_of_pod(fork, "uid-runs", &node, &error));
  EXPECT(node == a); /* it stays where it was */
  options.choice = BERTH_CHOICE_FIRST_FIT;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, &options, &result, &error));
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_node_of_pod(fork, "uid-runs", &node, &error));
  EXPECT(node == a);
  EXPECT_STATUS(BERTH_OK, berth_fork_add_node(fork, kNodeD, strlen(kNodeD), &node, &error));
  options.nodes = NULL;
  options.start = 3;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, &options, &result, &error));
  EXPECT(((const uint32_t*)column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 1))[0] == node);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_check_bulk(fork, asked, 1, NULL, BERTH_AS_MOVED, &result, &error));
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 4))[0] == 1);
  berth_result_free(&result);
  berth_node_set_free(&set);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
}

void all_nodes_of_a_fork_answer_into_arrays(const char* backend) {
  static const char* const kResources[3] = {"cpu", "pods", "example.com/none"};
  berth_cluster* cluster = cluster_of(backend);
  berth_pod *pod = make_pod(cluster, "p", 3, ""),
            *claims = make_pod(cluster, "q", 1, "\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"g\"}],");
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_node_set* set = NULL;
  const uint32_t a = node_of(cluster, "a"), b = node_of(cluster, "b"), some[2] = {b, a};
  uint8_t fits[4] = {7, 7, 7, 7};
  int64_t requested[12], allocatable[12];
  size_t length = 0;
  EXPECT_STATUS(BERTH_OK, berth_fork_mask(fork, pod, NULL, 0, NULL, 0, &length, &error));
  EXPECT(length == 3);
  length = 99;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_mask(fork, pod, NULL, 0, fits, 2, &length, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_mask(fork, pod, NULL, BERTH_NO_REASONS, fits, 4, &length, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_mask(fork, pod, NULL, 0, NULL, 4, &length, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_mask(fork, NULL, NULL, 0, fits, 4, &length, &error));
  EXPECT(length == 99 && fits[0] == 7);
  EXPECT_STATUS(BERTH_OK, berth_fork_mask(fork, pod, NULL, 0, fits, 4, &length, &error));
  EXPECT(length == 3 && fits[0] == 1 && fits[1] == 0 && fits[2] == 0 && fits[3] == 7);
  EXPECT_STATUS(BERTH_OK, berth_fork_add_pod(fork, pod, a, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_mask(fork, pod, NULL, 0, fits, 3, &length, &error));
  EXPECT(fits[0] == 0); /* it stands there */
  EXPECT_STATUS(BERTH_OK, berth_fork_mask(fork, pod, NULL, BERTH_AS_MOVED, fits, 3, &length, &error));
  EXPECT(fits[0] == 1);
  EXPECT_STATUS(BERTH_OK, berth_node_set_create(cluster, some, 2, &set, &error));
  EXPECT_STATUS(BERTH_OK,
                berth_fork_mask(fork, pod, set, BERTH_AS_MOVED | BERTH_SKIP_CORDONED, fits, 2, &length, &error));
  EXPECT(length == 2 && fits[0] == 1 && fits[1] == 0);
  EXPECT_STATUS(BERTH_OK, berth_fork_mask(fork, claims, NULL, 0, fits, 3, &length, &error));
  EXPECT(fits[0] == 0 && fits[1] == 0 && fits[2] == 0); /* not judged */

  EXPECT_STATUS(BERTH_OK, berth_fork_use(fork, kResources, 3, NULL, NULL, 0, &length, &error));
  EXPECT(length == 9);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_use(fork, kResources, 3, requested, NULL, 8, &length, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_use(fork, NULL, 3, requested, NULL, 9, &length, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_use(fork, kResources, 3, requested, allocatable, 12, &length, &error));
  EXPECT(requested[0] == 3000 && requested[1] == 0 && requested[3] == 1 && requested[4] == 0 && requested[6] == 0);
  EXPECT(allocatable[0] == 4000 && allocatable[2] == 2000 && allocatable[3] == 10 && allocatable[6] == 0);
  EXPECT_STATUS(BERTH_OK, berth_fork_add_node(fork, kNodeD, strlen(kNodeD), NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_remove_pod(fork, "uid-p", &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_mask(fork, pod, NULL, 0, fits, 4, &length, &error));
  EXPECT(length == 4 && fits[0] == 1 && fits[3] == 1);
  EXPECT_STATUS(BERTH_OK, berth_fork_use(fork, kResources, 1, requested, allocatable, 4, &length, &error));
  EXPECT(length == 4 && requested[0] == 0 && allocatable[3] == 16000);
  berth_node_set_free(&set);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_pod_free(&claims);
  berth_cluster_free(&cluster);
}
