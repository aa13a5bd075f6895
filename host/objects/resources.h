// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/quantity.h"
#include "host/objects/saturating.h"

namespace berth {

inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kEphemeralStorage = "ephemeral-storage";
inline constexpr std::string_view kPods = "pods";

/// What a container gets when it names no request, for the non-zero figures: docs/behaviour/plugins-node.md 1.3.
inline constexpr std::int64_t kDefaultMilliCpuRequest = 100;
inline constexpr std::int64_t kDefaultMemoryRequestBytes = 200 * 1024 * 1024;

/// A resource list of an object: name and amount, sorted by name, names unique. Amounts are rounded to 10^-3 as the API
/// server stores them.
using ResourceList = std::vector<std::pair<std::string, Quantity>>;

const Quantity* find(const ResourceList& list, std::string_view name);

/// Classes of names: docs/behaviour/plugins-node.md 1.2.
bool is_extended_resource(std::string_view name);
bool is_scalar_resource(std::string_view name);

/// Converted amounts. cpu in millicores, memory and ephemeral storage in bytes, scalars in their own unit.
struct ResourceAmounts {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t ephemeral_storage_bytes = 0;
  std::vector<std::pair<std::string, std::int64_t>> scalars;  ///< sorted by name; a name may be present with 0

  /// @return 0 when the name is absent.
  std::int64_t scalar(std::string_view name) const;
  bool has_scalar(std::string_view name) const;
  /// cpu, memory, ephemeral-storage or a scalar by its name.
  std::int64_t amount(std::string_view name) const;
  friend bool operator==(const ResourceAmounts&, const ResourceAmounts&) = default;
};

/// Converts a list: names that no scheduler accounts (spec 1.2 "anything else") and `pods` are dropped.
ResourceAmounts to_amounts(const ResourceList& list);

}  // namespace berth
