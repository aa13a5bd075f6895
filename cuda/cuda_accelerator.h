// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Accelerator of DeviceBackend on a GPU. No CUDA header: the backend factory includes this.

#include <memory>

#include "batching/device/accelerator.h"

namespace berth::cuda {

/// Environment variable that forces the team of threads of every commit, for tests and measurements: block, cluster or
/// grid. Without it the size of a batch decides.
inline constexpr const char* kCommitTeamVariable = "BERTH_COMMIT_TEAM";

/// Opens a device and a stream on it. Reads kCommitTeamVariable.
/// @throws DeviceUnavailable  with the reason
/// @throws DeviceError  when the variable has no such value, or the device has no such team
std::unique_ptr<Accelerator> open_cuda_accelerator(int ordinal);

}  // namespace berth::cuda
