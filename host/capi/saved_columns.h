// SPDX-License-Identifier: Apache-2.0
#pragma once

// Texts of saved snapshots as columns.

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/capi/saved_bytes.h"
#include "host/objects/object_pools.h"

namespace berth::capi {

/// Numbers by content, in order of first appearance.
class NumberedTexts {
 public:
  /// @param text  outlives this
  std::uint32_t number_of(std::string_view text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  bool contains(std::string_view text) const { return numbers_.contains(text); }
  const std::vector<std::string_view>& list() const { return texts_; }

 private:
  struct Hash {
    std::size_t operator()(std::string_view text) const { return hash_bytes(text); }
  };
  tsl::robin_map<std::string_view, std::uint32_t, Hash> numbers_;
  std::vector<std::string_view> texts_;
};

/// Texts one behind the other.
class TextsOut {
 public:
  TextsOut() = default;
  explicit TextsOut(const NumberedTexts& texts) {
    for (const std::string_view text : texts.list()) add(text);
  }
  void add(std::string_view text) {
    all_ += text;
    sizes_.push_back(static_cast<std::uint32_t>(text.size()));
  }
  void write(BytesOut& out) const {
    out.column(sizes_);
    out.text(all_);
  }

 private:
  std::string all_;
  std::vector<std::uint32_t> sizes_;
};

/// What TextsOut wrote. Refers to the bytes that it was read from.
class TextsIn {
 public:
  TextsIn() = default;
  /// @throws ApiError BERTH_E_INPUT: damaged
  explicit TextsIn(BytesIn& in) {
    const std::vector<std::uint32_t> sizes = in.column<std::uint32_t>();
    all_ = in.view();
    begin_.reserve(sizes.size() + 1);
    std::size_t begin = 0;
    for (const std::uint32_t size : sizes) begin_.push_back(begin += size);
    if (begin != all_.size()) BytesIn::throw_damaged();
  }
  std::size_t size() const { return begin_.size() - 1; }
  std::string_view operator[](std::size_t i) const { return all_.substr(begin_[i], begin_[i + 1] - begin_[i]); }

 private:
  std::string_view all_;
  std::vector<std::size_t> begin_ = {0};  ///< [texts + 1]
};

}  // namespace berth::capi
