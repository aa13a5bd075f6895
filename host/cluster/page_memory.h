// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory of copy-on-write pages. A fork copies some pages of one length and gives them back a moment later, and the
// general allocator takes longer for an aligned block of that length than the copy does. So each thread keeps a few
// blocks that it gave back.

#include <cstddef>
#include <new>

namespace berth {

/// Of a page: a vector register never straddles two cache lines.
inline constexpr std::align_val_t kPageAlignment{64};
/// What a thread keeps at most of blocks that were given back: 1 MiB, until it is set. 0 keeps none, so that tests meet
/// every allocation. Builds with a sanitizer keep none either, so that each use of a block that was given back is seen.
void set_kept_page_bytes_max(std::size_t bytes) noexcept;

/// @throws std::bad_alloc
void* take_page_block(std::size_t bytes);
/// @param block  of take_page_block(), in this thread or another; `bytes` as there
void give_page_block(void* block, std::size_t bytes) noexcept;

}  // namespace berth
