// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes one pod from its selected node to a binding, and rolls back after a rejection:
// docs/behaviour/scheduler-core.md 5.1 to 5.4.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"
#include "host/framework/framework.h"

namespace berth {

/// Callbacks into the queue and the owner of the cluster. Any of them may be empty.
struct BindingHooks {
  std::function<void(const Pod&)> delete_nomination;           ///< the pod is assumed: its nomination in memory ends
  std::function<void(const PodsToActivate&)> activate;         ///< at the end of a good scheduling or binding cycle
  std::function<void(const Pod&, std::string_view)> nominate;  ///< expects a long binding: status.nominatedNodeName
  std::function<void(const Pod&)> done;                        ///< the queue need not record events for it any more
};

enum class BindingStage : std::uint8_t { kAssume, kReserve, kPermit, kPreFlight, kPermitWait, kPreBind, kBind, kBound };

enum class BindingResult : std::uint8_t {
  kReserved,  ///< the scheduling cycle ended well; proceed() is next
  kWaiting,   ///< a Permit or PreBind plugin is not done yet; proceed() again
  kBinding,   ///< the Bind plugin's answer follows; finish() takes it
  kBound,
  kUnschedulable,  ///< rejected, condition reason Unschedulable
  kError,          ///< condition reason SchedulerError
};

struct BindingOutcome {
  BindingResult result = BindingResult::kReserved;
  BindingStage stage = BindingStage::kAssume;  ///< reached, or failed at
  Status status;                               ///< of what failed
  std::string message;                         ///< for the pod's condition; a fit error over one node where 5.3 says so
  /// Plugins that rejected the pod. Empty after an error and for PreBind and Bind: such a pod takes the error backoff.
  std::vector<std::string> rejectors;
  bool forgot_pod = false;  ///< the node has its room back, which is an event for other pods: 5.4
};

enum class PermitWait : std::uint8_t { kPoll, kBlock };

/// One attempt. A failure releases every reservation, and the cache forgets the pod. The caller serialises calls that
/// share a cache; only a blocking wait may overlap with others.
class BindingCycle {
 public:
  /// The referenced objects must outlive the cycle.
  struct Parts {
    const Framework& framework;
    ClusterCache& cache;
    WaitingPods& waiting_pods;
    const BindingHooks& hooks;
  };
  BindingCycle(Parts parts, PodPtr pod, std::string node_name, CycleState state);

  /// Assume, Reserve, Permit: the end of the scheduling cycle. Call once.
  /// @throws std::logic_error on a second call
  BindingOutcome reserve();
  /// PreBindPreFlight, the wait on Permit, PreBind, Bind, PostBind. Call again after kWaiting, which Permit gives with
  /// kPoll only.
  /// @throws std::logic_error when reserve() did not succeed, finish() is next or the cycle is over
  BindingOutcome proceed(PermitWait wait);
  /// proceed() may be called.
  bool can_proceed() const {
    return next_ == Next::kPreFlight || next_ == Next::kPermitWait || next_ == Next::kPreBind;
  }
  /// The answer of a Bind plugin, after kBinding.
  /// @throws std::logic_error at any other time
  BindingOutcome finish(Status bound);

  /// Ends the wait in PreBind, as 1.36 does for a preemption: the next proceed() fails with the text, an error of the
  /// plugin that waits. @return false, and nothing is ended, when the cycle does not wait there
  bool cancel_pre_bind(std::string why);

  const PodPtr& pod() const { return pod_; }
  const std::string& node_name() const { return node_name_; }
  /// The Bind plugin whose answer follows, or followed; empty before kBinding.
  const std::string& binder() const { return binder_; }

 private:
  enum class Next : std::uint8_t { kReserve, kPreFlight, kPermitWait, kPreBind, kAnswer, kNothing };

  PodOnNode placed() { return {pod_.get(), node_name_, &state_}; }
  template <class Run>
  auto metered(MeteredPoint point, Run run);
  void note_wait();
  void tell(MeteredPoint point, StatusCode code, const MeterWatch& watch) {
    if (SchedulingMeter* const meter = parts_.framework.meter()) tell(*meter, point, code, watch);
  }
  void tell(SchedulingMeter& meter, MeteredPoint point, StatusCode code, const MeterWatch& watch);
  BindingOutcome pre_flight();
  BindingOutcome await_permit(PermitWait wait);
  BindingOutcome pre_bind();
  BindingOutcome reached(BindingResult result, BindingStage stage, Next next);
  BindingOutcome refuse_to_assume(CacheResult why);
  BindingOutcome fail(BindingStage stage, Status status);
  void drain_pods_to_activate();

  Parts parts_;
  PodPtr pod_;
  std::string node_name_;
  CycleState state_;
  Next next_ = Next::kReserve;
  /// A PreBind plugin is not done, or the answer of a binding follows; only with a meter.
  std::optional<std::int64_t> waits_since_us_;
  std::string binder_;
  std::string waits_in_;  ///< the PreBind plugin that is not done, by its latest answer
  std::optional<std::string> cancelled_;
};

}  // namespace berth
