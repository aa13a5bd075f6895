// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace berth {

/// Sorts as sort.Slice of Go 1.19 and later does. That sort is not stable: which of two equal elements comes first
/// follows from its steps (a pattern-defeating quicksort, https://arxiv.org/pdf/2106.05123), and upstream's victims are
/// in that order. `is_less` may contradict itself; the sort ends nevertheless.
template <class T, class IsLess>
class GoSort {
 public:
  static void sort(std::span<T> elements, IsLess is_less) {
    GoSort(elements, is_less).sort_range(0, elements.size(), static_cast<int>(std::bit_width(elements.size())));
  }

 private:
  enum class Order : std::uint8_t { kUnknown, kIncreasing, kDecreasing };
  struct Pivot {
    std::size_t at;
    Order order;
  };
  struct Split {
    std::size_t at;  ///< of the pivot afterwards
    bool was_partitioned;
  };

  static constexpr std::size_t kInsertionMax = 12;
  static constexpr std::size_t kMedianMin = 8;
  static constexpr std::size_t kNintherMin = 50;
  static constexpr std::size_t kShiftMin = 50;
  static constexpr int kShifts = 5;

  GoSort(std::span<T> elements, IsLess is_less) : elements_(elements), is_less_(is_less) {}

  bool less(std::size_t i, std::size_t j) { return is_less_(elements_[i], elements_[j]); }
  void swap(std::size_t i, std::size_t j) { std::swap(elements_[i], elements_[j]); }

  /// Moves the element down to where it belongs among [begin, at).
  void sink(std::size_t begin, std::size_t at) {
    for (; at > begin && less(at, at - 1); --at) swap(at, at - 1);
  }

  void sort_by_insertion(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin + 1; i < end; ++i) sink(begin, i);
  }

  void sift_down(std::size_t root, std::size_t size, std::size_t begin) {
    for (std::size_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
      if (child + 1 < size && less(begin + child, begin + child + 1)) ++child;
      if (!less(begin + root, begin + child)) return;
      swap(begin + root, begin + child);
      root = child;
    }
  }

  void sort_by_heap(std::size_t begin, std::size_t end) {
    const std::size_t size = end - begin;
    for (std::size_t root = (size - 1) / 2 + 1; root-- > 0;) sift_down(root, size, begin);
    for (std::size_t last = size; last-- > 0;) {
      swap(begin, begin + last);
      sift_down(0, last, begin);
    }
  }

  /// @param limit  partitions that may be unbalanced before the heap takes over
  void sort_range(std::size_t begin, std::size_t end, int limit) {
    bool was_balanced = true;
    bool was_partitioned = true;
    while (end - begin > kInsertionMax) {
      if (limit == 0) return sort_by_heap(begin, end);
      if (!was_balanced) {
        scatter(begin, end);
        --limit;
      }
      Pivot pivot = choose_pivot(begin, end);
      if (pivot.order == Order::kDecreasing) {
        reverse(begin, end);
        pivot = {end - 1 - (pivot.at - begin), Order::kIncreasing};
      }
      if (was_balanced && was_partitioned && pivot.order == Order::kIncreasing && finish_if_nearly_sorted(begin, end))
        return;
      if (begin > 0 && !less(begin - 1, pivot.at)) {  // the pivot is the smallest: many elements may be equal to it
        begin = split_off_equal(begin, end, pivot.at);
        continue;
      }
      const std::size_t size = end - begin;
      const Split split = partition(begin, end, pivot.at);
      was_partitioned = split.was_partitioned;
      const std::size_t left = split.at - begin;
      const std::size_t right = end - split.at;
      was_balanced = std::min(left, right) >= size / 8;
      if (left < right) {
        sort_range(begin, split.at, limit);
        begin = split.at + 1;
      } else {
        sort_range(split.at + 1, end, limit);
        end = split.at;
      }
    }
    sort_by_insertion(begin, end);
  }

  /// Smaller elements, the pivot, the others.
  Split partition(std::size_t begin, std::size_t end, std::size_t pivot) {
    swap(begin, pivot);
    std::size_t i = begin + 1;
    std::size_t j = end - 1;
    const auto narrow = [&] {
      while (i <= j && less(i, begin)) ++i;
      while (i <= j && !less(j, begin)) --j;
      return i <= j;
    };
    const bool was_partitioned = !narrow();
    if (!was_partitioned) {
      do swap(i++, j--);
      while (narrow());
    }
    swap(j, begin);
    return {j, was_partitioned};
  }

  /// Elements equal to the pivot, then greater ones; there are no smaller ones. @return where the greater ones begin
  std::size_t split_off_equal(std::size_t begin, std::size_t end, std::size_t pivot) {
    swap(begin, pivot);
    std::size_t i = begin + 1;
    std::size_t j = end - 1;
    while (true) {
      while (i <= j && !less(begin, i)) ++i;
      while (i <= j && less(begin, j)) --j;
      if (i > j) return i;
      swap(i++, j--);
    }
  }

  /// Repairs a few neighbours that are out of order. @return whether all is sorted now
  bool finish_if_nearly_sorted(std::size_t begin, std::size_t end) {
    std::size_t i = begin + 1;
    for (int shift = 0; shift < kShifts; ++shift) {
      while (i < end && !less(i, i - 1)) ++i;
      if (i == end) return true;
      if (end - begin < kShiftMin) return false;
      swap(i, i - 1);
      if (i - begin >= 2) sink(0, i - 1);  // to the front of all elements, not of the range
      if (end - i >= 2)
        for (std::size_t j = i + 1; j < end && less(j, j - 1); ++j) swap(j, j - 1);
    }
    return false;
  }

  /// Moves three elements in the middle to places that look random, so that a pattern is broken.
  void scatter(std::size_t begin, std::size_t end) {
    const std::size_t size = end - begin;
    if (size < kMedianMin) return;
    std::uint64_t random = size;
    const std::uint64_t mask = (std::uint64_t{1} << std::bit_width(size)) - 1;
    const std::size_t middle = begin + size / 4 * 2;
    for (std::size_t at = middle - 1; at <= middle + 1; ++at) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      std::size_t other = random & mask;
      if (other >= size) other -= size;
      swap(at, begin + other);
    }
  }

  /// The median of three elements, each the median of three neighbours where there are many.
  Pivot choose_pivot(std::size_t begin, std::size_t end) {
    constexpr int kSwapsMax = 12;
    const std::size_t size = end - begin;
    std::size_t i = begin + size / 4;
    std::size_t j = begin + size / 4 * 2;
    std::size_t k = begin + size / 4 * 3;
    int swaps = 0;
    if (size >= kNintherMin) {
      i = median(i - 1, i, i + 1, swaps);
      j = median(j - 1, j, j + 1, swaps);
      k = median(k - 1, k, k + 1, swaps);
    }
    if (size >= kMedianMin) j = median(i, j, k, swaps);
    if (swaps == 0) return {j, Order::kIncreasing};
    return {j, swaps == kSwapsMax ? Order::kDecreasing : Order::kUnknown};
  }

  std::size_t median(std::size_t a, std::size_t b, std::size_t c, int& swaps) {
    const auto put_in_order = [&](std::size_t& x, std::size_t& y) {
      if (!less(y, x)) return;
      std::swap(x, y);
      ++swaps;
    };
    put_in_order(a, b);
    put_in_order(b, c);
    put_in_order(a, b);
    return b;
  }

  void reverse(std::size_t begin, std::size_t end) {
    for (--end; begin < end; ++begin, --end) swap(begin, end);
  }

  std::span<T> elements_;
  IsLess is_less_;
};

template <class T, class IsLess>
void go_sort(std::span<T> elements, IsLess is_less) {
  GoSort<T, IsLess>::sort(elements, is_less);
}

}  // namespace berth
