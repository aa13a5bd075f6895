// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin_names.h"

#include <algorithm>

namespace berth {

PluginNames::PluginNames(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) insert(name);
}

std::span<const std::string> PluginNames::names() const {
  if (names_ == nullptr) return {};
  return *names_;
}

bool PluginNames::contains(std::string_view name) const {
  return std::binary_search(names().begin(), names().end(), name, std::less<std::string_view>());
}

void PluginNames::insert(std::string_view name) {
  if (contains(name)) return;
  std::vector<std::string> more(names().begin(), names().end());
  more.emplace(std::lower_bound(more.begin(), more.end(), name), name);
  names_ = std::make_shared<const std::vector<std::string>>(std::move(more));
}

bool operator==(const PluginNames& a, const PluginNames& b) {
  return a.names_ == b.names_ || std::equal(a.names().begin(), a.names().end(), b.names().begin(), b.names().end());
}

std::strong_ordering operator<=>(const PluginNames& a, const PluginNames& b) {
  return std::lexicographical_compare_three_way(a.names().begin(), a.names().end(), b.names().begin(), b.names().end());
}

std::string to_string(const PluginNames& plugins) {
  std::string text;
  for (const std::string& name : plugins.names()) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace berth
