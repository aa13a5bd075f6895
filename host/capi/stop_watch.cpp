// SPDX-License-Identifier: Apache-2.0
#include "host/capi/stop_watch.h"

#include <algorithm>
#include <utility>

#include "host/capi/engine.h"

namespace berth::capi {
namespace {

/// A cancelled call has to return within 10 ms, and the last pod of a piece may be a slow one.
constexpr std::int64_t kPieceUs = 2000;
/// A piece that took less was too small to be worth the look.
constexpr std::int64_t kShortPieceUs = kPieceUs / 2;
/// Between two calls of a progress callback.
constexpr std::int64_t kTellUs = 1000;

}  // namespace

StopWatch::StopWatch(std::uint64_t deadline_us, const berth_cancel* cancel, const Progress& progress)
    : deadline_us_(static_cast<std::int64_t>(std::min<std::uint64_t>(deadline_us, INT64_MAX))),
      cancel_(cancel),
      begin_(Clock::now()),
      progress_(progress) {}

void StopWatch::tell(std::size_t done, std::size_t total) const noexcept {
  if (progress_.tell == nullptr || std::this_thread::get_id() != thread_ || done <= told_) return;
  const std::int64_t now = passed_us();
  if (done < total && now - told_us_ < kTellUs) return;
  told_us_ = now;
  told_ = done;
  const Log::Calling calling(*progress_.log);
  progress_.tell(progress_.user_data, done, total);
}

std::int64_t StopWatch::passed_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin_).count();
}

berth_status StopWatch::stop(bool heeds_deadline) const {
  const berth_status before = stopped_.load(std::memory_order_relaxed);
  if (before != BERTH_OK && (before != BERTH_DEADLINE || heeds_deadline)) return before;
  berth_status now = BERTH_OK;
  if (cancel_ != nullptr && cancel_->is_triggered.load(std::memory_order_relaxed)) {
    now = BERTH_CANCELLED;
  } else if (heeds_deadline && deadline_us_ > 0 && passed_us() >= deadline_us_) {
    now = BERTH_DEADLINE;
  }
  if (now == BERTH_OK) return now;
  berth_status seen = BERTH_OK;
  return stopped_.compare_exchange_strong(seen, now, std::memory_order_relaxed) ? now : seen;
}

std::int64_t StopWatch::piece_us(bool heeds_deadline) const {
  if (!can_stop()) return 0;
  if (!heeds_deadline || deadline_us_ == 0) return kPieceUs;
  return std::clamp<std::int64_t>(deadline_us_ - passed_us(), 1, kPieceUs);
}

std::size_t PieceSizes::next() {
  if (is_steady_) return size_;
  const Clock::time_point now = Clock::now();
  if (std::exchange(has_begun_, true)) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(now - begin_).count();
    if (took < kShortPieceUs) size_ = std::min(2 * size_, most_);
    if (took > kPieceUs) size_ = std::max(size_ / 2, least_);
  }
  begin_ = now;
  return size_;
}

}  // namespace berth::capi
