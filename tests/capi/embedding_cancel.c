/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose token is triggered, from C. */

#include "tests/capi/embedding_world.h"

/* Cancels the call behind its first piece. */
static void cancel_at_once(void* user_data, uint64_t done, uint64_t total) {
  EXPECT(done > 0 && done <= total);
  berth_cancel_trigger((berth_cancel*)user_data);
}

void calls_are_cancelled(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pod = make_pod(cluster, "late", 1, "");
  const berth_pod* const asked[1] = {pod};
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_cancel* cancel = NULL;
  berth_check_options check = BERTH_CHECK_OPTIONS_INIT;
  berth_ask_options ask = BERTH_ASK_OPTIONS_INIT;
  berth_reserve_options reserve = BERTH_RESERVE_OPTIONS_INIT;
  berth_schedule_options schedule = BERTH_SCHEDULE_OPTIONS_INIT;
  berth_result* result = NULL;
  berth_str text = {NULL, 0};
  uint32_t node = 0;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_cancel_create(NULL, &error));
  EXPECT_STATUS(BERTH_OK, berth_cancel_create(&cancel, &error));
  EXPECT(berth_cancel_is_triggered(cancel) == 0);
  check.cancel = cancel;
  schedule.cancel = cancel;
  berth_cancel_trigger(cancel);
  EXPECT(berth_cancel_is_triggered(cancel) == 1);
  EXPECT_STATUS(BERTH_CANCELLED, berth_snapshot_check_bulk_until(snapshot, asked, 1, &check, &result, &error));
  column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 3);
  column(result, BERTH_COLUMN_JUDGED, BERTH_TYPE_U8, 0);
  column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_CANCELLED, berth_fork_schedule(fork, asked, 1, &schedule, &result, &error));
  column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_node_of_pod(fork, "uid-late", &node, &error));
  EXPECT(node == BERTH_NO_NODE);

  ask.cancel = cancel;
  reserve.cancel = cancel;
  EXPECT_STATUS(BERTH_CANCELLED, berth_snapshot_explain_until(snapshot, pod, &ask, &result, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_result_json(result, &text, &error));
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_CANCELLED, berth_fork_explain_until(fork, pod, &ask, &result, &error));
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_CANCELLED, berth_snapshot_preempt_until(snapshot, pod, &ask, &result, &error));
  column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 0);
  column(result, BERTH_COLUMN_VICTIM_BEGIN, BERTH_TYPE_U32, 1);
  EXPECT_STATUS(BERTH_OK, berth_result_message(result, &text, &error));
  EXPECT(strcmp(text.data, berth_status_text(BERTH_CANCELLED)) == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_CANCELLED, berth_cluster_reserve(cluster, "team", pod, 2, &reserve, &result, &error));
  column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 0);
  berth_result_free(&result);
  ask.flags = BERTH_SKIP_CORDONED;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_preempt_until(fork, pod, &ask, &result, &error));

  berth_cancel_reset(cancel);
  EXPECT(berth_cancel_is_triggered(cancel) == 0);
  check.flags = BERTH_STOP_AT_FAILURE;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_check_bulk_until(fork, asked, 1, &check, &result, &error));
  check.flags = BERTH_NO_REASONS | BERTH_WITH_SCORES;
  EXPECT_STATUS(BERTH_OK, berth_fork_check_bulk_until(fork, asked, 1, &check, &result, &error));
  column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 3);
  column(result, BERTH_COLUMN_SCORE, BERTH_TYPE_I64, 3);
  column(result, BERTH_COLUMN_MESSAGE, BERTH_TYPE_U32, 1);
  berth_result_free(&result);
  schedule.progress = cancel_at_once;
  schedule.progress_user_data = cancel;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, &schedule, &result, &error)); /* it was done by then */
  EXPECT(berth_cancel_is_triggered(cancel) == 1);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_revert(fork, &error));
  berth_cancel_reset(cancel);
  schedule.struct_size = (uint32_t)offsetof(berth_schedule_options, cancel); /* of a caller without the token */
  berth_cancel_trigger(cancel);
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, &schedule, &result, &error));
  EXPECT(*(const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 1) == 1);
  berth_result_free(&result);

  berth_cancel_reset(cancel);
  ask.flags = BERTH_AS_MOVED;
  EXPECT_STATUS(BERTH_OK, berth_fork_preempt_until(fork, pod, &ask, &result, &error));
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_explain_until(snapshot, pod, NULL, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_json(result, &text, &error));
  berth_result_free(&result);
  reserve.struct_size = (uint32_t)offsetof(berth_reserve_options, deadline_us); /* of a caller without the token */
  berth_cancel_trigger(cancel);
  EXPECT_STATUS(BERTH_OK, berth_cluster_reserve(cluster, "team", pod, 1, &reserve, &result, &error));
  EXPECT(*(const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 1) == 1);
  berth_result_free(&result);

  berth_cancel_trigger(NULL);
  berth_cancel_reset(NULL);
  EXPECT(berth_cancel_is_triggered(NULL) == 0);
  berth_cancel_free(&cancel);
  EXPECT(cancel == NULL);
  berth_cancel_free(&cancel);
  berth_cancel_free(NULL);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
}

void loads_are_cancelled(const char* backend) {
  berth_engine* engine = engine_of(backend);
  berth_cluster* cluster = cluster_of(backend);
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_cluster* opened = NULL;
  berth_snapshot* its = NULL;
  berth_cancel* cancel = NULL;
  berth_pod* pod = NULL;
  berth_result* result = NULL;
  berth_load_options options = BERTH_LOAD_OPTIONS_INIT;
  berth_bulk bulk = BERTH_BULK_INIT;
  berth_status each[1] = {BERTH_E_INTERNAL};
  uint64_t offsets[2] = {0, 0};
  uint64_t before = 0, after = 0;
  berth_str bytes = {NULL, 0};
  const char* path = "embedding_cancelled.snapshot";
  const char* text = pod_text("loaded", 1, "a", "");
  int is_cancelled = 0;
  offsets[1] = strlen(text);
  bulk.data = text;
  bulk.offsets = offsets;
  bulk.count = 1;
  EXPECT_STATUS(BERTH_OK, berth_cancel_create(&cancel, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &before, &error));
  EXPECT_STATUS(BERTH_OK, berth_snapshot_write_memory(snapshot, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_bytes(result, &bytes, &error));
  options.reserved = 1;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_cluster_upsert_until(cluster, text, strlen(text), &options, &error));
  options.reserved = 0;
  options.cancel = cancel;
  for (is_cancelled = 1; is_cancelled >= 0; --is_cancelled) {
    const berth_status expected = is_cancelled ? BERTH_CANCELLED : BERTH_OK;
    berth_result* written = NULL;
    if (is_cancelled)
      berth_cancel_trigger(cancel);
    else
      berth_cancel_reset(cancel);
    EXPECT_STATUS(expected, berth_cluster_upsert_until(cluster, text, strlen(text), &options, &error));
    EXPECT_STATUS(expected, berth_cluster_upsert_bulk_until(cluster, &bulk, each, &options, &error));
    EXPECT(each[0] == (is_cancelled ? BERTH_E_INTERNAL : BERTH_OK));
    EXPECT_STATUS(expected, berth_cluster_replace_until(cluster, "Pod", text, strlen(text), &options, &error));
    EXPECT_STATUS(expected, berth_pod_create_bulk_until(cluster, &bulk, NULL, &options, &pod, &error));
    EXPECT((pod == NULL) == is_cancelled);
    EXPECT_STATUS(expected, berth_snapshot_write_until(snapshot, path, &options, &error));
    EXPECT_STATUS(expected, berth_snapshot_write_memory_until(snapshot, &options, &written, &error));
    EXPECT((written == NULL) == is_cancelled);
    EXPECT_STATUS(expected,
                  berth_snapshot_open_memory_until(engine, bytes.data, bytes.size, &options, &opened, &its, &error));
    EXPECT((opened == NULL) == is_cancelled && (its == NULL) == is_cancelled);
    EXPECT_STATUS(BERTH_OK, berth_cluster_version(cluster, &after, &error));
    EXPECT((after == before) == is_cancelled);
    berth_result_free(&written);
  }
  berth_cluster_free(&opened);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_open_until(engine, path, &options, &opened, NULL, &error));
  remove(path);
  berth_result_free(&result);
  berth_pod_free(&pod);
  berth_snapshot_free(&its);
  berth_cluster_free(&opened);
  berth_cancel_free(&cancel);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
  berth_engine_free(&engine);
}
