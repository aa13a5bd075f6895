// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "host/cluster/cache.h"
#include "plugins/node_ports/rule.h"

namespace berth {

/// Does any wanted port clash with a used one? Both are completed keys as wanted_host_ports() gives them.
bool ports_conflict(std::span<const HostPort> wanted, std::span<const HostPort> used);

}  // namespace berth
