// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "batching/backend.h"
#include "batching/device/accelerator.h"
#include "host/cluster/cache.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth::test {

/// Names of the backends for the contract suite; it skips a backend that the build or machine lacks.
std::span<const char* const> backend_names();

/// The backend's name as part of a test name, without "-".
std::string name_in_tests(std::string_view backend);

/// The device of this machine; nullptr when the build or the machine has none.
std::unique_ptr<Accelerator> open_device();

/// nullptr when this build or machine has no such backend; the test then skips, or fails where
/// BERTH_REQUIRE_DEVICE promises one. `config` must outlive the backend.
std::unique_ptr<Backend> open_backend(std::string_view name, const std::shared_ptr<const ClusterCache>& cache,
                                      const ClusterObjects& objects, const SchedulerConfig& config,
                                      const EngineConfig& engine);

/// Nodes and running pods of `objects`, in their order. Pods on unknown nodes are kept, as after loading.
std::shared_ptr<ClusterCache> fill_cache(const ClusterObjects& objects);

}  // namespace berth::test
