// SPDX-License-Identifier: Apache-2.0
#pragma once

// When a call has to stop: its deadline, and the token by which the caller cancels it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>

#include "host/objects/interruption.h"
#include "include/berth/berth.h"

/// Set by any thread and by signal handlers.
struct berth_cancel {
  std::atomic<bool> is_triggered = false;
};
static_assert(std::atomic<bool>::is_always_lock_free);

namespace berth::capi {

class Log;

/// Who is told how far a call is.
struct Progress {
  berth_progress_fn tell = nullptr;  ///< null: nobody
  void* user_data = nullptr;
  const Log* log = nullptr;  ///< of the engine that must not be called meanwhile; where `tell` is set
};

/// Made at the start of a call, and asked by all threads that work for it.
class StopWatch {
 public:
  /// @param deadline_us  0: none
  /// @param cancel  null: none
  explicit StopWatch(std::uint64_t deadline_us = 0, const berth_cancel* cancel = nullptr,
                     const Progress& progress = {});
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  /// The call is to be done in pieces.
  bool can_stop() const { return deadline_us_ > 0 || cancel_ != nullptr || progress_.tell != nullptr; }
  /// Call between pieces, without a lock. Tells nothing in other threads than that which made this.
  void tell(std::size_t done, std::size_t total) const noexcept;
  /// BERTH_OK: go on. Otherwise BERTH_DEADLINE or BERTH_CANCELLED, whichever was seen first, from then on.
  /// @param heeds_deadline  false of the part of a call that is done whatever the deadline
  berth_status stop(bool heeds_deadline = true) const;
  bool is_over(bool heeds_deadline = true) const { return stop(heeds_deadline) != BERTH_OK; }
  /// BatchLimits::deadline_us of the next piece of work, behind which the watch is to be asked again; 0: no limit.
  std::int64_t piece_us(bool heeds_deadline = true) const;

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t passed_us() const;

  std::int64_t deadline_us_;
  const berth_cancel* cancel_;
  Clock::time_point begin_;
  mutable std::atomic<berth_status> stopped_ = BERTH_OK;
  Progress progress_;
  std::thread::id thread_ = std::this_thread::get_id();
  mutable std::int64_t told_us_ = 0;  ///< passed_us() at the latest time; of that thread
  mutable std::size_t told_ = 0;      ///< what was told then
};

/// Ends the engine's calls that this thread makes once a watch is over: they throw Interrupted.
class StopScope {
 public:
  /// @param watch  outlives this
  explicit StopScope(const StopWatch& watch, bool heeds_deadline = true)
      : due_(watch, heeds_deadline), scope_(watch.can_stop() ? &due_ : nullptr) {}

 private:
  class Due final : public Interruption {
   public:
    Due(const StopWatch& watch, bool heeds_deadline) : watch_(watch), heeds_deadline_(heeds_deadline) {}
    bool is_due() const noexcept override { return watch_.is_over(heeds_deadline_); }

   private:
    const StopWatch& watch_;
    bool heeds_deadline_;
  };

  Due due_;
  InterruptionScope scope_;
};

/// Runs work() in a StopScope. @return nullopt: it was interrupted
template <class Work>
auto unless_interrupted(const StopWatch& watch, bool heeds_deadline, Work work) -> std::optional<decltype(work())> {
  try {
    const StopScope scope(watch, heeds_deadline);
    return work();
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

/// Looks at the interruption of this thread at times, for loops of which a turn takes up to some 10 us.
class LooksAtTimes {
 public:
  /// @throws Interrupted
  void at_next() {
    if (++turns_ % kTurns == 0) check_interruption(interruption_);
  }

 private:
  static constexpr std::size_t kTurns = 64;
  const Interruption* interruption_ = current_interruption();
  std::size_t turns_ = 0;
};

/// Calls use(piece) for pieces of `bytes` that take a millisecond or two to copy, with a look at the interruption
/// before each. @throws Interrupted
template <class Use>
void for_pieces(std::string_view bytes, Use use) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kPieceBytes, bytes.size()))) {
    check_interruption(current_interruption());
    use(bytes.substr(0, kPieceBytes));
  }
}

/// Pods of a batch between two looks at a stop watch, at most.
inline constexpr std::size_t kPieceOfBatch = 256;

/// How many elements of a call's work are done between two looks at its stop watch: more while they take little time.
class PieceSizes {
 public:
  /// @param least  in a piece: those that are done at once
  /// @param most  in a piece, and the size of each where nothing can stop the call
  PieceSizes(const StopWatch& watch, std::size_t least, std::size_t most)
      : is_steady_(!watch.can_stop()),
        least_(least),
        most_(std::max(least, most)),
        size_(is_steady_ ? most_ : least_) {}
  /// Call at the begin of a piece.
  std::size_t next();

 private:
  using Clock = std::chrono::steady_clock;
  bool is_steady_;
  std::size_t least_;
  std::size_t most_;
  std::size_t size_;
  bool has_begun_ = false;
  Clock::time_point begin_;  ///< of the latest piece
};

}  // namespace berth::capi
