// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth::capi {

/// Knows whether the process is the one that made it, or a child of it after fork(2), at the cost of reading a byte.
class ProcessMark {
 public:
  /// @throws std::bad_alloc
  ProcessMark();
  ~ProcessMark();
  ProcessMark(const ProcessMark&) = delete;
  ProcessMark& operator=(const ProcessMark&) = delete;

  bool is_here() const noexcept;

 private:
  volatile unsigned char* page_;  ///< of which a child has an empty one; null: the kernel has no such pages
  long process_ = 0;              ///< asked for where page_ is null
};

}  // namespace berth::capi
