// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "cuda/launch/stream.h"

// Small kernels that use each way of launching, to test the toolchain and the launches.
namespace berth::cuda {

/// Adds `d_values` into *d_sum, which must be 0, by CUB and one block for every 256 values. Does not wait.
void sum_by_blocks(std::span<const std::int64_t> d_values, std::int64_t* d_sum, StreamView stream);

/// Writes to d_sums[block] the sum of the block numbers of its cluster of `cluster_blocks`.
void sum_cluster_ranks(std::span<std::int32_t> d_sums, std::uint32_t cluster_blocks, StreamView stream);

/// Each block adds 1 to *d_count, waits for the grid and writes the value that it then reads to d_seen[block].
void count_across_grid(std::int32_t* d_count, std::span<std::int32_t> d_seen, StreamView stream);

/// Writes a * b + c, which must be rounded twice.
void multiply_add(double a, double b, double c, double* d_result, StreamView stream);

/// Writes to an invalid address.
void write_astray(StreamView stream);

}  // namespace berth::cuda
