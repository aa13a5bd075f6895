// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

/// Immutable string-to-string map of labels in one allocation; copies share it. A million nodes carry one each, and the
/// pods of one template share theirs. Sorted by key, keys unique.
/// Layout: a u32 number of bytes, and so many bytes in which entries lie one behind the other as  u32 key length,
/// u32 value length, key, value.
class LabelMap {
 public:
  using Entry = std::pair<std::string_view, std::string_view>;

  LabelMap() = default;
  /// Sorts; of equal keys the last one wins.
  explicit LabelMap(std::vector<std::pair<std::string, std::string>> entries);
  LabelMap(std::initializer_list<std::pair<std::string, std::string>> entries);

  /// Writes the packed form of `entries` into `out`, so that a pool can look it up before anything is allocated.
  /// Sorts `entries`; of equal keys the last one wins.
  static void pack(std::vector<Entry>& entries, std::string& out);
  /// @param packed  what pack() wrote or bytes() gave
  static LabelMap from_packed(std::string_view packed);
  /// Whether pack() could have written the bytes, of texts in UTF-8.
  static bool is_packed(std::string_view bytes);

  std::optional<std::string_view> find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key).has_value(); }
  bool empty() const { return packed_ == nullptr; }
  std::size_t size() const;

  class Iterator {
   public:
    using value_type = Entry;
    using reference = Entry;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    explicit Iterator(const char* at) : at_(at) {}
    Entry operator*() const;
    Iterator& operator++();
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const char* at_;
  };
  Iterator begin() const { return Iterator(bytes().data()); }
  Iterator end() const { return Iterator(bytes().data() + bytes().size()); }

  /// The packed bytes; equal maps have equal bytes, so they serve as a hash key.
  std::string_view bytes() const {
    if (packed_ == nullptr) return {};
    std::uint32_t size;
    std::memcpy(&size, packed_.get(), sizeof size);
    return {packed_.get() + sizeof size, size};
  }
  friend bool operator==(const LabelMap& a, const LabelMap& b) { return a.bytes() == b.bytes(); }

 private:
  std::shared_ptr<const char[]> packed_;  ///< null when empty
};

}  // namespace berth
