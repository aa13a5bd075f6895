// SPDX-License-Identifier: Apache-2.0
#include "host/objects/work_arena.h"

#include <utility>

#include "host/objects/thread_count.h"

namespace berth {
namespace {

thread_local const WorkArena* t_inside = nullptr;

}  // namespace

WorkArena::WorkArena(int threads, int callers)
    : threads_(thread_count(threads)),
      callers_(callers),
      arena_(threads_ - 1 + callers_, static_cast<unsigned>(callers_)) {}

WorkArena::~WorkArena() {
  std::unique_lock lock(wastes_mutex_);
  none_left_.wait(lock, [&] { return wastes_ == 0; });
}

void WorkArena::free_later(void* waste, void (*free)(void*)) noexcept {
  if (threads_ == 1) return free(waste);
  const auto note = [this](std::size_t more, std::size_t less) {
    const std::lock_guard lock(wastes_mutex_);
    wastes_ += more;
    wastes_ -= less;
    if (wastes_ == 0) none_left_.notify_all();
  };
  note(1, 0);
  try {
    arena_.enqueue([=] {
      free(waste);
      note(0, 1);
    });
  } catch (...) {
    free(waste);
    note(0, 1);
  }
}

WorkArena::Inside::Inside(const WorkArena& arena) noexcept : outer_(std::exchange(t_inside, &arena)) {}
WorkArena::Inside::~Inside() { t_inside = outer_; }

bool WorkArena::is_inside() const noexcept { return t_inside == this; }

}  // namespace berth
