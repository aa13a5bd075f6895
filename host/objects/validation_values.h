// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small readers that the validation functions share.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "host/objects/json_value.h"
#include "host/objects/validation.h"

namespace berth {

/// Text of a string, valid as long as the parser's; "" where it is absent.
inline std::string_view text_of(const JsonValue& value) {
  std::string_view text;
  value.read(text);
  return text;
}

/// Finding "got <value>, expected <expectation>".
inline void expected(const JsonValue& value, ValidationCheck check, std::string_view expectation) {
  value.finding(check, "got " + value.describe() + ", expected " + std::string(expectation));
}

inline std::size_t element_count(const JsonValue& list) {
  return list.is_array() ? simdjson::dom::array(list.element()).size() : 0;
}

/// Calls visit(const JsonValue&, std::string_view) for each string of a list.
template <class Visit>
void for_each_text(const JsonValue& list, Visit&& visit) {
  list.for_each_element([&](const JsonValue& element) { visit(element, text_of(element)); });
}

inline bool contains_text(const JsonValue& list, std::string_view wanted) {
  bool found = false;
  for_each_text(list, [&](const JsonValue&, std::string_view text) { found |= text == wanted; });
  return found;
}

}  // namespace berth
