// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace berth {

/// Nodes of one page of columns, counters or rows. A power of two: the page of node i is i >> kPageNodesLog2.
inline constexpr std::int32_t kPageNodesLog2 = 10;
inline constexpr std::int32_t kPageNodes = 1 << kPageNodesLog2;

/// Copy-on-write array in pages of equal length with reference counts. Copying a Pages shares every page; writing to a
/// shared page copies that page first. So a snapshot is an immutable value for its readers, a fork is cheap, and the
/// live path makes no copies.
template <class T>
class Pages {
 public:
  Pages() = default;
  Pages(std::size_t page_count, std::size_t page_length, const T& value = T()) : length_(page_length) {
    pages_.reserve(page_count);
    for (std::size_t p = 0; p < page_count; ++p) pages_.push_back(make_page(length_, value));
  }

  std::size_t page_count() const { return pages_.size(); }
  std::size_t page_length() const { return length_; }

  const T* read(std::size_t page) const { return pages_[page].get(); }
  /// Pointer to an unshared page; valid until the Pages is copied or destroyed.
  T* write(std::size_t page) {
    std::shared_ptr<T[]>& mine = pages_[page];
    if (mine.use_count() != 1) mine = copy_page(mine.get());
    // An owner that just released the page in another thread has finished reading before this thread writes.
    std::atomic_thread_fence(std::memory_order_acquire);
    return mine.get();
  }
  /// Adds pages at the end, up to `page_count` pages.
  void grow(std::size_t page_count, const T& value = T()) {
    pages_.reserve(page_count);
    while (pages_.size() < page_count) pages_.push_back(make_page(length_, value));
  }
  /// Sets every entry to `value`.
  void fill(const T& value) {
    for (std::size_t p = 0; p < pages_.size(); ++p) std::fill_n(write(p), length_, value);
  }
  bool shares_page(const Pages& other, std::size_t page) const { return pages_[page] == other.pages_[page]; }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(pages_.size()) * length_ * sizeof(T); }

 private:
  static constexpr std::align_val_t kAlignment{64};  ///< a vector register never straddles two cache lines

  struct Release {
    std::size_t length;
    void operator()(T* page) const {
      std::destroy_n(page, length);
      ::operator delete[](static_cast<void*>(page), kAlignment);
    }
  };
  /// @param fill  constructs the entries of a page
  template <class Fill>
  static std::shared_ptr<T[]> new_page(std::size_t length, Fill fill) {
    T* page = static_cast<T*>(::operator new[](length * sizeof(T), kAlignment));
    try {
      fill(page);
    } catch (...) {
      ::operator delete[](static_cast<void*>(page), kAlignment);
      throw;
    }
    return std::shared_ptr<T[]>(page, Release{length});
  }
  static std::shared_ptr<T[]> make_page(std::size_t length, const T& value) {
    return new_page(length, [&](T* page) { std::uninitialized_fill_n(page, length, value); });
  }
  std::shared_ptr<T[]> copy_page(const T* from) const {
    return new_page(length_, [&](T* page) { std::uninitialized_copy_n(from, length_, page); });
  }

  std::vector<std::shared_ptr<T[]>> pages_;
  std::size_t length_ = 0;
};

}  // namespace berth
