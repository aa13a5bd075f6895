/* SPDX-License-Identifier: Apache-2.0 */
/* Results in the forms of other libraries, Arrow and DLPack, and snapshots in files. */
#include "host/capi/dlpack_abi.h"
#include "tests/capi/embedding_world.h"

static berth_result* verdicts_of(berth_cluster* cluster) {
  const berth_pod* asked[2];
  berth_pod* pods[2] = {make_pod(cluster, "p", 3, ""),
                        make_pod(cluster, "q", 1, "\"tolerations\":[{\"operator\":\"Exists\"}],")};
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_result* result = NULL;
  memcpy(asked, pods, sizeof asked);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check_bulk(snapshot, asked, 2, NULL, 0, &result, &error));
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pods[0]);
  berth_pod_free(&pods[1]);
  return result;
}

static int text_is(const struct ArrowArray* texts, int64_t i, const char* expected) {
  const int64_t* offsets = texts->buffers[1];
  const size_t size = (size_t)(offsets[i + 1] - offsets[i]);
  return size == strlen(expected) && memcmp((const char*)texts->buffers[2] + offsets[i], expected, size) == 0;
}

static void columns_are_a_record_batch(berth_cluster* cluster) {
  const uint32_t columns[] = {BERTH_COLUMN_FITS, BERTH_COLUMN_REASONS};
  const uint32_t unequal[] = {BERTH_COLUMN_FITS, BERTH_COLUMN_NODE};
  const uint32_t unknown[] = {BERTH_COLUMN_VICTIM};
  struct ArrowSchema schema;
  struct ArrowArray array, moved;
  berth_result* result = verdicts_of(cluster);
  const void* fits = column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 6);
  const uint32_t* reasons = column(result, BERTH_COLUMN_REASONS, BERTH_TYPE_U32, 6);
  memset(&schema, 0, sizeof schema);
  memset(&array, 0, sizeof array);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_result_arrow(result, unequal, 2, &schema, &array, &error));
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_result_arrow(result, unknown, 1, &schema, &array, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_result_arrow(result, columns, 0, &schema, &array, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_result_arrow(result, columns, 2, &schema, NULL, &error));
  EXPECT(schema.release == NULL && array.release == NULL);
  EXPECT_STATUS(BERTH_OK, berth_result_arrow(result, columns, 2, &schema, &array, &error));

  EXPECT(strcmp(schema.format, "+s") == 0 && schema.n_children == 2 && schema.dictionary == NULL);
  EXPECT(strcmp(schema.children[0]->format, "C") == 0 && strcmp(schema.children[0]->name, "fits") == 0);
  EXPECT(strcmp(schema.children[1]->format, "I") == 0 && strcmp(schema.children[1]->name, "reasons") == 0);
  EXPECT(schema.children[0]->dictionary == NULL && strcmp(schema.children[1]->dictionary->format, "U") == 0);
  schema.release(&schema);
  EXPECT(schema.release == NULL);

  EXPECT(array.length == 6 && array.null_count == 0 && array.offset == 0 && array.n_children == 2);
  EXPECT(array.n_buffers == 1 && array.buffers[0] == NULL);
  EXPECT(array.children[0]->n_buffers == 2 && array.children[0]->buffers[0] == NULL);
  EXPECT(array.children[0]->buffers[1] == fits);
  EXPECT(array.children[1]->buffers[1] == reasons);
  EXPECT(text_is(array.children[1]->dictionary, 0, ""));
  EXPECT(text_is(array.children[1]->dictionary, reasons[1], "node(s) were unschedulable"));

  /* A child that was moved away outlives the batch, and both outlive the result. */
  moved = *array.children[1];
  array.children[1]->release = NULL;
  berth_result_free(&result);
  array.release(&array);
  EXPECT(array.release == NULL);
  EXPECT(text_is(moved.dictionary, ((const uint32_t*)moved.buffers[1])[1], "node(s) were unschedulable"));
  moved.release(&moved);
  EXPECT(moved.release == NULL);
}

static void a_column_is_a_tensor(berth_cluster* cluster) {
  struct DLManagedTensorVersioned* tensor = NULL;
  berth_result* result = verdicts_of(cluster);
  const void* nodes = column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 3);
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_result_dlpack(result, BERTH_COLUMN_SCORE, &tensor, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_result_dlpack(result, BERTH_COLUMN_NODE, NULL, &error));
  EXPECT(tensor == NULL);
  EXPECT_STATUS(BERTH_OK, berth_result_dlpack(result, BERTH_COLUMN_NODE, &tensor, &error));
  EXPECT(tensor->version.major == 1 && tensor->flags == 1);
  EXPECT(tensor->dl_tensor.data == nodes && tensor->dl_tensor.byte_offset == 0);
  EXPECT(tensor->dl_tensor.device.device_type == 1 && tensor->dl_tensor.ndim == 1);
  EXPECT(tensor->dl_tensor.dtype.code == 1 && tensor->dl_tensor.dtype.bits == 32 && tensor->dl_tensor.dtype.lanes == 1);
  EXPECT(tensor->dl_tensor.shape[0] == 3 && tensor->dl_tensor.strides[0] == 1);
  berth_result_free(&result);
  EXPECT(((const uint32_t*)tensor->dl_tensor.data)[0] == node_of(cluster, "a"));
  tensor->deleter(tensor);
}

static int32_t fits_on_a(berth_cluster* cluster, const berth_snapshot* snapshot) {
  berth_pod* pod = make_pod(cluster, "asked", 3, "");
  int32_t fits = -1;
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pod, node_of(cluster, "a"), 0, &fits, NULL, &error));
  berth_pod_free(&pod);
  return fits;
}

static void snapshots_are_written_and_opened(const char* backend) {
  const char* const path = "embedding_test.snapshot";
  berth_engine* engine = engine_of(backend);
  berth_cluster *cluster = cluster_of(backend), *opened = NULL;
  berth_snapshot *before = snapshot_of(cluster), *after, *again = NULL;
  berth_result* result = NULL;
  berth_str bytes = {"", 0};
  upsert_pod(cluster, "large", 3, "a");
  after = snapshot_of(cluster);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_write(before, path, &error));
  EXPECT_STATUS(BERTH_OK, berth_snapshot_open(engine, path, &opened, &again, &error));
  EXPECT(fits_on_a(opened, again) == 1);
  berth_snapshot_free(&again);
  berth_cluster_free(&opened);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_write_memory(after, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_bytes(result, &bytes, &error));
  EXPECT_STATUS(BERTH_OK, berth_snapshot_open_memory(engine, bytes.data, bytes.size, &opened, &again, &error));
  EXPECT(fits_on_a(opened, again) == 0);
  EXPECT_STATUS(BERTH_E_INPUT, berth_snapshot_open_memory(engine, bytes.data, bytes.size - 1, &opened, NULL, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_snapshot_open_memory(engine, NULL, 5, &opened, NULL, &error));
  EXPECT_STATUS(BERTH_E_INPUT, berth_snapshot_open(engine, "no such file", &opened, NULL, &error));
  remove(path);
  berth_result_free(&result);
  berth_snapshot_free(&again);
  berth_snapshot_free(&after);
  berth_snapshot_free(&before);
  berth_cluster_free(&opened);
  berth_cluster_free(&cluster);
  berth_engine_free(&engine);
}

void results_are_exported(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  columns_are_a_record_batch(cluster);
  a_column_is_a_tensor(cluster);
  EXPECT(strcmp(berth_column_name(BERTH_COLUMN_SCORE), "score") == 0);
  snapshots_are_written_and_opened(backend);
  EXPECT(strcmp(berth_column_name(999), "unknown column") == 0);
  berth_cluster_free(&cluster);
}
