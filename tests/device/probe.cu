// SPDX-License-Identifier: Apache-2.0
// The first program of tests/device.sh: says as JSON which device is here, and shows that what nvcc builds runs on it.
// Exit status 1 with a line on standard error when there is no device or it does not compute. Not part of the build: it
// includes no CUDA header, nvcc brings the runtime itself.
#include <cstdio>

__global__ void add_one(int* value) { *value += 1; }

namespace {

int attribute(cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

cudaError_t run_kernel(int* value) {
  int* on_device = nullptr;
  cudaError_t status = cudaMalloc(&on_device, sizeof(int));
  if (status == cudaSuccess) status = cudaMemcpy(on_device, value, sizeof(int), cudaMemcpyHostToDevice);
  if (status == cudaSuccess) {
    add_one<<<1, 1>>>(on_device);
    status = cudaGetLastError();
  }
  if (status == cudaSuccess) status = cudaMemcpy(value, on_device, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(on_device);
  return status;
}

int fail(const char* what, cudaError_t status) {
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  return 1;
}

}  // namespace

int main() {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) return fail("no GPU", status == cudaSuccess ? cudaErrorNoDevice : status);
  int value = 41;
  status = run_kernel(&value);
  if (status != cudaSuccess) return fail("the GPU runs no kernel that nvcc built", status);
  if (value != 42) return fail("the GPU computed a wrong answer", cudaErrorUnknown);

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
