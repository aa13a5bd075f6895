// SPDX-License-Identifier: Apache-2.0
#include "host/objects/list_entries.h"

#include <algorithm>

namespace berth {
namespace {

std::int64_t entries_below(simdjson::dom::element value) {
  std::int64_t count = 0;
  if (value.is_array()) {
    for (const simdjson::dom::element element : simdjson::dom::array(value)) count += 1 + entries_below(element);
  } else if (value.is_object()) {
    for (const auto [key, element] : simdjson::dom::object(value)) count += entries_below(element);
  }
  return count;
}

}  // namespace

std::int64_t count_list_entries(simdjson::dom::element root, std::string_view json) {
  // An entry has a comma behind it, unless it is the last: few commas are few entries, and counting them is fast.
  const auto commas = static_cast<std::int64_t>(std::count(json.begin(), json.end(), ','));
  if (commas <= static_cast<std::int64_t>(json.size()) / kListEntryTextBytes && commas < kListEntriesMax / 2) return 0;
  return entries_below(root);
}

}  // namespace berth
