// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/backend_factory.h"

#include <optional>
#include <utility>

#include "batching/device/device_errors.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/objects/errors.h"
#include "host/scheduler/backend_choice.h"

// Given by the build to this file alone, with the version and the architectures.
#if defined(BERTH_WITH_CUDA)
#include "cuda/cuda_accelerator.h"
#include "cuda/device_probe.h"
#endif

namespace berth {
namespace {

void refuse_missing_cuda(const OpenAccelerator& open_accelerator) {
  if (!open_accelerator)
    throw InputError(InputProblem{"", "backend",
                                  "this build has no CUDA backend; build one with `make cuda`, or use auto, cpu or "
                                  "reference"});
}

class Opener {
 public:
  Opener(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects, const SchedulerConfig& config,
         const EngineConfig& engine, const OpenAccelerator& open_accelerator)
      : cache_(std::move(cache)),
        objects_(objects),
        config_(config),
        engine_(engine),
        open_accelerator_(open_accelerator) {}

  OpenedBackend open() const {
    if (engine_.backend == "reference")
      return {std::make_unique<ReferenceBackend>(cache_, objects_, config_, engine_), kByName};
    if (engine_.backend == "cpu") return cpu(kByName);
    if (engine_.backend == "auto") return open_best();
    if (engine_.backend != "cuda")
      throw InputError(
          InputProblem{"", "backend", "got \"" + engine_.backend + "\", expected auto, reference, cpu or cuda"});
    refuse_missing_cuda(open_accelerator_);
    return on(open_accelerator_(engine_.device_ordinal), kByName);
  }

  OpenedBackend cpu(std::string why) const {
    return {std::make_unique<CpuBackend>(cache_, objects_, config_, engine_), std::move(why)};
  }

 private:
  static constexpr const char* kByName = "asked for by name";

  OpenedBackend on(std::unique_ptr<Accelerator> accelerator, std::string why) const {
    return {std::make_unique<DeviceBackend>(std::move(accelerator), cache_, objects_, config_, engine_),
            std::move(why)};
  }
  OpenedBackend open_best() const {
    if (!open_accelerator_) return cpu("this build has no CUDA backend");
    const WorkShape work = work_shape(objects_, engine_);
    std::unique_ptr<Accelerator> accelerator;
    std::optional<DeviceFacts> device;
    std::string problem;
    try {
      if (may_gain(work)) accelerator = open_accelerator_(engine_.device_ordinal);
      if (accelerator != nullptr) device = accelerator->facts();
    } catch (const DeviceError& error) {
      problem = error.what();
    }
    BackendChoice choice = choose_backend(work, device, problem);
    return choice.backend == "cuda" ? on(std::move(accelerator), std::move(choice.why)) : cpu(std::move(choice.why));
  }

  std::shared_ptr<const ClusterCache> cache_;
  const ClusterObjects& objects_;
  const SchedulerConfig& config_;
  const EngineConfig& engine_;
  const OpenAccelerator& open_accelerator_;
};

}  // namespace

void refuse_extenders(const SchedulerConfig& config) {
  if (!config.extenders.empty())
    throw InputError(InputProblem{"", config.extenders.front().path, "extenders are not built yet"});
}

OpenAccelerator built_in_accelerator() {
#if defined(BERTH_WITH_CUDA)
  return cuda::open_cuda_accelerator;
#else
  return {};
#endif
}

OpenedBackend open_backend(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                           const SchedulerConfig& config, const EngineConfig& engine,
                           const OpenAccelerator& open_accelerator) {
  return Opener(std::move(cache), objects, config, engine, open_accelerator).open();
}

OpenedBackend open_for_evaluation(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                                  const SchedulerConfig& config, const EngineConfig& engine,
                                  const OpenAccelerator& open_accelerator) {
  const Opener opener(std::move(cache), objects, config, engine, open_accelerator);
  if (engine.backend == "cuda") refuse_missing_cuda(open_accelerator);
  if (engine.backend == "cuda" || engine.backend == "auto") return opener.cpu("one pod at a time needs no device");
  return opener.open();
}

CudaSupport cuda_support() {
  CudaSupport support;
#if defined(BERTH_WITH_CUDA)
  support.built = true;
  support.version = BERTH_CUDA_VERSION;
  support.architectures = BERTH_CUDA_ARCHITECTURES;
  try {
    support.devices = cuda::list_devices();
  } catch (const DeviceError& error) {
    support.problem = error.what();
  }
#endif
  return support;
}

}  // namespace berth
