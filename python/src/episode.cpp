// SPDX-License-Identifier: Apache-2.0
#include "episode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace berth_python {
namespace {

/// splitmix64: the same numbers on every machine, which the standard library's distributions do not promise.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  /// Below `bound`, which is small beside 2^64, so that the bias of the remainder is of no account.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// A result that is freed at the end of its block.
struct Answered {
  berth_result* result = nullptr;
  Answered() = default;
  Answered(const Answered&) = delete;
  Answered& operator=(const Answered&) = delete;
  ~Answered() { berth_result_free(&result); }
};

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

berth_status Episode::reset(std::uint64_t seed, Shown& shown, berth_error* error) {
  berth_status status = berth_fork_revert(fork_.get(), error);
  if (status < 0) return status;
  order_.resize(scenario_->pods.size());
  std::iota(order_.begin(), order_.end(), 0u);
  if (scenario_->is_shuffled) {
    Draws draws(seed);
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draws.below(i)]);
  }
  arrived_ = 0;
  waiting_.clear();
  aside_.clear();
  running_ = {};
  events_.clear();
  time_ = 0;
  placed_ = 0;
  shown.node = -1;
  shown.is_illegal = 0;
  status = go_on(error);
  return status < 0 ? status : show(shown, error);
}

berth_status Episode::step(std::int32_t action, Shown& shown, berth_error* error) {
  shown.node = -1;
  shown.is_illegal = 0;
  if (!waiting_.empty()) {
    berth_status status = place(action, shown, error);
    if (status >= 0) status = go_on(error);
    if (status < 0) return status;
  }
  return show(shown, error);
}

berth_status Episode::place(std::int32_t action, Shown& shown, berth_error* error) {
  const std::uint32_t pod = waiting_.front();
  const auto node_count = static_cast<std::int32_t>(scenario_->nodes.size());
  if (action == kSetAside) {
    set_aside(EventKind::kSetAside);
    return BERTH_OK;
  }
  std::int32_t position = action;
  if (action == kSchedule) {
    const berth_status status = schedule(pod, position, error);
    if (status < 0) return status;
    if (position < 0) {
      set_aside(EventKind::kSetAside);
      return BERTH_OK;
    }
  } else if (action < 0 || action >= node_count || mask_[static_cast<std::size_t>(action)] == 0) {
    shown.is_illegal = 1;
    set_aside(EventKind::kIllegal);
    return BERTH_OK;
  } else {
    const berth_status status = berth_fork_add_pod(fork_.get(), scenario_->pods[pod].get(),
                                                   scenario_->nodes[static_cast<std::size_t>(action)], error);
    if (status < 0) return status;
  }
  waiting_.pop_front();
  ++placed_;
  shown.node = position;
  say(EventKind::kPlaced, pod, position);
  if (scenario_->durations[pod] < kNever) running_.push({time_ + scenario_->durations[pod], pod});
  return BERTH_OK;
}

/// Where kube-scheduler puts the pod; -1: nowhere.
berth_status Episode::schedule(std::uint32_t pod, std::int32_t& position, berth_error* error) const {
  const berth_pod* const pods[1] = {scenario_->pods[pod].get()};
  Answered answer;
  berth_column nodes{};
  berth_status status = berth_fork_schedule(fork_.get(), pods, 1, nullptr, &answer.result, error);
  if (status >= 0) status = berth_result_column(answer.result, BERTH_COLUMN_NODE, &nodes, error);
  if (status < 0) return status;
  const std::uint32_t number = *static_cast<const std::uint32_t*>(nodes.data);
  const auto found = std::ranges::lower_bound(scenario_->nodes, number);
  position = number == BERTH_NO_NODE ? -1 : static_cast<std::int32_t>(found - scenario_->nodes.begin());
  return BERTH_OK;
}

void Episode::set_aside(EventKind why) {
  say(why, waiting_.front(), -1);
  aside_.push_back(waiting_.front());
  waiting_.pop_front();
}

/// Moves the clock until a pod is to be decided about, or nothing more happens. Of equal times endings come first, so
/// that the pods that come find their room.
berth_status Episode::go_on(berth_error* error) {
  while (waiting_.empty()) {
    const double ends = running_.empty() ? kNever : running_.top().time;
    const double comes = arrived_ < order_.size() ? scenario_->arrivals[arrived_] : kNever;
    if (std::min(ends, comes) == kNever) return BERTH_OK;
    if (ends <= comes) {
      const std::uint32_t pod = running_.top().pod;
      const berth_status status = berth_fork_remove_pod(fork_.get(), scenario_->uids[pod].c_str(), error);
      if (status < 0) return status;
      running_.pop();
      time_ = ends;
      say(EventKind::kFinished, pod, -1);
      // As the queue of kube-scheduler: what ends may let others in.
      waiting_.insert(waiting_.end(), aside_.begin(), aside_.end());
      aside_.clear();
    } else {
      time_ = comes;
      waiting_.push_back(order_[arrived_]);
      say(EventKind::kSubmitted, order_[arrived_], -1);
      ++arrived_;
    }
  }
  return BERTH_OK;
}

berth_status Episode::show(Shown& shown, berth_error* error) {
  shown.time = time_;
  shown.placed = placed_;
  shown.pending = static_cast<std::int32_t>(waiting_.size() + aside_.size());
  shown.is_done = waiting_.empty() ? 1 : 0;
  shown.pod = waiting_.empty() ? -1 : static_cast<std::int32_t>(waiting_.front());
  const berth_status status = show_mask(shown.mask, error);
  return status < 0 ? status : show_use(shown.use, error);
}

berth_status Episode::show_mask(std::uint8_t* mask, berth_error* error) {
  mask_.resize(scenario_->nodes.size());
  if (mask_.empty()) return BERTH_OK;
  if (waiting_.empty()) {
    std::ranges::fill(mask_, 0);
  } else {
    std::size_t length = 0;
    const berth_status status = berth_fork_mask(fork_.get(), scenario_->pods[waiting_.front()].get(), nullptr, 0,
                                                mask_.data(), mask_.size(), &length, error);
    if (status < 0) return status;
  }
  std::memcpy(mask, mask_.data(), mask_.size());
  return BERTH_OK;
}

berth_status Episode::show_use(std::int64_t* use, berth_error* error) const {
  const std::vector<const char*>& names = scenario_->names_of_resources;
  std::size_t length = 0;
  return berth_fork_use(fork_.get(), names.data(), names.size(), use, nullptr, names.size() * scenario_->nodes.size(),
                        &length, error);
}

}  // namespace berth_python
