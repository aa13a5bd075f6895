// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/objects/heap_bytes.h"

namespace berth {

/// Nodes in groups that are equal in what classes have asked for so far: each question splits groups.
class NodePartition {
 public:
  bool is_empty() const { return group_of_.empty(); }
  void clear() {
    group_of_.clear();
    questions_.clear();
  }
  /// All nodes in one group.
  /// @param group_of  [slot] 0, or -1 where no node is
  /// @param groups_max  more than this are never made
  void begin(std::vector<std::int32_t> group_of, std::int32_t groups_max) {
    groups_max_ = groups_max;
    take(std::move(group_of), 1);
  }

  /// From now on the nodes of a group have equal values. @param value_of  value_of(node), of any integer type
  /// @return false: there would be too many groups, and nothing changes
  template <class ValueOf>
  bool split_by(ValueOf value_of) {
    return split_by(value_of, groups_max_);
  }
  /// @param groups_max  more groups are too many, and at most groups_max()
  template <class ValueOf>
  bool split_by(ValueOf value_of, std::int32_t groups_max) {
    if (is_split_by(value_of)) return true;
    std::unordered_map<std::uint64_t, std::int32_t> numbers;
    std::vector<std::int32_t> split(group_of_.size(), -1);
    for (std::size_t i = 0; i < group_of_.size(); ++i) {
      if (group_of_[i] < 0) continue;
      const auto value = static_cast<std::uint32_t>(value_of(static_cast<std::int32_t>(i)));
      const std::uint64_t key = static_cast<std::uint64_t>(group_of_[i]) << 32 | value;
      split[i] = numbers.try_emplace(key, static_cast<std::int32_t>(numbers.size())).first->second;
      if (static_cast<std::int32_t>(numbers.size()) > groups_max) return false;
    }
    take(std::move(split), numbers.size());
    return true;
  }

  /// The same of a value with a number, which is looked at once. @param question  two have two numbers
  template <class ValueOf>
  bool split_once_by(std::int64_t question, ValueOf value_of) {
    if (std::find(questions_.begin(), questions_.end(), question) != questions_.end()) return true;
    if (!split_by(value_of)) return false;
    questions_.push_back(question);
    return true;
  }

  std::int32_t groups_max() const { return groups_max_; }
  /// [slot] -1: no node
  std::span<const std::int32_t> group_of() const { return group_of_; }
  std::int32_t group_count() const { return static_cast<std::int32_t>(first_of_.size()); }
  /// A node of the group; -1 where no node is at all.
  std::int32_t first_of(std::int32_t group) const { return first_of_[static_cast<std::size_t>(group)]; }
  /// Changes whenever the groups do; never 0.
  std::uint64_t version() const { return version_; }
  std::uint64_t bytes() const { return heap_bytes(group_of_, first_of_, questions_); }

 private:
  template <class ValueOf>
  bool is_split_by(ValueOf value_of) const {
    for (std::size_t i = 0; i < group_of_.size(); ++i)
      if (group_of_[i] >= 0 && value_of(static_cast<std::int32_t>(i)) != value_of(first_of(group_of_[i]))) return false;
    return true;
  }
  /// Nothing changes where memory runs out.
  void take(std::vector<std::int32_t> group_of, std::size_t group_count) {
    std::vector<std::int32_t> first_of(group_count, -1);
    for (std::size_t i = group_of.size(); i-- > 0;)
      if (group_of[i] >= 0) first_of[static_cast<std::size_t>(group_of[i])] = static_cast<std::int32_t>(i);
    group_of_ = std::move(group_of);
    first_of_ = std::move(first_of);
    ++version_;
  }

  std::vector<std::int32_t> group_of_;
  std::vector<std::int32_t> first_of_;   ///< [group]
  std::vector<std::int64_t> questions_;  ///< by which all groups are split
  std::int32_t groups_max_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace berth
