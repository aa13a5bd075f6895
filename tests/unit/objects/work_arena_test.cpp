// SPDX-License-Identifier: Apache-2.0
#include "host/objects/work_arena.h"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstddef>
#include <thread>

#include "host/objects/thread_count.h"

namespace berth {
namespace {

TEST(WorkArena, HasTheThreadsThatWereAskedFor) {
  EXPECT_EQ(WorkArena(1).threads(), 1);
  EXPECT_EQ(WorkArena(0).threads(), thread_count(0));
}

TEST(WorkArena, ACallerBeyondThoseThatAreHelpedDoesNotWaitForThem) {
  for (const int callers : {1, 2}) {
    WorkArena arena(1, callers);
    std::atomic<int> done = 0;
    const auto count = [&] { arena.for_each(100, [&](std::size_t /*i*/) { ++done; }); };
    arena.execute([&] {
      for (int t = 0; t < 3; ++t) std::thread(count).join();
      count();
    });
    EXPECT_EQ(done, 400);
  }
}

TEST(WorkArena, AThreadThatWaitsTakesNoTaskOfAnotherCall) {
  thread_local int t_depth = 0;
  WorkArena arena(0, 2);
  std::atomic<int> entered_twice = 0;
  std::atomic<int> done = 0;
  const auto call = [&] {
    arena.for_each(200, [&](std::size_t /*i*/) {
      if (t_depth++ > 0) ++entered_twice;
      arena.execute([&] { tbb::parallel_for(0, 64, [&](int /*j*/) { std::this_thread::yield(); }); });
      --t_depth;
      ++done;
    });
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(entered_twice, 0);
  EXPECT_EQ(done, 400);
}

TEST(WorkArena, OneWithinAnotherIsEntered) {
  WorkArena outer(0);
  WorkArena inner(0);
  std::atomic<int> done = 0;
  outer.for_each(
      20, [&](std::size_t /*i*/) { inner.for_each(20, [&](std::size_t /*j*/) { outer.execute([&] { ++done; }); }); });
  EXPECT_EQ(done, 400);
}

}  // namespace
}  // namespace berth
