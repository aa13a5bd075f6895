// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "host/cluster/shared_ref.h"

namespace berth {

/// Copy-on-write array with one value per node slot. A copy shares all memory of the first; a write afterwards copies a
/// run of 128 to 320 bytes, and once for 32 runs their list. So a what-if that changes a few nodes takes a few hundred
/// bytes for each.
template <class T>
class NodeColumn {
 public:
  static constexpr std::int32_t kRunNodesLog2 = sizeof(T) > sizeof(std::int64_t) ? 3 : 4;
  static constexpr std::int32_t kRunNodes = 1 << kRunNodesLog2;
  static constexpr auto kRunLength = static_cast<std::size_t>(kRunNodes);

  NodeColumn() = default;
  /// @param slot_count  rounded up to whole blocks; every value is T()
  explicit NodeColumn(std::int32_t slot_count) { grow(slot_count); }

  const T& operator[](std::int32_t node) const { return blocks_[block_of(node)]->run_of(node)[offset_of(node)]; }
  /// The values of the nodes from `first` on, a multiple of kRunNodes. Valid until the column is written or destroyed.
  std::span<const T, kRunLength> run(std::int32_t first) const {
    return std::span<const T, kRunLength>(blocks_[block_of(first)]->run_of(first), kRunLength);
  }
  /// Writes the values of the nodes from `first` on.
  void copy_from(std::int32_t first, std::span<T> out) const {
    for (std::size_t done = 0; done < out.size();) {
      const std::int32_t node = first + static_cast<std::int32_t>(done);
      const std::size_t count = std::min(kRunLength - offset_of(node), out.size() - done);
      std::copy_n(blocks_[block_of(node)]->run_of(node) + offset_of(node), count,
                  out.begin() + static_cast<std::ptrdiff_t>(done));
      done += count;
    }
  }
  /// Valid until the column is copied, grown or destroyed.
  [[gnu::always_inline]] T& write(std::int32_t node) {
    const BlockRef& block = blocks_[block_of(node)];
    if (block.is_mine_alone())
      if (T* const run = block.write_in_place().own_run_of(node)) return run[offset_of(node)];
    return write_copied(node);
  }
  void fill(const T& value) {
    for (std::int32_t node = 0; node < capacity(); ++node) write(node) = value;
  }
  /// Adds blocks of T() until there are values for `slot_count` nodes.
  void grow(std::int32_t slot_count) {
    const auto count = static_cast<std::size_t>((slot_count + kBlockNodes - 1) / kBlockNodes);
    if (count <= blocks_.size()) return;
    blocks_.reserve(count);
    while (blocks_.size() < count) blocks_.push_back(BlockRef::make());
  }
  /// For how many nodes there are values: whole blocks.
  std::int32_t capacity() const { return static_cast<std::int32_t>(blocks_.size()) << kBlockNodesLog2; }
  /// Of the values, whether they are shared or not.
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(capacity()) * sizeof(T); }
  /// Of the values that no other column shares, with what holds them.
  std::uint64_t own_bytes() const {
    std::uint64_t bytes = blocks_.capacity() * sizeof(BlockRef);
    for (const BlockRef& block : blocks_)
      if (block.is_mine_alone()) bytes += block->own_bytes();
    return bytes;
  }
  /// Whether both have the value of the node in the same place.
  bool shares(const NodeColumn& other, std::int32_t node) const { return &(*this)[node] == &other[node]; }

 private:
  static constexpr std::int32_t kRunsLog2 = 5;
  static constexpr std::size_t kRuns = std::size_t{1} << kRunsLog2;
  static constexpr std::int32_t kBlockNodesLog2 = kRunNodesLog2 + kRunsLog2;
  static constexpr std::int32_t kBlockNodes = 1 << kBlockNodesLog2;

  /// write() of what is shared.
  [[gnu::noinline]] T& write_copied(std::int32_t node) {
    BlockRef& block = blocks_[block_of(node)];
    if (!block.is_mine_alone()) block = BlockRef::make(std::as_const(block));
    return block.write_in_place().write_run_of(node)[offset_of(node)];
  }

  static std::size_t block_of(std::int32_t node) { return static_cast<std::size_t>(node >> kBlockNodesLog2); }
  static std::size_t offset_of(std::int32_t node) { return static_cast<std::size_t>(node & (kRunNodes - 1)); }

  class Block;
  using BlockRef = SharedRef<Block>;

  /// 32 runs: those that it owns, and those of its base. A base has none itself, so that reading never follows a chain.
  class Block {
   public:
    Block() : Block(BlockRef(), {}) {
      for (std::size_t run = 0; run < kRuns; ++run) own(run, std::make_unique<T[]>(kRunLength));
    }
    /// Shares what `from` has of its base, or all where it has none, and copies the rest.
    explicit Block(const BlockRef& from) : Block(from->base_ ? from->base_ : from, from->runs_) {
      for (std::size_t run = 0; run < kRuns; ++run)
        if (from->base_ && from->owns(run)) own(run, copy_of(run));
    }
    ~Block() {
      for (std::size_t run = 0; run < kRuns; ++run)
        if (owns(run)) delete[] runs_[run];
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    const T* run_of(std::int32_t node) const { return runs_[index_of(node)]; }
    /// null: the run is of the base.
    T* own_run_of(std::int32_t node) const { return owns(index_of(node)) ? runs_[index_of(node)] : nullptr; }
    /// Those of the base, too, where nobody else has it.
    std::uint64_t own_bytes() const {
      constexpr std::uint64_t kHead = 16;  // of an allocation
      const std::uint64_t of_base = base_ && base_.is_mine_alone() ? base_->own_bytes() : 0;
      const auto runs = static_cast<std::uint64_t>(std::popcount(owned_));
      return of_base + sizeof(Block) + kHead + runs * (kRunLength * sizeof(T) + kHead);
    }
    T* write_run_of(std::int32_t node) {
      const std::size_t run = index_of(node);
      if (!owns(run)) own(run, copy_of(run));
      return runs_[run];
    }

   private:
    /// A constructor that delegates to it may throw afterwards: then the destructor frees what is owned.
    Block(const BlockRef& base, const std::array<T*, kRuns>& runs) : base_(base), runs_(runs) {}

    static std::size_t index_of(std::int32_t node) {
      return static_cast<std::size_t>(node >> kRunNodesLog2) & (kRuns - 1);
    }
    bool owns(std::size_t run) const { return (owned_ >> run & 1) != 0; }
    std::unique_ptr<T[]> copy_of(std::size_t run) const {
      auto copy = std::make_unique<T[]>(kRunLength);
      std::copy_n(runs_[run], kRunLength, copy.get());
      return copy;
    }
    void own(std::size_t run, std::unique_ptr<T[]> values) {
      runs_[run] = values.release();
      owned_ |= std::uint32_t{1} << run;
      if (owned_ == UINT32_MAX) base_ = BlockRef();
    }

    BlockRef base_;  ///< null: every run is owned
    std::array<T*, kRuns> runs_;
    std::uint32_t owned_ = 0;  ///< bit i: runs_[i] is freed by this block
  };

  std::vector<BlockRef> blocks_;
};

}  // namespace berth
