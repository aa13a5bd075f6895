// SPDX-License-Identifier: Apache-2.0
// Finding where JSON values end, without looking at what they say. Built to run at memory speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/objects/text/text_limits.h"

namespace berth {

/// The first byte at or behind `at` that is not JSON white space; `end` when there is none.
const char* skip_json_space(const char* at, const char* end);

/// `at` points at the opening quote of a string. @return the byte behind the closing quote, or null when the text ends
/// first. kSlicePaddingBytes bytes behind `end` must be readable.
const char* find_string_end(const char* at, const char* end);

/// `at` points at the first byte of a value. @return the byte behind the value, or null when the text ends first. Only
/// strings and the depth of brackets are followed: what lies inside may still be malformed, and '[' may be closed by
/// '}'. A number or a word ends at white space, a comma or a closing bracket; at the very end of the text it counts as
/// not ended. kSlicePaddingBytes bytes behind `end` must be readable.
const char* find_value_end(const char* at, const char* end);

/// Line breaks ('\n') in [at, end).
std::uint64_t count_newlines(const char* at, const char* end);

/// What a look at the top level of one complete JSON object says; texts are as written, escapes included.
struct ObjectShape {
  bool is_object = false;  ///< false: not an object, or malformed on its top level; nothing else is set
  bool has_kind = false;
  std::string_view kind;  ///< "" when there is none or when it is not a string
  std::string_view api_version;
  const char* items = nullptr;  ///< the byte behind the '[' of "items"; null when that is no array or absent
  bool is_page = false;         ///< is_page() of "metadata"
};

/// Reads the keys of `json`; kSlicePaddingBytes bytes behind it must be readable.
ObjectShape inspect_object(std::string_view json);

/// Longest piece of a key that a path shows (JsonValue::path()).
inline constexpr std::size_t kPathKeyBytes = 80;

/// Where the field lies that `path` names, as JsonValue::path() writes it ("spec.containers[0].ports[web]"): the quote
/// of its name, or the first byte of an array's element. Where the path leads on to what is not there, or to a key that
/// is written with escapes, the last of its steps that was found; the first byte of `json` when none was.
/// kSlicePaddingBytes bytes behind `json` must be readable.
const char* find_field(std::string_view json, std::string_view path);

/// True when a list is one page of several and not the last. @param metadata  begins with the value of the list's
/// field of that name; kSlicePaddingBytes bytes behind it must be readable
bool is_page(std::string_view metadata);

/// True when `json` may be a list: a cheap look at the first two keys that answers false for what is surely none.
bool may_be_list(std::string_view json);

}  // namespace berth
