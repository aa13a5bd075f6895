/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of Berth: nodes offer so many licenses, and pods take some.
 *
 *   Node  metadata.annotations["example.com/licenses"]: "4"   how many there are on the node
 *   Pod   metadata.annotations["example.com/licenses"]: "1"   how many the pod takes while it is on a node
 *
 * Filter refuses a node whose licenses are taken: eviction may help there, unless the node never had enough. Score
 * prefers nodes with many free licenses, or with few where pluginConfig says {"prefer":"few"}. A pod without the
 * annotation is no concern of the plugin.
 *
 * Nothing of the library is linked: what a plugin calls comes with create(). */

#include <berth/plugin.h>
#include <stdlib.h>
#include <string.h>

/* The declared paths, by their index. */
enum { LICENSES = 0 };
static const char* const node_paths[] = {"metadata.annotations['example.com/licenses']"};
static const char* const pod_paths[] = {"metadata.annotations['example.com/licenses']"};

typedef struct licenses {
  const berth_plugin_host* host;
  int prefers_few;
} licenses;

/* A count of at most nine digits; 0 of any other text, and of none. */
static int64_t count_of(berth_plugin_text text) {
  int64_t count = 0;
  size_t i;
  if (text.data == NULL || text.size > 9) return 0;
  for (i = 0; i < text.size; ++i) {
    if (text.data[i] < '0' || text.data[i] > '9') return 0;
    count = 10 * count + (text.data[i] - '0');
  }
  return count;
}

static int64_t taken_by(const licenses* self, const berth_plugin_call* call, const berth_plugin_pod* pod) {
  berth_plugin_text value = {NULL, 0};
  self->host->pod_value(call, pod, LICENSES, &value);
  return count_of(value);
}

static int64_t taken_on(const licenses* self, const berth_plugin_call* call, const berth_plugin_node* node) {
  int64_t taken = 0;
  size_t i;
  const size_t count = self->host->node_pod_count(call, node);
  for (i = 0; i < count; ++i) taken += taken_by(self, call, self->host->node_pod(call, node, i));
  return taken;
}

static int32_t create(void* user_data, const berth_plugin_host* host, berth_plugin_call* call, const char* arguments,
                      size_t arguments_size, void** self) {
  licenses* made;
  const int is_many = strcmp(arguments, "{}") == 0 || strcmp(arguments, "{\"prefer\":\"many\"}") == 0;
  const int is_few = strcmp(arguments, "{\"prefer\":\"few\"}") == 0;
  (void)user_data;
  (void)arguments_size;
  if (!is_many && !is_few) {
    host->add_reason(call, "expected the arguments {}, {\"prefer\":\"many\"} or {\"prefer\":\"few\"}");
    return BERTH_CODE_ERROR;
  }
  made = malloc(sizeof *made);
  if (made == NULL) {
    host->add_reason(call, "memory ran out");
    return BERTH_CODE_ERROR;
  }
  made->host = host;
  made->prefers_few = is_few;
  *self = made;
  return BERTH_CODE_SUCCESS;
}

static void destroy(void* self) { free(self); }

static int32_t concerns(void* self, berth_plugin_call* call, const berth_plugin_pod* pod) {
  return taken_by(self, call, pod) > 0;
}

/* The declared values of a pod are part of its signature anyway: there is nothing to add. */
static int32_t sign(void* self, berth_plugin_call* call, const berth_plugin_pod* pod) {
  (void)self;
  (void)call;
  (void)pod;
  return BERTH_CODE_SUCCESS;
}

static void reach(void* self, berth_plugin_call* call, const berth_plugin_pod* pod, const berth_plugin_node* node,
                  berth_plugin_reach* reached) {
  (void)self;
  (void)call;
  (void)pod;
  (void)node;
  reached->kind = BERTH_REACH_NODE;
}

/* The code of a node that offers so many, of which so many are taken. */
static int32_t verdict(int64_t offered, int64_t taken, int64_t wanted) {
  if (wanted > offered) return BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE;
  return taken + wanted > offered ? BERTH_CODE_UNSCHEDULABLE : BERTH_CODE_SUCCESS;
}

static const char* reason_of(int32_t code) {
  return code == BERTH_CODE_UNSCHEDULABLE ? "node(s) had no free license" : "node(s) did not offer enough licenses";
}

static int32_t evaluate(void* data, berth_plugin_call* call, const berth_plugin_pod* pod,
                        const berth_plugin_nodes* nodes, berth_plugin_columns* columns) {
  const licenses* self = data;
  const int64_t wanted = taken_by(self, call, pod);
  uint32_t reasons[4] = {0, 0, 0, 0}; /* by code, each made when it is first needed */
  size_t i;
  for (i = 0; i < nodes->count; ++i) {
    const int64_t offered = count_of(nodes->values[LICENSES][i]);
    const int64_t taken = offered == 0 ? 0 : taken_on(self, call, nodes->nodes[i]);
    const int32_t code = verdict(offered, taken, wanted);
    if (code != BERTH_CODE_SUCCESS) {
      const char* text = reason_of(code);
      if (reasons[code] == 0) reasons[code] = self->host->make_reasons(call, &text, 1);
      columns->codes[i] = (uint8_t)code;
      columns->reasons[i] = reasons[code];
    }
    columns->scores[i] = offered - taken;
  }
  return BERTH_CODE_SUCCESS;
}

static int32_t filter_changed(void* data, berth_plugin_call* call, const berth_plugin_pod* pod,
                              const berth_plugin_node* node, const berth_plugin_pod* const* added, size_t added_count,
                              const berth_plugin_pod* const* removed, size_t removed_count) {
  const licenses* self = data;
  berth_plugin_text offered = {NULL, 0};
  int64_t taken = taken_on(self, call, node);
  int32_t code;
  size_t i;
  for (i = 0; i < added_count; ++i) taken += taken_by(self, call, added[i]);
  for (i = 0; i < removed_count; ++i) taken -= taken_by(self, call, removed[i]);
  self->host->node_value(call, node, LICENSES, &offered);
  code = verdict(count_of(offered), taken, taken_by(self, call, pod));
  if (code != BERTH_CODE_SUCCESS) self->host->add_reason(call, reason_of(code));
  return code;
}

/* The most licenses that are free get 100, and none gets 0; or the other way round. */
static int32_t normalize(void* data, berth_plugin_call* call, const berth_plugin_pod* pod, int64_t* scores,
                         size_t count) {
  const int prefers_few = ((const licenses*)data)->prefers_few;
  int64_t most = 1;
  size_t i;
  (void)call;
  (void)pod;
  for (i = 0; i < count; ++i)
    if (scores[i] > most) most = scores[i];
  for (i = 0; i < count; ++i) {
    scores[i] = 100 * scores[i] / most;
    if (prefers_few) scores[i] = 100 - scores[i];
  }
  return BERTH_CODE_SUCCESS;
}

/* What may free a license, or bring some: a pod that was refused waits for nothing else. */
static const berth_plugin_event events[] = {{BERTH_EVENT_POD, BERTH_EVENT_DELETE},
                                            {BERTH_EVENT_NODE, BERTH_EVENT_ADD | BERTH_EVENT_UPDATE_NODE_ANNOTATION}};

const berth_plugin* berth_plugin_init(void) {
  static berth_plugin plugin;
  plugin.struct_size = sizeof plugin;
  plugin.abi_version = BERTH_PLUGIN_ABI_VERSION;
  plugin.flags = BERTH_PLUGIN_MANY_THREADS | BERTH_PLUGIN_FILTERS | BERTH_PLUGIN_SCORES;
  plugin.name = "Licenses";
  plugin.node_paths = node_paths;
  plugin.node_path_count = 1;
  plugin.pod_paths = pod_paths;
  plugin.pod_path_count = 1;
  plugin.create = create;
  plugin.destroy = destroy;
  plugin.concerns = concerns;
  plugin.sign = sign;
  plugin.reach = reach;
  plugin.evaluate = evaluate;
  plugin.filter_changed = filter_changed;
  plugin.normalize = normalize;
  plugin.events = events;
  plugin.event_count = sizeof events / sizeof events[0];
  return &plugin;
}
