// SPDX-License-Identifier: Apache-2.0
#pragma once

// A team of host threads for the bodies of device kernels: here ThreadSanitizer detects a missing barrier, which a
// single thread cannot show.

#include <atomic>
#include <barrier>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "batching/device/team.h"

namespace berth::test {

/// State that the threads of a team share.
struct SharedTeam {
  explicit SharedTeam(int thread_count) : size(thread_count), barrier(thread_count) {}
  int size;
  std::barrier<> barrier;
  std::vector<const void*> values = std::vector<const void*>(static_cast<std::size_t>(size));
};

/// Updates that several threads make at once.
struct ThreadUpdates {
  template <class T>
  T exchange(T* address, T value) const {
    return std::atomic_ref(*address).exchange(value, std::memory_order_relaxed);
  }
  template <class T>
  T add(T* address, T amount) const {
    return std::atomic_ref(*address).fetch_add(amount, std::memory_order_relaxed);
  }
};

/// Marks that several teams of one thread write at once.
struct SoloThreadTeam : ThreadUpdates {
  int index() const { return 0; }
  int size() const { return 1; }
  void barrier() const {}
  template <class T, class Op>
  T reduce(const T& value, Op) const {
    return value;
  }
  void mark(std::int32_t* address, std::int32_t value) const {
    std::atomic_ref(*address).store(value, std::memory_order_relaxed);
  }
  bool is_marked(const std::int32_t* address, std::int32_t value) const {
    return std::atomic_ref(*const_cast<std::int32_t*>(address)).load(std::memory_order_relaxed) == value;
  }
  template <class T, class Op>
  T reduce_first(const T& value, int, Op) const {
    return value;
  }
  template <class T, class Op>
  T reduce_groups(const T& value, int, Op) const {
    return value;
  }
  template <class T, class Op>
  void gather(T*, int, Op) const {}
  std::uint32_t ballot(bool condition) const { return condition ? 1 : 0; }
  void prefetch(const void*) const {}
  SoloThreadTeam solo() const { return {}; }
};

class ThreadTeam : public ThreadUpdates {
 public:
  ThreadTeam(SharedTeam& shared, int index) : shared_(&shared), index_(index) {}
  int index() const { return index_; }
  int size() const { return shared_->size; }
  void barrier() const { shared_->barrier.arrive_and_wait(); }
  template <class T, class Op>
  T reduce(const T& value, Op op) const {
    shared_->values[static_cast<std::size_t>(index_)] = &value;
    barrier();
    T all = *static_cast<const T*>(shared_->values[0]);
    for (int i = 1; i < size(); ++i)
      all = op(all, *static_cast<const T*>(shared_->values[static_cast<std::size_t>(i)]));
    barrier();
    return all;
  }
  template <class T, class Op>
  T reduce_first(const T& value, int, Op op) const {
    return reduce(value, op);
  }
  void mark(std::int32_t* address, std::int32_t value) const { solo().mark(address, value); }
  bool is_marked(const std::int32_t* address, std::int32_t value) const { return solo().is_marked(address, value); }
  SoloThreadTeam solo() const { return {}; }
  int solo_index() const { return index_; }
  int solo_count() const { return shared_->size; }

 private:
  SharedTeam* shared_;
  int index_;
};

/// Runs body(team) on `thread_count` threads.
template <class Body>
void run_together(int thread_count, Body body) {
  SharedTeam shared(thread_count);
  std::vector<std::thread> threads;
  for (int i = 1; i < thread_count; ++i) threads.emplace_back([&, i] { body(ThreadTeam(shared, i)); });
  body(ThreadTeam(shared, 0));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace berth::test
