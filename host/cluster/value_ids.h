// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth {

/// Numbers for the distinct values that nodes have, from 1; 0 stands for "none". A number is free once no node has its
/// value, and then gets another value: so memory follows the cluster, and not its history. Code that derived something
/// from the values finds the numbers with a new meaning with for_each_defined_since().
class ValueIds {
 public:
  /// One more node has the value. @return its number
  std::int32_t add(std::string_view value) {
    const auto [at, is_new] = id_of_.try_emplace(std::string(value), 0);
    if (is_new) {
      at->second = define(value);
    }
    ++node_counts_[static_cast<std::size_t>(at->second)];
    return at->second;
  }
  /// One node less has the value of that number; 0 has no effect.
  void drop(std::int32_t id) {
    if (id == 0 || --node_counts_[static_cast<std::size_t>(id)] > 0) return;
    id_of_.erase(values_[static_cast<std::size_t>(id)]);
    free_.push_back(id);
  }

  /// 0 when no node has the value.
  std::int32_t find(const std::string& value) const {
    const auto at = id_of_.find(value);
    return at == id_of_.end() ? 0 : at->second;
  }
  /// Numbers are below this.
  std::int32_t end() const { return static_cast<std::int32_t>(values_.size()); }
  /// Of a number that is free: its last one.
  const std::string& value(std::int32_t id) const { return values_[static_cast<std::size_t>(id)]; }

  /// How often a number got a value.
  std::uint64_t definition_count() const { return trimmed_ + definitions_.size(); }
  /// Calls use(id) for the numbers that got a value after the first `known` definitions; possibly for more.
  template <class Use>
  void for_each_defined_since(std::uint64_t known, Use use) const {
    if (known < trimmed_) {
      for (std::int32_t id = 1; id < end(); ++id) use(id);
    } else {
      for (std::size_t i = known - trimmed_; i < definitions_.size(); ++i) use(definitions_[i]);
    }
  }

 private:
  std::int32_t define(std::string_view value) {
    std::int32_t id = end();
    if (free_.empty()) {
      values_.emplace_back(value);
      node_counts_.push_back(0);
    } else {
      id = free_.back();
      free_.pop_back();
      values_[static_cast<std::size_t>(id)] = value;
    }
    definitions_.push_back(id);
    if (definitions_.size() > 2 * values_.size() + kKeptDefinitions) {
      trimmed_ += definitions_.size() - values_.size();
      definitions_.erase(definitions_.begin(), definitions_.end() - static_cast<std::ptrdiff_t>(values_.size()));
    }
    return id;
  }

  static constexpr std::size_t kKeptDefinitions = 64;
  std::vector<std::string> values_{1};
  std::vector<std::int32_t> node_counts_{0};
  std::vector<std::int32_t> free_;
  std::unordered_map<std::string, std::int32_t> id_of_;
  std::vector<std::int32_t> definitions_;  ///< the latest ones
  std::uint64_t trimmed_ = 0;              ///< definitions before those
};

}  // namespace berth
