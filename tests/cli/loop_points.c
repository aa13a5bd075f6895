/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin at the points before and behind the choice of a node, which writes down each call. Its pods are those with
 * the annotation "mode": "closed" stays out of the queue, "gang" waits for a second one, "unreservable" is refused by
 * reserve(), "forbidden" by permit() and "unbindable" by pre_bind(). "binds", "bound" and "unwritten" take the pod at
 * bind() themselves, "keeps" keeps a state in its cycle, "late" is refused by reserve() at first, and then waits for a
 * pod "helps" on a node, or for a pod "wakes", which activates default/p0. */

#include <berth/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const pod_paths[] = {"metadata.annotations['mode']"};

typedef struct points {
  const berth_plugin_host* host;
  FILE* log;
  int has_refused;  /* a pod that is late */
  char waiting[64]; /* uid of the pod of a gang that waits */
} points;

static int has_mode(const points* self, const berth_plugin_call* call, const berth_plugin_pod* pod, const char* mode) {
  berth_plugin_text value = {NULL, 0};
  return self->host->pod_value(call, pod, 0, &value) && value.size == strlen(mode) &&
         memcmp(value.data, mode, value.size) == 0;
}

static void note(const points* self, const berth_plugin_call* call, const berth_plugin_pod* pod, const char* point) {
  const berth_plugin_text uid = self->host->pod_uid(call, pod);
  fprintf(self->log, "%s %.*s\n", point, (int)uid.size, uid.data);
  fflush(self->log);
}

static int32_t refuse(const points* self, berth_plugin_call* call, const char* reason) {
  self->host->add_reason(call, reason);
  return BERTH_CODE_UNSCHEDULABLE;
}

/* The arguments are {"log":"PATH"}. */
static int32_t create(void* user_data, const berth_plugin_host* host, berth_plugin_call* call, const char* arguments,
                      size_t size, void** self) {
  static const char head[] = "{\"log\":\"";
  char path[4096];
  const size_t length = size < sizeof head + 1 ? 0 : size - (sizeof head - 1) - 2;
  points* made = calloc(1, sizeof *made);
  (void)user_data;
  if (made == NULL) return BERTH_CODE_ERROR;
  if (length > 0 && length < sizeof path && strncmp(arguments, head, sizeof head - 1) == 0) {
    memcpy(path, arguments + sizeof head - 1, length);
    path[length] = '\0';
    made->log = fopen(path, "w");
  }
  if (made->log == NULL) {
    free(made);
    host->add_reason(call, "expected {\"log\":\"PATH\"}");
    return BERTH_CODE_ERROR;
  }
  made->host = host;
  *self = made;
  return BERTH_CODE_SUCCESS;
}

static void destroy(void* self) {
  fclose(((points*)self)->log);
  free(self);
}

static int32_t pre_enqueue(void* self, berth_plugin_call* call, const berth_plugin_pod* pod) {
  note(self, call, pod, "preEnqueue");
  return has_mode(self, call, pod, "closed") ? refuse(self, call, "the gate is closed") : BERTH_CODE_SUCCESS;
}

static int32_t post_filter(void* self, berth_plugin_call* call, const berth_plugin_pod* pod,
                           const berth_plugin_node* const* nodes, const uint8_t* codes, size_t count,
                           const berth_plugin_node** nominated) {
  (void)nodes;
  (void)nominated;
  note(self, call, pod, "postFilter");
  if (count != 1 || codes[0] != BERTH_CODE_UNSCHEDULABLE) return 99;
  return refuse(self, call, "nothing helps");
}

typedef struct kept {
  FILE* log;
  int number;
} kept;

static void free_kept(void* data) {
  kept* state = data;
  fprintf(state->log, "freed %d\n", state->number);
  free(state);
}

static void keep(const points* self, berth_plugin_call* call, int number) {
  kept* state = malloc(sizeof *state);
  if (state == NULL) return;
  state->log = self->log;
  state->number = number;
  if (!self->host->set_cycle_state(call, state, free_kept)) free(state);
}

static int32_t reserve(void* data, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node) {
  points* self = data;
  (void)node;
  note(self, call, pod, "reserve");
  if (has_mode(self, call, pod, "keeps")) {
    const berth_plugin_node* seen = self->host->find_node(call, "a");
    fprintf(self->log, "pods %d, state %d\n", (int)self->host->node_pod_count(call, seen),
            self->host->cycle_state(call) != NULL);
    keep(self, call, 1);
    keep(self, call, 2);
  }
  if (has_mode(self, call, pod, "late") && !self->has_refused) {
    self->has_refused = 1;
    return refuse(self, call, "too early");
  }
  return has_mode(self, call, pod, "unreservable") ? refuse(self, call, "not to be reserved") : BERTH_CODE_SUCCESS;
}

static void unreserve(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node) {
  (void)node;
  note(self, call, pod, "unreserve");
}

static int32_t permit(void* data, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node,
                      int64_t* timeout_us) {
  points* self = data;
  const berth_plugin_text uid = self->host->pod_uid(call, pod);
  (void)node;
  note(self, call, pod, "permit");
  if (has_mode(self, call, pod, "wakes"))
    fprintf(self->log, "activated %d %d\n", (int)self->host->activate(call, "default", "p0"),
            (int)self->host->activate(call, "default", "nobody"));
  if (has_mode(self, call, pod, "forbidden")) return refuse(self, call, "not permitted");
  if (!has_mode(self, call, pod, "gang")) return BERTH_CODE_SUCCESS;
  if (self->waiting[0] != '\0') {
    const berth_plugin_text waiting = {self->waiting, strlen(self->waiting)};
    fprintf(self->log, "allowed %d\n", (int)self->host->allow_waiting(call, waiting));
    return BERTH_CODE_SUCCESS;
  }
  memcpy(self->waiting, uid.data, uid.size < sizeof self->waiting ? uid.size : sizeof self->waiting - 1);
  *timeout_us = 60 * 1000000;
  return BERTH_PLUGIN_WAIT;
}

static int32_t pre_bind_pre_flight(void* self, berth_plugin_call* call, const berth_plugin_pod* pod,
                                   berth_plugin_text node) {
  (void)node;
  note(self, call, pod, "preBindPreFlight");
  return has_mode(self, call, pod, "gang") ? BERTH_PLUGIN_SKIP : BERTH_CODE_SUCCESS;
}

static int32_t pre_bind(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node) {
  (void)node;
  note(self, call, pod, "preBind");
  return has_mode(self, call, pod, "unbindable") ? refuse(self, call, "not to be bound") : BERTH_CODE_SUCCESS;
}

static int32_t bind(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node) {
  (void)node;
  if (has_mode(self, call, pod, "bound")) return BERTH_PLUGIN_BOUND;
  if (has_mode(self, call, pod, "unwritten")) return refuse(self, call, "not to be written");
  if (!has_mode(self, call, pod, "binds")) return BERTH_PLUGIN_SKIP;
  note(self, call, pod, "bind");
  return BERTH_CODE_SUCCESS;
}

static int32_t queueing_hint(void* data, berth_plugin_call* call, const berth_plugin_pod* pod,
                             const berth_plugin_change* change) {
  const points* self = data;
  berth_plugin_text name = {NULL, 0};
  int helps;
  if (!has_mode(self, call, pod, "late")) return BERTH_HINT_QUEUE;
  if (change->resource == BERTH_EVENT_NODE && change->new_node != NULL)
    name = self->host->node_name(call, change->new_node);
  if (change->resource == BERTH_EVENT_POD && change->new_pod != NULL)
    name = self->host->pod_name(call, change->new_pod);
  if (change->resource == BERTH_EVENT_PERSISTENT_VOLUME_CLAIM) name = change->new_name;
  helps = change->new_pod != NULL && !change->is_own && has_mode(self, call, change->new_pod, "helps");
  fprintf(self->log, "hint %.*s%s\n", (int)name.size, name.data, helps ? " helps" : "");
  return helps ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static void post_bind(void* data, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node) {
  const points* self = data;
  const kept* state = self->host->cycle_state(call);
  note(self, call, pod, "postBind");
  if (state != NULL) fprintf(self->log, "kept %d\n", state->number);
  fprintf(self->log, "on %.*s\n", (int)node.size, node.data);
}

const berth_plugin* berth_plugin_init(void) {
  static berth_plugin plugin;
  plugin.struct_size = sizeof plugin;
  plugin.abi_version = BERTH_PLUGIN_ABI_VERSION;
  plugin.name = "Points";
  plugin.pod_paths = pod_paths;
  plugin.pod_path_count = 1;
  plugin.create = create;
  plugin.destroy = destroy;
  plugin.pre_enqueue = pre_enqueue;
  plugin.post_filter = post_filter;
  plugin.reserve = reserve;
  plugin.unreserve = unreserve;
  plugin.permit = permit;
  plugin.pre_bind_pre_flight = pre_bind_pre_flight;
  plugin.pre_bind = pre_bind;
  plugin.post_bind = post_bind;
  plugin.bind = bind;
  plugin.queueing_hint = queueing_hint;
  return &plugin;
}
