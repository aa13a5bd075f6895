// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

#include <cstdint>

namespace berth::test {

/// Bytes that the process has allocated and not freed; 0 where a sanitizer's allocator does not count.
inline std::uint64_t live_heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace berth::test
