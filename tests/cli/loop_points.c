/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin at the points before and behind the choice of a node, which writes down each call. Its pods are those with
 * the annotation "mode": "closed" stays out of the queue, "gang" waits for a second one, "unreservable" is refused by
 * reserve(), "forbidden" by permit() and "unbindable" by pre_bind(). */

#include <berth/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const pod_paths[] = {"metadata.annotations['mode']"};

typedef struct points {
  const berth_plugin_host* host;
  FILE* log;
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

static int32_t reserve(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node) {
  (void)node;
  note(self, call, pod, "reserve");
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

static void post_bind(void* data, berth_plugin_call* call, const berth_plugin_pod* pod, berth_plugin_text node) {
  const points* self = data;
  note(self, call, pod, "postBind");
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
  return &plugin;
}
