// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads that run the body of a device kernel together. A Team has
//   index(), size()        index of this thread among those that share the work, and their number
//   barrier()              waits for every thread of the team; writes before it are visible after it
//   reduce(value, op)      op over the values of all threads, returned to every thread; also a barrier
//   mark(address, value)   a write that other threads may make concurrently with the same value; is_marked() reads it
//   exchange(address, value), add(address, amount)
//                          an update of a value that other threads update at once; exchange() returns what was there
//   solo()                 a team of this thread alone, or of its warp: every such team computes the same result
// A body loops `for (i = team.index(); i < n; i += team.size())` and waits at barriers before it reads what other
// threads wrote. cuda/kernels/teams.cuh has teams of a warp, a block, a cluster and a grid; on the host a body runs
// with one thread, or with several in tests (tests/support/thread_team.h).

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
  template <class T>
  BERTH_HD T exchange(T* address, T value) const {
    const T before = *address;
    *address = value;
    return before;
  }
  BERTH_HD void add(std::int32_t* address, std::int32_t amount) const { *address += amount; }
  BERTH_HD SequentialTeam solo() const { return {}; }
};

}  // namespace berth
