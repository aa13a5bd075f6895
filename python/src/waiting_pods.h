// SPDX-License-Identifier: Apache-2.0
/// Which pod of an environment is to be decided about next. Uses berth.h and nothing of Python.
#pragma once

#include <berth/berth.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace berth_python {

struct Scenario;

inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// Pods are positions among the scenario's pods, times are seconds. Functions that return a status leave the object in
/// a state that only reset() leaves, where that is negative.
class WaitingPods {
 public:
  virtual ~WaitingPods() = default;
  virtual berth_status reset(berth_error* error) = 0;
  virtual berth_status add(std::uint32_t pod, berth_error* error) = 0;
  /// @param pod  [out] whom to decide about, until it is done or put back; -1: nobody is ready
  virtual berth_status next(std::int32_t& pod, berth_error* error) = 0;
  /// Of the pod that next() told.
  virtual berth_status done(std::uint32_t pod, berth_error* error) = 0;
  /// @param rejectors, pending  as berth_queue_fail() takes them
  virtual berth_status put_back(std::uint32_t pod, const char* rejectors, const char* pending, berth_error* error) = 0;
  /// A pod came to its node in the fork; one leaves it, which it has not done yet.
  virtual berth_status came(const std::string& uid, berth_error* error) = 0;
  virtual berth_status leaves(const std::string& uid, bool is_evicted, berth_error* error) = 0;
  virtual berth_status advance(double time, berth_error* error) = 0;
  /// When time alone may make a pod ready; kNever: it does not.
  virtual berth_status next_at(double& time, berth_error* error) = 0;
  /// Nothing but a change of the cluster would make another decision.
  virtual bool is_stuck() const = 0;
  virtual std::size_t count() const = 0;  ///< of the pods that wait, that of next() included
  /// put_back() is to be told who rejected the pod.
  virtual bool asks_for_rejectors() const = 0;
};

/// By priority and then by who waits longest; pods that were put back wait until one ends.
class PlainWaitingPods final : public WaitingPods {
 public:
  explicit PlainWaitingPods(const Scenario& scenario) : scenario_(&scenario) {}
  berth_status reset(berth_error* error) override;
  berth_status add(std::uint32_t pod, berth_error* error) override;
  berth_status next(std::int32_t& pod, berth_error* error) override;
  berth_status done(std::uint32_t pod, berth_error* error) override;
  berth_status put_back(std::uint32_t pod, const char* rejectors, const char* pending, berth_error* error) override;
  berth_status came(const std::string& uid, berth_error* error) override;
  berth_status leaves(const std::string& uid, bool is_evicted, berth_error* error) override;
  berth_status advance(double time, berth_error* error) override;
  berth_status next_at(double& time, berth_error* error) override;
  bool is_stuck() const override { return true; }
  std::size_t count() const override { return ready_.size() + aside_.size(); }
  bool asks_for_rejectors() const override { return false; }

 private:
  struct Ready {
    std::int32_t priority;
    std::uint64_t number;
    std::uint32_t pod;
    bool operator<(const Ready& other) const {
      return priority != other.priority ? priority > other.priority : number < other.number;
    }
  };

  const Scenario* scenario_;
  std::set<Ready> ready_;
  std::uint64_t next_number_ = 0;     // of Ready
  std::vector<std::uint32_t> aside_;  // until a pod ends
};

/// kube-scheduler's queue: berth_queue.
class KubeWaitingPods final : public WaitingPods {
 public:
  /// @param fork  of the environment
  KubeWaitingPods(const Scenario& scenario, std::shared_ptr<berth_cluster> cluster, std::shared_ptr<berth_fork> fork)
      : scenario_(&scenario), cluster_(std::move(cluster)), fork_(std::move(fork)) {}
  berth_status reset(berth_error* error) override;
  berth_status add(std::uint32_t pod, berth_error* error) override;
  berth_status next(std::int32_t& pod, berth_error* error) override;
  berth_status done(std::uint32_t pod, berth_error* error) override;
  berth_status put_back(std::uint32_t pod, const char* rejectors, const char* pending, berth_error* error) override;
  berth_status came(const std::string& uid, berth_error* error) override;
  berth_status leaves(const std::string& uid, bool is_evicted, berth_error* error) override;
  berth_status advance(double time, berth_error* error) override;
  berth_status next_at(double& time, berth_error* error) override;
  bool is_stuck() const override { return stuck_.size() + gated_ >= count_; }
  std::size_t count() const override { return count_; }
  bool asks_for_rejectors() const override { return true; }

 private:
  struct FreeQueue {
    void operator()(berth_queue* queue) const { berth_queue_free(&queue); }
  };
  berth_status count_gated(berth_error* error);

  const Scenario* scenario_;
  std::shared_ptr<berth_cluster> cluster_;
  std::shared_ptr<berth_fork> fork_;
  std::unique_ptr<berth_queue, FreeQueue> queue_;
  std::int32_t current_ = -1;
  std::size_t count_ = 0;
  std::uint64_t gated_ = 0;
  std::set<std::uint32_t> stuck_;  // pods that were put back since the cluster changed last
};

}  // namespace berth_python
