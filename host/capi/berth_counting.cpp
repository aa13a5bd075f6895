// SPDX-License-Identifier: Apache-2.0
// Counting, groups and reservations of berth.h: convert, call, convert.

#include <utility>

#include "host/capi/counting.h"
#include "host/capi/group.h"
#include "host/capi/handles.h"
#include "host/capi/reservations.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

namespace {

constexpr std::uint32_t kCountFlags = BERTH_SKIP_CORDONED | BERTH_AS_MOVED;

/// Label keys of a call. @throws ApiError
std::span<const char* const> keys_argument(const char* const* keys, std::size_t count) {
  if (count > BERTH_KEYS_MAX)
    throw ApiError(BERTH_E_ARGUMENT, "key_count", "is above " + std::to_string(BERTH_KEYS_MAX));
  if (count > 0) needed(keys, "keys");
  for (std::size_t i = 0; i < count; ++i)
    if (keys[i] == nullptr || *keys[i] == 0)
      throw ApiError(BERTH_E_ARGUMENT, "keys[" + std::to_string(i) + "]", "is NULL or empty");
  return {keys, count};
}

MaxReplicasOptions max_replicas_options(const berth_max_replicas_options& known, const Cluster& cluster) {
  check_flags(known.flags, kCountFlags);
  if (known.per_node > 1) throw ApiError(BERTH_E_ARGUMENT, "per_node", "is neither 0 nor 1");
  if (known.reserved != 0) throw ApiError(BERTH_E_ARGUMENT, "reserved", "is not 0");
  return {known.flags, node_set_argument(known.nodes, cluster), keys_argument(known.keys, known.key_count),
          known.per_node != 0};
}

template <class Handle>
berth_status max_replicas_of(Handle* where, const berth_pod* const* shapes, size_t shape_count,
                             const berth_max_replicas_options* options, berth_result** result,
                             berth_error* error) noexcept {
  return guarded(error, [&] {
    const Engine& engine = engine_of(callable(where, argument_name(where)));
    needed(result, "result");
    const berth_max_replicas_options known = read_options(options);
    const StopWatch watch = watch_of(engine, known);
    Answer counted = on(where, watch, false, [&](const State& state, const std::shared_ptr<Cluster>& cluster) {
      const std::vector<PodHandlePtr> pods = pod_arguments(shapes, shape_count, *cluster);
      return max_replicas(state, cluster, pods, max_replicas_options(known, *cluster), watch);
    });
    *result = as_handle(std::move(counted.result)).release();
    return counted.status;
  });
}

GroupOptions group_options(const berth_group_options& known, std::size_t pod_count, const Cluster& cluster) {
  check_flags(known.flags, BERTH_SKIP_CORDONED);
  if (known.reserved != 0) throw ApiError(BERTH_E_ARGUMENT, "reserved", "is not 0");
  if (known.domain > BERTH_DOMAIN_PREFERRED) throw ApiError(BERTH_E_ARGUMENT, "domain", "is none of BERTH_DOMAIN_*");
  if ((known.domain == BERTH_DOMAIN_NONE) != (known.key_count == 0))
    throw ApiError(BERTH_E_ARGUMENT, "key_count", known.key_count == 0 ? "is 0: a domain needs a key" : "is not 0");
  if (known.minimum > pod_count) throw ApiError(BERTH_E_ARGUMENT, "minimum", "is above the number of pods");
  return {known.flags, node_set_argument(known.nodes, cluster), keys_argument(known.keys, known.key_count),
          known.domain, known.minimum};
}

std::string owner_argument(const char* owner) {
  std::string text = &needed(owner, "owner");
  if (text.empty()) throw ApiError(BERTH_E_ARGUMENT, "owner", "is empty");
  return text;
}

NodesOfDomain domain_argument(const berth_node_set* nodes, const char* key, const char* value, const Cluster& cluster) {
  if ((key == nullptr) != (value == nullptr))
    throw ApiError(BERTH_E_ARGUMENT, key == nullptr ? "key" : "value", "is NULL, and the other one is not");
  if (key != nullptr && *key == 0) throw ApiError(BERTH_E_ARGUMENT, "key", "is empty");
  return {node_set_argument(nodes, cluster), key, value};
}

}  // namespace

extern "C" {

berth_status berth_snapshot_max_replicas(const berth_snapshot* snapshot, const berth_pod* const* shapes,
                                         size_t shape_count, const berth_max_replicas_options* options,
                                         berth_result** result, berth_error* error) {
  return max_replicas_of(snapshot, shapes, shape_count, options, result, error);
}

berth_status berth_fork_max_replicas(berth_fork* fork, const berth_pod* const* shapes, size_t shape_count,
                                     const berth_max_replicas_options* options, berth_result** result,
                                     berth_error* error) {
  return max_replicas_of(fork, shapes, shape_count, options, result, error);
}

berth_status berth_fork_schedule_group(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                       const berth_group_options* options, berth_result** result, berth_error* error) {
  return guarded(error, [&] {
    WhatIf& of = *callable(fork, "fork").fork;
    const WhatIf::Use use(of);
    needed(result, "result");
    const berth_group_options given = read_options(options);
    const StopWatch watch(given.deadline_us, given.cancel);
    const std::vector<PodHandlePtr> handles = pod_arguments(pods, pod_count, *of.cluster());
    const GroupOptions known = group_options(given, pod_count, *of.cluster());
    auto handle = std::make_unique<berth_result>();
    Answer scheduled = schedule_group(of, handles, known, watch);
    fill(*handle, std::move(scheduled.result));
    *result = handle.release();
    return scheduled.status;
  });
}

berth_status berth_cluster_reserve(berth_cluster* cluster, const char* owner, const berth_pod* pod, size_t count,
                                   const berth_reserve_options* options, berth_result** result, berth_error* error) {
  return guarded(error, [&] {
    const std::shared_ptr<Cluster>& of = callable(cluster, "cluster").cluster;
    needed(result, "result");
    const std::string name = owner_argument(owner);
    const PodHandlePtr shape = pod_argument(pod, *of);
    const berth_reserve_options known = read_options(options);
    const StopWatch watch(known.deadline_us, known.cancel);
    check_flags(known.flags, BERTH_SKIP_CORDONED);
    const NodesOfDomain where = domain_argument(known.nodes, known.key, known.value, *of);
    auto handle = std::make_unique<berth_result>();
    Answer reserved = reserve(of, name, shape, count, known.flags, where, watch);
    fill(*handle, std::move(reserved.result));
    *result = handle.release();
    return reserved.status;
  });
}

berth_status berth_cluster_unreserve(berth_cluster* cluster, const char* owner, const berth_unreserve_options* options,
                                     size_t* removed, berth_error* error) {
  return guarded(error, [&] {
    Cluster& of = *callable(cluster, "cluster").cluster;
    const std::string name = owner_argument(owner);
    const berth_unreserve_options known = read_options(options);
    if (known.reserved != 0) throw ApiError(BERTH_E_ARGUMENT, "reserved", "is not 0");
    const PodHandlePtr like = known.pod != nullptr ? pod_argument(known.pod, of) : nullptr;
    const std::size_t gone = unreserve(of, name,
                                       {known.count, domain_argument(known.nodes, known.key, known.value, of),
                                        like != nullptr ? like->pod.get() : nullptr});
    if (removed != nullptr) *removed = gone;
  });
}

berth_status berth_cluster_reservations(berth_cluster* cluster, const char* owner, berth_result** result,
                                        berth_error* error) {
  return guarded(error, [&] {
    const std::shared_ptr<Cluster>& of = callable(cluster, "cluster").cluster;
    needed(result, "result");
    std::optional<std::string> name;
    if (owner != nullptr) name = owner_argument(owner);
    *result = as_handle(list_reservations(of, name ? &*name : nullptr)).release();
  });
}

}  // extern "C"
