/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * libberth: kube-scheduler's verdicts and placements in other people's programs. Compiles as C99 and as C++.
 *
 * docs/embedding.md explains the model, which calls may run at once, and what is not there yet. In short:
 *
 *   engine    configuration and limits; nothing of a cluster
 *   cluster   the one object that changes: nodes, running pods and what rules read beside them; it has a version
 *   snapshot  a cluster at one version; immutable, read by any number of threads
 *   fork      a what-if on a snapshot, or on a fork: one thread each; dropped, reverted or committed
 *   pod       a pod as it is to be placed, prepared once; valid in every snapshot and fork of its cluster
 *   result    an answer; immutable
 *
 * Conventions of every function that returns berth_status:
 *   - BERTH_OK is 0; positive: it worked, with a note; negative: it failed, nothing has changed, and every
 * out-parameter is untouched. An answer "no" is not a failure. Besides the codes that a function lists, each may return
 *     BERTH_E_ARGUMENT (a null or meaningless argument), BERTH_E_STRUCT_SIZE, BERTH_E_MEMORY, BERTH_E_FORKED (the
 * handle was made before fork(2), in the parent), BERTH_E_REENTRY (called by a callback of the same engine) and
 *     BERTH_E_INTERNAL (a defect of the library).
 *   - `error` may be NULL; otherwise its struct_size is set before the call (BERTH_ERROR_INIT). It is written when the
 * call fails, and by BERTH_PARTIAL.
 *   - Texts that are read are UTF-8, and are copied: they may go when the call returns. Texts that are given belong to
 * the handle they were asked of, and end with a NUL that is not counted.
 *   - create: the caller owns the handle and frees it. get: belongs to the handle that was asked. A free function takes
 *     NULL, clears the caller's pointer and cannot fail. A handle keeps alive what it was made of, so that handles may
 * be freed in any order.
 */
#ifndef BERTH_BERTH_H
#define BERTH_BERTH_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BERTH_API __attribute__((visibility("default")))
#else
#define BERTH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Counts up with every release that breaks programs compiled before; the soname has the same number. */
#define BERTH_ABI_VERSION 0u
/** BERTH_ABI_VERSION of the library that is loaded. Any thread. */
BERTH_API uint32_t berth_abi_version(void);
/** "0.1.0": of the library that is loaded. Static. Any thread. */
BERTH_API const char* berth_version_string(void);

/* Status ---------------------------------------------------------------------------------------------------------- */

typedef int32_t berth_status;
enum {
  BERTH_OK = 0,
  BERTH_PARTIAL = 1,        /**< some objects of a bulk call were refused: see its statuses */
  BERTH_DEADLINE = 2,       /**< the deadline passed; what was done before it, a prefix, stands */
  BERTH_IGNORED = 3,        /**< of one object of a bulk call: no rule reads objects of its kind */
  BERTH_CANCELLED = 4,      /**< a token was triggered: as BERTH_DEADLINE, and not even the first pod need be done */
  BERTH_E_ARGUMENT = -1,    /**< an argument is NULL where it must not be, or has no meaning */
  BERTH_E_STRUCT_SIZE = -2, /**< struct_size is 0, or the struct has fields that this library does not know */
  BERTH_E_INPUT = -3,       /**< a text is malformed, or says what no cluster can hold */
  BERTH_E_UNSUPPORTED = -4, /**< meaningful to kube-scheduler, and not built here; the text names it */
  BERTH_E_NOT_FOUND = -5,   /**< no such node, pod or object here */
  BERTH_E_EXISTS = -6,      /**< it is there already */
  BERTH_E_STALE = -7,       /**< what the handle was opened on has changed since */
  BERTH_E_STATE = -8,       /**< the fork was committed; it takes no call but free */
  BERTH_E_BUSY = -9,        /**< another thread is in a call on this fork */
  BERTH_E_REENTRY = -10,    /**< called by a callback of the same engine */
  BERTH_E_FORKED = -11,     /**< the process is a child of the one that made the handle */
  BERTH_E_MEMORY = -12,     /**< memory ran out, or the engine's max_memory_bytes is reached; handles stay usable */
  BERTH_E_DEVICE = -13,     /**< no device can be used, or it failed */
  BERTH_E_INTERNAL = -14    /**< a defect of the library */
};
/** "BERTH_E_STALE"; "unknown status" of another number. Static. Any thread. */
BERTH_API const char* berth_status_name(berth_status status);
/** One English sentence about a status. Static. Any thread. */
BERTH_API const char* berth_status_text(berth_status status);

/** Why a call failed. The caller owns it; the library writes it during the call and keeps no reference. */
typedef struct berth_error {
  uint32_t struct_size;
  berth_status code;
  char object[256]; /**< what it is about: "Pod default/web-0", "nodes[3]", "profiles[0].plugins"; may be empty */
  char text[480];   /**< what is wrong there; cut where it is longer */
} berth_error;
#define BERTH_ERROR_INIT {(uint32_t)sizeof(berth_error), 0, {0}, {0}}

/** Text of a handle; `data[size]` is 0. */
typedef struct berth_str {
  const char* data;
  size_t size;
} berth_str;

typedef struct berth_engine berth_engine;
typedef struct berth_cluster berth_cluster;
typedef struct berth_snapshot berth_snapshot;
typedef struct berth_fork berth_fork;
typedef struct berth_pod berth_pod;
typedef struct berth_node_set berth_node_set;
typedef struct berth_queue berth_queue;
typedef struct berth_result berth_result;
typedef struct berth_cancel berth_cancel;
typedef struct berth_plugin berth_plugin; /* plugin.h */

/* Cancelling ------------------------------------------------------------------------------------------------------ */

/** A token by which calls are cancelled. It belongs to no engine, and any number of calls may be given it at once, in
 * their options; it must not be freed before they return. Calls look at it between pieces of their work, and return
 * BERTH_CANCELLED then, with a prefix of the answer, as they return BERTH_DEADLINE. A piece takes a few milliseconds at
 * 15,000 nodes; docs/embedding.md names what takes longer. What has no options is not cancelled: for explanations,
 * preemption, bulk checks, loading and snapshots in files there are the calls that end with "_until".
 *
 * @param cancel [out] owned by the caller, not triggered. Any thread. */
BERTH_API berth_status berth_cancel_create(berth_cancel** cancel, berth_error* error);
BERTH_API void berth_cancel_free(berth_cancel** cancel);
/** Cancels the calls that have the token, and those that are given it later. Any thread, signal handlers and callbacks
 * of the library included; also in a child of the process that made it. NULL: nothing. */
BERTH_API void berth_cancel_trigger(berth_cancel* cancel);
/** The token is as new. A call that runs meanwhile may or may not have seen it triggered. Where
 * berth_cancel_trigger() may be called, this and the next one may be too. NULL: nothing. */
BERTH_API void berth_cancel_reset(berth_cancel* cancel);
/** 1: it was triggered; 0: it was not, or is NULL. */
BERTH_API int32_t berth_cancel_is_triggered(const berth_cancel* cancel);

/** Told how far a call is: `done` of `total` of its elements (pods, shapes or nodes), not falling. Called by the thread
 * of the call, between pieces of its work, without a lock, at most about once a millisecond, and with `total` when all
 * are done. Calling back into any handle of the engine returns BERTH_E_REENTRY; berth_cancel_trigger() may be called.
 */
typedef void (*berth_progress_fn)(void* user_data, uint64_t done, uint64_t total);

/* Engine ---------------------------------------------------------------------------------------------------------- */

enum { BERTH_LOG_ERROR = 1, BERTH_LOG_WARNING = 2, BERTH_LOG_INFO = 3 };
/** Takes one message; `text` is valid during the call. Called by the thread that is in a call, behind its work and
 * without a lock. Calling back into any handle of the engine returns BERTH_E_REENTRY. */
typedef void (*berth_log_fn)(void* user_data, int32_t level, const char* text);

enum {
  /** Go on without what a configuration names and this release has not built: extenders, out-of-tree plugins. Otherwise
   * they are BERTH_E_UNSUPPORTED. */
  BERTH_ENGINE_ALLOW_UNSUPPORTED = 1u
};

/** All zeros but struct_size: the configuration of a kube-scheduler v1.35 without --config. */
typedef struct berth_engine_options {
  uint32_t struct_size;
  uint32_t flags;
  const char* scheduler_config;      /**< text of a KubeSchedulerConfiguration, YAML or JSON; NULL: the file, or none */
  const char* scheduler_config_file; /**< its path; not together with the text */
  const char* engine_config;         /**< text of a BerthEngineConfiguration; NULL: the file, or none */
  const char* engine_config_file;    /**< its path; not together with the text */
  const char* release;               /**< "1.35" or "1.36"; NULL: 1.35 */
  const char* feature_gates; /**< "Name=true,Other=false", as kube-scheduler's flag; NULL: the release's defaults */
  const char* backend;       /**< "auto", "cpu", "reference" or "cuda"; NULL: what engine_config says, else auto */
  uint64_t seed;             /**< of draws among equal nodes; 0: what engine_config says */
  /** That work at once for calls on all handles of the engine: the calling one and threads - 1 of the library. 0: what
   * engine_config says, else one per core. Other calling threads come on top. */
  int32_t threads;
  int32_t log_level; /**< the most talkative level that is logged; 0: BERTH_LOG_WARNING */
  berth_log_fn log;  /**< NULL: silent */
  void* log_user_data;
  /** Called once when the engine goes; NULL: nothing. Not called if create fails. */
  void (*log_user_data_free)(void* user_data);
  const berth_plugin* const* plugins; /**< plugins of the program, see plugin.h; they outlive the engine */
  size_t plugin_count;
  const char* const* plugin_files; /**< paths of shared objects with a plugin each; behind those of `plugins` */
  size_t plugin_file_count;
  /** Names of plugins of the profiles, in the tree or not, built or not: what BERTH_IGNORE_PLUGINS leaves out. */
  const char* const* ignored_plugins;
  size_t ignored_plugin_count;
  /** What all handles of the engine may hold together; 0: no cap, and nothing is counted. See berth_engine_memory(). */
  uint64_t max_memory_bytes;
} berth_engine_options;
#define BERTH_ENGINE_OPTIONS_INIT          \
  {(uint32_t)sizeof(berth_engine_options), \
   0,                                      \
   NULL,                                   \
   NULL,                                   \
   NULL,                                   \
   NULL,                                   \
   NULL,                                   \
   NULL,                                   \
   NULL,                                   \
   0,                                      \
   0,                                      \
   0,                                      \
   NULL,                                   \
   NULL,                                   \
   NULL,                                   \
   NULL,                                   \
   0,                                      \
   NULL,                                   \
   0,                                      \
   NULL,                                   \
   0,                                      \
   0}

/** Reads a configuration, and loads plugins, each of which some profile has to enable by its name. Any thread.
 *
 * @param options [in]  NULL: the defaults
 * @param engine  [out] owned by the caller
 * @return BERTH_E_INPUT with the path of the first problem, or naming a plugin that cannot be loaded, is of another
 * version, refuses its arguments, or is to be ignored and in no profile; BERTH_E_UNSUPPORTED for what is not built,
 * such as extenders. */
BERTH_API berth_status berth_engine_create(const berth_engine_options* options, berth_engine** engine,
                                           berth_error* error);
BERTH_API void berth_engine_free(berth_engine** engine);

/* Cluster --------------------------------------------------------------------------------------------------------- */

/** An empty cluster.
 *
 * @return BERTH_E_UNSUPPORTED when the backend is not in this build, BERTH_E_DEVICE when "cuda" finds no device */
BERTH_API berth_status berth_cluster_create(const berth_engine* engine, berth_cluster** cluster, berth_error* error);
BERTH_API void berth_cluster_free(berth_cluster** cluster);

/** The version: moves with every call that changes something. Calls that say of nodes, Services and workloads what is
 * known already, heartbeats among them, do not move it; an upsert of a running pod does, whose place among equal
 * victims becomes the last one, as in kube-scheduler. Any thread. */
BERTH_API berth_status berth_cluster_version(const berth_cluster* cluster, uint64_t* version, berth_error* error);
/** "cpu": the backend that answers. Static. Any thread. */
BERTH_API berth_status berth_cluster_backend(const berth_cluster* cluster, const char** name, berth_error* error);

/** Adds Kubernetes objects, or replaces those of the same name. All or nothing.
 *
 * A pod on a node counts there, and one that has finished does not any more. A pod without a node is not kept: its
 * status.nominatedNodeName reserves room, and berth_pod_create() makes it placeable. Deployments, ReplicaSets and so on
 * are read for their selectors; no pod is made of them. Objects of kinds that no rule reads are ignored.
 *
 * @param text [in] one object, a List, or a stream of both, as JSON or YAML; `size` bytes
 * @return BERTH_E_INPUT naming the first object that is refused */
BERTH_API berth_status berth_cluster_upsert(berth_cluster* cluster, const char* text, size_t size, berth_error* error);

/** Objects in one buffer: object i has the bytes offsets[i] up to offsets[i + 1]. */
typedef struct berth_bulk {
  uint32_t struct_size;
  uint32_t reserved;       /**< 0 */
  const char* data;        /**< JSON, one object each; read during the call only */
  const uint64_t* offsets; /**< length count + 1, not falling */
  size_t count;            /**< 0 is allowed */
} berth_bulk;
#define BERTH_BULK_INIT {(uint32_t)sizeof(berth_bulk), 0, NULL, NULL, 0}

/** The same for many objects.
 *
 * @param statuses [out] NULL: one bad object refuses all. Otherwise length bulk->count: BERTH_OK, BERTH_IGNORED, or why
 * the object was refused; the others are taken
 * @return BERTH_PARTIAL when some were refused; `error` then tells of the first. BERTH_E_INPUT without `statuses`. */
BERTH_API berth_status berth_cluster_upsert_bulk(berth_cluster* cluster, const berth_bulk* bulk, berth_status* statuses,
                                                 berth_error* error);

/** Of calls that read or write many objects. */
typedef struct berth_load_options {
  uint32_t struct_size;
  uint32_t reserved;          /**< 0 */
  uint64_t deadline_us;       /**< 0: none; from the start of the call */
  const berth_cancel* cancel; /**< NULL: none */
} berth_load_options;
#define BERTH_LOAD_OPTIONS_INIT {(uint32_t)sizeof(berth_load_options), 0, 0, NULL}

/** berth_cluster_upsert() until a deadline passes or a token is triggered. @param options [in] NULL: to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: nothing has changed */
BERTH_API berth_status berth_cluster_upsert_until(berth_cluster* cluster, const char* text, size_t size,
                                                  const berth_load_options* options, berth_error* error);
/** berth_cluster_upsert_bulk() until a deadline passes or a token is triggered. @param options [in] NULL: to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: nothing has changed, and `statuses` is untouched */
BERTH_API berth_status berth_cluster_upsert_bulk_until(berth_cluster* cluster, const berth_bulk* bulk,
                                                       berth_status* statuses, const berth_load_options* options,
                                                       berth_error* error);

/** The cluster becomes what the text says of one kind: objects of that kind that the text does not name are deleted.
 *
 * @param kind [in] "Pod", "Node", "Service" and so on: what berth_cluster_delete() takes
 * @param text [in] as berth_cluster_upsert(); objects of other kinds are BERTH_E_INPUT. Size 0: none is left */
BERTH_API berth_status berth_cluster_replace(berth_cluster* cluster, const char* kind, const char* text, size_t size,
                                             berth_error* error);
/** The same until a deadline passes or a token is triggered. @param options [in] NULL: to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: nothing has changed */
BERTH_API berth_status berth_cluster_replace_until(berth_cluster* cluster, const char* kind, const char* text,
                                                   size_t size, const berth_load_options* options, berth_error* error);

/** Deletes an object; one that is not there is BERTH_E_NOT_FOUND.
 *
 * @param kind       [in] of those that rules read
 * @param name_space [in] NULL for kinds without namespace
 * @param name       [in] NULL for a pod that is named by its uid
 * @param uid        [in] of a pod; NULL: it is found by its name, if it is on a node, which takes a look at every pod.
 *        Other kinds are known by name only */
BERTH_API berth_status berth_cluster_delete(berth_cluster* cluster, const char* kind, const char* name_space,
                                            const char* name, const char* uid, berth_error* error);

/** Places the pod on the node without asking any rule, as kube-scheduler does between its decision and the binding. The
 * pod's upsert on that node confirms it, and one on another node overrules it.
 *
 * @return BERTH_E_NOT_FOUND: no such node. BERTH_E_EXISTS: the pod stands on a node. BERTH_E_UNSUPPORTED: Berth cannot
 *         judge the pod */
BERTH_API berth_status berth_cluster_assume(berth_cluster* cluster, const berth_pod* pod, uint32_t node,
                                            berth_error* error);
/** Takes back what berth_cluster_assume() or the commit of a fork placed and no upsert confirmed. A pod whose latest
 * upsert has named a node in status.nominatedNodeName reserves room there again.
 *
 * @return BERTH_E_NOT_FOUND: nothing of that kind */
BERTH_API berth_status berth_cluster_forget(berth_cluster* cluster, const berth_pod* pod, berth_error* error);

/* Nodes ----------------------------------------------------------------------------------------------------------- */

/** Of a pod without a node. */
#define BERTH_NO_NODE UINT32_MAX

/** The number of a node name. It stands for this name in the cluster and all its snapshots and forks, whether or not a
 * node has the name there; numbers count up from 0 and are never given again. Any thread.
 *
 * @return BERTH_E_NOT_FOUND: no node of the cluster or of a fork ever had the name */
BERTH_API berth_status berth_cluster_find_node(const berth_cluster* cluster, const char* name, uint32_t* node,
                                               berth_error* error);
/** The name of a number. @param name [out] get: valid as long as the cluster. Any thread. */
BERTH_API berth_status berth_cluster_node_name(const berth_cluster* cluster, uint32_t node, berth_str* name,
                                               berth_error* error);

/** A set of node numbers, of use with every snapshot and fork of the cluster. Immutable; any thread.
 *
 * @param nodes [in] length count, in any order; a number may stand there several times */
BERTH_API berth_status berth_node_set_create(const berth_cluster* cluster, const uint32_t* nodes, size_t count,
                                             berth_node_set** set, berth_error* error);
BERTH_API void berth_node_set_free(berth_node_set** set);

/* Pods ------------------------------------------------------------------------------------------------------------ */

enum {
  BERTH_IGNORE_CLAIMS = 1u,  /**< judge as if spec.resourceClaims were empty */
  BERTH_IGNORE_VOLUMES = 2u, /**< judge as if the pod had no volumes */
  BERTH_IGNORE_PLUGINS = 4u  /**< judge as if the pod's profile had none of berth_engine_options.ignored_plugins */
};
typedef struct berth_pod_options {
  uint32_t struct_size;
  uint32_t ignore; /**< BERTH_IGNORE_*: every answer about the pod is then marked BERTH_JUDGED_IGNORING */
} berth_pod_options;
#define BERTH_POD_OPTIONS_INIT {(uint32_t)sizeof(berth_pod_options), 0}

/** Reads and prepares a pod. It is counted: see berth_pod_retain(). May run while other threads read and use forks.
 *
 * Its spec.nodeName counts, as for kube-scheduler, unless a call says BERTH_AS_MOVED. Scheduling gates are not looked
 * at. A pod that Berth cannot judge is made too: it may be put on nodes, and its answers are "not judged". What is to
 * be ignored is marked where the pod has it, or its profile runs it; volumes that no rule reads, as emptyDir, mark
 * nothing. BERTH_IGNORE_PLUGINS without such plugins in the engine's options is BERTH_E_ARGUMENT.
 *
 * @param text [in] one Pod
 * @param pod  [out] valid in every snapshot and fork of the cluster, those made before included
 * @return BERTH_E_INPUT */
BERTH_API berth_status berth_pod_create(berth_cluster* cluster, const char* text, size_t size,
                                        const berth_pod_options* options, berth_pod** pod, berth_error* error);
/** The same for many, of which none is made when one is refused. @param pods [out] length bulk->count */
BERTH_API berth_status berth_pod_create_bulk(berth_cluster* cluster, const berth_bulk* bulk,
                                             const berth_pod_options* options, berth_pod** pods, berth_error* error);
/** berth_pod_create_bulk() until a deadline passes or a token is triggered. @param until [in] NULL: to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: no pod is made, and `pods` is untouched */
BERTH_API berth_status berth_pod_create_bulk_until(berth_cluster* cluster, const berth_bulk* bulk,
                                                   const berth_pod_options* options, const berth_load_options* until,
                                                   berth_pod** pods, berth_error* error);
/** Counts one more owner, which frees it too. Any thread. @return `pod` */
BERTH_API berth_pod* berth_pod_retain(berth_pod* pod);
BERTH_API void berth_pod_free(berth_pod** pod);
/** metadata.uid, or "namespace/name" of a pod without one. @param uid [out] get. Any thread. */
BERTH_API berth_status berth_pod_uid(const berth_pod* pod, berth_str* uid, berth_error* error);
/** spec.priority, or 0: by it kube-scheduler's queue orders pods, and preemption says who may evict whom.
 * @param priority [out] set. Any thread. */
BERTH_API berth_status berth_pod_priority(const berth_pod* pod, int32_t* priority, berth_error* error);
/** The number of the pod's class: pods that no rule can tell apart have the same, as of now. Numbers may be other ones
 * when the cluster has changed, and mean nothing between clusters. A backend without classes, and a pod that cannot be
 * judged, have one for each pod. */
BERTH_API berth_status berth_pod_class(const berth_pod* pod, uint64_t* number, berth_error* error);
/** Whether a copy of the pod that is placed changes the verdict and the score of no other node for the next copy, as of
 * now: of one ranking of the nodes the next best one is then the best once the first is full, as signatures of
 * kube-scheduler's opportunistic batching promise. Not where terms of the pod meet its copies on other nodes, where
 * scores are normalised over nodes that differ in them, nor where that is not known: plugins that answer per node
 * (those of volumes and of callers), nominated pods, pods that cannot be judged, and backends without classes.
 * @param local [out] 1 or 0 */
BERTH_API berth_status berth_pod_is_node_local(const berth_pod* pod, int32_t* local, berth_error* error);

/* Snapshots ------------------------------------------------------------------------------------------------------- */

/** The cluster as it is now. Costs the same whatever its size. */
BERTH_API berth_status berth_snapshot_create(berth_cluster* cluster, berth_snapshot** snapshot, berth_error* error);
BERTH_API void berth_snapshot_free(berth_snapshot** snapshot);
BERTH_API berth_status berth_snapshot_version(const berth_snapshot* snapshot, uint64_t* version, berth_error* error);
/** Copies the numbers of the snapshot's nodes, ascending.
 *
 * @param nodes    [out] length capacity; NULL with capacity 0 asks for the count alone
 * @param count    [out] how many there are, also when not all were copied */
BERTH_API berth_status berth_snapshot_nodes(const berth_snapshot* snapshot, uint32_t* nodes, size_t capacity,
                                            size_t* count, berth_error* error);

/* Snapshots in files ---------------------------------------------------------------------------------------------- */

/** Writes a snapshot to a file, which has its old content until the new one is complete. The file has the objects, the
 * numbers of node names, what is assumed, reservations and the version, with a checksum; docs/embedding.md has its
 * format. It costs as much as loading the cluster.
 *
 * @param path [in] of a file
 * @return BERTH_E_UNSUPPORTED naming a pod that is assumed and has volumes, or plugins that declare paths, which files
 * do not hold. BERTH_E_INPUT naming a file that cannot be written. Any thread. */
BERTH_API berth_status berth_snapshot_write(const berth_snapshot* snapshot, const char* path, berth_error* error);
/** The same into memory. @param result [out] its bytes by berth_result_bytes(); owned by the caller */
BERTH_API berth_status berth_snapshot_write_memory(const berth_snapshot* snapshot, berth_result** result,
                                                   berth_error* error);
/** Both until a deadline passes or a token is triggered. @param options [in] NULL: to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: nothing is written, and `result` is untouched. Any thread. */
BERTH_API berth_status berth_snapshot_write_until(const berth_snapshot* snapshot, const char* path,
                                                  const berth_load_options* options, berth_error* error);
BERTH_API berth_status berth_snapshot_write_memory_until(const berth_snapshot* snapshot,
                                                         const berth_load_options* options, berth_result** result,
                                                         berth_error* error);
/** A cluster as it was when a snapshot of it was written, and a snapshot of it. Given the same configuration and seed,
 * both answer as before; the configuration is not in the file.
 *
 * @param cluster  [out] owned by the caller; its version is that of the snapshot that was written
 * @param snapshot [out] NULL: not wanted; owned by the caller
 * @return BERTH_E_INPUT: no such file, or a damaged one. BERTH_E_UNSUPPORTED naming the release of libberth or of
 * kube-scheduler that wrote it, where that is another one. Any thread. */
BERTH_API berth_status berth_snapshot_open(const berth_engine* engine, const char* path, berth_cluster** cluster,
                                           berth_snapshot** snapshot, berth_error* error);
/** The same of `size` bytes in memory. */
BERTH_API berth_status berth_snapshot_open_memory(const berth_engine* engine, const void* bytes, size_t size,
                                                  berth_cluster** cluster, berth_snapshot** snapshot,
                                                  berth_error* error);
/** Both until a deadline passes or a token is triggered. @param options [in] NULL: to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: nothing is opened, and `cluster` and `snapshot` are untouched. Any thread.
 */
BERTH_API berth_status berth_snapshot_open_until(const berth_engine* engine, const char* path,
                                                 const berth_load_options* options, berth_cluster** cluster,
                                                 berth_snapshot** snapshot, berth_error* error);
BERTH_API berth_status berth_snapshot_open_memory_until(const berth_engine* engine, const void* bytes, size_t size,
                                                        const berth_load_options* options, berth_cluster** cluster,
                                                        berth_snapshot** snapshot, berth_error* error);

/* Answers --------------------------------------------------------------------------------------------------------- */

/** What an answer about a pod is worth. What is not judged never fits. */
enum {
  BERTH_JUDGED_NOT = 0,     /**< Berth cannot judge the pod; plugin and reasons name what it uses */
  BERTH_JUDGED = 1,         /**< as kube-scheduler judges */
  BERTH_JUDGED_IGNORING = 2 /**< without what berth_pod_options.ignore names, where that is there */
};
/** Where a verdict comes from. */
enum {
  BERTH_PHASE_NONE = 0,       /**< the pod fits, or was not judged */
  BERTH_PHASE_PRE_FILTER = 1, /**< PreFilter refuses every node, or names others */
  BERTH_PHASE_FILTER = 2,     /**< the first refusing Filter plugin of the node */
  BERTH_PHASE_NODE = 3        /**< no plugin: no node has the number here, or it is cordoned and was to be skipped */
};
/** kube-scheduler's status codes. */
enum {
  BERTH_CODE_SUCCESS = 0,
  BERTH_CODE_ERROR = 1,
  BERTH_CODE_UNSCHEDULABLE = 2,                  /**< eviction may help */
  BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE = 3, /**< eviction does not help */
  BERTH_CODE_PENDING = 6
};

enum {
  BERTH_SKIP_CORDONED = 1u,    /**< nodes with spec.unschedulable are left out, whatever the pod tolerates */
  BERTH_AS_MOVED = 2u,         /**< spec.nodeName is ignored, and the pod's own running copy is taken out first */
  BERTH_NO_REASONS = 4u,       /**< of bulk checks: leave BERTH_COLUMN_REASONS empty, which is much cheaper */
  BERTH_STOP_AT_FAILURE = 8u,  /**< of batches: stop behind the first pod that finds no node */
  BERTH_WITH_PREEMPTION = 16u, /**< of explain: add what preemption would do for a pod that fits nowhere */
  BERTH_WITH_SCORES = 1024u,   /**< of bulk checks: add BERTH_COLUMN_SCORE and BERTH_COLUMN_MESSAGE */
  BERTH_WITH_REJECTORS = 2048u /**< of batches: add BERTH_COLUMN_REJECTORS and BERTH_COLUMN_PENDING_REJECTORS */
};
/** In BERTH_COLUMN_SCORE of checks: the node does not fit, or nothing was scored. Totals are not negative. */
#define BERTH_NO_SCORE INT64_C(-1)

/** One pod on one node: the Filter plugins, pods nominated to the node included.
 *
 * @param flags   [in]  BERTH_SKIP_CORDONED, BERTH_AS_MOVED
 * @param fits    [out] 1, or 0: no, or not judged
 * @param details [out] NULL: not wanted. A result of one pod and one node, owned by the caller
 * Any thread. */
BERTH_API berth_status berth_snapshot_check(const berth_snapshot* snapshot, const berth_pod* pod, uint32_t node,
                                            uint32_t flags, int32_t* fits, berth_result** details, berth_error* error);
/** Every pod on every node of a set.
 *
 * With BERTH_WITH_SCORES also what the Score plugins give the nodes on which a pod fits: the sum over the plugins of
 * normalised score times weight, by which kube-scheduler chooses. Normalisers, and the plugins that compare nodes, see
 * the nodes for which FITS is 1 in this answer, and no others: kube-scheduler scores those that passed Filter, which
 * are among those that PreFilter names, as here among those of the set and without cordoned ones that are skipped. So
 * the scores of a node differ between sets, and those of the nodes that berth_fork_schedule() has to choose from are
 * those of a check with the same set and flags. kube-scheduler takes a node that alone fits, and a nominated node that
 * fits, without scoring; here they have the total that scoring would give. A profile that scores nothing gives 1.
 *
 * @param pods  [in] length pod_count; of the snapshot's cluster
 * @param nodes [in] NULL: all nodes of the snapshot
 * @param flags [in] BERTH_SKIP_CORDONED, BERTH_AS_MOVED, BERTH_NO_REASONS, BERTH_WITH_SCORES
 * @param result [out] columns NODE, FITS, JUDGED, CODE, PHASE, PLUGIN, REASONS; with BERTH_WITH_SCORES also SCORE and
 * MESSAGE: where scoring ends the cycle of a pod with an error, MESSAGE tells it, and SCORE is BERTH_NO_SCORE on every
 * node. Owned by the caller
 * Any thread. */
BERTH_API berth_status berth_snapshot_check_bulk(const berth_snapshot* snapshot, const berth_pod* const* pods,
                                                 size_t pod_count, const berth_node_set* nodes, uint32_t flags,
                                                 berth_result** result, berth_error* error);
typedef struct berth_check_options {
  uint32_t struct_size;
  uint32_t flags;              /**< as of berth_snapshot_check_bulk() */
  const berth_node_set* nodes; /**< NULL: all nodes */
  uint64_t deadline_us;        /**< 0: none; from the start of the call. At least one pod is answered */
  const berth_cancel* cancel;  /**< NULL: none */
} berth_check_options;
#define BERTH_CHECK_OPTIONS_INIT {(uint32_t)sizeof(berth_check_options), 0, NULL, 0, NULL}
/** The same until a deadline passes or a token is triggered.
 *
 * @param options [in] NULL: all nodes, to the end
 * @param result [out] as of berth_snapshot_check_bulk(); every column but NODE may be of a prefix of the pods, whose
 * number is the length of JUDGED
 * @return BERTH_DEADLINE or BERTH_CANCELLED: it is of a prefix
 * Any thread. */
BERTH_API berth_status berth_snapshot_check_bulk_until(const berth_snapshot* snapshot, const berth_pod* const* pods,
                                                       size_t pod_count, const berth_check_options* options,
                                                       berth_result** result, berth_error* error);
/** What every node says of a pod, as one record of docs/schemas/explain-record.schema.json: berth_result_json().
 *
 * @param flags [in] BERTH_AS_MOVED, BERTH_WITH_PREEMPTION
 * Any thread. */
BERTH_API berth_status berth_snapshot_explain(const berth_snapshot* snapshot, const berth_pod* pod, uint32_t flags,
                                              berth_result** result, berth_error* error);
/** Whom the pod would evict, and where: upstream's dry run on every node where eviction can help, and its choice.
 * Evicts nobody. While the snapshot is of the cluster's version, the engine of the cluster is asked, which keeps what
 * it finds out for the next questions, and calls that change the cluster wait meanwhile. Otherwise, and for a pod that
 * is moved, every node is asked anew.
 *
 * @param flags [in] BERTH_AS_MOVED
 * @param result [out] columns NODE, VIOLATIONS, BEST and VICTIM_BEGIN, one entry a candidate (VICTIM_BEGIN one more),
 * and VICTIM; berth_result_message() says why there is none Any thread. */
BERTH_API berth_status berth_snapshot_preempt(const berth_snapshot* snapshot, const berth_pod* pod, uint32_t flags,
                                              berth_result** result, berth_error* error);
/** Of explanations and preemption. */
typedef struct berth_ask_options {
  uint32_t struct_size;
  uint32_t flags;             /**< as the call without options has them */
  uint64_t deadline_us;       /**< 0: none; from the start of the call */
  const berth_cancel* cancel; /**< NULL: none */
} berth_ask_options;
#define BERTH_ASK_OPTIONS_INIT {(uint32_t)sizeof(berth_ask_options), 0, 0, NULL}
/** berth_snapshot_explain() until a deadline passes or a token is triggered.
 *
 * @param options [in] NULL: without flags, to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: the result has no record
 * Any thread. */
BERTH_API berth_status berth_snapshot_explain_until(const berth_snapshot* snapshot, const berth_pod* pod,
                                                    const berth_ask_options* options, berth_result** result,
                                                    berth_error* error);
/** berth_snapshot_preempt() until a deadline passes or a token is triggered.
 *
 * @param options [in] NULL: without flags, to the end
 * @return BERTH_DEADLINE, BERTH_CANCELLED: the result has no candidate, which says nothing of the cluster; its message
 * is that of the status
 * Any thread. */
BERTH_API berth_status berth_snapshot_preempt_until(const berth_snapshot* snapshot, const berth_pod* pod,
                                                    const berth_ask_options* options, berth_result** result,
                                                    berth_error* error);

/* Forks ----------------------------------------------------------------------------------------------------------- */

/** A what-if on the snapshot, which does not change. Any thread. */
BERTH_API berth_status berth_snapshot_fork(const berth_snapshot* snapshot, berth_fork** fork, berth_error* error);
/** A what-if on a fork as it is now. Later changes of the parent do not affect it. */
BERTH_API berth_status berth_fork_fork(berth_fork* parent, berth_fork** fork, berth_error* error);
BERTH_API void berth_fork_free(berth_fork** fork);
/** The fork becomes what it was when it was opened.
 *
 * @return BERTH_E_STALE: its parent, a fork, has changed since or was committed */
BERTH_API berth_status berth_fork_revert(berth_fork* fork, berth_error* error);
/** Does to the parent what was done to the fork: a fork of a fork to that fork, a fork of a snapshot to the cluster,
 * where placements are as assumed. The fork takes no call but free afterwards.
 *
 * @param version [out] NULL, or the cluster's version afterwards; of the commit into a fork: untouched
 * @return BERTH_E_STALE: the cluster's version is not the snapshot's any more, or the parent has changed since the fork
 * was opened; nothing has changed, and the fork stays usable. BERTH_E_BUSY: another thread uses the parent */
BERTH_API berth_status berth_fork_commit(berth_fork* fork, uint64_t* version, berth_error* error);

/** @param text [in] one Node. @param node [out] NULL, or its number. @return BERTH_E_EXISTS, BERTH_E_INPUT */
BERTH_API berth_status berth_fork_add_node(berth_fork* fork, const char* text, size_t size, uint32_t* node,
                                           berth_error* error);
/** Replaces a node's object. @return BERTH_E_NOT_FOUND, BERTH_E_INPUT */
BERTH_API berth_status berth_fork_update_node(berth_fork* fork, const char* text, size_t size, berth_error* error);
/** Pods on it stand nowhere that counts, until a node has the name again. @return BERTH_E_NOT_FOUND */
BERTH_API berth_status berth_fork_remove_node(berth_fork* fork, uint32_t node, berth_error* error);
/** Puts a pod on a node without asking any rule. One that stands elsewhere moves. @return BERTH_E_NOT_FOUND: no such
 * node */
BERTH_API berth_status berth_fork_add_pod(berth_fork* fork, const berth_pod* pod, uint32_t node, berth_error* error);
/** Takes a pod off its node, by its uid: berth_pod_uid(). @return BERTH_E_NOT_FOUND: it stands on none */
BERTH_API berth_status berth_fork_remove_pod(berth_fork* fork, const char* uid, berth_error* error);
/** The same for a pod of a handle, which is pending then and may be scheduled again. */
BERTH_API berth_status berth_fork_unschedule(berth_fork* fork, const berth_pod* pod, berth_error* error);
/** The number of the node that a pod stands on; BERTH_NO_NODE: none. */
BERTH_API berth_status berth_fork_node_of_pod(berth_fork* fork, const char* uid, uint32_t* node, berth_error* error);

/** How a node is chosen among those that fit. */
enum {
  BERTH_CHOICE_SCORE = 0, /**< as kube-scheduler: the highest total */
  BERTH_CHOICE_FIRST_FIT =
      1,                 /**< the first that fits, from `start` on and round the end; see berth_result_next_start() */
  BERTH_CHOICE_ORDER = 2 /**< the first that fits of `order` */
};
typedef struct berth_schedule_options {
  uint32_t struct_size;
  uint32_t flags;  /**< BERTH_SKIP_CORDONED, BERTH_AS_MOVED, BERTH_STOP_AT_FAILURE, BERTH_WITH_REJECTORS */
  uint32_t choice; /**< BERTH_CHOICE_* */
  uint32_t start;  /**< of FIRST_FIT: a position among the nodes by ascending number; any number, it goes round */
  const berth_node_set* nodes; /**< NULL: all nodes of the fork. Scores are normalised over the set */
  const uint32_t* order;       /**< of ORDER: node numbers, length order_count; `nodes` leaves out those outside it */
  size_t order_count;
  uint64_t deadline_us;       /**< 0: none; from the start of the call. At least one pod is tried */
  const berth_cancel* cancel; /**< NULL: none */
  berth_progress_fn progress; /**< NULL: none */
  void* progress_user_data;
} berth_schedule_options;
#define BERTH_SCHEDULE_OPTIONS_INIT \
  {(uint32_t)sizeof(berth_schedule_options), 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL, NULL}

/** Places pods in the fork, in order, each as if those before it were bound. A pod that finds no node stays where it
 * was.
 *
 * @param pods   [in]  length pod_count; none of them on a node, unless BERTH_AS_MOVED
 * @param options [in] NULL: by score among all nodes
 * @param result [out] columns NODE, FITS, JUDGED, SCORE and MESSAGE, with BERTH_WITH_REJECTORS also REJECTORS and
 * PENDING_REJECTORS, one entry for each pod that was tried: a prefix
 * @return BERTH_DEADLINE, BERTH_CANCELLED: before all were tried; those of the prefix stand. BERTH_E_EXISTS naming a
 * pod that stands on a node */
BERTH_API berth_status berth_fork_schedule(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                           const berth_schedule_options* options, berth_result** result,
                                           berth_error* error);

/** As those of snapshots, in the state of the fork. After berth_fork_preempt(), and berth_fork_explain() with
 * BERTH_WITH_PREEMPTION, the fork is as before. */
BERTH_API berth_status berth_fork_check(berth_fork* fork, const berth_pod* pod, uint32_t node, uint32_t flags,
                                        int32_t* fits, berth_result** details, berth_error* error);
BERTH_API berth_status berth_fork_check_bulk(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                             const berth_node_set* nodes, uint32_t flags, berth_result** result,
                                             berth_error* error);
BERTH_API berth_status berth_fork_check_bulk_until(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                                   const berth_check_options* options, berth_result** result,
                                                   berth_error* error);
BERTH_API berth_status berth_fork_explain(berth_fork* fork, const berth_pod* pod, uint32_t flags, berth_result** result,
                                          berth_error* error);
BERTH_API berth_status berth_fork_preempt(berth_fork* fork, const berth_pod* pod, uint32_t flags, berth_result** result,
                                          berth_error* error);
BERTH_API berth_status berth_fork_explain_until(berth_fork* fork, const berth_pod* pod,
                                                const berth_ask_options* options, berth_result** result,
                                                berth_error* error);
BERTH_API berth_status berth_fork_preempt_until(berth_fork* fork, const berth_pod* pod,
                                                const berth_ask_options* options, berth_result** result,
                                                berth_error* error);
/** As berth_snapshot_nodes(). */
BERTH_API berth_status berth_fork_nodes(const berth_fork* fork, uint32_t* nodes, size_t capacity, size_t* count,
                                        berth_error* error);

/* Answers about all nodes of a fork in arrays of the caller, for programs that ask after each placement. */

/** Which nodes take a pod: the column FITS of berth_fork_check_bulk() of this pod alone, without a result. The fork
 * keeps the answers of the classes that were asked about lately, and asks the nodes again that have changed since; of
 * pods with topology terms, volumes or plugins, all nodes.
 *
 * @param nodes    [in]  NULL: all nodes of the fork
 * @param flags    [in]  BERTH_SKIP_CORDONED, BERTH_AS_MOVED
 * @param fits     [out] length capacity; one entry for each node of the set that the fork has, by ascending number: 1,
 *        or 0: no, or not judged
 * @param capacity [in]  0 asks for the length alone; any other number below it is BERTH_E_ARGUMENT
 * @param length   [out] how many entries the answer has */
BERTH_API berth_status berth_fork_mask(berth_fork* fork, const berth_pod* pod, const berth_node_set* nodes,
                                       uint32_t flags, uint8_t* fits, size_t capacity, size_t* length,
                                       berth_error* error);
/** What the pods on each node of the fork request, and what the nodes offer, as NodeResourcesFit counts it: "cpu" in
 * thousandths, "memory" and "ephemeral-storage" in bytes, "pods" as their number, others by their name in their own
 * unit. A resource that no node offers has 0. A resource that no pod of the cluster's requests costs a look at every
 * pod.
 *
 * @param resources   [in]  names, length resource_count
 * @param requested   [out] NULL: not wanted. Length capacity; of resource r and the i-th node, by ascending number, at
 *        r * (number of nodes) + i
 * @param allocatable [out] likewise
 * @param capacity    [in]  0 asks for the length alone; any other number below it is BERTH_E_ARGUMENT
 * @param length      [out] resource_count times the number of nodes */
BERTH_API berth_status berth_fork_use(berth_fork* fork, const char* const* resources, size_t resource_count,
                                      int64_t* requested, int64_t* allocatable, size_t capacity, size_t* length,
                                      berth_error* error);

/* Counting and groups --------------------------------------------------------------------------------------------- */

/** Columns of the results of this section, beside those of above. */
enum {
  BERTH_COLUMN_COUNT = 32,          /**< I64. Max replicas: copies that find a node, [shapes] */
  BERTH_COLUMN_COUNT_ON_NODE = 33,  /**< I32: copies on a node, [shapes x nodes]; the nodes are in NODE */
  BERTH_COLUMN_VALUE = 34,          /**< U32: a text: values of label keys, key by key, in byte order, [values] */
  BERTH_COLUMN_VALUE_BEGIN = 35,    /**< U32: where a key's values begin in VALUE, [keys + 1] */
  BERTH_COLUMN_COUNT_OF_VALUE = 36, /**< I64: copies on the nodes that have the value, [shapes x values] */
  BERTH_COLUMN_TRY_KEY = 37,        /**< U32: a text: label key of a domain that was tried; empty: all nodes, [tries] */
  BERTH_COLUMN_TRY_VALUE = 38,      /**< U32: a text: its value, [tries] */
  BERTH_COLUMN_TRY_PLACED = 39,     /**< U32: pods that found a node in the try, [tries] */
  BERTH_COLUMN_TRY_POD = 40,        /**< U32: the first pod that found none, or BERTH_NO_POD, [tries] */
  BERTH_COLUMN_TRY_REASONS = 41,    /**< U32: a text: why, as kube-scheduler's event says it, [tries] */
  BERTH_COLUMN_TRY_TAKEN = 42,      /**< U8: 1: the pods stand where this try placed them, [tries] */
  BERTH_COLUMN_OWNER = 43,          /**< U32: a text: owner of a reservation, [pods] */
  BERTH_COLUMN_UID = 44             /**< U32: a text: uid of a reserving pod, [pods] */
};
/** Of a try in which every pod found a node. */
#define BERTH_NO_POD UINT32_MAX
/** Label keys of a call, at most. */
#define BERTH_KEYS_MAX 4

typedef struct berth_max_replicas_options {
  uint32_t struct_size;
  uint32_t flags;              /**< BERTH_SKIP_CORDONED, BERTH_AS_MOVED */
  const berth_node_set* nodes; /**< NULL: all nodes */
  const char* const* keys;     /**< label keys of nodes to sum the copies by, length key_count */
  size_t key_count;            /**< at most BERTH_KEYS_MAX */
  uint32_t per_node;           /**< 1: the copies on each node are wanted too; 0: not */
  uint32_t reserved;           /**< 0 */
  uint64_t deadline_us;        /**< 0: none; from the start of the call. At least one shape is answered */
  const berth_cancel* cancel;  /**< NULL: none */
  berth_progress_fn progress;  /**< NULL: none */
  void* progress_user_data;
} berth_max_replicas_options;
#define BERTH_MAX_REPLICAS_OPTIONS_INIT \
  {(uint32_t)sizeof(berth_max_replicas_options), 0, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL}

/** How many copies of each shape kube-scheduler would place one after another, by score, before the first that fits
 * nowhere; each shape apart from the others. Nothing is placed.
 *
 * A copy is a pod of the shape's spec, labels and owner, with a name and uid of its own and without a nomination. The
 * shape itself counts where it stands, unless BERTH_AS_MOVED. A shape that is not judged has 0 copies and JUDGED
 * BERTH_JUDGED_NOT; plugin and reasons name what it uses. Of others the reasons are empty, unless the cycle of a copy
 * ended with an error, which they tell. Copies per node are counted up to 2^31 - 1.
 *
 * @param shapes [in] length shape_count; of the snapshot's cluster
 * @param options [in] NULL: all nodes, counts alone
 * @param result [out] columns COUNT, JUDGED, PLUGIN, REASONS; with per_node NODE and COUNT_ON_NODE; with keys VALUE,
 * VALUE_BEGIN and COUNT_OF_VALUE. Owned by the caller
 * @return BERTH_DEADLINE, BERTH_CANCELLED: the columns are of a prefix of the shapes. BERTH_E_UNSUPPORTED: the profile
 * of a shape runs no NodeResourcesFit, without which there is no end to its copies Any thread. */
BERTH_API berth_status berth_snapshot_max_replicas(const berth_snapshot* snapshot, const berth_pod* const* shapes,
                                                   size_t shape_count, const berth_max_replicas_options* options,
                                                   berth_result** result, berth_error* error);
/** The same in the state of the fork, which stays as it is. */
BERTH_API berth_status berth_fork_max_replicas(berth_fork* fork, const berth_pod* const* shapes, size_t shape_count,
                                               const berth_max_replicas_options* options, berth_result** result,
                                               berth_error* error);

/** Of a group whose pods may be placed anywhere, and of one that has to, or should, be in one domain. */
enum {
  BERTH_DOMAIN_NONE = 0,
  BERTH_DOMAIN_REQUIRED = 1, /**< in one domain of one of the keys, or not at all */
  BERTH_DOMAIN_PREFERRED = 2 /**< where no domain holds it, anywhere */
};
typedef struct berth_group_options {
  uint32_t struct_size;
  uint32_t flags;              /**< BERTH_SKIP_CORDONED */
  const berth_node_set* nodes; /**< NULL: all nodes of the fork */
  const char* const* keys;     /**< label keys of nodes, narrowest first, length key_count */
  size_t key_count;            /**< at most BERTH_KEYS_MAX; 0 with BERTH_DOMAIN_NONE, and with that alone */
  uint32_t domain;             /**< BERTH_DOMAIN_* */
  uint32_t reserved;           /**< 0 */
  size_t minimum;              /**< of pods that must find a node; 0: all */
  uint64_t deadline_us;        /**< 0: none; from the start of the call */
  const berth_cancel* cancel;  /**< NULL: none */
} berth_group_options;
#define BERTH_GROUP_OPTIONS_INIT {(uint32_t)sizeof(berth_group_options), 0, NULL, NULL, 0, 0, 0, 0, 0, NULL}

/** Places a group of pods in the fork by score, all of them or at least the minimum, or none.
 *
 * A try places the pods in their order, in all nodes or in those of one domain: the nodes that have one value of a key.
 * The first try that places all of them is taken. Tries come key by key, narrowest first; of a key, the domain in which
 * the most copies of the group's pods fit comes first (the sum over the pods of what berth_fork_max_replicas() counts
 * of each in it), and of equal ones the one whose value comes first in byte order; with BERTH_DOMAIN_PREFERRED all
 * nodes come last. Where no try places all of them, the one that placed most is taken, the earliest of equal ones, if
 * that is the minimum or more; otherwise nothing is placed. A pod that is not judged finds no node.
 *
 * @param pods   [in]  length pod_count; of the fork's cluster, each once, none of them on a node
 * @param options [in] NULL: all pods, anywhere
 * @param result [out] columns NODE, FITS, JUDGED, SCORE and MESSAGE, [pods]: of the try that was taken, and otherwise
 * without nodes; and TRY_KEY, TRY_VALUE, TRY_PLACED, TRY_POD, TRY_REASONS and TRY_TAKEN, [tries]. A try that is to
 * place all stops behind the first pod that finds no node
 * @return BERTH_DEADLINE, BERTH_CANCELLED: before a try was taken, and nothing is placed. BERTH_E_EXISTS naming a pod
 * that stands on a node. With keys, BERTH_E_UNSUPPORTED as berth_fork_max_replicas() */
BERTH_API berth_status berth_fork_schedule_group(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                                 const berth_group_options* options, berth_result** result,
                                                 berth_error* error);

typedef struct berth_reserve_options {
  uint32_t struct_size;
  uint32_t flags;              /**< BERTH_SKIP_CORDONED */
  const berth_node_set* nodes; /**< NULL: all nodes. With key and value, those of the set that have the value */
  const char* key;             /**< NULL: any domain; a label key of nodes */
  const char* value;           /**< of the key; NULL with it alone */
  uint64_t deadline_us;        /**< 0: none; from the start of the call */
  const berth_cancel* cancel;  /**< NULL: none */
} berth_reserve_options;
#define BERTH_RESERVE_OPTIONS_INIT {(uint32_t)sizeof(berth_reserve_options), 0, NULL, NULL, NULL, 0, NULL}

/** Keeps room for `count` copies of a pod under an owner, where rules let them stand, all of them or none.
 *
 * The copies are placed one after another by score among the nodes of the options: a set of one node, a domain, or any.
 * They are pods of the cluster from then on, in every later snapshot: uid and name are "reservation/<owner>/<number>",
 * rules count them as any other pod, and preemption may evict them in its dry runs, by the priority of the pod.
 * Numbers begin at 0, and behind the highest one that the owner has. A reserving pod stays on its node: when
 * that goes, it counts nowhere until a node has the name again. berth_cluster_replace() of pods leaves them alone.
 *
 * @param owner  [in]  not empty
 * @param result [out] columns NODE, FITS, UID and MESSAGE, one entry for each copy that was tried. Where one did not
 * fit, nothing is reserved: FITS is 0 for all of them, and the last message tells why. The result's version is that of
 * the cluster before
 * @return BERTH_DEADLINE, BERTH_CANCELLED: nothing is reserved; the entries are of the copies that were tried, with
 * FITS 0. BERTH_E_UNSUPPORTED: Berth cannot judge the pod. BERTH_E_EXISTS: a pod that is no reservation has the uid */
BERTH_API berth_status berth_cluster_reserve(berth_cluster* cluster, const char* owner, const berth_pod* pod,
                                             size_t count, const berth_reserve_options* options, berth_result** result,
                                             berth_error* error);

typedef struct berth_unreserve_options {
  uint32_t struct_size;
  uint32_t reserved;           /**< 0 */
  size_t count;                /**< how many at most, the latest ones; 0: all */
  const berth_node_set* nodes; /**< NULL: on all nodes, and on those that are gone */
  const char* key;             /**< as berth_reserve_options has them */
  const char* value;
  const berth_pod* pod; /**< NULL: of any pod; otherwise those that were reserved for its spec and labels */
} berth_unreserve_options;
#define BERTH_UNRESERVE_OPTIONS_INIT {(uint32_t)sizeof(berth_unreserve_options), 0, 0, NULL, NULL, NULL, NULL}

/** Gives back what an owner has reserved, or some of it.
 *
 * @param removed [out] NULL, or how many pods are gone; 0 is no failure, unless the owner has none at all
 * @return BERTH_E_NOT_FOUND: the owner has no reservation */
BERTH_API berth_status berth_cluster_unreserve(berth_cluster* cluster, const char* owner,
                                               const berth_unreserve_options* options, size_t* removed,
                                               berth_error* error);
/** The reservations as of now.
 *
 * @param owner  [in] NULL: of all owners, in byte order
 * @param result [out] columns OWNER, UID and NODE, [pods], the earliest first; NODE is BERTH_NO_NODE where the node is
 * gone. Owned by the caller. Any thread. */
BERTH_API berth_status berth_cluster_reservations(berth_cluster* cluster, const char* owner, berth_result** result,
                                                  berth_error* error);

/* Autoscalers ----------------------------------------------------------------------------------------------------- */

/** An amount of a resource, in kube-scheduler's units: "cpu" in thousandths, "memory" and "ephemeral-storage" in bytes,
 * "pods", and others by their name in their own unit. */
typedef struct berth_amount {
  const char* resource;
  int64_t amount;
} berth_amount;

enum {
  /** Of a shape that copies a node: the DaemonSet pods and the static pods of that node come with each new one. */
  BERTH_SHAPE_WITH_PODS_OF_NODE = 1u
};
/** A kind of node that may be added. New nodes get names of their own, which no node has and which are not numbered,
 * and a label kubernetes.io/hostname with that name. */
typedef struct berth_shape {
  uint32_t struct_size;
  uint32_t flags;   /**< BERTH_SHAPE_* */
  const char* node; /**< one Node as text, `node_size` bytes; NULL: a copy of the node `copy_of` */
  size_t node_size;
  uint32_t copy_of;   /**< number of a node that is there; a copy is not cordoned, whether it is or not */
  uint32_t max_nodes; /**< at most so many; 0: no cap */
  const char* const* startup_taints; /**< keys of taints that new nodes lose before pods come; length
                                          startup_taint_count */
  size_t startup_taint_count;
  /** Pods that come with each new node, put there without asking a rule: DaemonSet pods, static pods. What they say
   * about their node counts for nothing. Length pod_count. */
  const berth_pod* const* pods;
  size_t pod_count;
  const berth_amount* caps; /**< what all new nodes together may offer, at most; length cap_count */
  size_t cap_count;
  int64_t price; /**< of one node, for replace calls: any unit, 0 or more */
} berth_shape;
#define BERTH_SHAPE_INIT {(uint32_t)sizeof(berth_shape), 0, NULL, 0, 0, 0, NULL, 0, NULL, 0, NULL, 0, 0}

enum {
  /** Pods are tried on the existing nodes before new ones. */
  BERTH_EXISTING_FIRST = 32u,
  /** The largest pods first: by the sum of the shares that their containers' requests have of the shape's cpu and
   * memory, as cluster-autoscaler orders them; equal ones in the given order. */
  BERTH_DECREASING = 64u
};
typedef struct berth_scale_up_options {
  uint32_t struct_size;
  uint32_t flags;              /**< BERTH_EXISTING_FIRST, BERTH_DECREASING, BERTH_SKIP_CORDONED, BERTH_AS_MOVED: the
                                    pods' own running copies leave before the first pod is tried */
  const berth_node_set* nodes; /**< with BERTH_EXISTING_FIRST: of these alone; NULL: all */
  uint64_t deadline_us;        /**< 0: none; from the start of the call */
  const berth_cancel* cancel;  /**< NULL: none */
  berth_progress_fn progress;  /**< NULL: none */
  void* progress_user_data;
} berth_scale_up_options;
#define BERTH_SCALE_UP_OPTIONS_INIT {(uint32_t)sizeof(berth_scale_up_options), 0, NULL, 0, NULL, NULL, NULL}

/** Which cap kept a pod of a shape from a new node that takes it. */
enum { BERTH_CAP_NONE = 0, BERTH_CAP_NODES = 1, BERTH_CAP_RESOURCE = 2 };

/** How many nodes of each shape the pods need. Each shape is tried by itself, in a what-if that is dropped: each pod in
 * turn goes to the first node that accepts it, of the existing ones by ascending number, if they are asked, and of the
 * new ones in the order in which they came. Where none does, one more is added, if the pod fits there and no cap is in
 * the way; otherwise the pod is left over. Preferences and scores play no part.
 *
 * Shapes that no rule can tell apart have one number, that of the first one (similar node groups). Up to 1,024 nodes of
 * a shape cost little; with more the call loads the cluster again for that shape.
 *
 * @param pods   [in] length pod_count, of the snapshot's cluster; none of them on a node, unless BERTH_AS_MOVED
 * @param shapes [in] length shape_count
 * @param options [in] NULL: new nodes only, pods in the given order
 * @param result [out] for each shape SHAPE, NODE_COUNT, PLACED, CAP, CAP_RESOURCE; for each shape and pod NODE,
 *        NEW_NODE, FITS, CODE, PHASE, PLUGIN, REASONS; for each pod JUDGED and POD_CLASS; for each shape and class
 *        PLACED_OF_CLASS; RESOURCE, REQUESTED and ALLOCATABLE. Of a pod that is left over, the verdict is that of an
 *        empty new node; where a cap is in the way, the phase is BERTH_PHASE_NODE and the reason names the cap
 * @return BERTH_DEADLINE, BERTH_CANCELLED: the columns of shapes, and of shapes and pods, are of a prefix of the
 * shapes, which may be empty. BERTH_E_EXISTS naming a pod that stands on a node; BERTH_E_NOT_FOUND naming a node to
 * copy; BERTH_E_INPUT Any thread. */
BERTH_API berth_status berth_snapshot_scale_up(const berth_snapshot* snapshot, const berth_pod* const* pods,
                                               size_t pod_count, const berth_shape* const* shapes, size_t shape_count,
                                               const berth_scale_up_options* options, berth_result** result,
                                               berth_error* error);
/** The same in the state of a fork, which stays as it is. */
BERTH_API berth_status berth_fork_scale_up(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                           const berth_shape* const* shapes, size_t shape_count,
                                           const berth_scale_up_options* options, berth_result** result,
                                           berth_error* error);

/** Whose rules a drain follows. They differ in these and in what they do to the node, which stays: kubectl cordons it,
 * the others taint it (ToBeDeletedByClusterAutoscaler, karpenter.sh/disrupted). */
enum { BERTH_DRAIN_KUBECTL = 0, BERTH_DRAIN_CLUSTER_AUTOSCALER = 1, BERTH_DRAIN_KARPENTER = 2 };
/** Rules of draining. The bit of a rule is 1u << BERTH_RULE_*. In brackets: the presets in which it holds. */
enum {
  BERTH_RULE_NONE = 0,
  BERTH_RULE_MIRROR = 1,        /**< static pods stay, and keep nobody from removing the node [all] */
  BERTH_RULE_DAEMON_SET = 2,    /**< DaemonSet pods block; where it does not hold they stay [kubectl] */
  BERTH_RULE_NO_CONTROLLER = 3, /**< pods without a controller block [kubectl, cluster-autoscaler] */
  BERTH_RULE_EMPTY_DIR = 4,     /**< pods with an emptyDir block [kubectl] */
  BERTH_RULE_LOCAL_STORAGE = 5, /**< pods with a hostPath or an emptyDir on disk block, unless the annotation
                                     safe-to-evict-local-volumes names all of these [cluster-autoscaler] */
  BERTH_RULE_KUBE_SYSTEM = 6,   /**< pods of kube-system that no budget counts block [cluster-autoscaler] */
  BERTH_RULE_BUDGET = 7,        /**< pods whose PodDisruptionBudget allows no eviction more block [all]. Every pod
                                     counts as ready. karpenter asks about each pod by itself */
  BERTH_RULE_MANY_BUDGETS = 8,  /**< pods that several budgets count block: the API server refuses them [kubectl] */
  BERTH_RULE_SAFE_TO_EVICT = 9, /**< pods with the annotation safe-to-evict "true" are held back by budgets, replicas
                                     and DaemonSets alone [cluster-autoscaler] */
  BERTH_RULE_NOT_SAFE_TO_EVICT = 10, /**< "false": they block [cluster-autoscaler] */
  BERTH_RULE_ON_COMPLETION = 11,     /**< "on-completion": they stay until they end [cluster-autoscaler] */
  BERTH_RULE_DO_NOT_DISRUPT = 12,    /**< pods with karpenter.sh/do-not-disrupt "true" block [karpenter] */
  BERTH_RULE_MIN_REPLICAS = 13,      /**< pods of a ReplicaSet or ReplicationController with fewer replicas than
                                          min_replicas, or of one that the cluster does not know, block; with
                                          min_replicas 0 none do [cluster-autoscaler] */
  BERTH_RULE_TERMINATING = 14,       /**< pods that are being deleted end, and need no place [karpenter] */
  BERTH_RULE_TOLERATES_TAINT = 15    /**< pods that tolerate the preset's taint stay [karpenter] */
};
enum {
  BERTH_DRAIN_TOGETHER = 128u, /**< one node after another: budgets are shared, and moves seen by the nodes behind */
  BERTH_DRAIN_KEEP = 256u,     /**< of forks, with BERTH_DRAIN_TOGETHER: nodes and pods stay so */
  /** Pods go where kube-scheduler would put them; every pod is prepared for that, which costs far more. Otherwise a pod
   * goes to the first node that takes it, from the node behind the drained one on and then from behind the latest one
   * taken, round the end. */
  BERTH_DRAIN_BY_SCORE = 512u
};
typedef struct berth_drain_options {
  uint32_t struct_size;
  uint32_t flags;              /**< BERTH_DRAIN_TOGETHER and so on, BERTH_SKIP_CORDONED */
  uint32_t preset;             /**< BERTH_DRAIN_KUBECTL and so on */
  uint32_t rules_on;           /**< bits of rules that hold beside those of the preset */
  uint32_t rules_off;          /**< bits of rules that do not hold */
  int32_t min_replicas;        /**< of BERTH_RULE_MIN_REPLICAS */
  const berth_node_set* nodes; /**< where pods may go; NULL: all. Drained nodes are left out in any case */
  uint64_t deadline_us;        /**< 0: none; from the start of the call */
  const berth_cancel* cancel;  /**< NULL: none */
  berth_progress_fn progress;  /**< NULL: none */
  void* progress_user_data;
} berth_drain_options;
#define BERTH_DRAIN_OPTIONS_INIT {(uint32_t)sizeof(berth_drain_options), 0, 0, 0, 0, 0, NULL, 0, NULL, NULL, NULL}

/** Which nodes can be removed. Each node is drained by itself in a what-if that is dropped, or one after another with
 * BERTH_DRAIN_TOGETHER. The rules are asked first: a pod that blocks keeps the node. Otherwise its pods leave, those of
 * higher priority first and then by namespace and name, each as with BERTH_AS_MOVED: the pods behind it still stand on
 * the node, which stays, cordoned or tainted as the preset says. A pod that finds no place stays, and so does the node,
 * but the pods behind it are tried all the same.
 *
 * With BERTH_DRAIN_TOGETHER all nodes are cordoned or tainted first. The moves of a node that cannot be removed are
 * taken back, and its pods use no budget.
 *
 * @param drained [in] length count: numbers of nodes that are there, each once
 * @param options [in] NULL: each node by itself, kubectl's rules, first fit among all nodes
 * @param result  [out] for each node NODE, REMOVABLE, RULE, BLOCKING_POD and POD_BEGIN (one more); for each pod POD,
 *        OUTCOME, POD_RULE, TARGET and MESSAGE
 * @return BERTH_DEADLINE, BERTH_CANCELLED: the columns are of a prefix of the nodes, which may be empty. With
 * BERTH_DRAIN_KEEP the nodes and moves of that prefix stay so; the nodes behind it are as before, and took no pod.
 * BERTH_E_NOT_FOUND naming a node that is not there
 * Any thread. */
BERTH_API berth_status berth_snapshot_drain(const berth_snapshot* snapshot, const uint32_t* drained, size_t count,
                                            const berth_drain_options* options, berth_result** result,
                                            berth_error* error);
/** The same in the state of a fork, which stays as it is without BERTH_DRAIN_KEEP. */
BERTH_API berth_status berth_fork_drain(berth_fork* fork, const uint32_t* drained, size_t count,
                                        const berth_drain_options* options, berth_result** result, berth_error* error);

/** The same, and then new nodes for the pods that find no place: at most max_nodes of one shape, whose total price is
 * the lowest among the shapes that hold all of them; of equal prices the fewest nodes, then the first shape. Each shape
 * is tried as by berth_snapshot_scale_up(), with new nodes only and the pods in the order in which they leave, after
 * the moves of the others. Nodes of several shapes together are not tried. By itself each node has a replacement of its
 * own; with BERTH_DRAIN_TOGETHER there is one for all nodes that no rule holds, and the moves of a node stand whether
 * or not it can be removed. BERTH_DRAIN_KEEP is BERTH_E_ARGUMENT.
 *
 * @param shapes    [in] length shape_count, with their prices
 * @param max_nodes [in] at least 1; a shape's own max_nodes counts too
 * @param result    [out] as of berth_snapshot_drain(), and for each replacement SHAPE, NODE_COUNT and PRICE, with
 *        BERTH_NO_NODE in SHAPE where none is needed or none holds the rest; for each pod NEW_NODE
 * @return BERTH_DEADLINE, BERTH_CANCELLED: by itself, the columns are of a prefix of the nodes, which may be empty;
 * with BERTH_DRAIN_TOGETHER they are empty Any thread. */
BERTH_API berth_status berth_snapshot_replace(const berth_snapshot* snapshot, const uint32_t* drained, size_t count,
                                              const berth_drain_options* options, const berth_shape* const* shapes,
                                              size_t shape_count, uint32_t max_nodes, berth_result** result,
                                              berth_error* error);
/** The same in the state of a fork, which stays as it is. */
BERTH_API berth_status berth_fork_replace(berth_fork* fork, const uint32_t* drained, size_t count,
                                          const berth_drain_options* options, const berth_shape* const* shapes,
                                          size_t shape_count, uint32_t max_nodes, berth_result** result,
                                          berth_error* error);

/** What becomes of a pod of a drained node. */
enum {
  BERTH_POD_MOVES = 0,     /**< to TARGET, or it was not tried, since the node is blocked: BERTH_NO_NODE */
  BERTH_POD_STAYS = 1,     /**< it needs no place, and keeps nobody from removing the node */
  BERTH_POD_ENDS = 2,      /**< the same, and it is on its way out */
  BERTH_POD_BLOCKS = 3,    /**< by POD_RULE */
  BERTH_POD_NO_PLACE = 4,  /**< no node takes it: MESSAGE says why */
  BERTH_POD_NOT_JUDGED = 5 /**< Berth cannot judge it: MESSAGE names plugin and field */
};

/** Columns of these results. Element (s, p) of a column over shapes and pods is at index s * pod_count + p. */
enum {
  BERTH_COLUMN_NEW_NODE = 45,     /**< U32: which of the shape's new nodes, from 0; BERTH_NO_NODE: none. [shapes x pods]
                                       In NODE beside it: the existing node */
  BERTH_COLUMN_SHAPE = 46,        /**< U32: position of the first shape that no rule can tell from this one, [shapes] */
  BERTH_COLUMN_NODE_COUNT = 47,   /**< U32: new nodes that the shape needs, [shapes] */
  BERTH_COLUMN_PLACED = 48,       /**< U32: pods that have a node, [shapes] */
  BERTH_COLUMN_CAP = 49,          /**< U8: BERTH_CAP_*: the first that kept a pod out, [shapes] */
  BERTH_COLUMN_CAP_RESOURCE = 50, /**< U32: a text: the resource of BERTH_CAP_RESOURCE, [shapes] */
  BERTH_COLUMN_RESOURCE = 51,     /**< U32: a text: cpu, memory, ephemeral-storage, pods, then others, [resources] */
  BERTH_COLUMN_REQUESTED = 52,    /**< I64: what pods request of the shape's new nodes, those that come with them
                                       included, [shapes x resources] */
  BERTH_COLUMN_ALLOCATABLE = 53,  /**< I64: what these nodes offer, [shapes x resources] */
  BERTH_COLUMN_REMOVABLE = 54,    /**< U8: 1: no pod is in the way, [drained] */
  BERTH_COLUMN_RULE = 55,         /**< U8: BERTH_RULE_* of the first pod that blocks, [drained] */
  BERTH_COLUMN_BLOCKING_POD = 56, /**< U32: a text: uid of that pod, or of the first without a place, [drained] */
  BERTH_COLUMN_POD_BEGIN = 57,    /**< U32: where a node's pods begin, [drained + 1] */
  BERTH_COLUMN_POD = 58,          /**< U32: a text: uid, in the order in which they leave, [pods of drained nodes] */
  BERTH_COLUMN_OUTCOME = 59,      /**< U8: BERTH_POD_*, [pods of drained nodes] */
  BERTH_COLUMN_POD_RULE = 60,     /**< U8: BERTH_RULE_*: the rule that says so, [pods of drained nodes] */
  BERTH_COLUMN_TARGET = 61,       /**< U32: where the pod goes, or BERTH_NO_NODE, [pods of drained nodes] */
  BERTH_COLUMN_PRICE = 62,        /**< I64: of all nodes of a replacement, [replacements] */
  BERTH_COLUMN_POD_CLASS = 63,    /**< U32: which class of the call's pods, from 0 as they come, [pods]. Pods are of one
                                       class where they differ in name, uid and times alone */
  BERTH_COLUMN_PLACED_OF_CLASS = 64 /**< U32: pods of a class that have a node, [shapes x classes] */
};

/* Queues ---------------------------------------------------------------------------------------------------------- */

/** Of clocks of queues, in microseconds. */
#define BERTH_QUEUE_TIME_MAX ((int64_t)1 << 60)

typedef struct berth_queue_options {
  uint32_t struct_size;
  uint32_t reserved; /**< 0 */
  int64_t now_us;    /**< where the clock begins: 0 to BERTH_QUEUE_TIME_MAX. Backoffs end at whole seconds of it */
} berth_queue_options;
#define BERTH_QUEUE_OPTIONS_INIT {(uint32_t)sizeof(berth_queue_options), 0, 0}

/** Where pods of a queue are. */
enum {
  BERTH_QUEUE_ACTIVE = 0,        /**< ready */
  BERTH_QUEUE_BACKOFF = 1,       /**< until the clock says so; with the gate SchedulerPopFromBackoffQ also where no
                                      other pod is ready, unless the attempt ended with an error */
  BERTH_QUEUE_UNSCHEDULABLE = 2, /**< until something happens that may help, or for five minutes */
  BERTH_QUEUE_GATED = 3,         /**< a PreEnqueue plugin keeps it out: scheduling gates */
  BERTH_QUEUE_TRIED = 4          /**< popped, and neither done nor failed */
};

/** kube-scheduler's queue, for programs that decide themselves where pods go and when (simulators): which pod is tried
 * next, by priority and then by who waits longest; how long one that failed backs off; and when one that plugins
 * refused is worth another try, which the queueing hints of these plugins say of what happens. Its options are those of
 * the engine's configuration: backoffs, the profiles' plugins, the QueueSort plugin of the first one.
 *
 * It has a clock, which stands still until berth_queue_advance(), and it hears of what happens by the calls below
 * alone: neither the cluster nor a fork tells it anything. Services and workloads, which default spread constraints
 * read, are those of the cluster when it was made. It keeps no nominations: evict before a preemptor is tried again.
 *
 * A pod is added, popped, and then either done or failed; meanwhile it is "tried", and what happens while a pod is
 * tried counts for it when it fails. One thread at a time: BERTH_E_BUSY for others.
 *
 * @param options [in] NULL: the clock begins at 0
 * @param queue [out] of pods of the cluster; owned by the caller */
BERTH_API berth_status berth_queue_create(berth_cluster* cluster, const berth_queue_options* options,
                                          berth_queue** queue, berth_error* error);
BERTH_API void berth_queue_free(berth_queue** queue);
/** The pod waits from now on, wherever it stands. The queue shares the handle until the pod is done or removed, and
 * knows the pod by it: other functions take no other handle of the same pod.
 * @return BERTH_E_EXISTS: a pod of the name or uid waits or is tried. BERTH_E_ARGUMENT: no profile is for its
 * schedulerName */
BERTH_API berth_status berth_queue_add(berth_queue* queue, const berth_pod* pod, berth_error* error);
/** The pod is gone, whether it waits or is tried. @return BERTH_E_NOT_FOUND */
BERTH_API berth_status berth_queue_remove(berth_queue* queue, const berth_pod* pod, berth_error* error);
/** The next pod is tried. @param pod [out] the handle that was added, shared with the caller, who frees it; NULL: no
 * pod is ready */
BERTH_API berth_status berth_queue_pop(berth_queue* queue, berth_pod** pod, berth_error* error);
/** The attempt failed, and the pod waits again.
 *
 * @param rejectors [in] names of the plugins that refused it, separated by commas and blanks, as in
 * BERTH_COLUMN_REJECTORS. NULL or empty: the attempt ended with an error, and the pod backs off whatever happens
 * @param pending [in] those of them that answered Pending: what helps them brings the pod back at once. NULL: none
 * @return BERTH_E_NOT_FOUND: it is not tried. BERTH_E_ARGUMENT: the queue was told more than 64 names */
BERTH_API berth_status berth_queue_fail(berth_queue* queue, const berth_pod* pod, const char* rejectors,
                                        const char* pending, berth_error* error);
/** The pod has a node, or is given up: the queue knows it no more. @return BERTH_E_NOT_FOUND: it is not tried */
BERTH_API berth_status berth_queue_done(berth_queue* queue, const berth_pod* pod, berth_error* error);
/** Time passes: backoffs end, and pods that were unschedulable for five minutes are tried again. Where memory runs out,
 * the clock stands at some time up to which all of that has happened, and the call may be made again.
 * @param now_us [in] not before the queue's time */
BERTH_API berth_status berth_queue_advance(berth_queue* queue, int64_t now_us, berth_error* error);
/** @param now_us  [out] NULL, or the queue's time
 * @param next_us [out] NULL, or when the clock is next looked at for a pod that waits, also for one that backs off and
 * that berth_queue_pop() gives before; INT64_MAX: no pod waits for it */
BERTH_API berth_status berth_queue_times(berth_queue* queue, int64_t* now_us, int64_t* next_us, berth_error* error);
/** A pod came to the node on which it stands in the fork. @return BERTH_E_NOT_FOUND: it stands on none. BERTH_E_BUSY:
 * another thread is in a call on the queue, or on the fork */
BERTH_API berth_status berth_queue_pod_came(berth_queue* queue, berth_fork* fork, const char* uid, berth_error* error);
/** A pod is about to leave the node on which it stands in the fork: call before it does.
 * @return BERTH_E_NOT_FOUND, BERTH_E_BUSY as before */
BERTH_API berth_status berth_queue_pod_leaves(berth_queue* queue, berth_fork* fork, const char* uid,
                                              berth_error* error);
/** A node came, changed or went.
 * @param before [in] one Node as it was, `before_size` bytes; size 0: it is new
 * @param after  [in] as it is now; size 0: it is gone
 * @return BERTH_E_INPUT; BERTH_E_ARGUMENT: none is given, or they have different names */
BERTH_API berth_status berth_queue_node_changed(berth_queue* queue, const char* before, size_t before_size,
                                                const char* after, size_t after_size, berth_error* error);
/** @param place [in] BERTH_QUEUE_*. @param count [out] how many pods are there */
BERTH_API berth_status berth_queue_size(berth_queue* queue, uint32_t place, uint64_t* count, berth_error* error);

/* Memory ---------------------------------------------------------------------------------------------------------- */

/** What all handles of an engine hold: those of clusters, snapshots, forks, pods, node sets, queues and results, as of
 * the latest call on each. A cluster is counted again when an eighth of its pods came or went.
 *
 * With max_memory_bytes, calls that make a handle, put pods or nodes somewhere or make a result return BERTH_E_MEMORY
 * once so much is held, and those with large results (bulk checks, max_replicas per node, estimates) before they pass
 * it. Nothing has happened then. Calls that free, delete, remove, commit, revert and ask a result work on. One call may
 * pass the cap by what it makes; what calls need while they run is not counted.
 *
 * @return BERTH_E_STATE: the engine has no cap, and nothing is counted. Any thread. */
BERTH_API berth_status berth_engine_memory(const berth_engine* engine, uint64_t* bytes, berth_error* error);
/** What a cluster holds: objects, what the engine makes of them, and what it keeps for pods. An estimate, which looks
 * at every pod. Any thread; calls that change the cluster wait meanwhile. */
BERTH_API berth_status berth_cluster_memory(const berth_cluster* cluster, uint64_t* bytes, berth_error* error);
/** What goes with a snapshot: where it differs from its cluster by now, and a state for each thread that read it at the
 * same time. Objects are not counted. Any thread. */
BERTH_API berth_status berth_snapshot_memory(const berth_snapshot* snapshot, uint64_t* bytes, berth_error* error);
/** What goes with a fork: what was done to it, and where it differs from what it was opened on, but not the objects. */
BERTH_API berth_status berth_fork_memory(const berth_fork* fork, uint64_t* bytes, berth_error* error);
/** What goes with a pod: the handle and the object. What pods of one class share is the cluster's. Any thread. */
BERTH_API berth_status berth_pod_memory(const berth_pod* pod, uint64_t* bytes, berth_error* error);
/** Any thread. */
BERTH_API berth_status berth_node_set_memory(const berth_node_set* set, uint64_t* bytes, berth_error* error);
BERTH_API berth_status berth_queue_memory(const berth_queue* queue, uint64_t* bytes, berth_error* error);
/** Columns, texts, record. Any thread. */
BERTH_API berth_status berth_result_memory(const berth_result* result, uint64_t* bytes, berth_error* error);

/* Results --------------------------------------------------------------------------------------------------------- */

BERTH_API void berth_result_free(berth_result** result);

/** Columns. Of checks, element (p, n) of a column over pods and nodes is at index p * node_count + n. */
enum {
  BERTH_COLUMN_NODE = 1, /**< U32. Checks: the nodes, [nodes]. Schedule: each pod's, or BERTH_NO_NODE, [pods]. Preempt:
                              [candidates], ascending */
  BERTH_COLUMN_FITS = 2, /**< U8: 1 or 0. [pods x nodes]; schedule: the pod was placed, [pods] */
  BERTH_COLUMN_JUDGED = 3,        /**< U8: BERTH_JUDGED_*, [pods] */
  BERTH_COLUMN_CODE = 4,          /**< U8: BERTH_CODE_*, [pods x nodes] */
  BERTH_COLUMN_PHASE = 5,         /**< U8: BERTH_PHASE_*, [pods x nodes] */
  BERTH_COLUMN_PLUGIN = 6,        /**< U32: a text: the plugin that refuses, [pods x nodes] */
  BERTH_COLUMN_REASONS = 7,       /**< U32: a text: upstream's reasons, joined with ", ", [pods x nodes] */
  BERTH_COLUMN_SCORE = 8,         /**< I64. Schedule: the total of the chosen node; 0 where nothing was scored, [pods].
                                       Checks: the total of the node, or BERTH_NO_SCORE, [pods x nodes] */
  BERTH_COLUMN_MESSAGE = 9,       /**< U32: a text: why the pod has no node, as kube-scheduler's event says it, [pods].
                                       Checks: the error with which scoring ends the cycle, or empty, [pods] */
  BERTH_COLUMN_VIOLATIONS = 10,   /**< I32: victims whose eviction violates a budget, [candidates] */
  BERTH_COLUMN_BEST = 11,         /**< U8: 1: upstream's choice may take the candidate, [candidates] */
  BERTH_COLUMN_VICTIM_BEGIN = 12, /**< U32: where a candidate's victims begin in VICTIM, [candidates + 1] */
  BERTH_COLUMN_VICTIM = 13,       /**< U32: a text: uid of a victim, most important first, [victims] */
  BERTH_COLUMN_REJECTORS = 65,    /**< U32: a text: the plugins that keep the pod from nodes, joined with ", ", or none:
                                       it has a node, is not judged, or its cycle ended with an error, [pods] */
  BERTH_COLUMN_PENDING_REJECTORS = 66 /**< U32: a text: those of them that answered Pending, [pods] */
};
enum { BERTH_TYPE_U8 = 1, BERTH_TYPE_U32 = 2, BERTH_TYPE_I32 = 3, BERTH_TYPE_I64 = 4 };
/** A view of a column, valid as long as the result. Element i begins at (const char *)data + i * stride. */
typedef struct berth_column {
  const void* data;
  size_t length;
  size_t stride; /**< bytes */
  uint32_t type; /**< BERTH_TYPE_* */
  uint32_t reserved;
} berth_column;
/** @return BERTH_E_NOT_FOUND: results of this kind have no such column. Any thread, as all that ask a result. */
BERTH_API berth_status berth_result_column(const berth_result* result, uint32_t column, berth_column* view,
                                           berth_error* error);
/** "reasons": the name of BERTH_COLUMN_REASONS; "unknown column" of another number. Static. Any thread. */
BERTH_API const char* berth_column_name(uint32_t column);

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
/* The Arrow C data interface, https://arrow.apache.org/docs/format/CDataInterface.html, which other headers may define
 * as well. */
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif
/** Columns of one length as a record batch of the Arrow C data interface, named as by berth_column_name(). Numbers are
 * not copied; texts are dictionaries, which the columns of a call share. No element is null: "no node" is
 * BERTH_NO_NODE, as in the column.
 *
 * @param columns [in]  length count: BERTH_COLUMN_*
 * @param schema  [out] the caller's, to be released by its callback; so is `array`, which keeps the result alive
 * @return BERTH_E_NOT_FOUND: the result has no such column. BERTH_E_ARGUMENT naming two columns of different lengths */
BERTH_API berth_status berth_result_arrow(const berth_result* result, const uint32_t* columns, size_t count,
                                          struct ArrowSchema* schema, struct ArrowArray* array, berth_error* error);

struct DLManagedTensorVersioned; /* of dlpack.h, version 1.0 */
/** A column as a tensor of DLPack: one dimension, read-only, not copied. Results are in host memory (kDLCPU), whatever
 * the backend.
 *
 * @param tensor [out] to be given back by its deleter; keeps the result alive. @return BERTH_E_NOT_FOUND */
BERTH_API berth_status berth_result_dlpack(const berth_result* result, uint32_t column,
                                           struct DLManagedTensorVersioned** tensor, berth_error* error);
/** The text of an element of a column of texts. Number 0 is the empty text. @param text [out] get */
BERTH_API berth_status berth_result_text(const berth_result* result, uint32_t number, berth_str* text,
                                         berth_error* error);
/** A result as one JSON record: an explanation as docs/schemas/explain-record.schema.json has it, any other by its
 * columns, docs/schemas/result-record.schema.json, with texts and names of nodes in place of their numbers. That one is
 * made at the first call, and counts as memory of the result then. Any thread.
 *
 * @param json [out] get. @return BERTH_E_NOT_FOUND: the bytes of a snapshot, or an explanation that was stopped */
BERTH_API berth_status berth_result_json(const berth_result* result, berth_str* json, berth_error* error);
/** The bytes of berth_snapshot_write_memory(). @param bytes [out] get. @return BERTH_E_NOT_FOUND: another kind of
 * result */
BERTH_API berth_status berth_result_bytes(const berth_result* result, berth_str* bytes, berth_error* error);
/** Why there is no candidate, or why the pod may not preempt; empty: there is one. Empty too of other kinds of results.
 */
BERTH_API berth_status berth_result_message(const berth_result* result, berth_str* message, berth_error* error);
/** Where FIRST_FIT goes on: behind the node that was taken last, or where it began. 0 of other kinds of results. */
BERTH_API berth_status berth_result_next_start(const berth_result* result, uint32_t* start, berth_error* error);
/** What the answer follows from, beside the pods: the version of the snapshot (a fork's: the one at its root), and
 * seed, release and backend of the cluster. Any of the out-parameters may be NULL. */
BERTH_API berth_status berth_result_origin(const berth_result* result, uint64_t* version, uint64_t* seed,
                                           const char** release, const char** backend, berth_error* error);

#ifdef __cplusplus
}
#endif

#endif /* BERTH_BERTH_H */
