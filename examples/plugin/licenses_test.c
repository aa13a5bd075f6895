/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin of licenses.c through berth.h: what it refuses and prefers, and whom its pods would evict.
 *
 *   licenses_test licenses.so <folder of this file> */

#include <berth/berth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

/* Prints why a call failed, and ends the program. */
static void check(berth_status status, const berth_error* error, const char* what) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s: %s %s\n", what, berth_status_name(status), error->object, error->text);
  exit(EXIT_FAILURE);
}

static void expect_text(const char* what, const char* got, const char* expected) {
  if (strcmp(got, expected) == 0) return;
  printf("%s: got \"%s\", expected \"%s\"\n", what, got, expected);
  ++failures;
}

static char* read_file(const char* folder, const char* name, size_t* size) {
  char path[4096];
  FILE* file;
  char* text = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file = fopen(path, "rb");
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

static berth_pod* make_pod(berth_cluster* cluster, const char* name, const char* licenses, int priority) {
  char text[512];
  berth_pod* pod = NULL;
  berth_error error = BERTH_ERROR_INIT;
  snprintf(text, sizeof text,
           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"uid\":"
           "\"%s\",\"annotations\":{\"example.com/licenses\":\"%s\"}},\"spec\":{\"priority\":%d,\"containers\":[{"
           "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
           name, name, licenses, priority);
  check(berth_pod_create(cluster, text, strlen(text), NULL, &pod, &error), &error, name);
  return pod;
}

/* What every node says: "none: <reasons>; few: ...". */
static void verdicts_of(const berth_cluster* cluster, const berth_snapshot* snapshot, const berth_pod* pod, char* out,
                        size_t size) {
  berth_error error = BERTH_ERROR_INIT;
  berth_result* result = NULL;
  berth_column nodes, reasons, codes;
  size_t i, used = 0;
  check(berth_snapshot_check_bulk(snapshot, &pod, 1, NULL, 0, &result, &error), &error, "check");
  check(berth_result_column(result, BERTH_COLUMN_NODE, &nodes, &error), &error, "column");
  check(berth_result_column(result, BERTH_COLUMN_REASONS, &reasons, &error), &error, "column");
  check(berth_result_column(result, BERTH_COLUMN_CODE, &codes, &error), &error, "column");
  for (i = 0; i < nodes.length; ++i) {
    berth_str name, why;
    check(berth_cluster_node_name(cluster, ((const uint32_t*)nodes.data)[i], &name, &error), &error, "name");
    check(berth_result_text(result, ((const uint32_t*)reasons.data)[i], &why, &error), &error, "text");
    used += (size_t)snprintf(out + used, size - used, "%s%s=%u%s%s", i > 0 ? "; " : "", name.data,
                             ((const uint8_t*)codes.data)[i], why.size > 0 ? " " : "", why.data);
  }
  berth_result_free(&result);
}

/* The node that a batch of one finds, or why there is none. */
static void place(berth_cluster* cluster, berth_fork* fork, const berth_pod* pod, char* out, size_t size) {
  berth_error error = BERTH_ERROR_INIT;
  berth_result* result = NULL;
  berth_column nodes, messages;
  berth_str text;
  uint32_t node;
  check(berth_fork_schedule(fork, &pod, 1, NULL, &result, &error), &error, "schedule");
  check(berth_result_column(result, BERTH_COLUMN_NODE, &nodes, &error), &error, "column");
  check(berth_result_column(result, BERTH_COLUMN_MESSAGE, &messages, &error), &error, "column");
  node = ((const uint32_t*)nodes.data)[0];
  if (node == BERTH_NO_NODE) {
    check(berth_result_text(result, ((const uint32_t*)messages.data)[0], &text, &error), &error, "text");
  } else {
    check(berth_cluster_node_name(cluster, node, &text, &error), &error, "name");
  }
  snprintf(out, size, "%s", text.data);
  berth_result_free(&result);
}

/* "few: holds-one": candidates with their victims. */
static void candidates_of(berth_cluster* cluster, berth_fork* fork, const berth_pod* pod, char* out, size_t size) {
  berth_error error = BERTH_ERROR_INIT;
  berth_result* result = NULL;
  berth_column nodes, begins, victims;
  size_t i, used = 0;
  out[0] = '\0';
  check(berth_fork_preempt(fork, pod, 0, &result, &error), &error, "preempt");
  check(berth_result_column(result, BERTH_COLUMN_NODE, &nodes, &error), &error, "column");
  check(berth_result_column(result, BERTH_COLUMN_VICTIM_BEGIN, &begins, &error), &error, "column");
  check(berth_result_column(result, BERTH_COLUMN_VICTIM, &victims, &error), &error, "column");
  for (i = 0; i < nodes.length; ++i) {
    berth_str name;
    uint32_t v;
    check(berth_cluster_node_name(cluster, ((const uint32_t*)nodes.data)[i], &name, &error), &error, "name");
    used += (size_t)snprintf(out + used, size - used, "%s%s:", i > 0 ? "; " : "", name.data);
    for (v = ((const uint32_t*)begins.data)[i]; v < ((const uint32_t*)begins.data)[i + 1]; ++v) {
      berth_str uid;
      check(berth_result_text(result, ((const uint32_t*)victims.data)[v], &uid, &error), &error, "text");
      used += (size_t)snprintf(out + used, size - used, " %s", uid.data);
    }
  }
  berth_result_free(&result);
}

static void ask(berth_cluster* cluster) {
  berth_error error = BERTH_ERROR_INIT;
  berth_snapshot* snapshot = NULL;
  berth_fork* fork = NULL;
  berth_pod* first = make_pod(cluster, "first", "1", 100);
  berth_pod* second = make_pod(cluster, "second", "1", 100);
  berth_pod* greedy = make_pod(cluster, "greedy", "9", 100);
  char text[1024];
  check(berth_snapshot_create(cluster, &snapshot, &error), &error, "snapshot");
  verdicts_of(cluster, snapshot, first, text, sizeof text);
  expect_text("verdicts", text,
              "none=3 node(s) did not offer enough licenses; few=2 node(s) had no free license; many=0");
  check(berth_snapshot_fork(snapshot, &fork, &error), &error, "fork");
  place(cluster, fork, first, text, sizeof text);
  expect_text("first", text, "many");
  place(cluster, fork, second, text, sizeof text);
  expect_text("second", text,
              "0/3 nodes are available: 1 node(s) did not offer enough licenses, 2 node(s) had no free license.");
  candidates_of(cluster, fork, second, text, sizeof text);
  expect_text("preemption", text, "few: holds-one; many: holds-three");
  candidates_of(cluster, fork, greedy, text, sizeof text);
  expect_text("preemption where eviction does not help", text, "");

  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&greedy);
  berth_pod_free(&second);
  berth_pod_free(&first);
}

/* Room on "few" after the eviction is kept for the pod that is nominated there. */
static void ask_nominated(berth_cluster* cluster) {
  static const char nominated[] =
      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"waits\",\"namespace\":\"default\",\"uid\":"
      "\"waits\",\"annotations\":{\"example.com/licenses\":\"1\"}},\"spec\":{\"priority\":100,\"containers\":[{"
      "\"name\":\"c\"}]},\"status\":{\"nominatedNodeName\":\"few\"}}";
  berth_error error = BERTH_ERROR_INIT;
  berth_snapshot* snapshot = NULL;
  berth_pod* late = make_pod(cluster, "late", "1", 50);
  char text[1024];
  check(berth_cluster_delete(cluster, "Pod", NULL, NULL, "holds-one", &error), &error, "delete");
  check(berth_cluster_upsert(cluster, nominated, sizeof nominated - 1, &error), &error, "nominate");
  check(berth_snapshot_create(cluster, &snapshot, &error), &error, "snapshot");
  verdicts_of(cluster, snapshot, late, text, sizeof text);
  expect_text("beside a nominated pod", text,
              "none=3 node(s) did not offer enough licenses; few=2 node(s) had no free license; many=0");
  berth_snapshot_free(&snapshot);
  berth_pod_free(&late);
}

int main(int argc, char** argv) {
  berth_error error = BERTH_ERROR_INIT;
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_engine* engine = NULL;
  berth_cluster* cluster = NULL;
  const char* files[1];
  size_t config_size = 0, size = 0;
  char *config, *json;
  if (argc != 3) {
    fprintf(stderr, "usage: licenses_test licenses.so folder\n");
    return EXIT_FAILURE;
  }
  files[0] = argv[1];
  config = read_file(argv[2], "scheduler.yaml", &config_size);
  config[config_size] = '\0';
  options.scheduler_config = config;
  options.plugin_files = files;
  options.plugin_file_count = 1;
  check(berth_engine_create(&options, &engine, &error), &error, "engine");
  check(berth_cluster_create(engine, &cluster, &error), &error, "cluster");
  json = read_file(argv[2], "cluster.json", &size);
  check(berth_cluster_upsert(cluster, json, size, &error), &error, "cluster.json");
  ask(cluster);
  ask_nominated(cluster);
  free(json);
  free(config);
  berth_cluster_free(&cluster);
  berth_engine_free(&engine);
  if (failures == 0) printf("licenses_test: passed\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
