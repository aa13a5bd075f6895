// SPDX-License-Identifier: Apache-2.0
#pragma once

// The threads that help calls: one arena of oneTBB, which several engines may share.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace berth {

/// Its own threads are at most one less than was asked for, since the calling thread works too. Of threads that call at
/// once, up to `callers` are helped; each further one does its work alone. No call ever waits for another to end: it
/// may hold locks that the other waits for.
class WorkArena {
 public:
  /// @param threads  as thread_count() takes them
  explicit WorkArena(int threads, int callers = 1);
  ~WorkArena();
  WorkArena(const WorkArena&) = delete;
  WorkArena& operator=(const WorkArena&) = delete;

  int threads() const { return threads_; }
  /// Runs work(), whose tasks the arena's threads may take. While this thread waits for them it takes no task of
  /// another call, which might ask for a lock that this thread holds.
  template <class Work>
  void execute(const Work& work) {
    if (is_inside()) return tbb::this_task_arena::isolate(work);
    const auto enter = [&] {
      const Inside inside(*this);
      tbb::this_task_arena::isolate(work);
    };
    const Calling calling(calling_);
    if (calling.number <= callers_) return arena_.execute(enter);
    tbb::task_arena alone(1);
    alone.execute(enter);
  }
  /// Calls free(waste) in another thread, before this goes; in this one where the arena has no other.
  void free_later(void* waste, void (*free)(void*)) noexcept;
  /// The same of what this pointer owns, if it does; here where there is no memory for that.
  template <class T>
  void free_later(std::shared_ptr<T> waste) noexcept {
    if (waste == nullptr) return;
    if (auto* const kept = new (std::nothrow) std::shared_ptr<T>(std::move(waste)))
      free_later(kept, [](void* pointer) { delete static_cast<std::shared_ptr<T>*>(pointer); });
  }
  /// Runs body(begin, end) of parts of 0 to count.
  template <class Body>
  void for_ranges(std::size_t count, const Body& body) {
    using Range = tbb::blocked_range<std::size_t>;
    execute([&] {
      tbb::parallel_for(Range(0, count), [&](const Range& range) {
        const Inside inside(*this);
        body(range.begin(), range.end());
      });
    });
  }
  /// Runs body(i) of each below count.
  template <class Body>
  void for_each(std::size_t count, const Body& body) {
    for_ranges(count, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(i);
    });
  }

 private:
  /// Marks that this thread works in the arena.
  class Inside {
   public:
    explicit Inside(const WorkArena& arena) noexcept;
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    const WorkArena* outer_;
  };
  bool is_inside() const noexcept;

  struct Calling {
    explicit Calling(std::atomic<int>& of) : all(of), number(of.fetch_add(1, std::memory_order_relaxed) + 1) {}
    ~Calling() { all.fetch_sub(1, std::memory_order_relaxed); }
    Calling(const Calling&) = delete;
    Calling& operator=(const Calling&) = delete;
    std::atomic<int>& all;
    int number;
  };

  int threads_;
  int callers_;
  std::atomic<int> calling_ = 0;  ///< threads that are in execute(), apart from the arena's own
  std::mutex wastes_mutex_;
  std::condition_variable none_left_;
  std::size_t wastes_ = 0;  ///< that are still to be freed
  tbb::task_arena arena_;   ///< with a place for each of `callers_`
};

/// Deletes where the block ends; where an exception ends it, in a thread of the arena: a call that is interrupted does
/// not wait until what it has made is freed.
template <class T>
struct DeleteLater {
  WorkArena* arena;
  void operator()(T* value) const noexcept {
    if (std::uncaught_exceptions() == 0) return delete value;
    arena->free_later(value, [](void* waste) { delete static_cast<T*>(waste); });
  }
};
template <class T>
using FreedLater = std::unique_ptr<T, DeleteLater<T>>;
template <class T>
FreedLater<T> freed_later(WorkArena& arena) {
  return FreedLater<T>(new T(), DeleteLater<T>{&arena});
}

}  // namespace berth
