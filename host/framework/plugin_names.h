// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// A small set of plugin names, in-tree or not. A value: copies share one immutable list, so that a million pods which
/// fail for the same reasons can each keep their set. Copies may be read by several threads.
class PluginNames {
 public:
  PluginNames() = default;
  PluginNames(std::initializer_list<std::string_view> names);

  void insert(std::string_view name);
  bool contains(std::string_view name) const;
  bool empty() const { return names_ == nullptr; }
  std::size_t size() const { return names().size(); }
  /// Sorted. Valid while this set, or a copy of it, is unchanged.
  std::span<const std::string> names() const;

  friend bool operator==(const PluginNames& a, const PluginNames& b);
  friend std::strong_ordering operator<=>(const PluginNames& a, const PluginNames& b);

 private:
  std::shared_ptr<const std::vector<std::string>> names_;  ///< sorted; null: empty
};

/// Names joined with ", ".
std::string to_string(const PluginNames& plugins);

}  // namespace berth
