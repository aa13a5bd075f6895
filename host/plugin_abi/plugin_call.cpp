// SPDX-License-Identifier: Apache-2.0
#include "host/plugin_abi/plugin_call.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "host/framework/cycle_state.h"
#include "host/framework/host_plugin.h"
#include "host/framework/plugin_registry.h"
#include "host/framework/waiting_pods.h"
#include "host/objects/json_out.h"
#include "host/objects/pod_requests.h"

namespace {

thread_local const berth_plugin_call* t_innermost = nullptr;

}  // namespace

berth_plugin_call::berth_plugin_call(const berth::HostPlugin* caller, const berth::PluginPaths& paths_of,
                                     const berth::ClusterCache* seen) noexcept
    : plugin(caller), paths(paths_of), cluster(seen), outer(t_innermost) {
  t_innermost = this;
}

berth_plugin_call::~berth_plugin_call() { t_innermost = outer; }

void berth_plugin_call::check() const {
  if (out_of_memory) throw std::bad_alloc();
}

const std::vector<const berth::NodeInfo*>& berth_plugin_call::nodes() const {
  if (!nodes_) nodes_ = cluster != nullptr ? cluster->nodes() : std::vector<const berth::NodeInfo*>();
  return *nodes_;
}

namespace berth {
namespace {

using Call = berth_plugin_call;

const NodeInfo& info_of(const berth_plugin_node* node) { return *reinterpret_cast<const NodeInfo*>(node); }
const Pod& pod_of(const berth_plugin_pod* pod) { return *reinterpret_cast<const Pod*>(pod); }

/// Runs `body` for a plugin, through whose frames nothing may be thrown.
template <class T, class Body>
T unless_memory_runs_out(const Call* call, T otherwise, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    call->out_of_memory = true;
    return otherwise;
  }
}

std::int32_t give(std::optional<std::string_view> found, berth_plugin_text* value) {
  if (!found) return 0;
  *value = to_abi(*found);
  return 1;
}

std::int32_t give_value(const DeclaredValues& values, const std::vector<std::uint32_t>& numbers, std::uint32_t path,
                        berth_plugin_text* value) {
  const std::string* const found = path < numbers.size() ? find_declared(values, numbers[path]) : nullptr;
  if (found == nullptr) return 0;
  *value = to_abi(*found);
  return 1;
}

const OwnerReference* controller_of(const Pod& pod) {
  if (pod.owners == nullptr) return nullptr;
  const auto at = std::ranges::find(*pod.owners, true, &OwnerReference::controller);
  return at == pod.owners->end() ? nullptr : &*at;
}

// The answer

void add_reason(Call* call, const char* text) {
  if (text == nullptr) return;
  unless_memory_runs_out(call, 0, [&] {
    call->reasons.emplace_back(text);
    return 0;
  });
}

std::uint32_t make_reasons(Call* call, const char* const* texts, std::size_t count) {
  return unless_memory_runs_out(call, 0u, [&] {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < count; ++i)
      if (texts[i] != nullptr) list.emplace_back(texts[i]);
    call->reason_lists.push_back(std::move(list));
    return static_cast<std::uint32_t>(call->reason_lists.size());
  });
}

void append_signature(Call* call, const void* data, std::size_t size) {
  unless_memory_runs_out(call, 0, [&] {
    if (size > 0) call->signature.append(static_cast<const char*>(data), size);
    return 0;
  });
}

void only_nodes(Call* call, const berth_plugin_node* const* nodes, std::size_t count) {
  unless_memory_runs_out(call, 0, [&] {
    std::set<std::string> names;
    for (std::size_t i = 0; i < count; ++i)
      if (nodes[i] != nullptr) names.insert(info_of(nodes[i]).name);
    call->only = std::move(names);
    return 0;
  });
}

// The cluster

std::size_t node_count(const Call* call) {
  return unless_memory_runs_out(call, std::size_t{0}, [&] { return call->nodes().size(); });
}

const berth_plugin_node* node_at(const Call* call, std::size_t i) {
  return unless_memory_runs_out<const berth_plugin_node*>(call, nullptr, [&]() -> const berth_plugin_node* {
    return i < call->nodes().size() ? to_abi(call->nodes()[i]) : nullptr;
  });
}

const berth_plugin_node* find_node(const Call* call, const char* name) {
  if (call->cluster == nullptr || name == nullptr) return nullptr;
  const NodeInfo* const node = call->cluster->find_node(name);
  return node != nullptr && node->node != nullptr ? to_abi(node) : nullptr;
}

// A node

berth_plugin_text node_name(const Call*, const berth_plugin_node* node) { return to_abi(info_of(node).name); }

std::int32_t node_label(const Call*, const berth_plugin_node* node, const char* key, berth_plugin_text* value) {
  return give(info_of(node).node->labels.find(key), value);
}

std::int32_t node_value(const Call* call, const berth_plugin_node* node, std::uint32_t path, berth_plugin_text* value) {
  return give_value(info_of(node).node->declared, call->paths.of_nodes, path, value);
}

std::int32_t node_is_cordoned(const Call*, const berth_plugin_node* node) {
  return info_of(node).node->unschedulable ? 1 : 0;
}

std::size_t node_taint_count(const Call*, const berth_plugin_node* node) { return info_of(node).node->taints.size(); }

std::int32_t node_taint(const Call*, const berth_plugin_node* node, std::size_t i, berth_plugin_taint* out) {
  const std::vector<Taint>& taints = info_of(node).node->taints;
  if (i >= taints.size()) return 0;
  *out = {to_abi(taints[i].key), to_abi(taints[i].value), to_abi(effect_name(taints[i].effect))};
  return 1;
}

std::int64_t node_allocatable(const Call*, const berth_plugin_node* node, const char* resource) {
  const Node& object = *info_of(node).node;
  return resource == kPods ? object.allowed_pod_number : object.allocatable.amount(resource);
}

std::int64_t node_requested(const Call*, const berth_plugin_node* node, const char* resource) {
  const NodeInfo& info = info_of(node);
  return resource == kPods ? static_cast<std::int64_t>(info.pods.size()) : info.requested.amount(resource);
}

std::size_t node_pod_count(const Call*, const berth_plugin_node* node) { return info_of(node).pods.size(); }

const berth_plugin_pod* node_pod(const Call*, const berth_plugin_node* node, std::size_t i) {
  const std::vector<PodPtr>& pods = info_of(node).pods;
  return i < pods.size() ? to_abi(pods[i].get()) : nullptr;
}

// A pod

berth_plugin_text pod_namespace(const Call*, const berth_plugin_pod* pod) { return to_abi(pod_of(pod).namespace_); }
berth_plugin_text pod_name(const Call*, const berth_plugin_pod* pod) { return to_abi(pod_of(pod).name); }

berth_plugin_text pod_scheduler(const Call*, const berth_plugin_pod* pod) {
  return to_abi(pod_of(pod).spec->scheduler_name);
}

std::int32_t pod_priority(const Call*, const berth_plugin_pod* pod) { return pod_of(pod).priority; }

std::int32_t pod_label(const Call*, const berth_plugin_pod* pod, const char* key, berth_plugin_text* value) {
  return give(pod_of(pod).labels.find(key), value);
}

std::int32_t pod_value(const Call* call, const berth_plugin_pod* pod, std::uint32_t path, berth_plugin_text* value) {
  return give_value(pod_of(pod).rare().declared, call->paths.of_pods, path, value);
}

berth_plugin_text pod_uid(const Call* call, const berth_plugin_pod* pod) {
  if (!pod_of(pod).stored_uid.empty()) return to_abi(pod_of(pod).stored_uid);
  return unless_memory_runs_out(call, berth_plugin_text{nullptr, 0},
                                [&] { return to_abi(call->texts.emplace_back(pod_of(pod).uid())); });
}

std::int64_t pod_request(const Call* call, const berth_plugin_pod* pod, const char* resource) {
  if (resource == kPods) return 1;
  return unless_memory_runs_out(call, std::int64_t{0}, [&] { return pod_requests(pod_of(pod), {}).amount(resource); });
}

std::int32_t pod_controller(const Call*, const berth_plugin_pod* pod, berth_plugin_text* kind, berth_plugin_text* name,
                            berth_plugin_text* uid) {
  const OwnerReference* const owner = controller_of(pod_of(pod));
  if (owner == nullptr) return 0;
  if (kind != nullptr) *kind = to_abi(owner->kind);
  if (name != nullptr) *name = to_abi(owner->name);
  if (uid != nullptr) *uid = to_abi(owner->uid);
  return 1;
}

std::int32_t is_same_pod(const Call* call, const berth_plugin_pod* a, const berth_plugin_pod* b) {
  if (a == b) return 1;
  return unless_memory_runs_out(call, 0, [&] { return pod_of(a).uid() == pod_of(b).uid() ? 1 : 0; });
}

// Pods that wait

WaitingPods* waiting_pods_of(const Call* call) { return call->loop != nullptr ? call->loop->waiting_pods : nullptr; }

std::int32_t allow_waiting(Call* call, berth_plugin_text uid) {
  WaitingPods* const waiting = waiting_pods_of(call);
  if (waiting == nullptr || uid.data == nullptr) return 0;
  return unless_memory_runs_out(call, 0,
                                [&] { return waiting->allow({uid.data, uid.size}, call->plugin->name()) ? 1 : 0; });
}

std::int32_t reject_waiting(Call* call, berth_plugin_text uid, const char* reason) {
  WaitingPods* const waiting = waiting_pods_of(call);
  if (waiting == nullptr || uid.data == nullptr) return 0;
  return unless_memory_runs_out(call, 0, [&] {
    const std::string text = reason != nullptr ? reason : "";
    return waiting->reject({uid.data, uid.size}, call->plugin->name(), text) ? 1 : 0;
  });
}

// The cycle of a pod

/// What a plugin keeps in a cycle, which frees it.
class KeptState {
 public:
  KeptState() = default;
  KeptState(KeptState&& other) noexcept : data_(other.data_), free_(std::exchange(other.free_, nullptr)) {}
  KeptState& operator=(KeptState&&) = delete;
  ~KeptState() { clear(); }

  void* data() const { return data_; }
  void keep(void* data, void (*free)(void*)) noexcept {
    clear();
    data_ = data;
    free_ = free;
  }

 private:
  void clear() noexcept {
    try {
      if (free_ != nullptr) free_(data_);
    } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
    }
  }

  void* data_ = nullptr;
  void (*free_)(void*) = nullptr;
};

std::string state_name(const Call* call) { return "plugin/" + std::string(call->plugin->name()); }

KeptState* kept_state(const Call* call) { return call->cycle->read(StateKey<KeptState>{state_name(call)}); }

void* cycle_state(const Call* call) {
  if (call->cycle == nullptr) return nullptr;
  return unless_memory_runs_out<void*>(call, nullptr, [&]() -> void* {
    const KeptState* const kept = kept_state(call);
    return kept != nullptr ? kept->data() : nullptr;
  });
}

std::int32_t set_cycle_state(Call* call, void* data, void (*free)(void*)) {
  if (call->cycle == nullptr) return 0;
  return unless_memory_runs_out(call, 0, [&] {
    if (kept_state(call) == nullptr) call->cycle->write(StateKey<KeptState>{state_name(call)}, KeptState());
    kept_state(call)->keep(data, free);
    return 1;
  });
}

std::int32_t activate(Call* call, const char* name_space, const char* name) {
  const bool has_queue = call->loop != nullptr && call->loop->find_queued && call->cycle != nullptr;
  if (!has_queue || name_space == nullptr || name == nullptr) return 0;
  return unless_memory_runs_out(call, 0, [&] {
    PodPtr pod = call->loop->find_queued(name_space, name);
    if (pod == nullptr) return 0;
    if (call->cycle->read(kPodsToActivate) == nullptr) call->cycle->write(kPodsToActivate, PodsToActivate());
    call->cycle->read(kPodsToActivate)->insert_or_assign(pod->full_name(), std::move(pod));
    return 1;
  });
}

constexpr berth_plugin_host kHost = {sizeof(berth_plugin_host),
                                     BERTH_PLUGIN_ABI_VERSION,
                                     add_reason,
                                     make_reasons,
                                     append_signature,
                                     only_nodes,
                                     node_count,
                                     node_at,
                                     find_node,
                                     node_name,
                                     node_label,
                                     node_value,
                                     node_is_cordoned,
                                     node_taint_count,
                                     node_taint,
                                     node_allocatable,
                                     node_requested,
                                     node_pod_count,
                                     node_pod,
                                     pod_namespace,
                                     pod_name,
                                     pod_scheduler,
                                     pod_priority,
                                     pod_label,
                                     pod_value,
                                     pod_uid,
                                     pod_request,
                                     pod_controller,
                                     is_same_pod,
                                     allow_waiting,
                                     reject_waiting,
                                     cycle_state,
                                     set_cycle_state,
                                     activate};

}  // namespace

bool is_calling(const HostPlugin* plugin) noexcept {
  for (const Call* call = t_innermost; call != nullptr; call = call->outer)
    if (call->plugin == plugin) return true;
  return false;
}

const berth_plugin_host& plugin_host() noexcept { return kHost; }

}  // namespace berth
