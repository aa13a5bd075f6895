/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Plugins of the engine in other languages: a table of functions, from a shared object or from the program that uses
 * libberth. Compiles as C99 and as C++. docs/embedding.md "Plugins" is the guide; examples/plugin is a complete one.
 *
 * A plugin is not called once per node: evaluate() is asked about all nodes at once for a class of pods that it signs
 * alike, and the engine keeps the answers until something that the plugin names makes them stale. Every call brings a
 * view of the cluster as the asking engine has it, what-ifs included, so that a plugin keeps no copy of it.
 *
 * Rules of every function of the table:
 *   - What it is given is valid during the call alone. Texts of the view are UTF-8 and end with no NUL.
 *   - A function that returns int32_t returns a BERTH_CODE_* of berth.h or a BERTH_PLUGIN_* below; a refusal and an
 *     error need a reason, given by host->add_reason(). An unknown code, a refusal without a reason and an exception of
 *     C++ become an error of the pod's cycle that names the plugin; they never become an acceptance.
 *   - It must not call berth.h with handles of the engine that calls it: such a call returns BERTH_E_REENTRY.
 *   - Calls come from one thread at a time, unless the plugin has BERTH_PLUGIN_MANY_THREADS.
 *   - Answers depend on the pod, on what version() stands for, and on the objects of the cluster, nothing else. The
 *     answer about a node may depend on the pods of other nodes as far as reach() says so, and not on the objects of
 *     other nodes.
 */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "berth.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Counts up with every change that breaks plugins compiled before. Entries appended to the structs are none. */
#define BERTH_PLUGIN_ABI_VERSION 1u

/** Codes beside those of berth.h. */
enum {
  BERTH_PLUGIN_WAIT = 4, /**< permit: the pod waits */
  /** pre_filter: filter does not run; pre_score: score does not run; pre_bind_pre_flight: pre_bind has nothing to do;
   * bind: the next plugin binds; sign: see there */
  BERTH_PLUGIN_SKIP = 5,
  BERTH_PLUGIN_BOUND = 7 /**< bind: the plugin has written the binding itself */
};

enum {
  /** The functions may be called from many threads at once. Otherwise the caller holds a lock of the plugin. */
  BERTH_PLUGIN_MANY_THREADS = 1u,
  BERTH_PLUGIN_FILTERS = 2u, /**< joins the point filter: evaluate() and filter_changed() are there */
  BERTH_PLUGIN_SCORES = 4u   /**< joins the point score: evaluate() is there */
};

/** Text of a view; no NUL ends it. */
typedef struct berth_plugin_text {
  const char* data;
  size_t size;
} berth_plugin_text;

typedef struct berth_plugin_call berth_plugin_call; /**< one call, with its answer */
typedef struct berth_plugin_node berth_plugin_node; /**< a node with its pods */
typedef struct berth_plugin_pod berth_plugin_pod;

typedef struct berth_plugin_taint {
  berth_plugin_text key;
  berth_plugin_text value;
  berth_plugin_text effect; /**< "NoSchedule", "PreferNoSchedule" or "NoExecute" */
} berth_plugin_taint;

/** What a plugin may call, with the call that it was given; by the thread of that call. Functions that look something
 * up return 1 when it is there, and 0, leaving the out-parameter alone, when it is not. The host owns it; it stays
 * valid until destroy() returns. Entries may be appended: struct_size says how many bytes are there. */
typedef struct berth_plugin_host {
  uint32_t struct_size;
  uint32_t abi_version;

  /* The answer. */

  /** Appends a reason to the answer of the call; a NUL ends the text, which is copied. NULL: nothing. */
  void (*add_reason)(berth_plugin_call* call, const char* text);
  /** evaluate(): a list of reasons for berth_plugin_columns.reasons, as many nodes as there are may have it.
   * @return its number, at least 1; 0: memory ran out, and the call fails whatever it answers */
  uint32_t (*make_reasons)(berth_plugin_call* call, const char* const* texts, size_t count);
  /** sign(): appends bytes to the signature. */
  void (*append_signature)(berth_plugin_call* call, const void* data, size_t size);
  /** pre_filter(): these are the only candidates; count 0: none is. */
  void (*only_nodes)(berth_plugin_call* call, const berth_plugin_node* const* nodes, size_t count);

  /* The cluster: empty in create(), concerns() and sign(). */

  size_t (*node_count)(const berth_plugin_call* call);
  /** @param i  below node_count(); the order is the same during a call */
  const berth_plugin_node* (*node_at)(const berth_plugin_call* call, size_t i);
  /** NULL: no node has the name. */
  const berth_plugin_node* (*find_node)(const berth_plugin_call* call, const char* name);

  /* A node. */

  berth_plugin_text (*node_name)(const berth_plugin_call* call, const berth_plugin_node* node);
  int32_t (*node_label)(const berth_plugin_call* call, const berth_plugin_node* node, const char* key,
                        berth_plugin_text* value);
  /** The value of a declared path. @param path  index into berth_plugin.node_paths */
  int32_t (*node_value)(const berth_plugin_call* call, const berth_plugin_node* node, uint32_t path,
                        berth_plugin_text* value);
  int32_t (*node_is_cordoned)(const berth_plugin_call* call, const berth_plugin_node* node);
  size_t (*node_taint_count)(const berth_plugin_call* call, const berth_plugin_node* node);
  int32_t (*node_taint)(const berth_plugin_call* call, const berth_plugin_node* node, size_t i,
                        berth_plugin_taint* taint);
  /** cpu in thousandths, memory and ephemeral-storage in bytes, pods and others in their own unit; 0 of one that is not
   * there. Requested: the sum over the node's pods. */
  int64_t (*node_allocatable)(const berth_plugin_call* call, const berth_plugin_node* node, const char* resource);
  int64_t (*node_requested)(const berth_plugin_call* call, const berth_plugin_node* node, const char* resource);
  size_t (*node_pod_count)(const berth_plugin_call* call, const berth_plugin_node* node);
  const berth_plugin_pod* (*node_pod)(const berth_plugin_call* call, const berth_plugin_node* node, size_t i);

  /* A pod. */

  berth_plugin_text (*pod_namespace)(const berth_plugin_call* call, const berth_plugin_pod* pod);
  berth_plugin_text (*pod_name)(const berth_plugin_call* call, const berth_plugin_pod* pod);
  berth_plugin_text (*pod_scheduler)(const berth_plugin_call* call, const berth_plugin_pod* pod);
  int32_t (*pod_priority)(const berth_plugin_call* call, const berth_plugin_pod* pod);
  int32_t (*pod_label)(const berth_plugin_call* call, const berth_plugin_pod* pod, const char* key,
                       berth_plugin_text* value);
  /** The value of a declared path. @param path  index into berth_plugin.pod_paths */
  int32_t (*pod_value)(const berth_plugin_call* call, const berth_plugin_pod* pod, uint32_t path,
                       berth_plugin_text* value);
  /** metadata.uid, or "namespace/name" of a pod without one. */
  berth_plugin_text (*pod_uid)(const berth_plugin_call* call, const berth_plugin_pod* pod);
  /** In the units of node_allocatable(). */
  int64_t (*pod_request)(const berth_plugin_call* call, const berth_plugin_pod* pod, const char* resource);
  /** kind, name and uid of the owner that is its controller. */
  int32_t (*pod_controller)(const berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text* kind,
                            berth_plugin_text* name, berth_plugin_text* uid);
  /** Both are the same pod: also of two objects of it. */
  int32_t (*is_same_pod)(const berth_plugin_call* call, const berth_plugin_pod* a, const berth_plugin_pod* b);

  /* Pods that wait, because permit() of this or another plugin said so. Of calls at the points behind the choice of a
   * node; of others they return 0. */

  /** @return 1; 0: the pod does not wait for this plugin, or is decided */
  int32_t (*allow_waiting)(berth_plugin_call* call, berth_plugin_text uid);
  /** Rejects it, whomever it waits for. @return 1; 0: the pod does not wait, or is decided */
  int32_t (*reject_waiting)(berth_plugin_call* call, berth_plugin_text uid, const char* reason);

  /* The cycle of a pod, one attempt: of calls from reserve() to post_bind() or unreserve(); of others these return NULL
   * and 0. */

  /** What the plugin has kept in this cycle; NULL: nothing. */
  void* (*cycle_state)(const berth_plugin_call* call);
  /** Keeps data of the plugin in place of what it has kept. @param free  called once with the data, when it is replaced
   * and when the cycle has ended, after post_bind() or unreserve(); NULL: there is nothing to free
   * @return 1; 0: nothing is kept, and the data stays the caller's */
  int32_t (*set_cycle_state)(berth_plugin_call* call, void* data, void (*free)(void* data));
  /** Another pod, which waits, is tried again whatever its backoff and without an event: once this one has passed
   * permit(), or, asked for later, once it is bound. Nothing comes of it when the cycle fails before.
   * @return 1; 0: no such pod is known */
  int32_t (*activate)(berth_plugin_call* call, const char* name_space, const char* name);
} berth_plugin_host;

/** Objects of events. */
enum {
  BERTH_EVENT_POD = 0, /**< pods on nodes, and the pod that waits itself */
  BERTH_EVENT_NODE = 1,
  BERTH_EVENT_PERSISTENT_VOLUME = 2,
  BERTH_EVENT_PERSISTENT_VOLUME_CLAIM = 3,
  BERTH_EVENT_CSI_NODE = 4,
  BERTH_EVENT_CSI_DRIVER = 5,
  BERTH_EVENT_CSI_STORAGE_CAPACITY = 6,
  BERTH_EVENT_STORAGE_CLASS = 7,
  BERTH_EVENT_VOLUME_ATTACHMENT = 8
};
/** What happened to an object: bits of berth_plugin_event.actions. */
enum {
  BERTH_EVENT_ADD = 1,
  BERTH_EVENT_DELETE = 2,
  BERTH_EVENT_UPDATE_NODE_ALLOCATABLE = 4,
  BERTH_EVENT_UPDATE_NODE_LABEL = 8,
  BERTH_EVENT_UPDATE_NODE_TAINT = 16,
  BERTH_EVENT_UPDATE_NODE_ANNOTATION = 64, /**< the value of a declared path */
  BERTH_EVENT_UPDATE_POD_LABEL = 256,
  BERTH_EVENT_UPDATE_POD_SCALE_DOWN = 512,
  BERTH_EVENT_UPDATE_POD_TOLERATION = 1024,
  BERTH_EVENT_UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048,
  BERTH_EVENT_UPDATE = 8188, /**< any update, those of storage objects included */
  BERTH_EVENT_ALL = 8191
};
typedef struct berth_plugin_event {
  uint32_t resource; /**< BERTH_EVENT_POD and so on */
  uint32_t actions;  /**< at least one */
} berth_plugin_event;

/** An event that queueing_hint() is asked about. Of the object's kind alone, before and after: NULL, or no text, where
 * it was not there or is no more. A node is seen without pods. */
typedef struct berth_plugin_change {
  uint32_t struct_size;
  uint32_t resource;
  const berth_plugin_node* old_node;
  const berth_plugin_node* new_node;
  const berth_plugin_pod* old_pod;
  const berth_plugin_pod* new_pod;
  int32_t is_own; /**< the pod that waits is the object */
  uint32_t reserved;
  berth_plugin_text old_name; /**< of a storage object; "namespace/name" where its kind has namespaces */
  berth_plugin_text new_name;
} berth_plugin_change;

/** Answers of queueing_hint(). */
enum { BERTH_HINT_SKIP = 0, BERTH_HINT_QUEUE = 1 };

/** The nodes of evaluate(), all or some of the cluster. */
typedef struct berth_plugin_nodes {
  uint32_t struct_size;
  uint32_t path_count; /**< berth_plugin.node_path_count */
  size_t count;
  const berth_plugin_node* const* nodes; /**< [count] */
  /** [path_count], each [count]: the declared values; data is NULL where a node has none. */
  const berth_plugin_text* const* values;
} berth_plugin_nodes;

/** The answer of evaluate(): every node is accepted with score 0 until the plugin says otherwise. */
typedef struct berth_plugin_columns {
  uint32_t struct_size;
  uint32_t reserved;
  uint8_t* codes;    /**< [count]: BERTH_CODE_*; NULL without BERTH_PLUGIN_FILTERS */
  uint32_t* reasons; /**< [count]: of make_reasons(), for each node that is refused; NULL likewise */
  int64_t* scores;   /**< [count]: raw; NULL without BERTH_PLUGIN_SCORES */
} berth_plugin_columns;

/** What a pod that comes to a node, or leaves it, can change of the plugin's answers about other pods. */
enum {
  BERTH_REACH_EVERYTHING = 0, /**< every answer, those of pre_filter() and pre_score() included */
  BERTH_REACH_NOTHING = 1,
  BERTH_REACH_NODE = 2,  /**< the answers about that node */
  BERTH_REACH_DOMAIN = 3 /**< about the nodes with its value of a label; without the label, about that node */
};
typedef struct berth_plugin_reach {
  uint32_t struct_size;
  uint32_t kind;            /**< BERTH_REACH_* */
  const char* topology_key; /**< of BERTH_REACH_DOMAIN; copied */
} berth_plugin_reach;

/** A plugin. Set struct_size to sizeof(berth_plugin) and abi_version to BERTH_PLUGIN_ABI_VERSION; entries that are zero
 * are not there. It and what it points at stay valid as long as the engine. Entries may be appended: those that a
 * loader does not know must be zero, else it refuses the plugin. */
struct berth_plugin {
  uint32_t struct_size;
  uint32_t abi_version;
  uint32_t flags; /**< BERTH_PLUGIN_MANY_THREADS and so on */
  uint32_t reserved;
  const char* name; /**< by which profiles name it; none of kube-scheduler's plugins */

  /** Paths of Node and Pod objects beyond the fields of the view: `spec.providerID`,
   * `metadata.annotations['example.com/pool']`. They lead to a string, a number or a boolean, through objects alone.
   * The values of the pod enter its signature. */
  const char* const* node_paths;
  size_t node_path_count;
  const char* const* pod_paths; /**< not below status, and not spec.nodeName */
  size_t pod_path_count;

  /** Given to create(). */
  void* user_data;
  /** Before any other call, once for each engine; where profiles have other arguments, once for each of them, and each
   * function gets the `self` of the pod's profile. NULL: the others get user_data as `self`.
   * @param arguments [in]  JSON text of the plugin's pluginConfig, "{}" where there is none
   * @param self      [out] given to every other function
   * @return BERTH_CODE_SUCCESS or BERTH_CODE_ERROR with a reason: the configuration is refused then */
  int32_t (*create)(void* user_data, const berth_plugin_host* host, berth_plugin_call* call, const char* arguments,
                    size_t arguments_size, void** self);
  /** Once for each create(), when the engine goes, and no call is running. */
  void (*destroy)(void* self);

  /** 0: the plugin neither filters nor scores the pod, nor does the pod change an answer. NULL: it concerns every pod.
   * Called often. Where there are several, every `self` is asked, and one that says otherwise decides: the others may
   * then be asked about the pod, too. */
  int32_t (*concerns)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod);
  /** Appends all that the plugin reads of a pod to be placed beside declared values: pods with equal signatures share
   * their answers. BERTH_PLUGIN_SKIP, or NULL: nothing can be said, and the pod has answers of its own, which costs an
   * evaluate() for each. */
  int32_t (*sign)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod);
  /** Another number when answers may change for a reason outside the cluster: new data. It may change at any time;
   * calls of the engine that have begun may or may not see it. NULL: never. */
  uint64_t (*version)(void* self);
  /** See BERTH_REACH_*. Of every pod that concerns the plugin, placed ones included; every `self` is asked. NULL:
   * everything, which costs an evaluate() of all nodes after each placement.
   * @param reach [out] BERTH_REACH_EVERYTHING until the plugin says otherwise */
  void (*reach)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, const berth_plugin_node* node,
                berth_plugin_reach* reach);

  /** BERTH_CODE_SUCCESS, BERTH_PLUGIN_SKIP, a refusal of every node or BERTH_CODE_ERROR. That it skips must not depend
   * on what reach() tells of. */
  int32_t (*pre_filter)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod);
  /** Filter and score. Refusals: BERTH_CODE_UNSCHEDULABLE where evicting pods of the node may help,
   * BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE where it does not, BERTH_CODE_PENDING where the pod waits for something
   * outside: eviction does not help, and an event that queueing_hint() lets through brings it back without backoff;
   * BERTH_CODE_ERROR.
   * @return BERTH_CODE_SUCCESS; BERTH_CODE_ERROR with a reason: about every node */
  int32_t (*evaluate)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, const berth_plugin_nodes* nodes,
                      berth_plugin_columns* columns);
  /** Filter of a node with these pods added and those removed, for nominated pods and preemption. `node` is without the
   * changes. The answer of evaluate() where both are empty. */
  int32_t (*filter_changed)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod,
                            const berth_plugin_node* node, const berth_plugin_pod* const* added, size_t added_count,
                            const berth_plugin_pod* const* removed, size_t removed_count);
  /** BERTH_CODE_SUCCESS, BERTH_PLUGIN_SKIP or BERTH_CODE_ERROR. */
  int32_t (*pre_score)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod);
  /** Brings the raw scores of the nodes that are feasible into 0 to 100; a score outside ends the pod's cycle with an
   * error, also where this is NULL. @return as evaluate() */
  int32_t (*normalize)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, int64_t* scores, size_t count);

  /* Points before and behind the choice of a node. Where a scheduling loop runs they are called, as by `berth
   * simulate`; elsewhere a plugin that has one is refused, since nothing would call it. The cluster is the scheduler's,
   * with the pod on its node from reserve() on; pre_enqueue() sees none. Refusals are BERTH_CODE_UNSCHEDULABLE and
   * BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE, with a reason. */

  /** Whether the pod may be tried; a refusal, BERTH_CODE_PENDING included, keeps it out of the queue until an event. */
  int32_t (*pre_enqueue)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod);
  /** Of a pod that no node took. BERTH_CODE_SUCCESS: *nominated is where it may fit soon; a refusal: nothing helps.
   * @param nodes     [in]  all nodes
   * @param codes     [in]  parallel to `nodes`: the first refusal of Filter
   * @param nominated [out] NULL until the plugin says otherwise: the pod's nomination stays as it is */
  int32_t (*post_filter)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod,
                         const berth_plugin_node* const* nodes, const uint8_t* codes, size_t count,
                         const berth_plugin_node** nominated);
  /** The pod is about to go to the node. BERTH_CODE_SUCCESS, a refusal or BERTH_CODE_ERROR. */
  int32_t (*reserve)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node_name);
  /** It does not go there. Also called when reserve() failed or never ran. */
  void (*unreserve)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node_name);
  /** BERTH_CODE_SUCCESS, BERTH_PLUGIN_WAIT, a refusal or BERTH_CODE_ERROR.
   * @param timeout_us [out] of BERTH_PLUGIN_WAIT: then the pod is rejected; 15 minutes at most */
  int32_t (*permit)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node_name,
                    int64_t* timeout_us);
  /** BERTH_CODE_SUCCESS: pre_bind() has work to do; BERTH_PLUGIN_SKIP; BERTH_CODE_ERROR. NULL: it has. */
  int32_t (*pre_bind_pre_flight)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod,
                                 berth_plugin_text node_name);
  /** BERTH_CODE_SUCCESS, a refusal or BERTH_CODE_ERROR. */
  int32_t (*pre_bind)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node_name);
  /** The pod is bound. */
  void (*post_bind)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node_name);
  /** The first plugin that does not answer BERTH_PLUGIN_SKIP binds the pod; profiles have DefaultBinder at this point,
   * which never does. BERTH_CODE_SUCCESS: the scheduler writes the binding to the API server, and post_bind() follows
   * when it is taken. BERTH_PLUGIN_BOUND: the plugin has written it, through a client of its own; an error where the
   * API server is a simulated one. A refusal or BERTH_CODE_ERROR: the cycle fails. */
  int32_t (*bind)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node_name);

  /* What may help a pod that the plugin refused, in pre_enqueue(), pre_filter(), evaluate(), reserve() or permit().
   * Asked where a queue is; elsewhere no pod waits for events. */

  /** Events that the plugin wants to know of. NULL: all. */
  const berth_plugin_event* events;
  size_t event_count;
  /** Whether such an event may help the pod: BERTH_HINT_QUEUE or BERTH_HINT_SKIP. Anything else, and an exception, is
   * BERTH_HINT_QUEUE. NULL: each of them may. Pods that sign() tells alike share an answer, except about events of
   * their own objects. No cluster is to be seen. */
  int32_t (*queueing_hint)(void* self, berth_plugin_call* call, const berth_plugin_pod* pod,
                           const berth_plugin_change* change);
};

/** What a shared object exports: its plugin, which stays valid as long as the object is loaded. */
typedef const berth_plugin* (*berth_plugin_init_fn)(void);
#define BERTH_PLUGIN_INIT_SYMBOL "berth_plugin_init"
BERTH_API const berth_plugin* berth_plugin_init(void);

#ifdef __cplusplus
}
#endif

#endif /* BERTH_PLUGIN_H */
