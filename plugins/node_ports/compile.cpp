// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_ports/compile.h"

#include <algorithm>
#include <string_view>

namespace berth {

bool ports_conflict(std::span<const HostPort> wanted, std::span<const HostPort> used) {
  constexpr std::string_view kWildcard = "0.0.0.0";
  return std::any_of(wanted.begin(), wanted.end(), [&](const HostPort& want) {
    return std::any_of(used.begin(), used.end(), [&](const HostPort& use) {
      return NodePorts::conflict(want.port == use.port && want.protocol == use.protocol, want.ip == kWildcard,
                                 use.ip == kWildcard, want.ip == use.ip);
    });
  });
}

}  // namespace berth
