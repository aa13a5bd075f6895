// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads that run the body of a device kernel together. A Team has
//   index(), size()        index of this thread among those that share the work, and their number
//   barrier()              waits for every thread of the team; writes before it are visible after it
//   reduce(value, op)      op over the values of all threads, returned to every thread; also a barrier
//   mark(address, value)   a write that other threads may make concurrently with the same value; is_marked() reads it
//   exchange(address, value), add(address, amount)
//                          an update of a value that other threads update at once; they return what was there
//   solo()                 a team of this thread alone, or of its warp: every such team computes the same result unless
//                          it asks for its number
//   solo_index(), solo_count()
//                          the number of this thread's solo team, and how many there are
//   reduce_first(value, count, op)
//                          op over the values of the first `count` threads or of all, returned to every thread; the
//                          values of the others change no result
// A solo team has also
//   reduce_groups(value, size, op)
//                          op over the values of each group of `size` threads, a power of two, returned to its threads
//   gather(values, count, op)
//                          op over each of the values of all its threads, returned to every thread
//   ballot(condition)      bit i: the condition holds for its thread i
//   prefetch(address)      reads it ahead
// A body loops `for (i = team.index(); i < n; i += team.size())` and waits at barriers before it reads what other
// threads wrote. cuda/kernels/teams.cuh has teams of a warp, a block, a cluster and a grid; on the host a body runs
// with one thread, or with several in tests (tests/support/thread_team.h).

#include <cstdint>
#include <type_traits>

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
  template <class T, class Op>
  BERTH_HD T reduce_first(const T& value, int, Op) const {
    return value;
  }
  template <class T, class Op>
  BERTH_HD T reduce_groups(const T& value, int, Op) const {
    return value;
  }
  template <class T, class Op>
  BERTH_HD void gather(T*, int, Op) const {}
  BERTH_HD std::uint32_t ballot(bool condition) const { return condition ? 1 : 0; }
  BERTH_HD void prefetch(const void*) const {}
  BERTH_HD void mark(std::int32_t* address, std::int32_t value) const { *address = value; }
  BERTH_HD bool is_marked(const std::int32_t* address, std::int32_t value) const { return *address == value; }
  template <class T>
  BERTH_HD T exchange(T* address, T value) const {
    const T before = *address;
    *address = value;
    return before;
  }
  template <class T>
  BERTH_HD T add(T* address, T amount) const {
    using Bits = std::make_unsigned_t<T>;  // sums wrap
    const T before = *address;
    *address = static_cast<T>(static_cast<Bits>(before) + static_cast<Bits>(amount));
    return before;
  }
  BERTH_HD SequentialTeam solo() const { return {}; }
  BERTH_HD int solo_index() const { return 0; }
  BERTH_HD int solo_count() const { return 1; }
};

}  // namespace berth
