/* SPDX-License-Identifier: Apache-2.0 */
/* libberth as a C program uses it. Every function of berth.h is called here or in a part. */

#include "tests/capi/embedding_world.h"

static void names_every_status(void) {
  EXPECT(berth_abi_version() == BERTH_ABI_VERSION);
  EXPECT(strlen(berth_version_string()) > 0);
  EXPECT(strcmp(berth_status_name(BERTH_E_STALE), "BERTH_E_STALE") == 0);
  EXPECT(strcmp(berth_status_name(99), "unknown status") == 0);
  for (berth_status status = BERTH_E_INTERNAL; status <= BERTH_CANCELLED; ++status)
    EXPECT(strncmp(berth_status_name(status), "BERTH_", 6) == 0 && strlen(berth_status_text(status)) > 0);
}

static void wrong_arguments_are_refused(void) {
  berth_cluster *cluster = cluster_of("cpu"), *other = cluster_of("cpu");
  berth_pod* pod = make_pod(other, "p", 1, "");
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_engine* engine = NULL;
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  struct {
    berth_engine_options known;
    uint64_t later;
  } longer = {BERTH_ENGINE_OPTIONS_INIT, 0};
  berth_error small = {8, 0, {0}, {0}};
  int32_t fits = 7;
  EXPECT_STATUS(BERTH_E_ARGUMENT,
                berth_snapshot_check(snapshot, pod, 0, 0, &fits, NULL, &error)); /* of another cluster */
  EXPECT(fits == 7);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_snapshot_check(NULL, pod, 0, 0, &fits, NULL, &error));
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_snapshot_check(snapshot, NULL, 0, 0, &fits, NULL, &error));
  EXPECT(berth_snapshot_check(NULL, pod, 0, 0, &fits, NULL, NULL) == BERTH_E_ARGUMENT);
  EXPECT(berth_snapshot_check(snapshot, pod, 0, 0, &fits, NULL, &small) == BERTH_E_STRUCT_SIZE);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_cluster_upsert(cluster, NULL, 5, &error));
  EXPECT_STATUS(BERTH_E_INPUT, berth_cluster_upsert(cluster, "{\"kind\":", 8, &error));
  EXPECT_STATUS(BERTH_E_INPUT, berth_pod_create(cluster, kNodeD, strlen(kNodeD), NULL, &pod, &error));
  options.struct_size = 0;
  EXPECT_STATUS(BERTH_E_STRUCT_SIZE, berth_engine_create(&options, &engine, &error));
  options.struct_size = 8; /* of a caller that knows the first fields alone */
  EXPECT_STATUS(BERTH_OK, berth_engine_create(&options, &engine, &error));
  berth_engine_free(&engine);
  longer.known.struct_size = sizeof longer;
  EXPECT_STATUS(BERTH_OK, berth_engine_create(&longer.known, &engine, &error));
  berth_engine_free(&engine);
  longer.later = 1;
  EXPECT_STATUS(BERTH_E_STRUCT_SIZE, berth_engine_create(&longer.known, &engine, &error));
  options = (berth_engine_options)BERTH_ENGINE_OPTIONS_INIT;
  options.scheduler_config = "kind: Nonsense";
  EXPECT_STATUS(BERTH_E_INPUT, berth_engine_create(&options, &engine, &error));
  options.scheduler_config_file = "/nowhere";
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_engine_create(&options, &engine, &error));
  options.scheduler_config = NULL;
  EXPECT_STATUS(BERTH_E_INPUT, berth_engine_create(&options, &engine, &error));
  options.scheduler_config_file = NULL;
  options.scheduler_config =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "extenders: [{urlPrefix: 'http://x', filterVerb: f}]\n";
  EXPECT_STATUS(BERTH_E_UNSUPPORTED, berth_engine_create(&options, &engine, &error));
  options.flags = BERTH_ENGINE_ALLOW_UNSUPPORTED;
  EXPECT_STATUS(BERTH_OK, berth_engine_create(&options, &engine, &error));
  berth_engine_free(&engine);
  options = (berth_engine_options)BERTH_ENGINE_OPTIONS_INIT;
  options.release = "1.36";
  options.backend = "nobody";
  EXPECT_STATUS(BERTH_OK, berth_engine_create(&options, &engine, &error));
  EXPECT_STATUS(BERTH_E_INPUT, berth_cluster_create(engine, &cluster, &error));
  berth_engine_free(&engine);
  berth_engine_free(NULL);
  berth_pod_free(&pod);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
  berth_cluster_free(&other);
}

static void run_on(const char* backend) {
  checks_one_pod_on_one_node(backend);
  checks_pods_on_nodes_in_bulk(backend);
  a_snapshot_stays_as_it_was(backend);
  forks_place_revert_and_commit(backend);
  children_of_a_changed_fork_are_stale(backend);
  nodes_come_and_go_in_forks(backend);
  choices_of_a_node(backend);
  a_running_pod_is_moved(backend);
  all_nodes_of_a_fork_answer_into_arrays(backend);
  what_is_not_judged_is_never_a_yes(backend);
  named_plugins_are_ignored(backend);
  explains_and_preempts(backend);
  bulk_input_is_all_or_nothing_or_partial(backend);
  objects_are_replaced_and_deleted(backend);
  copies_are_counted_and_groups_are_placed(backend);
  room_is_reserved(backend);
  a_queue_says_who_is_tried_next(backend);
  estimates_new_nodes(backend);
  drains_and_replaces_nodes(backend);
  results_are_exported(backend);
  calls_are_cancelled(backend);
  loads_are_cancelled(backend);
  handles_tell_what_they_hold(backend);
}

int main(void) {
  names_every_status();
  run_on("cpu");
  run_on("reference");
  run_on("auto");
  wrong_arguments_are_refused();
  printf("%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
