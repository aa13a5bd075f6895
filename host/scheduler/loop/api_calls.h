// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls to the API server that were asked for and not answered yet: docs/behaviour/scheduler-core.md 5.6.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/scheduler/loop/api_client.h"
#include "host/scheduler/loop/loop_meter.h"

namespace berth {

struct ApiCallOptions {
  std::size_t in_flight_max = 1'000;     ///< of each kind of call: bindings, status patches, deletions
  std::int64_t timeout_us = 30'000'000;  ///< then a call counts as failed; an answer that comes later is ignored
  /// Gate SchedulerAsyncAPICalls: a pod has at most one call that waits, and calls replace each other. Otherwise the
  /// calls about a pod are all made, in order.
  bool merges = false;
  LoopMeter* meter = nullptr;  ///< is told of calls that merge; null: nobody. Outlives the calls
};

/// Starts no more calls than allowed, one at a time for each pod, in the order in which they were asked for as far as
/// that leaves it, and hands answers to whoever asked. A call that waits
/// costs memory only.
class ApiCalls {
 public:
  using Done = std::function<void(const StoreStatus&)>;

  /// Both must outlive the object.
  ApiCalls(ApiClient& client, const Clock& clock, const ApiCallOptions& options);

  /// @param done  called by run() with the answer, unless another call replaced this one; may be empty, and may call
  /// add()
  void add(ApiCall call, Done done = nullptr);
  /// Starts what may start, and takes answers until there is none. @return whether anything happened
  bool run();

  std::size_t size() const { return size_; }  ///< waiting and in flight
  std::size_t in_flight() const { return running_.size(); }
  bool merges() const { return options_.merges; }
  /// pending_async_api_calls: calls that could start, by the label that kube-scheduler gives their type.
  std::vector<std::pair<std::string_view, std::size_t>> pending_by_type() const;
  /// When run() has something to do although nobody adds a call: a time limit, or an answer that the client announces.
  std::int64_t next_event_us() const;

 private:
  enum class Lane : std::uint8_t { kBinding, kStatus, kDeletion };
  static constexpr std::size_t kLaneCount = 3;
  struct Call {
    ApiCall call;
    Done done;
    Lane lane() const { return static_cast<Lane>(call.request.index()); }
  };
  struct PodCalls {
    std::vector<Call> calls;  ///< at least one; the first one is in flight, or next
    bool is_in_flight = false;
  };
  struct Running {
    std::string uid;
    Lane lane;
    std::int64_t started_us;
  };
  /// A pod whose first call may start.
  struct Next {
    std::uint64_t order;  ///< of their becoming so, over all kinds
    std::string uid;
  };
  struct Timeout {
    std::int64_t at_us;
    std::uint64_t id;
  };

  bool replaces_waiting(const std::string& uid, PodCalls& of_pod, Call& call);
  void make_next(const std::string& uid, Lane lane);
  bool start_some();
  void start(const std::string& uid, Lane lane);
  bool finish(const ApiAnswer& answer);
  void tell(Lane lane, std::int64_t started_us, const StoreStatus& status) const;
  bool fail_overdue();

  ApiClient& client_;
  const Clock& clock_;
  ApiCallOptions options_;
  std::unordered_map<std::string, PodCalls> of_pod_;  ///< [uid]
  std::array<std::deque<Next>, kLaneCount> next_;
  std::array<std::size_t, kLaneCount> in_flight_{};
  std::unordered_map<std::uint64_t, Running> running_;  ///< [id]
  std::deque<Timeout> timeouts_;                        ///< in order; some calls of it are answered
  std::uint64_t next_order_ = 0;
  std::uint64_t next_id_ = 1;
  std::size_t size_ = 0;
};

}  // namespace berth
