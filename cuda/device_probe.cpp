// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_probe.h"

#include <cuda_runtime_api.h>

#include <string>

#include "batching/device/device_errors.h"
#include "cuda/launch/check.h"
#include "cuda/launch/tuning.h"

namespace berth::cuda {
namespace {

// 0 when the driver does not report it; some attributes need newer drivers.
std::uint64_t attribute_of(int ordinal, cudaDeviceAttr attribute) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, ordinal) == cudaSuccess && value > 0)
    return static_cast<std::uint64_t>(value);
  static_cast<void>(cudaGetLastError());
  return 0;
}

std::uint64_t peak_bandwidth_bytes_per_s(int ordinal) {
  const std::uint64_t clock_khz = attribute_of(ordinal, cudaDevAttrMemoryClockRate);
  const std::uint64_t bus_bits = attribute_of(ordinal, cudaDevAttrGlobalMemoryBusWidth);
  return 2 * clock_khz * 1000 * (bus_bits / 8);  // two transfers a clock
}

DeviceFacts facts_of(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "reading the device's properties");
  DeviceFacts facts;
  facts.name = properties.name;
  facts.ordinal = ordinal;
  facts.sm = 10 * properties.major + properties.minor;
  facts.multiprocessor_count = properties.multiProcessorCount;
  facts.memory_bytes_total = properties.totalGlobalMem;
  facts.peak_bandwidth_bytes_per_s = peak_bandwidth_bytes_per_s(ordinal);
  facts.shared_bytes_per_block_max = properties.sharedMemPerBlockOptin;
  check(cudaDriverGetVersion(&facts.driver_version), "reading the driver's version");
  check(cudaRuntimeGetVersion(&facts.runtime_version), "reading the runtime's version");
  facts.has_clusters = attribute_of(ordinal, cudaDevAttrClusterLaunch) != 0;
  facts.has_cooperative_launch = attribute_of(ordinal, cudaDevAttrCooperativeLaunch) != 0;
  return facts;
}

}  // namespace

std::vector<DeviceFacts> list_devices() {
  int device_count = 0;
  check(cudaGetDeviceCount(&device_count), "count of the devices");
  if (device_count == 0) throw_device_error(cudaErrorNoDevice, "count of the devices");
  std::vector<DeviceFacts> devices;
  devices.reserve(static_cast<std::size_t>(device_count));
  for (int ordinal = 0; ordinal < device_count; ++ordinal) devices.push_back(facts_of(ordinal));
  return devices;
}

DeviceFacts open_device(int ordinal) {
  DeviceFacts facts = facts_of(ordinal);
  if (facts.sm < kSmMin)
    throw_device_error(cudaErrorNoKernelImageForDevice, {.device = device_text(facts), .doing = "opening"});
  use_device(ordinal);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "reading the free memory");  // the first call that needs the device itself
  facts.memory_bytes_free = free;
  return facts;
}

void use_device(int ordinal) { check(cudaSetDevice(ordinal), "choice of the device"); }

}  // namespace berth::cuda
