// SPDX-License-Identifier: Apache-2.0
#include "host/objects/node.h"

namespace berth {
namespace {

/// The deprecated key wins when it is there at all, even with an empty value.
std::string_view either(const LabelMap& labels, std::string_view deprecated, std::string_view current) {
  if (const auto value = labels.find(deprecated)) return *value;
  return labels.find(current).value_or(std::string_view());
}

}  // namespace

std::string zone_key(const Node& node) {
  const auto zone = either(node.labels, "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
  const auto region = either(node.labels, "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
  if (zone.empty() && region.empty()) return {};
  std::string key(region);
  // A NUL keeps names that hold a colon apart.
  key.append(":\0:", 3).append(zone);
  return key;
}

}  // namespace berth
