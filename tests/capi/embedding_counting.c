/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, groups and reservations. The nodes: a with 4 CPUs, b with 4 and cordoned, c with 2. */
#include "tests/capi/embedding_world.h"

void copies_are_counted_and_groups_are_placed(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pods[2] = {make_pod(cluster, "p0", 2, ""), make_pod(cluster, "p1", 2, "")};
  const berth_pod* asked[2] = {pods[0], pods[1]};
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_result* result = NULL;
  berth_max_replicas_options counting = BERTH_MAX_REPLICAS_OPTIONS_INIT;
  berth_group_options group = BERTH_GROUP_OPTIONS_INIT;
  const char* const keys[] = {"disk"};
  const int64_t* counts;
  const uint32_t* nodes;
  counting.per_node = 1;
  counting.keys = keys;
  counting.key_count = 1;
  EXPECT_STATUS(BERTH_OK, berth_snapshot_max_replicas(snapshot, asked, 2, &counting, &result, &error));
  counts = column(result, BERTH_COLUMN_COUNT, BERTH_TYPE_I64, 2);
  EXPECT(counts[0] == 3 && counts[1] == 3);
  EXPECT(((const int32_t*)column(result, BERTH_COLUMN_COUNT_ON_NODE, BERTH_TYPE_I32, 6))[0] == 2);
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_VALUE, 0, 1), "ssd") == 0);
  EXPECT(((const int64_t*)column(result, BERTH_COLUMN_COUNT_OF_VALUE, BERTH_TYPE_I64, 2))[1] == 0); /* it is cordoned */
  berth_result_free(&result);

  group.domain = BERTH_DOMAIN_REQUIRED;
  group.keys = keys;
  group.key_count = 1;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule_group(fork, asked, 2, &group, &result, &error));
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 2))[0] == 0);
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_TRY_VALUE, 0, 1), "ssd") == 0);
  EXPECT(strncmp(text_at(result, BERTH_COLUMN_TRY_REASONS, 0, 1), "0/1 nodes are available: ", 25) == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule_group(fork, asked, 2, NULL, &result, &error));
  nodes = column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 2);
  EXPECT(nodes[0] != BERTH_NO_NODE && nodes[1] != BERTH_NO_NODE);
  EXPECT(((const uint32_t*)column(result, BERTH_COLUMN_TRY_POD, BERTH_TYPE_U32, 1))[0] == BERTH_NO_POD);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_max_replicas(fork, asked, 1, NULL, &result, &error));
  EXPECT(((const int64_t*)column(result, BERTH_COLUMN_COUNT, BERTH_TYPE_I64, 1))[0] == 1);
  berth_result_free(&result);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  for (int i = 0; i < 2; ++i) berth_pod_free(&pods[i]);
  berth_cluster_free(&cluster);
}

void room_is_reserved(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pod = make_pod(cluster, "p", 2, "");
  berth_result* result = NULL;
  size_t removed = 0;
  EXPECT_STATUS(BERTH_OK, berth_cluster_reserve(cluster, "queue", pod, 4, NULL, &result, &error));
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 4))[0] == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_cluster_reserve(cluster, "queue", pod, 3, NULL, &result, &error));
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 3))[2] == 1);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_cluster_reservations(cluster, "queue", &result, &error));
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_UID, 2, 3), "reservation/queue/2") == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_cluster_unreserve(cluster, "queue", NULL, &removed, &error));
  EXPECT(removed == 3);
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_cluster_unreserve(cluster, "queue", NULL, &removed, &error));
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
}
