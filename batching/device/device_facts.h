// SPDX-License-Identifier: Apache-2.0
#pragma once

// Properties of a device, for code that chooses a backend or sizes a batch and includes no CUDA header.

#include <cstdint>
#include <string>

namespace berth {

struct DeviceFacts {
  std::string name;                              ///< from the driver: "NVIDIA H100 80GB HBM3"
  int ordinal = 0;                               ///< number of the device in this process
  int sm = 0;                                    ///< compute capability, 10 * major + minor: 80, 90, 100
  int multiprocessor_count = 0;                  ///< of the device
  std::uint64_t memory_bytes_total = 0;          ///< of the device
  std::uint64_t memory_bytes_free = 0;           ///< when it was opened; 0 for a device that was only listed
  std::uint64_t peak_bandwidth_bytes_per_s = 0;  ///< of its memory, by clock and bus width; 0 when unknown
  std::uint64_t shared_bytes_per_block_max = 0;  ///< shared memory that a block can request
  int driver_version = 0;                        ///< CUDA version the driver supports, 1000 * major + 10 * minor
  int runtime_version = 0;                       ///< CUDA version of this build, likewise
  bool has_clusters = false;                     ///< thread block clusters (sm_90 and later)
  bool has_cooperative_launch = false;           ///< a grid whose blocks can wait for one another
};

/// "device 0 (NVIDIA H100 80GB HBM3)", for messages and reports.
inline std::string device_text(const DeviceFacts& facts) {
  return "device " + std::to_string(facts.ordinal) + " (" + facts.name + ")";
}

}  // namespace berth
