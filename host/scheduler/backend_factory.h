// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth {

struct OpenedBackend {
  std::unique_ptr<Backend> backend;
  std::string why;  ///< why this one
};

/// Opens the backend that `engine.backend` asks for: "reference", "cpu", "cuda" or "auto". The reference is never
/// chosen by "auto". What is passed must outlive the backend.
/// @throws InputError when the backend is not in this build, or cannot serve the configuration
OpenedBackend open_backend(const ClusterCache& cache, const ClusterObjects& objects, const SchedulerConfig& config,
                           const EngineConfig& engine);

}  // namespace berth
