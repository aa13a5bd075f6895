// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "batching/device/accelerator.h"
#include "batching/device/device_facts.h"
#include "host/cluster/cache.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// Opens the device of that number.
/// @throws DeviceUnavailable
using OpenAccelerator = std::function<std::unique_ptr<Accelerator>(int ordinal)>;

/// That of this build; empty in a build without CUDA.
OpenAccelerator built_in_accelerator();

/// @throws InputError when the configuration names extenders, which no backend serves
void refuse_extenders(const SchedulerConfig& config);

struct OpenedBackend {
  std::unique_ptr<Backend> backend;
  std::string why;  ///< why this one
};

/// Opens the backend that `engine.backend` asks for: "reference", "cpu", "cuda" or "auto". The reference is never
/// chosen by "auto", which opens a device only for work that may gain by it. `config` must outlive the backend, and
/// nobody may change `cache`.
/// @param open_accelerator  for "cuda" and "auto"
/// @throws InputError when the backend is not in this build, or cannot serve the configuration
/// @throws DeviceError when "cuda" was asked for and no device can be used
OpenedBackend open_backend(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                           const SchedulerConfig& config, const EngineConfig& engine,
                           const OpenAccelerator& open_accelerator);

/// One for evaluate() alone, which is the host's walk for "cuda" too: no device is opened.
/// @throws InputError as open_backend()
OpenedBackend open_for_evaluation(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                                  const SchedulerConfig& config, const EngineConfig& engine,
                                  const OpenAccelerator& open_accelerator);

/// What this build and this machine have of CUDA, for people.
struct CudaSupport {
  bool built = false;                ///< the rest is empty otherwise
  std::string version;               ///< of the toolkit: "13.0.88"
  std::string architectures;         ///< that the build has code for: "sm_80 sm_90 compute_90"
  std::vector<DeviceFacts> devices;  ///< none was opened
  std::string problem;               ///< why there is none
};
CudaSupport cuda_support();

}  // namespace berth
