/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler of its own: kube-scheduler's queue, its verdicts, and a clock that the program moves. The nodes: a with 4
 * CPUs, b with 4 and cordoned, c with 2. */
#include "tests/capi/embedding_world.h"

static const int64_t kSecondUs = 1000000;

static uint64_t pods_in(berth_queue* queue, uint32_t place) {
  uint64_t count = 0;
  EXPECT_STATUS(BERTH_OK, berth_queue_size(queue, place, &count, &error));
  return count;
}

/* Tries the pods that are ready. @return how many have a node now */
static int try_all(berth_queue* queue, berth_fork* fork) {
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  berth_pod* pod = NULL;
  int placed = 0;
  options.flags = BERTH_WITH_REJECTORS;
  for (;;) {
    const berth_pod* asked;
    berth_result* result = NULL;
    berth_str uid;
    EXPECT_STATUS(BERTH_OK, berth_queue_pop(queue, &pod, &error));
    if (pod == NULL) return placed;
    asked = pod;
    EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, &asked, 1, &options, &result, &error));
    if (((const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 1))[0] != 0) {
      EXPECT_STATUS(BERTH_OK, berth_queue_done(queue, pod, &error));
      EXPECT_STATUS(BERTH_OK, berth_pod_uid(pod, &uid, &error));
      EXPECT_STATUS(BERTH_OK, berth_queue_pod_came(queue, fork, uid.data, &error)); /* others may have waited for it */
      ++placed;
    } else {
      EXPECT_STATUS(BERTH_OK, berth_queue_fail(queue, pod, text_at(result, BERTH_COLUMN_REJECTORS, 0, 1),
                                               text_at(result, BERTH_COLUMN_PENDING_REJECTORS, 0, 1), &error));
    }
    berth_result_free(&result);
    berth_pod_free(&pod);
  }
}

void a_queue_says_who_is_tried_next(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_queue_options options = BERTH_QUEUE_OPTIONS_INIT;
  berth_queue* queue = NULL;
  berth_pod* pods[3];
  const char* const names[3] = {"p0", "p1", "p2"};
  const int cpus[3] = {3, 14, 4};
  int64_t now_us = 0, next_us = 0;
  uint64_t bytes = 0;
  options.now_us = 100 * kSecondUs;
  EXPECT_STATUS(BERTH_OK, berth_queue_create(cluster, &options, &queue, &error));
  for (int i = 0; i < 3; ++i) {
    pods[i] = make_pod(cluster, names[i], cpus[i], "");
    EXPECT_STATUS(BERTH_OK, berth_queue_add(queue, pods[i], &error));
  }
  EXPECT_STATUS(BERTH_OK, berth_queue_memory(queue, &bytes, &error));
  EXPECT(bytes > 0);
  EXPECT(try_all(queue, fork) == 1); /* on a; b is cordoned, and c too small */
  EXPECT(pods_in(queue, BERTH_QUEUE_UNSCHEDULABLE) == 2);
  EXPECT_STATUS(BERTH_OK, berth_queue_remove(queue, pods[2], &error));

  /* A node that is large enough brings the pod back. */
  EXPECT_STATUS(BERTH_OK, berth_fork_add_node(fork, kNodeD, strlen(kNodeD), NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_queue_node_changed(queue, NULL, 0, kNodeD, strlen(kNodeD), &error));
  EXPECT(pods_in(queue, BERTH_QUEUE_UNSCHEDULABLE) == 0);
  EXPECT_STATUS(BERTH_OK, berth_queue_times(queue, &now_us, &next_us, &error));
  EXPECT(now_us == 100 * kSecondUs && next_us > now_us);
  EXPECT_STATUS(BERTH_OK, berth_queue_advance(queue, next_us + kSecondUs, &error));
  EXPECT(try_all(queue, fork) == 1);

  /* So would a pod that leaves its node. */
  EXPECT_STATUS(BERTH_OK, berth_queue_add(queue, pods[2], &error));
  EXPECT(try_all(queue, fork) == 0);
  {
    berth_str uid;
    EXPECT_STATUS(BERTH_OK, berth_pod_uid(pods[0], &uid, &error));
    EXPECT_STATUS(BERTH_OK, berth_queue_pod_leaves(queue, fork, uid.data, &error));
    EXPECT_STATUS(BERTH_OK, berth_fork_remove_pod(fork, uid.data, &error));
  }
  EXPECT_STATUS(BERTH_OK, berth_queue_advance(queue, next_us + 10 * kSecondUs, &error));
  EXPECT(try_all(queue, fork) == 1);
  EXPECT(pods_in(queue, BERTH_QUEUE_TRIED) == 0);
  for (int i = 0; i < 3; ++i) berth_pod_free(&pods[i]);
  berth_queue_free(&queue);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
}
