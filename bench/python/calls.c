/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of overhead.py through berth.h, in the same process and on the same objects. Nanoseconds a call. */
#include <berth/berth.h>
#include <stddef.h>
#include <time.h>

enum { kPods = 10, kCalls = 6 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

typedef struct world {
  berth_engine* engine;
  berth_cluster* cluster;
  berth_snapshot* snapshot;
  berth_pod* pods[kPods];
} world;

static berth_status call_once(const world* w, int call) {
  berth_snapshot* snapshot = NULL;
  berth_fork* fork = NULL;
  berth_result* result = NULL;
  berth_status status = BERTH_OK;
  berth_str uid;
  int32_t fits;
  switch (call) {
    case 0:
      return berth_pod_uid(w->pods[0], &uid, NULL);
    case 1:
      return berth_snapshot_check(w->snapshot, w->pods[0], 7, 0, &fits, NULL, NULL);
    case 2:
      status = berth_snapshot_create(w->cluster, &snapshot, NULL);
      berth_snapshot_free(&snapshot);
      return status;
    case 3:
      status = berth_snapshot_fork(w->snapshot, &fork, NULL);
      berth_fork_free(&fork);
      return status;
    case 4:
      status = berth_snapshot_fork(w->snapshot, &fork, NULL);
      if (status >= 0) status = berth_fork_schedule(fork, (const berth_pod* const*)w->pods, kPods, NULL, &result, NULL);
      break;
    default: {
      berth_column view;
      status = berth_snapshot_check_bulk(w->snapshot, (const berth_pod* const*)w->pods, kPods, NULL, BERTH_NO_REASONS,
                                         &result, NULL);
      if (status >= 0) status = berth_result_column(result, BERTH_COLUMN_FITS, &view, NULL);
    }
  }
  berth_result_free(&result);
  berth_fork_free(&fork);
  return status;
}

/* @param config BerthEngineConfiguration @param nodes a List @param pods kPods texts
 * @return the world, or NULL */
void* open_world(const char* config, const char* nodes, size_t size, const char* const* pods, const size_t* sizes) {
  static world w;
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.engine_config = config;
  options.threads = 1;
  if (berth_engine_create(&options, &w.engine, NULL) < 0 || berth_cluster_create(w.engine, &w.cluster, NULL) < 0 ||
      berth_cluster_upsert(w.cluster, nodes, size, NULL) < 0)
    return NULL;
  for (int i = 0; i < kPods; ++i)
    if (berth_pod_create(w.cluster, pods[i], sizes[i], NULL, &w.pods[i], NULL) < 0) return NULL;
  return berth_snapshot_create(w.cluster, &w.snapshot, NULL) < 0 ? NULL : &w;
}

/* @return nanoseconds for one of `count` calls; negative: it failed */
double time_calls(void* opened, int call, int count) {
  const double begin = now_ns();
  for (int i = 0; i < count; ++i)
    if (call >= kCalls || call_once(opened, call) < 0) return -1;
  return (now_ns() - begin) / count;
}
