// SPDX-License-Identifier: Apache-2.0
// What handles of berth.h hold.

#include "host/capi/handles.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

extern "C" {

berth_status berth_engine_memory(const berth_engine* engine, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    const MemoryAccount& memory = callable(engine, "engine").engine->memory;
    std::uint64_t& total = needed(bytes, "bytes");
    if (!memory.is_counted())
      throw ApiError(BERTH_E_STATE, "engine", "was made without max_memory_bytes, so that nothing is counted");
    total = memory.total();
  });
}

berth_status berth_cluster_memory(const berth_cluster* cluster, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    Cluster& of = *callable(cluster, "cluster").cluster;
    needed(bytes, "bytes") = of.bytes();
  });
}

berth_status berth_snapshot_memory(const berth_snapshot* snapshot, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    const Snapshot& of = *callable(snapshot, "snapshot").snapshot;
    needed(bytes, "bytes") = of.bytes();
  });
}

berth_status berth_fork_memory(const berth_fork* fork, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    WhatIf& of = *callable(fork, "fork").fork;
    const WhatIf::Use use(of);
    needed(bytes, "bytes") = of.bytes();
  });
}

berth_status berth_pod_memory(const berth_pod* pod, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    const PodHandle& of = *callable(pod, "pod").pod;
    needed(bytes, "bytes") = of.bytes();
  });
}

berth_status berth_node_set_memory(const berth_node_set* set, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    const NodeNumbers& of = callable(set, "set").numbers;
    needed(bytes, "bytes") = of.bytes();
  });
}

berth_status berth_result_memory(const berth_result* result, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    const Result& of = *callable(result, "result").result;
    needed(bytes, "bytes") = of.bytes_held();
  });
}

}  // extern "C"
