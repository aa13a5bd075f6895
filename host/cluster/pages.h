// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace berth {

/// Nodes of one page of rows. A power of two: the page of node i is i >> kPageNodesLog2.
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
    Page& mine = pages_[page];
    if (!mine.is_mine_alone()) replace_by_copy(mine);
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
  /// The page becomes that of `other`, whose pages are as long.
  void share_page(std::size_t page, const Pages& other) { pages_[page] = other.pages_[page]; }
  bool shares_page(const Pages& other, std::size_t page) const { return pages_[page] == other.pages_[page]; }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(pages_.size()) * length_ * sizeof(T); }
  /// Of what no other Pages shares. @param use  use(entry) of each entry of such a page gives more of its bytes
  template <class Use>
  std::uint64_t own_bytes(Use use) const {
    std::uint64_t bytes = pages_.capacity() * sizeof(Page);
    for (const Page& page : pages_) {
      if (!page.is_mine_alone()) continue;
      bytes += sizeof(Head) + kAlignment + length_ * sizeof(T);
      for (std::size_t i = 0; i < length_; ++i) bytes += use(page.get()[i]);
    }
    return bytes;
  }
  std::uint64_t own_bytes() const {
    return own_bytes([](const T&) { return std::uint64_t{0}; });
  }

 private:
  static constexpr std::size_t kAlignment = 64;  ///< a vector register never straddles two cache lines

  /// Before the entries of a page, in one allocation with them. No aligned allocation, since forks make and drop pages
  /// all the time and glibc's aligned one costs several plain ones.
  struct Head {
    void* memory;  ///< where the allocation begins
    std::size_t length;
    std::atomic<std::size_t> owners{1};
  };

  /// Owns a page together with other owners.
  class Page {
   public:
    Page() = default;
    /// @param fill  constructs the entries
    template <class Fill>
    Page(std::size_t length, Fill fill) {
      void* memory = ::operator new(sizeof(Head) + kAlignment - 1 + length * sizeof(T));
      auto* begin = static_cast<std::byte*>(memory) + sizeof(Head);
      begin += (kAlignment - reinterpret_cast<std::uintptr_t>(begin) % kAlignment) % kAlignment;
      auto* entries = reinterpret_cast<T*>(begin);
      try {
        fill(entries);
      } catch (...) {
        ::operator delete(memory);
        throw;
      }
      new (begin - sizeof(Head)) Head{memory, length};
      entries_ = entries;
    }
    Page(const Page& other) noexcept : entries_(other.entries_) {
      if (entries_ != nullptr) head().owners.fetch_add(1, std::memory_order_relaxed);
    }
    Page(Page&& other) noexcept : entries_(std::exchange(other.entries_, nullptr)) {}
    Page& operator=(Page other) noexcept {
      std::swap(entries_, other.entries_);
      return *this;
    }
    ~Page() {
      if (entries_ == nullptr || head().owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      std::destroy_n(entries_, head().length);
      ::operator delete(head().memory);
    }

    T* get() const { return entries_; }
    /// True: whatever other owners did in other threads before they let go happened before this.
    bool is_mine_alone() const { return head().owners.load(std::memory_order_acquire) == 1; }
    friend bool operator==(const Page&, const Page&) = default;

   private:
    Head& head() const {
      return *std::launder(reinterpret_cast<Head*>(reinterpret_cast<std::byte*>(entries_) - sizeof(Head)));
    }
    T* entries_ = nullptr;
  };

  static_assert(kAlignment % alignof(T) == 0 && kAlignment % alignof(Head) == 0 && sizeof(Head) % alignof(Head) == 0);

  static Page make_page(std::size_t length, const T& value) {
    return Page(length, [&](T* page) { std::uninitialized_fill_n(page, length, value); });
  }
  Page copy_page(const T* from) const {
    return Page(length_, [&](T* page) { std::uninitialized_copy_n(from, length_, page); });
  }

  /// Apart, so that write() stays small where it is called.
  [[gnu::noinline]] void replace_by_copy(Page& page) const { page = copy_page(page.get()); }

  std::vector<Page> pages_;
  std::size_t length_ = 0;
};

}  // namespace berth
