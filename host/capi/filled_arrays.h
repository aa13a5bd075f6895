// SPDX-License-Identifier: Apache-2.0
#pragma once

// Answers about all nodes of a what-if that are written into arrays of the caller: as a whole, or not at all.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "host/capi/questions.h"
#include "host/capi/what_if.h"

namespace berth::capi {

/// How many nodes of a set there are. @param nodes  null: all
std::size_t count_of_nodes(const Roster& roster, const NodeNumbers* nodes);

/// berth_fork_mask(). @param fits  [count_of_nodes()]
void fill_mask(WhatIf& fork, const ReadPod& pod, const CheckOptions& options, std::span<std::uint8_t> fits);
/// berth_fork_use(). @param length  of the arrays, each of which may be null
void fill_use(WhatIf& fork, std::span<const std::string> resources, std::size_t length, std::int64_t* requested,
              std::int64_t* allocatable);

}  // namespace berth::capi
