// SPDX-License-Identifier: Apache-2.0
#include "host/objects/resources.h"

#include <algorithm>

#include "host/objects/selectors.h"

namespace berth {
namespace {

constexpr std::string_view kNativePart = "kubernetes.io/";
constexpr std::string_view kQuotaPrefix = "requests.";

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <class List>
auto lower_bound_by_name(List& list, std::string_view name) {
  return std::lower_bound(list.begin(), list.end(), name,
                          [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
}

}  // namespace

const Quantity* find(const ResourceList& list, std::string_view name) {
  const auto at = lower_bound_by_name(list, name);
  return at != list.end() && at->first == name ? &at->second : nullptr;
}

bool is_extended_resource(std::string_view name) {
  if (!contains(name, "/") || contains(name, kNativePart) || name.starts_with(kQuotaPrefix)) return false;
  // Quota names a resource "requests.<name>", so that one has to be valid: docs/behaviour/plugins-node.md 1.2.
  return is_qualified_name(std::string(kQuotaPrefix) + std::string(name));
}

bool is_scalar_resource(std::string_view name) {
  return name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") || contains(name, kNativePart) ||
         is_extended_resource(name);
}

std::int64_t ResourceAmounts::scalar(std::string_view name) const {
  const auto at = lower_bound_by_name(scalars, name);
  return at != scalars.end() && at->first == name ? at->second : 0;
}

bool ResourceAmounts::has_scalar(std::string_view name) const {
  const auto at = lower_bound_by_name(scalars, name);
  return at != scalars.end() && at->first == name;
}

std::int64_t ResourceAmounts::amount(std::string_view name) const {
  if (name == kCpu) return milli_cpu;
  if (name == kMemory) return memory_bytes;
  if (name == kEphemeralStorage) return ephemeral_storage_bytes;
  return scalar(name);
}

ResourceAmounts to_amounts(const ResourceList& list) {
  ResourceAmounts amounts;
  for (const auto& [name, quantity] : list) {
    if (name == kCpu) {
      amounts.milli_cpu = quantity.milli_value();
    } else if (name == kMemory) {
      amounts.memory_bytes = quantity.value();
    } else if (name == kEphemeralStorage) {
      amounts.ephemeral_storage_bytes = quantity.value();
    } else if (is_scalar_resource(name)) {
      amounts.scalars.emplace_back(name, quantity.value());
    }
  }
  return amounts;
}

}  // namespace berth
