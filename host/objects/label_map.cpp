// SPDX-License-Identifier: Apache-2.0
#include "host/objects/label_map.h"

#include <algorithm>
#include <cstdint>

#include "host/objects/utf8.h"

namespace berth {
namespace {

constexpr std::size_t kHeaderBytes = 2 * sizeof(std::uint32_t);

struct Header {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};

Header header_at(const char* at) {
  Header header;
  std::memcpy(&header, at, kHeaderBytes);
  return header;
}

void append_entry(std::string& out, std::string_view key, std::string_view value) {
  const Header header{static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
  out.append(reinterpret_cast<const char*>(&header), kHeaderBytes);
  out.append(key);
  out.append(value);
}

/// Sorts and drops all but the last entry of each key.
template <class Text>
void normalize(std::vector<std::pair<Text, Text>>& entries) {
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(entries.begin(), entries.end(), by_key)) {
    std::stable_sort(entries.begin(), entries.end(), by_key);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool replaced = i + 1 < entries.size() && entries[i + 1].first == entries[i].first;
    if (replaced) continue;
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.resize(kept);
}

}  // namespace

LabelMap::LabelMap(std::vector<std::pair<std::string, std::string>> entries) {
  normalize(entries);
  std::string packed;
  for (const auto& [key, value] : entries) append_entry(packed, key, value);
  *this = from_packed(packed);
}

LabelMap::LabelMap(std::initializer_list<std::pair<std::string, std::string>> entries)
    : LabelMap(std::vector<std::pair<std::string, std::string>>(entries)) {}

void LabelMap::pack(std::vector<Entry>& entries, std::string& out) {
  normalize(entries);
  out.clear();
  for (const auto& [key, value] : entries) append_entry(out, key, value);
}

LabelMap LabelMap::from_packed(std::string_view packed) {
  LabelMap map;
  if (packed.empty()) return map;
  const auto size = static_cast<std::uint32_t>(packed.size());
  auto bytes = std::make_shared_for_overwrite<char[]>(sizeof size + packed.size());
  std::memcpy(bytes.get(), &size, sizeof size);
  std::memcpy(bytes.get() + sizeof size, packed.data(), packed.size());
  map.packed_ = std::move(bytes);
  return map;
}

bool LabelMap::is_packed(std::string_view bytes) {
  if (bytes.size() > UINT32_MAX) return false;
  std::optional<std::string_view> last_key;
  while (!bytes.empty()) {
    if (bytes.size() < kHeaderBytes) return false;
    const Header header = header_at(bytes.data());
    bytes.remove_prefix(kHeaderBytes);
    if (header.key_bytes > bytes.size() || header.value_bytes > bytes.size() - header.key_bytes) return false;
    const std::string_view key = bytes.substr(0, header.key_bytes);
    const std::string_view value = bytes.substr(header.key_bytes, header.value_bytes);
    if ((last_key && *last_key >= key) || !is_utf8(key) || !is_utf8(value)) return false;
    last_key = key;
    bytes.remove_prefix(key.size() + value.size());
  }
  return true;
}

std::optional<std::string_view> LabelMap::find(std::string_view key) const {
  const std::string_view packed = bytes();
  const char* at = packed.data();
  const char* end = at + packed.size();
  while (at < end) {
    const Header header = header_at(at);
    const std::string_view entry_key(at + kHeaderBytes, header.key_bytes);
    if (entry_key == key) return std::string_view(entry_key.data() + header.key_bytes, header.value_bytes);
    at += kHeaderBytes + header.key_bytes + header.value_bytes;
  }
  return std::nullopt;
}

std::size_t LabelMap::size() const { return static_cast<std::size_t>(std::distance(begin(), end())); }

LabelMap::Entry LabelMap::Iterator::operator*() const {
  const Header header = header_at(at_);
  const char* key = at_ + kHeaderBytes;
  return {std::string_view(key, header.key_bytes), std::string_view(key + header.key_bytes, header.value_bytes)};
}

LabelMap::Iterator& LabelMap::Iterator::operator++() {
  const Header header = header_at(at_);
  at_ += kHeaderBytes + header.key_bytes + header.value_bytes;
  return *this;
}

}  // namespace berth
