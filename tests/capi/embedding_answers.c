/* SPDX-License-Identifier: Apache-2.0 */
/* What libberth answers about pods and nodes. */
#include "tests/capi/embedding_world.h"

void checks_one_pod_on_one_node(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pod = make_pod(cluster, "p", 3, "");
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_result* details = NULL;
  int32_t fits = -1;
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pod, node_of(cluster, "a"), 0, &fits, NULL, &error));
  EXPECT(fits == 1);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pod, node_of(cluster, "c"), 0, &fits, &details, &error));
  EXPECT(fits == 0);
  EXPECT(((const uint8_t*)column(details, BERTH_COLUMN_CODE, BERTH_TYPE_U8, 1))[0] ==
         BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE);
  EXPECT(((const uint8_t*)column(details, BERTH_COLUMN_PHASE, BERTH_TYPE_U8, 1))[0] == BERTH_PHASE_FILTER);
  EXPECT(((const uint8_t*)column(details, BERTH_COLUMN_JUDGED, BERTH_TYPE_U8, 1))[0] == BERTH_JUDGED);
  EXPECT(strcmp(text_at(details, BERTH_COLUMN_PLUGIN, 0, 1), "NodeResourcesFit") == 0);
  EXPECT(strcmp(text_at(details, BERTH_COLUMN_REASONS, 0, 1), "Insufficient cpu") == 0);
  berth_result_free(&details);
  EXPECT(details == NULL);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pod, 4000000000u, 0, &fits, &details, &error));
  EXPECT(fits == 0);
  EXPECT(strcmp(text_at(details, BERTH_COLUMN_REASONS, 0, 1), "there is no such node") == 0);
  berth_result_free(&details);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_snapshot_check(snapshot, pod, 0, BERTH_STOP_AT_FAILURE, &fits, NULL, &error));
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pod);
  berth_cluster_free(&cluster);
}

void checks_pods_on_nodes_in_bulk(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pods[3] = {make_pod(cluster, "p", 3, ""),
                        make_pod(cluster, "q", 1, "\"tolerations\":[{\"operator\":\"Exists\"}],"), NULL};
  const berth_pod* asked[3];
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_result* result = NULL;
  berth_node_set* set = NULL;
  uint32_t nodes[2];
  const uint8_t* fits;
  berth_str json = {"", 0};
  pods[2] = berth_pod_retain(pods[0]);
  memcpy(asked, pods, sizeof asked);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check_bulk(snapshot, asked, 3, NULL, 0, &result, &error));
  fits = column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 9);
  EXPECT(fits[0] == 1 && fits[1] == 0 && fits[2] == 0);
  EXPECT(fits[3] == 1 && fits[4] == 1 && fits[5] == 1);
  EXPECT(memcmp(fits, fits + 6, 3) == 0);
  EXPECT(((const uint32_t*)column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 3))[1] == node_of(cluster, "b"));
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_PLUGIN, 1, 9), "NodeUnschedulable") == 0);
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_REASONS, 1, 9), "node(s) were unschedulable") == 0);
  berth_result_free(&result);

  nodes[0] = node_of(cluster, "b");
  nodes[1] = node_of(cluster, "a");
  EXPECT_STATUS(BERTH_OK, berth_node_set_create(cluster, nodes, 2, &set, &error));
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check_bulk(snapshot, asked, 2, set, BERTH_SKIP_CORDONED | BERTH_NO_REASONS,
                                                    &result, &error));
  fits = column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 4);
  EXPECT(fits[0] == 1 && fits[1] == 0 && fits[2] == 1 && fits[3] == 0);
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_PHASE, BERTH_TYPE_U8, 4))[3] == BERTH_PHASE_NODE);
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_result_column(result, BERTH_COLUMN_SCORE, &(berth_column){0}, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_json(result, &json, &error));
  EXPECT(strstr(json.data, "\"columns\":{\"node\":[\"a\",\"b\"],\"fits\":[true,false,true,false]") != NULL);
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_result_text(result, 1000, &(berth_str){0}, &error));
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check_bulk(snapshot, NULL, 0, NULL, 0, &result, &error));
  column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 0);
  berth_result_free(&result);

  nodes[0] = 77;
  EXPECT_STATUS(BERTH_E_NOT_FOUND, berth_node_set_create(cluster, nodes, 2, &set, &error));
  berth_node_set_free(&set);
  berth_snapshot_free(&snapshot);
  berth_pod_free(&pods[0]);
  EXPECT_STATUS(BERTH_OK, berth_pod_uid(pods[2], &(berth_str){0}, &error)); /* one owner is left */
  berth_pod_free(&pods[1]);
  berth_pod_free(&pods[2]);
  berth_cluster_free(&cluster);
}

void choices_of_a_node(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod* pods[4] = {make_pod(cluster, "p0", 1, ""), make_pod(cluster, "p1", 1, ""), make_pod(cluster, "p2", 1, ""),
                        make_pod(cluster, "p3", 3, "")};
  const berth_pod* asked[4] = {pods[0], pods[1], pods[2], pods[3]};
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_result* result = NULL;
  berth_node_set* set = NULL;
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  const uint32_t a = node_of(cluster, "a"), b = node_of(cluster, "b"), c = node_of(cluster, "c");
  const uint32_t order[3] = {c, b, a};
  const uint32_t* nodes;
  uint32_t start = 99;
  options.choice = BERTH_CHOICE_FIRST_FIT;
  options.start = 2;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 3, &options, &result, &error));
  nodes = column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 3);
  EXPECT(nodes[0] == c && nodes[1] == a && nodes[2] == c); /* b is cordoned */
  EXPECT_STATUS(BERTH_OK, berth_result_next_start(result, &start, &error));
  EXPECT(start == 0);
  berth_result_free(&result);

  EXPECT_STATUS(BERTH_OK, berth_fork_revert(fork, &error));
  options.choice = BERTH_CHOICE_ORDER;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 1, &options, &result, &error));
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 1))[0] == 0); /* no node was named */
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_MESSAGE, 0, 1), "no nodes available to schedule pods") == 0);
  berth_result_free(&result);
  options.order = order;
  options.order_count = 3;
  options.flags = BERTH_STOP_AT_FAILURE;
  EXPECT_STATUS(BERTH_OK, berth_node_set_create(cluster, order, 2, &set, &error));
  options.nodes = set;
  asked[1] = pods[3];
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 3, &options, &result, &error));
  nodes = column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 2); /* the third one was not tried */
  EXPECT(nodes[0] == c && nodes[1] == BERTH_NO_NODE);
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_MESSAGE, 1, 2),
                "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.") == 0);
  berth_result_free(&result);

  options = (berth_schedule_options)BERTH_SCHEDULE_OPTIONS_INIT;
  options.nodes = set;
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked + 1, 1, &options, &result, &error));
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_MESSAGE, 0, 1),
                "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.") == 0);
  berth_result_free(&result);
  options.choice = 9;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_schedule(fork, asked, 1, &options, &result, &error));
  options.choice = BERTH_CHOICE_SCORE;
  options.order = order;
  options.order_count = 3;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_schedule(fork, asked, 1, &options, &result, &error));
  asked[1] = asked[0];
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_fork_schedule(fork, asked, 2, NULL, &result, &error));
  berth_node_set_free(&set);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  for (int i = 0; i < 4; ++i) berth_pod_free(&pods[i]);
  berth_cluster_free(&cluster);
}

void what_is_not_judged_is_never_a_yes(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  const char* const claims = "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"g\"}],";
  berth_pod_options ignore = BERTH_POD_OPTIONS_INIT;
  berth_pod* pods[3] = {make_pod(cluster, "dra", 1, claims), NULL,
                        make_pod(cluster, "other", 1, "\"schedulerName\":\"x\",")};
  const berth_pod* asked[3];
  berth_snapshot* snapshot = snapshot_of(cluster);
  berth_fork* fork = fork_of(snapshot);
  berth_result* result = NULL;
  const uint8_t *judged, *fits;
  uint64_t number = 0;
  int32_t yes = 1;
  ignore.ignore = BERTH_IGNORE_CLAIMS;
  EXPECT_STATUS(BERTH_OK, berth_pod_create(cluster, pod_text("dra2", 1, NULL, claims),
                                           strlen(pod_text("dra2", 1, NULL, claims)), &ignore, &pods[1], &error));
  memcpy(asked, pods, sizeof asked);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check(snapshot, pods[0], node_of(cluster, "a"), 0, &yes, NULL, &error));
  EXPECT(yes == 0);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check_bulk(snapshot, asked, 3, NULL, 0, &result, &error));
  judged = column(result, BERTH_COLUMN_JUDGED, BERTH_TYPE_U8, 3);
  fits = column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 9);
  EXPECT(judged[0] == BERTH_JUDGED_NOT && judged[1] == BERTH_JUDGED_IGNORING && judged[2] == BERTH_JUDGED_NOT);
  EXPECT(fits[0] == 0 && fits[1] == 0 && fits[2] == 0 && fits[3] == 1 && fits[6] == 0);
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_PLUGIN, 0, 9), "DynamicResources") == 0);
  EXPECT(strstr(text_at(result, BERTH_COLUMN_REASONS, 0, 9), "spec.resourceClaims") != NULL);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 3, NULL, &result, &error));
  fits = column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 3);
  EXPECT(fits[0] == 0 && fits[1] == 1 && fits[2] == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK,
                berth_fork_add_pod(fork, pods[2], node_of(cluster, "c"), &error)); /* it counts there all the same */
  EXPECT_STATUS(BERTH_E_UNSUPPORTED, berth_fork_explain(fork, pods[0], 0, &result, &error));
  EXPECT_STATUS(BERTH_E_UNSUPPORTED, berth_cluster_assume(cluster, pods[0], node_of(cluster, "a"), &error));
  int32_t priority = -1, local = -1;
  EXPECT_STATUS(BERTH_OK, berth_pod_priority(pods[0], &priority, &error));
  EXPECT(priority == 0);
  EXPECT_STATUS(BERTH_OK, berth_pod_class(pods[0], &number, &error));
  EXPECT_STATUS(BERTH_OK, berth_pod_is_node_local(pods[0], &local, &error));
  EXPECT(local == 0);
  for (int i = 0; i < 3; ++i) berth_pod_free(&pods[i]);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
}

static berth_pod* pod_ignoring(berth_cluster* cluster, const char* name, const char* more, uint32_t ignored) {
  berth_pod_options options = BERTH_POD_OPTIONS_INIT;
  const char* text = pod_text(name, 1, NULL, more);
  berth_pod* pod = NULL;
  options.ignore = ignored;
  EXPECT_STATUS(BERTH_OK, berth_pod_create(cluster, text, strlen(text), &options, &pod, &error));
  return pod;
}

void named_plugins_are_ignored(const char* backend) {
  const char* const names[] = {"NodeUnschedulable", "DynamicResources"};
  const char* const unknown[] = {"Coscheduling"};
  const char* const claims = "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"g\"}],";
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  berth_pod_options ignore = BERTH_POD_OPTIONS_INIT;
  berth_engine* engine = NULL;
  berth_cluster *cluster = NULL, *plain = cluster_of(backend);
  berth_pod *pods[4], *refused = NULL;
  const berth_pod* asked[4];
  berth_snapshot* snapshot;
  berth_fork* fork;
  berth_result* result = NULL;
  const uint8_t *judged, *fits;
  options.backend = backend;
  options.ignored_plugins = unknown;
  options.ignored_plugin_count = 1;
  EXPECT_STATUS(BERTH_E_INPUT, berth_engine_create(&options, &engine, &error));
  options.ignored_plugins = names;
  options.ignored_plugin_count = 2;
  EXPECT_STATUS(BERTH_OK, berth_engine_create(&options, &engine, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_create(engine, &cluster, &error));
  berth_engine_free(&engine);
  EXPECT_STATUS(BERTH_OK, berth_cluster_upsert(cluster, kNodes, strlen(kNodes), &error));
  ignore.ignore = BERTH_IGNORE_PLUGINS;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_pod_create(plain, pod_text("p", 1, NULL, ""),
                                                   strlen(pod_text("p", 1, NULL, "")), &ignore, &refused, &error));
  ignore.ignore = 8u;
  EXPECT_STATUS(BERTH_E_ARGUMENT, berth_pod_create(cluster, pod_text("p", 1, NULL, ""),
                                                   strlen(pod_text("p", 1, NULL, "")), &ignore, &refused, &error));
  EXPECT(refused == NULL);
  pods[0] = pod_ignoring(cluster, "p", "", 0);
  pods[1] = pod_ignoring(cluster, "q", "", BERTH_IGNORE_PLUGINS);
  pods[2] = pod_ignoring(cluster, "dra", claims, 0);
  pods[3] = pod_ignoring(cluster, "dra2", claims, BERTH_IGNORE_PLUGINS);
  memcpy(asked, pods, sizeof asked);
  snapshot = snapshot_of(cluster);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_check_bulk(snapshot, asked, 4, NULL, 0, &result, &error));
  judged = column(result, BERTH_COLUMN_JUDGED, BERTH_TYPE_U8, 4);
  fits = column(result, BERTH_COLUMN_FITS, BERTH_TYPE_U8, 12);
  EXPECT(judged[0] == BERTH_JUDGED && judged[1] == BERTH_JUDGED_IGNORING);
  EXPECT(judged[2] == BERTH_JUDGED_NOT && judged[3] == BERTH_JUDGED_IGNORING);
  /* Node b, the second one, is cordoned. */
  EXPECT(fits[0] == 1 && fits[1] == 0 && fits[2] == 1);
  EXPECT(fits[3] == 1 && fits[4] == 1 && fits[5] == 1);
  EXPECT(fits[6] == 0 && fits[7] == 0 && fits[8] == 0);
  EXPECT(fits[9] == 1 && fits[10] == 1 && fits[11] == 1);
  berth_result_free(&result);
  fork = fork_of(snapshot);
  EXPECT_STATUS(BERTH_OK, berth_fork_schedule(fork, asked, 4, NULL, &result, &error));
  judged = column(result, BERTH_COLUMN_JUDGED, BERTH_TYPE_U8, 4);
  EXPECT(judged[0] == BERTH_JUDGED && judged[1] == BERTH_JUDGED_IGNORING && judged[3] == BERTH_JUDGED_IGNORING);
  berth_result_free(&result);
  for (int i = 0; i < 4; ++i) berth_pod_free(&pods[i]);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
  berth_cluster_free(&plain);
}

void explains_and_preempts(const char* backend) {
  berth_cluster* cluster = cluster_of(backend);
  berth_pod *pod, *small;
  berth_snapshot* snapshot;
  berth_fork* fork;
  berth_result* result = NULL;
  berth_str json = {"", 0}, message = {"", 0};
  const char *release = NULL, *name = NULL, *backend_of_result = NULL;
  uint64_t version = 0, seed = 9;
  upsert_pod(cluster, "old", 3, "a");
  upsert_pod(cluster, "old2", 1, "c");
  pod = make_pod(cluster, "p", 4, "\"priority\":1000,");
  small = make_pod(cluster, "s", 1, "");
  snapshot = snapshot_of(cluster);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_preempt(snapshot, pod, 0, &result, &error));
  EXPECT(((const uint32_t*)column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 1))[0] == node_of(cluster, "a"));
  EXPECT(((const uint8_t*)column(result, BERTH_COLUMN_BEST, BERTH_TYPE_U8, 1))[0] == 1);
  EXPECT(((const int32_t*)column(result, BERTH_COLUMN_VIOLATIONS, BERTH_TYPE_I32, 1))[0] == 0);
  EXPECT(((const uint32_t*)column(result, BERTH_COLUMN_VICTIM_BEGIN, BERTH_TYPE_U32, 2))[1] == 1);
  EXPECT(strcmp(text_at(result, BERTH_COLUMN_VICTIM, 0, 1), "uid-old") == 0);
  EXPECT_STATUS(BERTH_OK, berth_result_origin(result, &version, &seed, &release, &backend_of_result, &error));
  EXPECT_STATUS(BERTH_OK, berth_cluster_backend(cluster, &name, &error));
  EXPECT(seed == 0 && strcmp(release, "1.35") == 0 && strcmp(backend_of_result, name) == 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_preempt(snapshot, small, 0, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_message(result, &message, &error));
  EXPECT(strcmp(message.data, "a node accepts the pod without it") == 0);
  column(result, BERTH_COLUMN_NODE, BERTH_TYPE_U32, 0);
  berth_result_free(&result);

  fork = fork_of(snapshot);
  EXPECT_STATUS(BERTH_OK, berth_fork_remove_pod(fork, "uid-old", &error));
  EXPECT_STATUS(BERTH_OK, berth_fork_preempt(fork, pod, BERTH_AS_MOVED, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_message(result, &message, &error));
  EXPECT(message.size > 0);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_fork_explain(fork, pod, 0, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_json(result, &json, &error));
  EXPECT(strstr(json.data, "\"pod\":\"default/p\"") != NULL && strstr(json.data, "\"best\":[\"a\"]") != NULL);
  berth_result_free(&result);
  EXPECT_STATUS(BERTH_OK, berth_snapshot_explain(snapshot, pod, BERTH_WITH_PREEMPTION, &result, &error));
  EXPECT_STATUS(BERTH_OK, berth_result_json(result, &json, &error));
  EXPECT(strstr(json.data, "\"preemption\":{\"eligible\":true") != NULL && strstr(json.data, "default/old\"") != NULL);
  berth_result_free(&result);
  berth_pod_free(&small);
  berth_pod_free(&pod);
  berth_fork_free(&fork);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
}
