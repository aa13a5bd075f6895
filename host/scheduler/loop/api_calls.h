// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls to the API server that were asked for and not answered yet: docs/behaviour/scheduler-core.md 5.5 and 5.6.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/config/feature_gates.h"
#include "host/framework/clock.h"
#include "host/scheduler/loop/api_client.h"
#include "host/scheduler/loop/loop_meter.h"
#include "host/store/stored_object.h"

namespace berth {

struct ApiCallOptions {
  std::size_t in_flight_max = 1'000;          ///< of each kind of call: bindings, status patches, deletions
  std::size_t volumes_in_flight_max = 1'000;  ///< of those that bind volumes, which may wait for provisioners for long
  std::int64_t timeout_us = 30'000'000;       ///< then a call counts as failed; an answer that comes later is ignored
  /// Gate SchedulerAsyncAPICalls: a pod has at most one call that waits, and calls replace each other. Otherwise the
  /// calls about a pod are all made, in order.
  bool merges = false;
  Release release = Release::k1_35;  ///< from 1.36 on, a status patch is tried again after a conflict, too
  LoopMeter* meter = nullptr;        ///< is told of calls that merge; null: nobody. Outlives the calls
  /// A status patch that nobody waits for came to nothing. May be empty.
  std::function<void(const Pod&)> lost_patch = {};
};

/// Starts no more calls than allowed, one at a time for each pod, in the order in which they were asked for as far as
/// that leaves it, and hands answers to whoever asked. A call that waits costs memory only.
class ApiCalls {
 public:
  using Done = std::function<void(const StoreStatus&)>;

  /// Both must outlive the object.
  ApiCalls(ApiClient& client, const Clock& clock, ApiCallOptions options);

  /// @param done  called by run() with the answer, unless another call replaced this one; may be empty, and may call
  /// add()
  void add(ApiCall call, Done done = nullptr);
  /// The pod changed: where calls merge, a status patch that waits and would change nothing any more is dropped.
  void note_pod(const StoredPod& now);
  /// Starts what may start, and takes answers until there is none. @return whether anything happened
  bool run();

  std::size_t size() const { return size_; }  ///< waiting and in flight
  std::size_t in_flight() const { return running_.size(); }
  bool merges() const { return options_.merges; }
  /// pending_async_api_calls: calls that could start, by the label that kube-scheduler gives their type.
  std::vector<std::pair<std::string_view, std::size_t>> pending_by_type() const;
  /// When run() has something to do although nobody adds a call: a time limit, a call that is tried again, or an answer
  /// that the client announces.
  std::int64_t next_event_us() const;

 private:
  enum class Lane : std::uint8_t { kBinding, kStatus, kDeletion, kVolumes };
  static constexpr std::size_t kLaneCount = 4;
  static constexpr std::uint64_t kNoOrder = UINT64_MAX;
  struct Call {
    ApiCall call;
    Done done;
    std::int64_t first_started_us = 0;
    std::uint32_t tries = 0;
    Lane lane() const { return static_cast<Lane>(call.request.index()); }
  };
  struct PodCalls {
    std::vector<Call> calls;  ///< at least one; the first one is in flight, or next
    bool is_in_flight = false;
    std::uint64_t order = kNoOrder;  ///< its key in next_ while its first call may start
  };
  using OfPod = std::unordered_map<std::string, PodCalls>;  ///< [uid]
  using Entry = OfPod::value_type;
  struct Running {
    Entry* of_pod;
    Lane lane;
  };
  struct Timeout {
    std::int64_t at_us;
    std::uint64_t id;
  };
  using Next = std::map<std::uint64_t, Entry*>;

  static bool stands_alone(const Call& call);
  bool replaces_waiting(Entry& entry, Call& call);
  void make_next(Entry& entry);
  void drop_waiting(Entry& entry, std::size_t index);
  Next& next_of(Lane lane) { return next_[static_cast<std::size_t>(lane)]; }
  std::size_t in_flight_max_of(Lane lane) const {
    return lane == Lane::kVolumes ? options_.volumes_in_flight_max : options_.in_flight_max;
  }
  bool start_some();
  void start(Entry& entry, Lane lane);
  bool is_tried_again(const Call& call, const StoreStatus& status) const;
  bool finish(const ApiAnswer& answer);
  void tell(const Call& call, const StoreStatus& status) const;
  bool retry_due();
  bool fail_overdue();

  ApiClient& client_;
  const Clock& clock_;
  ApiCallOptions options_;
  OfPod of_pod_;                       ///< an entry stays in its place while it has a call
  std::array<Next, kLaneCount> next_;  ///< pods whose first call may start, by when they came to that
  std::array<std::size_t, kLaneCount> in_flight_{};
  std::unordered_map<std::uint64_t, Running> running_;  ///< [id]
  std::multimap<std::int64_t, Entry*> retries_;         ///< [time] pods whose first call is tried again then
  std::deque<Timeout> timeouts_;                        ///< in order; some calls of it are answered
  std::uint64_t next_order_ = 0;
  std::uint64_t next_id_ = 1;
  std::size_t size_ = 0;
};

}  // namespace berth
