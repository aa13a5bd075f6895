// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only launches of kernels. Views are passed by value; a kernel without blocks is not launched, because empty work
// is not an error. All throw DeviceError with the kernel's label when the launch fails, and none waits for the device:
// a failure inside a kernel is reported at a later call, as DeviceLost.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "cuda/launch/check.h"
#include "cuda/launch/stream.h"

namespace berth::cuda {

/// One-dimensional grid of one-dimensional blocks: nodes, classes and pods are counted, not tiled.
struct Shape {
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;     ///< per block
  std::size_t shared_bytes = 0;  ///< dynamic shared memory per block
};

/// Number of blocks for `item_count` items with `items_per_block` (> 0) each; 0 for no items.
constexpr std::uint32_t blocks_for(std::uint64_t item_count, std::uint64_t items_per_block) {
  return static_cast<std::uint32_t>((item_count + items_per_block - 1) / items_per_block);
}

namespace launch_detail {

inline constexpr std::size_t kSharedBytesUnasked =
    48 * 1024;                                              // CUDA programming guide: beyond this a kernel has to ask
inline constexpr std::uint32_t kClusterBlocksPortable = 8;  // likewise

inline void check_launch(cudaError_t code, const char* label) {
  if (code != cudaSuccess) throw_device_error(code, std::string("launch of ") + label);
}

template <class Kernel>
void ask_for_shared_memory(const char* label, Kernel kernel, std::size_t shared_bytes) {
  if (shared_bytes <= kSharedBytesUnasked) return;
  check_launch(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)), label);
}

template <class... P, class... A>
void launch_with(const char* label, void (*kernel)(P...), Shape shape, std::span<cudaLaunchAttribute> attributes,
                 StreamView stream, A&&... args) {
  ask_for_shared_memory(label, kernel, shape.shared_bytes);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream.raw();
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  check_launch(cudaLaunchKernelEx(&config, kernel, std::forward<A>(args)...), label);
}

}  // namespace launch_detail

/// Launches `kernel`, named `label` in its error.
template <class... P, class... A>
void launch(const char* label, void (*kernel)(P...), Shape shape, StreamView stream, A&&... args) {
  if (shape.blocks == 0) return;
  launch_detail::launch_with(label, kernel, shape, {}, stream, std::forward<A>(args)...);
}

/// As launch(), with blocks in clusters of `cluster_blocks`, which must divide the grid. Needs
/// DeviceFacts::has_clusters; only some devices allow more than 8 blocks per cluster.
template <class... P, class... A>
void launch_cluster(const char* label, void (*kernel)(P...), Shape shape, std::uint32_t cluster_blocks,
                    StreamView stream, A&&... args) {
  if (shape.blocks == 0) return;
  if (cluster_blocks > launch_detail::kClusterBlocksPortable)
    launch_detail::check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), label);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster_blocks;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  launch_detail::launch_with(label, kernel, shape, {&attribute, 1}, stream, std::forward<A>(args)...);
}

/// As launch(), with blocks that may wait for the whole grid (cooperative_groups::this_grid().sync()). All of them must
/// fit on the device at once: at most resident_blocks_max().
template <class... P, class... A>
void launch_cooperative(const char* label, void (*kernel)(P...), Shape shape, StreamView stream, A&&... args) {
  if (shape.blocks == 0) return;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  launch_detail::launch_with(label, kernel, shape, {&attribute, 1}, stream, std::forward<A>(args)...);
}

/// How many blocks of `kernel` fit on the whole device at once, at least one. @throws DeviceError  when not even one of
/// so many threads fits. Cost: some microseconds; call it when planning.
template <class... P>
std::uint32_t resident_blocks_max(const char* label, void (*kernel)(P...), std::uint32_t threads,
                                  std::size_t shared_bytes, int multiprocessor_count) {
  launch_detail::ask_for_shared_memory(label, kernel, shared_bytes);
  int blocks = 0;  // per multiprocessor
  launch_detail::check_launch(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared_bytes), label);
  if (blocks == 0) launch_detail::check_launch(cudaErrorLaunchOutOfResources, label);
  return static_cast<std::uint32_t>(blocks * multiprocessor_count);
}

}  // namespace berth::cuda
