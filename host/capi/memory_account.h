// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the handles of an engine hold, and the cap on it.

#include <atomic>
#include <cstdint>
#include <utility>

namespace berth::capi {

/// The memory of all handles of an engine, as far as they have told it. Any thread.
class MemoryAccount {
 public:
  /// @param cap  bytes; 0: none, and nothing is counted
  explicit MemoryAccount(std::uint64_t cap = 0) : cap_(cap) {}

  bool is_counted() const { return cap_ != 0; }
  std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }
  /// Call before a call makes something, and with as much as it makes where that is known.
  /// @throws ApiError BERTH_E_MEMORY where the cap is reached, or would be passed by `more` bytes
  void check(std::uint64_t more = 0) const;

 private:
  friend class MemoryShare;
  std::uint64_t cap_;
  std::atomic<std::uint64_t> total_ = 0;
};

/// What one handle holds.
class MemoryShare {
 public:
  /// @param account  outlives this
  explicit MemoryShare(MemoryAccount& account) : account_(account) {}
  ~MemoryShare() { set(0); }
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;

  bool is_counted() const { return account_.is_counted(); }
  void set(std::uint64_t bytes) noexcept {
    if (is_counted()) account_.total_.fetch_add(bytes - std::exchange(bytes_, bytes), std::memory_order_relaxed);
  }

 private:
  MemoryAccount& account_;
  std::uint64_t bytes_ = 0;
};

}  // namespace berth::capi
