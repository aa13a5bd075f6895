// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cluster with snapshots, forks, pods and node sets, driven through berth.h alone.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "include/berth/berth.h"

namespace berth::test {

/// Frees a handle with its function of berth.h.
template <class Handle, void (*kFree)(Handle**)>
struct FreeHandle {
  void operator()(Handle* handle) const { kFree(&handle); }
};
template <class Handle, void (*kFree)(Handle**)>
using Owned = std::unique_ptr<Handle, FreeHandle<Handle, kFree>>;
using OwnedEngine = Owned<berth_engine, berth_engine_free>;
using OwnedCluster = Owned<berth_cluster, berth_cluster_free>;
using OwnedSnapshot = Owned<berth_snapshot, berth_snapshot_free>;
using OwnedFork = Owned<berth_fork, berth_fork_free>;
using OwnedPod = Owned<berth_pod, berth_pod_free>;
using OwnedNodeSet = Owned<berth_node_set, berth_node_set_free>;
using OwnedQueue = Owned<berth_queue, berth_queue_free>;
using OwnedResult = Owned<berth_result, berth_result_free>;
using OwnedCancel = Owned<berth_cancel, berth_cancel_free>;

/// A number of the environment.
std::uint64_t setting(const char* name, std::uint64_t otherwise);

OwnedEngine make_engine(const char* backend, std::uint64_t seed, std::int32_t threads = 2);
OwnedCluster make_cluster(const char* backend, std::uint64_t seed);
OwnedCancel make_cancel();

/// Everything that a result says, but for the backend.
std::string text_of(const berth_result& result);

// JSON of objects.
struct NodeShape {
  std::string name;
  int cpu = 4;
  int zone = 0;
  bool cordoned = false;
  bool tainted = false;
  int gpus = 0;  ///< of the extended resource example.com/gpu
  int pods = 12;
};
std::string node_json(const NodeShape& shape);
struct PodShape {
  std::string name;
  int milli_cpu = 500;
  int app = 0;  ///< label app=x<app>
  int priority = 0;
  std::string node = {};  ///< empty: none
  bool spreads = false;   ///< over zones, among its app
  bool alone = false;     ///< anti-affinity to its app on a hostname
  bool has_port = false;
  bool has_claim = false;
  int wants_zone = -1;
  bool spreads_hosts = false;  ///< over hostnames, among its app
  bool apart_in_zone = false;  ///< anti-affinity to its app in a zone
  bool together = false;       ///< affinity to its app in a zone
  int near_app = -1;           ///< affinity to another app in a zone
  int gpus = 0;
  int memory_mib = 1024;
  std::string nominated = {};  ///< status.nominatedNodeName
};
std::string pod_json(const PodShape& shape);

}  // namespace berth::test
