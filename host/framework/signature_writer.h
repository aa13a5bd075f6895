// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/resources.h"

namespace berth {

/// Appends fields one after another; strings and lists are prefixed with their length, so that different contents have
/// different bytes.
class SignatureWriter {
 public:
  SignatureWriter() { bytes_.reserve(kUsualSize); }
  void number(std::int64_t value) { append(&value, sizeof value); }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    append(value.data(), value.size());
  }
  template <class List, class Write>
  void list(const List& items, Write write) {
    number(static_cast<std::int64_t>(items.size()));
    for (const auto& item : items) write(item);
  }
  void texts(const std::vector<std::string>& items) {
    list(items, [this](const std::string& item) { text(item); });
  }
  void resources(const ResourceList& items) {
    list(items, [this](const auto& item) {
      text(item.first);
      append(&item.second.nano, sizeof item.second.nano);
    });
  }
  std::string take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  static constexpr std::size_t kUsualSize = 240;
  std::string bytes_;
};

}  // namespace berth
