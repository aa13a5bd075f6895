// SPDX-License-Identifier: Apache-2.0
#include "waiting_pods.h"

#include <algorithm>
#include <cmath>

#include "episode.h"

namespace berth_python {

// PlainWaitingPods

berth_status PlainWaitingPods::reset(berth_error* /*error*/) {
  ready_.clear();
  next_number_ = 0;
  aside_.clear();
  return BERTH_OK;
}

berth_status PlainWaitingPods::add(std::uint32_t pod, berth_error* /*error*/) {
  ready_.insert({scenario_->priorities[pod], next_number_++, pod});
  return BERTH_OK;
}

berth_status PlainWaitingPods::next(std::int32_t& pod, berth_error* /*error*/) {
  pod = ready_.empty() ? -1 : static_cast<std::int32_t>(ready_.begin()->pod);
  return BERTH_OK;
}

berth_status PlainWaitingPods::done(std::uint32_t /*pod*/, berth_error* /*error*/) {
  ready_.erase(ready_.begin());
  return BERTH_OK;
}

berth_status PlainWaitingPods::put_back(std::uint32_t pod, const char* /*rejectors*/, const char* /*pending*/,
                                        berth_error* /*error*/) {
  aside_.push_back(pod);
  ready_.erase(ready_.begin());
  return BERTH_OK;
}

berth_status PlainWaitingPods::came(const std::string& /*uid*/, berth_error* /*error*/) { return BERTH_OK; }

/// What ends may let others in.
berth_status PlainWaitingPods::leaves(const std::string& /*uid*/, bool is_evicted, berth_error* error) {
  if (is_evicted) return BERTH_OK;
  for (const std::uint32_t pod : aside_) add(pod, error);
  aside_.clear();
  return BERTH_OK;
}

berth_status PlainWaitingPods::advance(double /*time*/, berth_error* /*error*/) { return BERTH_OK; }

berth_status PlainWaitingPods::next_at(double& time, berth_error* /*error*/) {
  time = kNever;
  return BERTH_OK;
}

// KubeWaitingPods

berth_status KubeWaitingPods::reset(berth_error* error) {
  queue_.reset();
  current_ = -1;
  count_ = 0;
  gated_ = 0;
  stuck_.clear();
  berth_queue* made = nullptr;
  const berth_status status = berth_queue_create(cluster_.get(), nullptr, &made, error);
  queue_.reset(made);
  return status;
}

berth_status KubeWaitingPods::count_gated(berth_error* error) {
  return berth_queue_size(queue_.get(), BERTH_QUEUE_GATED, &gated_, error);
}

berth_status KubeWaitingPods::add(std::uint32_t pod, berth_error* error) {
  const berth_status status = berth_queue_add(queue_.get(), scenario_->pods[pod].get(), error);
  if (status < 0) return status;
  ++count_;
  return count_gated(error);
}

berth_status KubeWaitingPods::next(std::int32_t& pod, berth_error* error) {
  if (current_ < 0) {
    berth_pod* popped = nullptr;
    const berth_status status = berth_queue_pop(queue_.get(), &popped, error);
    if (status < 0) return status;
    if (popped != nullptr) current_ = static_cast<std::int32_t>(scenario_->position_of_pod.at(popped));
    berth_pod_free(&popped);
  }
  pod = current_;
  return BERTH_OK;
}

berth_status KubeWaitingPods::done(std::uint32_t pod, berth_error* error) {
  const berth_status status = berth_queue_done(queue_.get(), scenario_->pods[pod].get(), error);
  if (status < 0) return status;
  current_ = -1;
  --count_;
  stuck_.erase(pod);
  return BERTH_OK;
}

berth_status KubeWaitingPods::put_back(std::uint32_t pod, const char* rejectors, const char* pending,
                                       berth_error* error) {
  const berth_status status = berth_queue_fail(queue_.get(), scenario_->pods[pod].get(), rejectors, pending, error);
  if (status < 0) return status;
  current_ = -1;
  stuck_.insert(pod);
  return count_gated(error);
}

berth_status KubeWaitingPods::came(const std::string& uid, berth_error* error) {
  stuck_.clear();
  return berth_queue_pod_came(queue_.get(), fork_.get(), uid.c_str(), error);
}

berth_status KubeWaitingPods::leaves(const std::string& uid, bool /*is_evicted*/, berth_error* error) {
  stuck_.clear();
  return berth_queue_pod_leaves(queue_.get(), fork_.get(), uid.c_str(), error);
}

namespace {

/// Times of decisions are whole microseconds or those of arrivals and ends, which are rounded.
std::int64_t us_of(double seconds) {
  constexpr double kUs = 1e6;
  return static_cast<std::int64_t>(std::llround(std::min(seconds * kUs, static_cast<double>(BERTH_QUEUE_TIME_MAX))));
}

}  // namespace

berth_status KubeWaitingPods::advance(double time, berth_error* error) {
  std::int64_t now_us = 0;
  const berth_status status = berth_queue_times(queue_.get(), &now_us, nullptr, error);
  return status < 0 ? status : berth_queue_advance(queue_.get(), std::max(now_us, us_of(time)), error);
}

berth_status KubeWaitingPods::next_at(double& time, berth_error* error) {
  constexpr double kSeconds = 1e-6;
  std::int64_t next_us = 0;
  const berth_status status = berth_queue_times(queue_.get(), nullptr, &next_us, error);
  time = next_us == INT64_MAX ? kNever : static_cast<double>(next_us) * kSeconds;
  return status;
}

}  // namespace berth_python
