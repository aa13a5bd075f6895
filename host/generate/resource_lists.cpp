// SPDX-License-Identifier: Apache-2.0
#include "host/generate/resource_lists.h"

#include <algorithm>
#include <string>

namespace berth {

Quantity whole(std::int64_t amount) { return Quantity{static_cast<__int128>(amount) * 1'000'000'000}; }
Quantity thousandths(std::int64_t amount) { return Quantity{static_cast<__int128>(amount) * 1'000'000}; }

void set_resource(ResourceList& list, std::string_view name, Quantity amount) {
  const auto at = std::lower_bound(list.begin(), list.end(), name,
                                   [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  if (at != list.end() && at->first == name) {
    at->second = amount;
  } else {
    list.emplace(at, std::string(name), amount);
  }
}

}  // namespace berth
