// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/capi/placing.h"
#include "host/capi/what_if.h"

namespace berth::capi {

struct GroupOptions {
  std::uint32_t flags = 0;
  const NodeNumbers* nodes = nullptr;  ///< null: all
  std::span<const char* const> keys;   ///< narrowest first
  std::uint32_t domain = BERTH_DOMAIN_NONE;
  std::size_t minimum = 0;  ///< 0: all
};
/// berth_fork_schedule_group(). The caller holds the fork.
Answer schedule_group(WhatIf& fork, std::span<const PodHandlePtr> pods, const GroupOptions& options,
                      const StopWatch& watch);

}  // namespace berth::capi
