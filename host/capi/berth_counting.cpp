// SPDX-License-Identifier: Apache-2.0
// Counting, groups and reservations of berth.h: convert, call, convert.

#include <utility>

#include "host/capi/counting.h"
#include "host/capi/handles.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

namespace {

constexpr std::uint32_t kCountFlags = BERTH_SKIP_CORDONED | BERTH_AS_MOVED;

std::unique_ptr<berth_result> as_handle(std::unique_ptr<Result> result) {
  auto handle = std::make_unique<berth_result>();
  handle->result = std::move(result);
  return handle;
}

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

MaxReplicasOptions max_replicas_options(const berth_max_replicas_options* given, const Cluster& cluster) {
  const berth_max_replicas_options known = read_options(given);
  check_flags(known.flags, kCountFlags);
  if (known.per_node > 1) throw ApiError(BERTH_E_ARGUMENT, "per_node", "is neither 0 nor 1");
  if (known.reserved != 0) throw ApiError(BERTH_E_ARGUMENT, "reserved", "is not 0");
  return {known.flags, node_set_argument(known.nodes, cluster), keys_argument(known.keys, known.key_count),
          known.per_node != 0, known.deadline_us};
}

/// max_replicas() with arguments of the boundary.
MaxReplicas counted(const State& state, const std::shared_ptr<Cluster>& cluster, const berth_pod* const* shapes,
                    size_t shape_count, const berth_max_replicas_options* options) {
  const std::vector<PodHandlePtr> pods = pod_arguments(shapes, shape_count, *cluster);
  return max_replicas(state, cluster, pods, max_replicas_options(options, *cluster));
}

}  // namespace

extern "C" {

berth_status berth_snapshot_max_replicas(const berth_snapshot* snapshot, const berth_pod* const* shapes,
                                         size_t shape_count, const berth_max_replicas_options* options,
                                         berth_result** result, berth_error* error) {
  return guarded(error, [&] {
    const Snapshot& of = *callable(snapshot, "snapshot").snapshot;
    needed(result, "result");
    MaxReplicas answer =
        of.read([&](const State& state) { return counted(state, of.cluster(), shapes, shape_count, options); });
    *result = as_handle(std::move(answer.result)).release();
    return answer.is_late ? BERTH_DEADLINE : BERTH_OK;
  });
}

berth_status berth_fork_max_replicas(berth_fork* fork, const berth_pod* const* shapes, size_t shape_count,
                                     const berth_max_replicas_options* options, berth_result** result,
                                     berth_error* error) {
  return guarded(error, [&] {
    WhatIf& of = *callable(fork, "fork").fork;
    const WhatIf::Use use(of);
    needed(result, "result");
    MaxReplicas answer = counted(of.state(), of.cluster(), shapes, shape_count, options);
    *result = as_handle(std::move(answer.result)).release();
    return answer.is_late ? BERTH_DEADLINE : BERTH_OK;
  });
}

}  // extern "C"
