/* SPDX-License-Identifier: Apache-2.0 */
/* Where could one more pod go, and what would a busy node say? Reads a cluster (kubectl get no,po -A -o json) and a
 * pod.
 *
 *   c_minimal cluster.json pod.json */

#include <berth/berth.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints why a call failed, and ends the program. */
static void check(berth_status status, const berth_error* error, const char* what) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s: %s %s\n", what, berth_status_name(status), error->object, error->text);
  exit(EXIT_FAILURE);
}

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
    *size = (size_t)ftell(file);
    rewind(file);
    text = malloc(*size + 1);
    if (text != NULL && fread(text, 1, *size, file) != *size) *size = 0;
  }
  if (file == NULL || text == NULL) {
    fprintf(stderr, "cannot read %s\n", path);
    exit(EXIT_FAILURE);
  }
  fclose(file);
  return text;
}

static void print_verdicts(const berth_cluster* cluster, const berth_result* verdicts, berth_error* error) {
  berth_column nodes, fits, reasons;
  check(berth_result_column(verdicts, BERTH_COLUMN_NODE, &nodes, error), error, "column");
  check(berth_result_column(verdicts, BERTH_COLUMN_FITS, &fits, error), error, "column");
  check(berth_result_column(verdicts, BERTH_COLUMN_REASONS, &reasons, error), error, "column");
  for (size_t i = 0; i < nodes.length; ++i) {
    berth_str name, why;
    check(berth_cluster_node_name(cluster, ((const uint32_t*)nodes.data)[i], &name, error), error, "name");
    check(berth_result_text(verdicts, ((const uint32_t*)reasons.data)[i], &why, error), error, "text");
    printf("%-12s %s%s\n", name.data, ((const uint8_t*)fits.data)[i] ? "fits" : "no: ", why.data);
  }
}

int main(int argc, char** argv) {
  berth_error error = BERTH_ERROR_INIT;
  berth_engine* engine = NULL;
  berth_cluster* cluster = NULL;
  berth_pod* pod = NULL;
  berth_snapshot* snapshot = NULL;
  berth_fork* fork = NULL;
  berth_result *verdicts = NULL, *placed = NULL;
  berth_column column;
  berth_str text;
  const berth_pod* pods[1];
  size_t size = 0;
  uint32_t node;
  char* json;
  if (argc != 3) {
    fprintf(stderr, "usage: c_minimal cluster.json pod.json\n");
    return EXIT_FAILURE;
  }

  check(berth_engine_create(NULL, &engine, &error), &error, "engine");
  check(berth_cluster_create(engine, &cluster, &error), &error, "cluster");
  json = read_file(argv[1], &size);
  check(berth_cluster_upsert(cluster, json, size, &error), &error, argv[1]);
  free(json);
  json = read_file(argv[2], &size);
  check(berth_pod_create(cluster, json, size, NULL, &pod, &error), &error, argv[2]);
  free(json);

  /* What every node says, of the cluster as it is now. */
  pods[0] = pod;
  check(berth_snapshot_create(cluster, &snapshot, &error), &error, "snapshot");
  check(berth_snapshot_check_bulk(snapshot, pods, 1, NULL, 0, &verdicts, &error), &error, "check");
  print_verdicts(cluster, verdicts, &error);

  /* Where kube-scheduler would put it: tried in a fork, and committed. */
  check(berth_snapshot_fork(snapshot, &fork, &error), &error, "fork");
  check(berth_fork_schedule(fork, pods, 1, NULL, &placed, &error), &error, "schedule");
  check(berth_result_column(placed, BERTH_COLUMN_NODE, &column, &error), &error, "column");
  node = ((const uint32_t*)column.data)[0];
  if (node == BERTH_NO_NODE) {
    check(berth_result_column(placed, BERTH_COLUMN_MESSAGE, &column, &error), &error, "column");
    check(berth_result_text(placed, ((const uint32_t*)column.data)[0], &text, &error), &error, "text");
    printf("stays pending: %s\n", text.data);
  } else {
    check(berth_cluster_node_name(cluster, node, &text, &error), &error, "name");
    check(berth_fork_commit(fork, NULL, &error), &error, "commit");
    printf("goes to %s\n", text.data);
  }

  berth_result_free(&placed);
  berth_result_free(&verdicts);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
  berth_engine_free(&engine);
  return EXIT_SUCCESS;
}
