// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the bodies of device kernels ask of the threads that run them together. A Team has
//   index(), size()        this thread's place among those that share the work
//   barrier()              every thread has come here, and sees what the others wrote before
//   reduce(value, op)      op over the values of all threads, given to every thread; a barrier too
//   mark(address, value)   a write that others may do at the same time with the same value; is_marked() reads it
//   solo()                 a team that this thread, or its warp, is for itself: every such team computes the same
// A body loops `for (i = team.index(); i < n; i += team.size())` and meets barriers where it crosses from one array to
// another. cuda/kernels/teams.cuh makes teams of a warp, a block, a cluster and a grid; on the host a body runs with
// one thread here, or with several under tests (tests/support/thread_team.h).

#include <cstdint>

#include "plugins/rule.h"

namespace berth {

/// One thread.
struct SequentialTeam {
  BERTH_HD int index() const { return 0; }
  BERTH_HD int size() const { return 1; }
  BERTH_HD void barrier() const {}
  template <class T, class Op>
  BERTH_HD T reduce(const T& value, Op) const {
    return value;
  }
  BERTH_HD void mark(std::int32_t* address, std::int32_t value) const { *address = value; }
  BERTH_HD bool is_marked(const std::int32_t* address, std::int32_t value) const { return *address == value; }
  BERTH_HD SequentialTeam solo() const { return {}; }
};

}  // namespace berth
