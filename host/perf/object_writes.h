// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes of an ObjectStore as the operations of a workload make them.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/perf/perf_config.h"
#include "host/perf/perf_objects.h"
#include "host/store/generated_names.h"
#include "host/store/object_store.h"

namespace berth {

/// A workload cannot go on: a write that failed, pods that nothing will schedule, a wait that took too long.
class WorkloadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Creates the object. @param name  gets the name it has then; empty where the store refused it
StoreStatus create_object(ObjectStore& store, const PerfObject& object, std::string& name);

/// Deletes an object of the kind of `like`.
StoreStatus remove_object(ObjectStore& store, const PerfObject& like, std::string_view name_space,
                          std::string_view name);

/// Replaces the object and then its status, as upstream's updateAny does. The status of a pod stays: upstream writes
/// an empty one, which the scheduler does not read.
/// @param subresources  "resize" sets the amounts of a pod's containers instead
StoreStatus update_object(ObjectStore& store, const PerfObject& object, const std::vector<std::string>& subresources);

/// Creates a node with the label kubernetes.io/hostname. @param names  makes the name of one without
StoreStatus create_node(ObjectStore& store, const PerfObject& object, GeneratedNames& names);

/// Applies a strategy to the nodes of the positions first to first + count - 1 in the order of their names, which is
/// what upstream's PrepareNodes() does: it lists all nodes, whoever created them.
StoreStatus prepare_nodes(ObjectStore& store, const NodeStrategy& strategy, std::int64_t first, std::int64_t count,
                          GeneratedNames& names);

}  // namespace berth
