// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/json_scan.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <system_error>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace berth {
namespace {

constexpr std::size_t kStride = 64;
static_assert(kStride <= kSlicePaddingBytes, "the last stride of a text reads into the padding");

/// One bit per byte of a stride.
struct StrideMasks {
  std::uint64_t quote;
  std::uint64_t backslash;
  std::uint64_t open;   ///< { [
  std::uint64_t close;  ///< } ]
};

#if defined(__SSE2__)

inline std::uint64_t equal_mask(const __m128i (&bytes)[4], char wanted) {
  const __m128i pattern = _mm_set1_epi8(wanted);
  std::uint64_t mask = 0;
  for (int part = 0; part < 4; ++part) {
    const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes[part], pattern)));
    mask |= std::uint64_t{bits} << (16 * part);
  }
  return mask;
}

inline StrideMasks classify(const char* at) {
  __m128i bytes[4];
  __m128i folded[4];  // '[' is '{' and ']' is '}' without bit 5
  for (int part = 0; part < 4; ++part) {
    bytes[part] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    folded[part] = _mm_or_si128(bytes[part], _mm_set1_epi8(0x20));
  }
  return {equal_mask(bytes, '"'), equal_mask(bytes, '\\'), equal_mask(folded, '{'), equal_mask(folded, '}')};
}

std::uint64_t newlines_in_stride(const char* at) {
  const __m128i pattern = _mm_set1_epi8('\n');
  __m128i count = _mm_setzero_si128();  // per byte position; at most 4
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    count = _mm_sub_epi8(count, _mm_cmpeq_epi8(bytes, pattern));
  }
  const __m128i halves = _mm_sad_epu8(count, _mm_setzero_si128());
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(halves) + _mm_cvtsi128_si64(_mm_srli_si128(halves, 8)));
}

#else

StrideMasks classify(const char* at) {
  StrideMasks masks{};
  for (std::size_t i = 0; i < kStride; ++i) {
    const char byte = at[i];
    const auto folded = static_cast<char>(byte | 0x20);
    masks.quote |= std::uint64_t{byte == '"'} << i;
    masks.backslash |= std::uint64_t{byte == '\\'} << i;
    masks.open |= std::uint64_t{folded == '{'} << i;
    masks.close |= std::uint64_t{folded == '}'} << i;
  }
  return masks;
}

std::uint64_t newlines_in_stride(const char* at) {
  return static_cast<std::uint64_t>(std::count(at, at + kStride, '\n'));
}

#endif

/// std::popcount is a call into a library where the compiler may not assume the instruction.
std::int64_t bit_count(std::uint64_t bits) {
  bits -= (bits >> 1) & 0x5555555555555555U;
  bits = (bits & 0x3333333333333333U) + ((bits >> 2) & 0x3333333333333333U);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<std::int64_t>((bits * 0x0101010101010101U) >> 56);
}

/// Bit i of the result: an odd number of bits is set in `bits` at or below i.
std::uint64_t prefix_xor(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

/// Bytes that follow an odd run of backslashes. `carry`: the last stride ended in such a run.
std::uint64_t escaped_mask(std::uint64_t backslash, bool& carry) {
  std::uint64_t escaped = carry ? 1 : 0;
  carry = false;
  for (std::uint64_t rest = backslash & ~escaped; rest != 0;) {
    const int first = std::countr_zero(rest);
    if (first == 63) {
      carry = true;
      break;
    }
    escaped |= std::uint64_t{2} << first;
    rest &= ~(std::uint64_t{3} << first);
  }
  return escaped;
}

/// Drops what lies behind the end of the text.
std::uint64_t valid_mask(const char* at, const char* end) {
  const auto left = static_cast<std::size_t>(end - at);
  return left >= kStride ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

/// Which brackets of a stride lie outside of strings, with what the next stride has to know.
class StringTracker {
 public:
  std::uint64_t outside(const StrideMasks& masks) {
    const std::uint64_t quotes = masks.quote & ~escaped_mask(masks.backslash, escape_carry_);
    const std::uint64_t inside = prefix_xor(quotes) ^ inside_carry_;
    inside_carry_ = std::uint64_t{0} - (inside >> 63);
    return ~inside;
  }

 private:
  std::uint64_t inside_carry_ = 0;  ///< all ones when the last stride ended within a string
  bool escape_carry_ = false;
};

/// `at` points at an opening bracket.
const char* find_bracket_end(const char* at, const char* end) {
  StringTracker tracker;
  std::int64_t depth = 0;
  for (; at < end; at += kStride) {
    const StrideMasks masks = classify(at);
    const std::uint64_t outside = tracker.outside(masks) & valid_mask(at, end);
    std::uint64_t open = masks.open & outside;
    std::uint64_t close = masks.close & outside;
    const std::int64_t close_count = bit_count(close);
    if (close_count < depth) {  // the value cannot end here, in whatever order they stand
      depth += bit_count(open) - close_count;
      continue;
    }
    while (close != 0) {
      const std::uint64_t below = (close & (~close + 1)) - 1;
      depth += bit_count(open & below) - 1;
      open &= ~below;
      if (depth == 0) return at + std::countr_zero(close) + 1;
      close &= close - 1;
    }
    depth += bit_count(open);
  }
  return nullptr;
}

bool ends_word(char byte) {
  return byte == ',' || byte == '}' || byte == ']' || byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

std::string_view unquoted(const char* at, const char* end) { return {at + 1, static_cast<std::size_t>(end - at - 2)}; }

/// Steps from one "key": value to the next on the top level of an object.
struct MemberCursor {
  const char* at;
  const char* end;
  std::string_view key;
  const char* value = nullptr;

  /// Puts key and value; false at the end of the object or when it is malformed.
  bool next_key() {
    at = skip_json_space(at, end);
    if (at == end || *at != '"') return false;
    const char* key_end = find_string_end(at, end);
    if (key_end == nullptr) return false;
    key = unquoted(at, key_end);
    at = skip_json_space(key_end, end);
    if (at == end || *at != ':') return false;
    value = skip_json_space(at + 1, end);
    return value != end;
  }

  /// Steps over the value; false when no comma follows.
  bool skip_value() {
    const char* value_end = find_value_end(value, end);
    if (value_end == nullptr) return false;
    at = skip_json_space(value_end, end);
    if (at == end || *at != ',') return false;
    ++at;
    return true;
  }

  std::string_view string_value() const {
    if (*value != '"') return {};
    const char* value_end = find_string_end(value, end);
    return value_end == nullptr ? std::string_view{} : unquoted(value, value_end);
  }
};

/// How many bytes of `path` name `key`; 0 when it names another.
std::size_t match_key(std::string_view path, std::string_view key) {
  if (path.starts_with('[')) {
    const std::string_view shown = key.substr(0, kPathKeyBytes);
    const std::string_view rest = path.substr(1);
    return rest.starts_with(shown) && rest.substr(shown.size()).starts_with(']') ? shown.size() + 2 : 0;
  }
  if (key.empty() || !path.starts_with(key)) return 0;
  const std::string_view rest = path.substr(key.size());
  return rest.empty() || rest.front() == '.' || rest.front() == '[' ? key.size() : 0;
}

/// Where a walk along a path has come to.
struct FieldCursor {
  const char* end;
  const char* found;  ///< what the path names so far
  const char* value;

  /// Each steps into what the front of `path` names and returns how many of its bytes did; 0 when it is not there.
  std::size_t enter(std::string_view path) {
    if (*value == '{') return enter_member(path);
    return *value == '[' ? enter_element(path) : 0;
  }

  std::size_t enter_member(std::string_view path) {
    MemberCursor member{value + 1, end, {}, nullptr};
    while (member.next_key()) {
      if (const std::size_t used = match_key(path, member.key); used > 0) {
        found = member.key.data() - 1;
        value = member.value;
        return used;
      }
      if (!member.skip_value()) break;
    }
    return 0;
  }

  std::size_t enter_element(std::string_view path) {
    std::size_t index = 0;
    const char* const path_end = path.data() + path.size();
    if (!path.starts_with('[')) return 0;
    const auto [rest, error] = std::from_chars(path.data() + 1, path_end, index);
    if (error != std::errc() || rest == path_end || *rest != ']') return 0;
    const char* at = skip_json_space(value + 1, end);
    for (; index > 0; --index) {
      at = find_value_end(at, end);
      if (at == nullptr) return 0;
      at = skip_json_space(at, end);
      if (at == end || *at != ',') return 0;
      at = skip_json_space(at + 1, end);
    }
    if (at == end || *at == ']') return 0;
    found = value = at;
    return static_cast<std::size_t>(rest + 1 - path.data());
  }
};

}  // namespace

const char* skip_json_space(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}

const char* find_string_end(const char* at, const char* end) {
  // Most strings are short: a byte loop beats the masks until the first stride is over.
  const char* const near = end - at > 32 ? at + 32 : end;
  for (const char* byte = at + 1; byte < near; ++byte) {
    if (*byte == '"') return byte + 1;
    if (*byte == '\\') break;
  }
  bool escape_carry = false;
  std::uint64_t skip_first = ~std::uint64_t{1};  // the opening quote
  for (; at < end; at += kStride, skip_first = ~std::uint64_t{0}) {
    const StrideMasks masks = classify(at);
    const std::uint64_t escaped = escaped_mask(masks.backslash, escape_carry);
    const std::uint64_t quotes = masks.quote & ~escaped & skip_first & valid_mask(at, end);
    if (quotes != 0) return at + std::countr_zero(quotes) + 1;
  }
  return nullptr;
}

const char* find_value_end(const char* at, const char* end) {
  if (at == end) return nullptr;
  if (*at == '"') return find_string_end(at, end);
  if (*at == '{' || *at == '[') return find_bracket_end(at, end);
  at = std::find_if(at, end, ends_word);
  return at == end ? nullptr : at;
}

std::uint64_t count_newlines(const char* at, const char* end) {
  std::uint64_t count = 0;
  for (; end - at >= static_cast<std::ptrdiff_t>(kStride); at += kStride) {
    count += newlines_in_stride(at);
  }
  return count + static_cast<std::uint64_t>(std::count(at, end, '\n'));
}

ObjectShape inspect_object(std::string_view json) {
  ObjectShape shape;
  const char* const end = json.data() + json.size();
  if (json.empty() || json.front() != '{') return shape;
  shape.is_object = true;
  MemberCursor member{json.data() + 1, end, {}, nullptr};
  while (member.next_key()) {
    if (member.key == "kind") {
      shape.has_kind = true;
      shape.kind = member.string_value();
    } else if (member.key == "apiVersion") {
      shape.api_version = member.string_value();
    } else if (member.key == "items" && *member.value == '[') {
      shape.items = member.value + 1;
    } else if (member.key == "metadata") {
      shape.is_page = is_page({member.value, end});
    }
    if (!member.skip_value()) break;
  }
  return shape;
}

bool is_page(std::string_view metadata) {
  const char* const end = metadata.data() + metadata.size();
  if (metadata.empty() || metadata.front() != '{') return false;
  MemberCursor member{metadata.data() + 1, end, {}, nullptr};
  while (member.next_key()) {
    if (member.key == "continue") return !member.string_value().empty();
    if (!member.skip_value()) break;
  }
  return false;
}

const char* find_field(std::string_view json, std::string_view path) {
  FieldCursor cursor{json.data() + json.size(), json.data(), json.data()};
  while (!path.empty() && cursor.value != cursor.end) {
    if (path.front() == '.') path.remove_prefix(1);
    const std::size_t used = cursor.enter(path);
    if (used == 0) break;
    path.remove_prefix(used);
  }
  return cursor.found;
}

bool may_be_list(std::string_view json) {
  if (json.empty() || json.front() != '{') return false;
  MemberCursor member{json.data() + 1, json.data() + json.size(), {}, nullptr};
  for (int looked_at = 0; looked_at < 2 && member.next_key(); ++looked_at) {
    if (member.key == "kind") return member.string_value().ends_with("List");
    if (member.key == "items") return true;
    if (*member.value == '{' || *member.value == '[') return true;  // no cheap look goes on behind it
    if (!member.skip_value()) return false;
  }
  return true;
}

}  // namespace berth
