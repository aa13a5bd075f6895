// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which nodes can be removed, and where their pods go.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/capi/drain_rules.h"
#include "host/capi/node_table.h"
#include "host/capi/result.h"
#include "host/capi/stop_watch.h"
#include "host/capi/what_if.h"

namespace berth::capi {

struct DrainOptions {
  std::uint32_t flags = 0;
  DrainPolicy policy;
  const NodeNumbers* nodes = nullptr;  ///< null: all
};

/// berth_snapshot_drain() without BERTH_DRAIN_TOGETHER
Answer drain_alone(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const std::uint32_t> drained,
                   const DrainOptions& options, const StopWatch& watch);
/// With it. @param fork  changed by what is drained
Answer drain_together(WhatIf& fork, std::span<const std::uint32_t> drained, const DrainOptions& options,
                      const StopWatch& watch);

}  // namespace berth::capi
