// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/pool.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "batching/device/device_errors.h"
#include "cuda/launch/check.h"

namespace berth::cuda {
namespace {

// A separate memory pool of the driver, because the default pool is shared by the whole process.
class DeviceMemory : public RawMemory {
 public:
  explicit DeviceMemory(const DeviceFacts& facts) {
    int has_pools = 0;
    check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, facts.ordinal), "query for memory pools");
    if (has_pools == 0)
      throw DeviceUnavailable(device_text(facts),
                              "the driver has no memory pools for it (some virtual GPUs have none)");
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = facts.ordinal;
    check(cudaMemPoolCreate(&pool_, &properties), "creation of a memory pool");
    // No memory is returned to the driver at a wait, so that a batch reuses the memory of the previous one.
    std::uint64_t threshold = UINT64_MAX;
    const cudaError_t code = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold);
    if (code != cudaSuccess) {
      static_cast<void>(cudaMemPoolDestroy(pool_));
      throw_device_error(code, "setting of a memory pool");
    }
  }

  ~DeviceMemory() override { static_cast<void>(cudaMemPoolDestroy(pool_)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  cudaError_t allocate(void** memory, std::size_t bytes, StreamView stream) override {
    return cudaMallocFromPoolAsync(memory, bytes, pool_, stream.raw());
  }

  // Fails only when the device is lost, which the next call that can throw reports.
  void release(void* memory, std::size_t, StreamView stream) noexcept override {
    static_cast<void>(cudaFreeAsync(memory, stream.raw()));
  }

  std::optional<std::uint64_t> bytes_free() override {
    std::size_t free = 0, total = 0;
    std::uint64_t reserved = 0, used = 0;  // the pool's own: what it keeps is free for us
    if (cudaMemGetInfo(&free, &total) != cudaSuccess ||
        cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved) != cudaSuccess ||
        cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess)
      return std::nullopt;
    return free + (reserved - std::min(used, reserved));
  }

 private:
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace

Pool::Pool(const DeviceFacts& facts, std::uint64_t byte_limit)
    : Pool(std::make_unique<DeviceMemory>(facts), byte_limit, device_text(facts)) {}

Pool::Pool(std::unique_ptr<RawMemory> raw, std::uint64_t byte_limit, std::string device)
    : raw_(std::move(raw)), byte_limit_(byte_limit), device_(std::move(device)) {}

Pool::~Pool() { assert(counts_.bytes_in_use == 0 && "a buffer outlives its pool"); }

void* Pool::allocate(std::size_t bytes, StreamView stream, const MemoryUse& use) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (bytes > byte_limit_ - counts_.bytes_in_use)
    throw DeviceOutOfMemory(device_, use.what, bytes, bytes_free(), use.lower_this);
  void* memory = nullptr;
  const cudaError_t code = raw_->allocate(&memory, bytes, stream);
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // or the next launch would report it
    throw DeviceOutOfMemory(device_, use.what, bytes, bytes_free(), use.lower_this);
  }
  if (code != cudaSuccess) throw_device_error(code, std::string("memory for ") + use.what);
  ++counts_.allocation_count;
  counts_.bytes_in_use += bytes;
  counts_.bytes_peak = std::max(counts_.bytes_peak, counts_.bytes_in_use);
  return memory;
}

void Pool::release(void* memory, std::size_t bytes, StreamView stream) noexcept {
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  raw_->release(memory, bytes, stream);
  ++counts_.release_count;
  counts_.bytes_in_use -= bytes;
}

PoolCounts Pool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::optional<std::uint64_t> Pool::bytes_free() const {
  const std::uint64_t of_limit = byte_limit_ - counts_.bytes_in_use;
  const std::optional<std::uint64_t> of_device = raw_->bytes_free();
  return of_device ? std::min(of_limit, *of_device) : of_limit;
}

}  // namespace berth::cuda
