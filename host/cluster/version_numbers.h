// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace berth {

/// Gives numbers to the versions of what one holder changes. A number is given once in the process, so that copies that
/// change apart never have equal versions, and numbers of one holder grow. A copy takes numbers of its own.
class VersionNumbers {
 public:
  VersionNumbers() = default;
  VersionNumbers(const VersionNumbers& /*other*/) {}
  VersionNumbers& operator=(const VersionNumbers& /*other*/) {
    renew();
    return *this;
  }
  /// Above every number that any holder was given before the latest renew(), and above those of this one.
  std::uint64_t next() {
    if (next_ == end_) {
      next_ = taken().fetch_add(kAtOnce, std::memory_order_relaxed);
      end_ = next_ + kAtOnce;
    }
    return next_++;
  }
  void renew() { next_ = end_ = 0; }

 private:
  static constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 16;  ///< holders of many threads seldom meet
  static std::atomic<std::uint64_t>& taken() {
    static std::atomic<std::uint64_t> first{1};
    return first;
  }
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace berth
