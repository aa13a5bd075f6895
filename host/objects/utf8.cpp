// SPDX-License-Identifier: Apache-2.0
#include "host/objects/utf8.h"

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace berth {
namespace {

/// Names and labels are mostly shorter, and ASCII: reading one of them takes a quarter of the time of a call of
/// simdjson.
constexpr std::size_t kShortBytes = 64;

bool is_ascii(std::string_view text) {
  std::uint64_t all = 0;
  for (; text.size() >= sizeof all; text.remove_prefix(sizeof all)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    all |= bytes;
  }
  for (const char byte : text) all |= static_cast<unsigned char>(byte);
  return (all & 0x8080808080808080u) == 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  if (text.size() <= kShortBytes && is_ascii(text)) return true;
  return simdjson::get_active_implementation()->validate_utf8(text.data(), text.size());
}

}  // namespace berth
