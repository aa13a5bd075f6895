// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/backend_factory.h"

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/objects/errors.h"

namespace berth {

OpenedBackend open_backend(const ClusterCache& cache, const ClusterObjects& objects, const SchedulerConfig& config,
                           const EngineConfig& engine) {
  if (engine.backend == "reference")
    return {std::make_unique<ReferenceBackend>(cache, objects, config, engine), "asked for by name"};
  if (engine.backend == "cpu")
    return {std::make_unique<CpuBackend>(cache, objects, config, engine), "asked for by name"};
  if (engine.backend == "auto")
    return {std::make_unique<CpuBackend>(cache, objects, config, engine), "this build has no CUDA backend"};
  if (engine.backend == "cuda")
    throw InputError(InputProblem{"", "backend", "cuda is not in this build; use auto, cpu or reference"});
  throw InputError(
      InputProblem{"", "backend", "got \"" + engine.backend + "\", expected auto, reference, cpu or cuda"});
}

}  // namespace berth
