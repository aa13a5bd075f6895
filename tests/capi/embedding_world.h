/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the parts of embedding_test share: a cluster of three nodes, and calls that are expected to succeed. */

#include <stdlib.h>

#include "tests/capi/check.h"

extern const char* const kNodes; /* of the cluster: a list */
extern const char* const kNodeD; /* one that the cluster does not have */

/* A pod that requests whole cpus; `more` goes into spec. The text is valid until the next call. */
const char* pod_text(const char* name, int cpus, const char* node, const char* more);
berth_engine* engine_of(const char* backend);
berth_cluster* cluster_of(const char* backend);
uint32_t node_of(berth_cluster* cluster, const char* name);
berth_pod* make_pod(berth_cluster* cluster, const char* name, int cpus, const char* more);
void upsert_pod(berth_cluster* cluster, const char* name, int cpus, const char* node);
berth_snapshot* snapshot_of(berth_cluster* cluster);
berth_fork* fork_of(const berth_snapshot* snapshot);
const void* column(const berth_result* result, uint32_t id, uint32_t type, size_t length);
const char* text_at(const berth_result* result, uint32_t id, size_t i, size_t length);

/* The parts, each on a backend. */
void checks_one_pod_on_one_node(const char* backend);
void checks_pods_on_nodes_in_bulk(const char* backend);
void choices_of_a_node(const char* backend);
void what_is_not_judged_is_never_a_yes(const char* backend);
void named_plugins_are_ignored(const char* backend);
void explains_and_preempts(const char* backend);
void a_snapshot_stays_as_it_was(const char* backend);
void forks_place_revert_and_commit(const char* backend);
void children_of_a_changed_fork_are_stale(const char* backend);
void nodes_come_and_go_in_forks(const char* backend);
void a_running_pod_is_moved(const char* backend);
void all_nodes_of_a_fork_answer_into_arrays(const char* backend);
void bulk_input_is_all_or_nothing_or_partial(const char* backend);
void objects_are_replaced_and_deleted(const char* backend);
void copies_are_counted_and_groups_are_placed(const char* backend);
void room_is_reserved(const char* backend);
void a_queue_says_who_is_tried_next(const char* backend);
void estimates_new_nodes(const char* backend);
void drains_and_replaces_nodes(const char* backend);
void results_are_exported(const char* backend);
void calls_are_cancelled(const char* backend);
void loads_are_cancelled(const char* backend);
void handles_tell_what_they_hold(const char* backend);
