// SPDX-License-Identifier: Apache-2.0
// The first program of tests/device.sh: says as JSON which device is here, and shows that what nvcc builds runs on it,
// a reduction of CUB and a range of NVTX included. Exit status 1 with a line on standard error when there is no device
// or it does not compute. Not part of the build.
#include <cuda_runtime.h>

#include <cstdio>
#include <cub/device/device_reduce.cuh>
#include <nvtx3/nvtx3.hpp>

__global__ void count_up(int* values, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = i + 1;
}

namespace {

constexpr int kCount = 1000;

int attribute(cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

/// The sum of 1 to kCount, by a kernel of this file and one of CUB. What is allocated is freed by the end of the
/// process.
cudaError_t sum_on_device(int* sum) {
  int* values = nullptr;
  int* result = nullptr;
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  cudaError_t status = cudaMalloc(&values, kCount * sizeof(int));
  if (status == cudaSuccess) status = cudaMalloc(&result, sizeof(int));
  if (status == cudaSuccess) {
    count_up<<<1, 128>>>(values, kCount);
    status = cudaGetLastError();
  }
  if (status == cudaSuccess) status = cub::DeviceReduce::Sum(scratch, scratch_bytes, values, result, kCount);
  if (status == cudaSuccess) status = cudaMalloc(&scratch, scratch_bytes);
  if (status == cudaSuccess) status = cub::DeviceReduce::Sum(scratch, scratch_bytes, values, result, kCount);
  if (status == cudaSuccess) status = cudaMemcpy(sum, result, sizeof(int), cudaMemcpyDeviceToHost);
  return status;
}

int fail(const char* what, cudaError_t status) {
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  return 1;
}

}  // namespace

int main() {
  const nvtx3::scoped_range range("probe");
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) return fail("no GPU", status == cudaSuccess ? cudaErrorNoDevice : status);
  int sum = 0;
  status = sum_on_device(&sum);
  if (status != cudaSuccess) return fail("the GPU runs no kernel that nvcc built", status);
  if (sum != kCount * (kCount + 1) / 2) return fail("the GPU computed a wrong answer", cudaErrorUnknown);

  cudaDeviceProp properties{};
  status = cudaGetDeviceProperties(&properties, 0);
  if (status != cudaSuccess) return fail("no device properties", status);
  int driver_api = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver_api);
  cudaRuntimeGetVersion(&runtime);
  // Two transfers a clock: what vendors call the peak of the memory.
  const double peak = 2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
  std::printf("{\"name\": \"%s\", \"count\": %d, \"computeCapability\": \"%d.%d\", \"multiprocessors\": %d, ",
              properties.name, count, properties.major, properties.minor, properties.multiProcessorCount);
  std::printf("\"memoryBytes\": %zu, \"peakBytesPerSecond\": %.0f, \"cudaDriverApi\": %d, \"cudaRuntime\": %d}\n",
              properties.totalGlobalMem, peak, driver_api, runtime);
  return 0;
}
