// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace berth {

/// A sweep, which frees what is not in use, is due after this many additions, or
/// this share of what there is: it looks at all of that.
inline constexpr std::int32_t kSweepMin = 64;
inline constexpr std::int32_t kSweepShare = 64;
/// What was used since so many sweeps is likely to be used again. @param used_at  the number of sweeps at that time
inline constexpr std::uint64_t kSweepsKept = 8;
constexpr bool is_lately(std::uint64_t used_at, std::uint64_t sweeps) { return used_at + kSweepsKept >= sweeps; }

/// Things that others refer to by number. A number that was given up is given again, so that memory follows what there
/// is and not what there was: give one up only when nobody refers to it any more.
template <class T>
class Numbered {
 public:
  /// @return the thing's number
  std::int32_t add(T thing) {
    ++added_;
    if (free_.empty()) {
      things_.push_back(std::move(thing));
      is_used_.push_back(1);
      return end() - 1;
    }
    const std::int32_t number = free_.back();
    free_.pop_back();
    things_[static_cast<std::size_t>(number)] = std::move(thing);
    is_used_[static_cast<std::size_t>(number)] = 1;
    return number;
  }
  /// So many more will be added.
  void make_room(std::size_t more) {
    things_.reserve(things_.size() + more);
    is_used_.reserve(is_used_.size() + more);
  }
  void remove(std::int32_t number) {
    things_[static_cast<std::size_t>(number)] = T();
    is_used_[static_cast<std::size_t>(number)] = 0;
    free_.push_back(number);
  }
  void clear() {
    things_.clear();
    is_used_.clear();
    free_.clear();
  }

  T& operator[](std::int32_t number) { return things_[static_cast<std::size_t>(number)]; }
  const T& operator[](std::int32_t number) const { return things_[static_cast<std::size_t>(number)]; }
  bool has(std::int32_t number) const { return is_used_[static_cast<std::size_t>(number)] != 0; }
  /// Numbers are below this.
  std::int32_t end() const { return static_cast<std::int32_t>(things_.size()); }
  std::int32_t size() const { return end() - static_cast<std::int32_t>(free_.size()); }
  /// How many were ever added.
  std::uint64_t added() const { return added_; }

  /// Calls use(number, thing) for each, in the order of numbers.
  template <class Use>
  void for_each(Use use) {
    for (std::int32_t number = 0; number < end(); ++number)
      if (has(number)) use(number, (*this)[number]);
  }
  template <class Use>
  void for_each(Use use) const {
    for (std::int32_t number = 0; number < end(); ++number)
      if (has(number)) use(number, (*this)[number]);
  }

 private:
  std::vector<T> things_;
  std::vector<std::uint8_t> is_used_;
  std::vector<std::int32_t> free_;
  std::uint64_t added_ = 0;
};

/// Finds numbered things by their content without a copy of it, which maps with the content as their key would keep.
class NumberOfHash {
 public:
  /// @param is_equal  (number) whether this is the thing that is looked for @return its number; -1: none
  template <class IsEqual>
  std::int32_t find(std::size_t hash, IsEqual is_equal) const {
    const auto first = first_.find(hash);
    if (first == first_.end()) return -1;
    if (is_equal(first->second)) return first->second;
    const auto [begin, end] = others_.equal_range(hash);
    for (auto at = begin; at != end; ++at)
      if (is_equal(at->second)) return at->second;
    return -1;
  }
  void add(std::size_t hash, std::int32_t number) {
    if (!first_.try_emplace(hash, number).second) others_.emplace(hash, number);
  }
  void remove(std::size_t hash, std::int32_t number) {
    const auto first = first_.find(hash);
    if (first == first_.end()) return;
    const bool is_first = first->second == number;
    const auto [begin, end] = others_.equal_range(hash);
    const auto other =
        is_first ? begin : std::find_if(begin, end, [&](const auto& entry) { return entry.second == number; });
    if (other == end) {
      if (is_first) first_.erase(first);
      return;
    }
    if (is_first) first.value() = other->second;
    others_.erase(other);
  }

 private:
  struct Mixed {
    std::size_t operator()(std::size_t hash) const { return (hash * 0x9e3779b97f4a7c15u) >> 20; }
  };
  tsl::robin_map<std::size_t, std::int32_t, Mixed> first_;
  std::unordered_multimap<std::size_t, std::int32_t> others_;  ///< whose hash another thing had before
};

/// Numbers that are in use, found from what is known to be.
class LiveNumbers {
 public:
  explicit LiveNumbers(std::int32_t end) : is_live_(static_cast<std::size_t>(end)) {}
  /// @return false when it was live before
  bool insert(std::int32_t number) { return std::exchange(is_live_[static_cast<std::size_t>(number)], 1) == 0; }
  bool contains(std::int32_t number) const { return is_live_[static_cast<std::size_t>(number)] != 0; }

 private:
  std::vector<std::uint8_t> is_live_;
};

}  // namespace berth
