// SPDX-License-Identifier: Apache-2.0
#include "tests/support/open_backend.h"

#include <algorithm>

#include "batching/device/device_errors.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/objects/pod_state.h"
#include "tests/support/emulated_accelerator.h"
#if defined(BERTH_WITH_CUDA)
#include "cuda/cuda_accelerator.h"
#endif

namespace berth::test {

std::span<const char* const> backend_names() {
  static constexpr const char* kNames[] = {"reference", "cpu", "cuda-emulated", "cuda"};
  return kNames;
}

std::string name_in_tests(std::string_view backend) {
  std::string name(backend);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::unique_ptr<Accelerator> open_device() {
#if defined(BERTH_WITH_CUDA)
  try {
    return cuda::open_cuda_accelerator(0);
  } catch (const DeviceUnavailable&) {
    // With BERTH_REQUIRE_DEVICE a missing device fails the test.
  }
#endif
  return nullptr;
}

std::unique_ptr<Backend> open_backend(std::string_view name, const std::shared_ptr<const ClusterCache>& cache,
                                      const ClusterObjects& objects, const SchedulerConfig& config,
                                      const EngineConfig& engine) {
  if (name == "reference") return std::make_unique<ReferenceBackend>(cache, objects, config, engine);
  if (name == "cpu") return std::make_unique<CpuBackend>(cache, objects, config, engine);
  if (name == "cuda-emulated")
    return std::make_unique<DeviceBackend>(std::make_unique<EmulatedAccelerator>(), cache, objects, config, engine);
  if (name == "cuda")
    if (auto device = open_device())
      return std::make_unique<DeviceBackend>(std::move(device), cache, objects, config, engine);
  return nullptr;
}

std::shared_ptr<ClusterCache> fill_cache(const ClusterObjects& objects) {
  auto cache = std::make_shared<ClusterCache>();
  for (const NodePtr& node : objects.nodes) cache->add_node(node);
  cache->storage().add_all(objects.storage);
  for (const PodPtr& pod : objects.pods)
    if (is_on_node(*pod)) cache->add_pod(pod);
  return cache;
}

}  // namespace berth::test
