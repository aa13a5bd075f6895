// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "host/kube/election/leader_elector.h"
#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"
#include "host/live/live_log.h"
#include "host/live/live_scheduler.h"

namespace berth {

/// Runs an election on the thread of an HTTP client of its own, so that nothing else delays it. Any thread may ask.
class LeaseKeeper : public Leadership {
 public:
  struct Parts {
    HttpClient& client;
    Timers& timers;  ///< of the same client
    const Clock& clock;
    LiveLog& log;
    std::function<void()> on_change;  ///< the state is another one; called without a lock
  };
  /// The parts and this outlive the client's thread.
  LeaseKeeper(Parts parts, ElectionOptions options, std::function<std::int64_t()> wall_time_us, std::uint64_t seed);

  void start();
  /// Releases the lease, and waits until that is done. @param timeout_us  real time
  void stop(std::int64_t timeout_us);

  bool is_leading() const override;
  bool is_lost() const override;
  bool may_write() const;
  std::string health_problem() const;
  std::int64_t slow_path_count() const;

 private:
  void step();

  Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  LeaderElector elector_;
  LeaderElector::State told_ = LeaderElector::State::kStandby;
  std::int64_t next_step_us_ = INT64_MAX;  ///< the earliest timer that is set
};

}  // namespace berth
