// SPDX-License-Identifier: Apache-2.0
// Engines, clusters, pods and node sets of berth.h: convert, call, convert.

#include <utility>

#include "host/capi/handles.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

namespace {

const char* text_or_empty(const char* text) { return text != nullptr ? text : ""; }

/// The handles of pods that were read, which the caller then owns.
void give_pods(const std::shared_ptr<Cluster>& cluster, std::vector<std::unique_ptr<ReadPod>> read, berth_pod** out) {
  std::vector<std::unique_ptr<berth_pod>> pods;
  pods.reserve(read.size());
  for (std::unique_ptr<ReadPod>& pod : read) {
    auto& handle = pods.emplace_back(std::make_unique<berth_pod>());
    handle->pod = std::make_shared<const PodHandle>(cluster, std::move(pod));
  }
  for (std::size_t i = 0; i < pods.size(); ++i) out[i] = pods[i].release();
}

/// A load of objects, work(cluster).
template <class Work>
berth_status loaded_until(const berth_cluster& handle, const berth_load_options* options, Work work) {
  Cluster& cluster = *handle.cluster;
  cluster.engine().memory.check();
  const berth_status status = until(options, [&] { return work(cluster); });
  cluster.note_memory();
  return status;
}

std::uint32_t ignored_parts(const berth_pod_options* options) {
  const std::uint32_t ignore = read_options(options).ignore;
  if ((ignore & ~std::uint32_t{BERTH_IGNORE_CLAIMS | BERTH_IGNORE_VOLUMES | BERTH_IGNORE_PLUGINS}) != 0)
    throw ApiError(BERTH_E_ARGUMENT, "ignore", "has bits that mean nothing");
  return ignore;
}

}  // namespace

extern "C" {

berth_status berth_engine_create(const berth_engine_options* options, berth_engine** engine, berth_error* error) {
  return guarded(error, [&] {
    needed(engine, "engine");
    const berth_engine_options known = read_options(options);
    auto opened = std::make_shared<Engine>(known);
    auto handle = std::make_unique<berth_engine>();
    handle->engine = opened;
    opened->log.open(known);
    for (const std::string& warning : opened->warnings) opened->log.say(BERTH_LOG_WARNING, warning);
    *engine = handle.release();
  });
}

void berth_engine_free(berth_engine** engine) { free_handle(engine); }

berth_status berth_cluster_create(const berth_engine* engine, berth_cluster** cluster, berth_error* error) {
  return guarded(error, [&] {
    callable(engine, "engine");
    needed(cluster, "cluster");
    auto handle = std::make_unique<berth_cluster>();
    handle->cluster = std::make_shared<Cluster>(engine->engine);
    *cluster = handle.release();
  });
}

void berth_cluster_free(berth_cluster** cluster) { free_handle(cluster); }

berth_status berth_cluster_version(const berth_cluster* cluster, uint64_t* version, berth_error* error) {
  return guarded(error, [&] { needed(version, "version") = callable(cluster, "cluster").cluster->version(); });
}

berth_status berth_cluster_backend(const berth_cluster* cluster, const char** name, berth_error* error) {
  return guarded(error, [&] { needed(name, "name") = callable(cluster, "cluster").cluster->backend_name(); });
}

berth_status berth_cluster_upsert(berth_cluster* cluster, const char* text, size_t size, berth_error* error) {
  return berth_cluster_upsert_until(cluster, text, size, nullptr, error);
}

berth_status berth_cluster_upsert_until(berth_cluster* cluster, const char* text, size_t size,
                                        const berth_load_options* options, berth_error* error) {
  return guarded_with_log(cluster, "cluster", error, [&](CallLog& log) {
    return loaded_until(*cluster, options, [&](Cluster& into) { into.upsert(text_of(text, size, "text"), log); });
  });
}

berth_status berth_cluster_upsert_bulk(berth_cluster* cluster, const berth_bulk* bulk, berth_status* statuses,
                                       berth_error* error) {
  return berth_cluster_upsert_bulk_until(cluster, bulk, statuses, nullptr, error);
}

berth_status berth_cluster_upsert_bulk_until(berth_cluster* cluster, const berth_bulk* bulk, berth_status* statuses,
                                             const berth_load_options* options, berth_error* error) {
  return guarded_with_log(cluster, "cluster", error, [&](CallLog& log) {
    return loaded_until(*cluster, options, [&](Cluster& into) {
      return into.upsert(read_options(&needed(bulk, "bulk")), statuses, log, error);
    });
  });
}

berth_status berth_cluster_replace(berth_cluster* cluster, const char* kind, const char* text, size_t size,
                                   berth_error* error) {
  return berth_cluster_replace_until(cluster, kind, text, size, nullptr, error);
}

berth_status berth_cluster_replace_until(berth_cluster* cluster, const char* kind, const char* text, size_t size,
                                         const berth_load_options* options, berth_error* error) {
  return guarded_with_log(cluster, "cluster", error, [&](CallLog& log) {
    return loaded_until(*cluster, options,
                        [&](Cluster& into) { into.replace(&needed(kind, "kind"), text_of(text, size, "text"), log); });
  });
}

berth_status berth_cluster_delete(berth_cluster* cluster, const char* kind, const char* name_space, const char* name,
                                  const char* uid, berth_error* error) {
  return guarded(error, [&] {
    Cluster& of = *callable(cluster, "cluster").cluster;
    const ObjectKey key{&needed(kind, "kind"), text_or_empty(name_space), text_or_empty(name)};
    if (!is_known_kind(key.kind)) throw ApiError(BERTH_E_UNSUPPORTED, key.kind, "no rule reads objects of this kind");
    const bool by_uid = uid != nullptr && *uid != '\0';
    if (by_uid && key.kind != "Pod") throw ApiError(BERTH_E_ARGUMENT, "uid", "only pods are known by their uid");
    if (!by_uid && key.name.empty()) throw ApiError(BERTH_E_ARGUMENT, "name", "is missing");
    if (!by_uid && key.namespace_.empty() == has_namespace(key.kind))
      throw ApiError(BERTH_E_ARGUMENT, "name_space", has_namespace(key.kind) ? "is missing" : "is given");
    if (key.kind == "Pod") {
      of.remove_pod(key.namespace_, key.name, text_or_empty(uid));
    } else {
      of.remove(key);
    }
    of.note_memory();
  });
}

berth_status berth_cluster_assume(berth_cluster* cluster, const berth_pod* pod, uint32_t node, berth_error* error) {
  return guarded(error, [&] {
    Cluster& of = *callable(cluster, "cluster").cluster;
    const PodHandlePtr handle = pod_argument(pod, of);
    const std::string* const name = of.nodes().name_of(node);
    if (name == nullptr) throw ApiError(BERTH_E_NOT_FOUND, "node " + std::to_string(node), "nobody has this number");
    of.assume(*handle->pod, *name);
  });
}

berth_status berth_cluster_forget(berth_cluster* cluster, const berth_pod* pod, berth_error* error) {
  return guarded(error, [&] {
    Cluster& of = *callable(cluster, "cluster").cluster;
    of.forget(*pod_argument(pod, of)->pod);
  });
}

berth_status berth_cluster_find_node(const berth_cluster* cluster, const char* name, uint32_t* node,
                                     berth_error* error) {
  return guarded(error, [&] {
    const auto number = callable(cluster, "cluster").cluster->nodes().find(&needed(name, "name"));
    needed(node, "node");
    if (!number) throw ApiError(BERTH_E_NOT_FOUND, std::string("Node ") + name, "no node ever had the name");
    *node = *number;
  });
}

berth_status berth_cluster_node_name(const berth_cluster* cluster, uint32_t node, berth_str* name, berth_error* error) {
  return guarded(error, [&] {
    const std::string* const found = callable(cluster, "cluster").cluster->nodes().name_of(node);
    needed(name, "name");
    if (found == nullptr) throw ApiError(BERTH_E_NOT_FOUND, "node " + std::to_string(node), "nobody has this number");
    *name = str_of(*found);
  });
}

berth_status berth_node_set_create(const berth_cluster* cluster, const uint32_t* nodes, size_t count,
                                   berth_node_set** set, berth_error* error) {
  return guarded(error, [&] {
    const std::shared_ptr<Cluster>& of = callable(cluster, "cluster").cluster;
    needed(set, "set");
    of->engine().memory.check(count / 8);
    if (count > 0) needed(nodes, "nodes");
    for (std::size_t i = 0; i < count; ++i)
      if (of->nodes().name_of(nodes[i]) == nullptr)
        throw ApiError(BERTH_E_NOT_FOUND, "node " + std::to_string(nodes[i]), "nobody has this number");
    auto handle = std::make_unique<berth_node_set>(of, NodeNumbers({nodes, count}));
    handle->share.set(handle->numbers.bytes());
    *set = handle.release();
  });
}

void berth_node_set_free(berth_node_set** set) { free_handle(set); }

berth_status berth_pod_create(berth_cluster* cluster, const char* text, size_t size, const berth_pod_options* options,
                              berth_pod** pod, berth_error* error) {
  return guarded_with_log(cluster, "cluster", error, [&](CallLog& log) {
    needed(pod, "pod");
    cluster->cluster->engine().memory.check();
    std::vector<std::unique_ptr<ReadPod>> read;
    read.push_back(cluster->cluster->read_pod(text_of(text, size, "text"), ignored_parts(options), log));
    give_pods(cluster->cluster, std::move(read), pod);
  });
}

berth_status berth_pod_create_bulk(berth_cluster* cluster, const berth_bulk* bulk, const berth_pod_options* options,
                                   berth_pod** pods, berth_error* error) {
  return berth_pod_create_bulk_until(cluster, bulk, options, nullptr, pods, error);
}

berth_status berth_pod_create_bulk_until(berth_cluster* cluster, const berth_bulk* bulk,
                                         const berth_pod_options* options, const berth_load_options* until_options,
                                         berth_pod** pods, berth_error* error) {
  return guarded_with_log(cluster, "cluster", error, [&](CallLog& log) {
    const berth_bulk known = read_options(&needed(bulk, "bulk"));
    if (known.count > 0) needed(pods, "pods");
    cluster->cluster->engine().memory.check();
    return until(until_options, [&] {
      give_pods(cluster->cluster, cluster->cluster->read_pods(known, ignored_parts(options), log), pods);
    });
  });
}

berth_pod* berth_pod_retain(berth_pod* pod) {
  if (pod != nullptr) pod->owners.fetch_add(1, std::memory_order_relaxed);
  return pod;
}

void berth_pod_free(berth_pod** pod) {
  if (pod == nullptr || *pod == nullptr) return;
  berth_pod* last = (*pod)->owners.fetch_sub(1, std::memory_order_acq_rel) == 1 ? *pod : nullptr;
  *pod = nullptr;
  free_handle(&last);
}

berth_status berth_pod_uid(const berth_pod* pod, berth_str* uid, berth_error* error) {
  return guarded(error, [&] { needed(uid, "uid") = str_of(callable(pod, "pod").pod->pod->uid); });
}

berth_status berth_pod_priority(const berth_pod* pod, int32_t* priority, berth_error* error) {
  return guarded(error, [&] { needed(priority, "priority") = callable(pod, "pod").pod->pod->given->priority; });
}

berth_status berth_pod_class(const berth_pod* pod, uint64_t* number, berth_error* error) {
  return guarded(error, [&] {
    const PodHandle& handle = *callable(pod, "pod").pod;
    needed(number, "number") = handle.cluster->class_of(*handle.pod);
  });
}

berth_status berth_pod_is_node_local(const berth_pod* pod, int32_t* local, berth_error* error) {
  return guarded(error, [&] {
    const PodHandle& handle = *callable(pod, "pod").pod;
    needed(local, "local") = handle.cluster->is_node_local(*handle.pod) ? 1 : 0;
  });
}

}  // extern "C"
