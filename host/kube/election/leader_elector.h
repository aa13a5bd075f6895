// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/clock.h"
#include "host/kube/election/lease.h"
#include "host/kube/http/http_client.h"

namespace berth {

/// `<hostname>_<random UUID>`, so that two processes of one host differ. @throws std::runtime_error
std::string make_election_identity();

struct ElectionOptions {
  LeaderElection settings;                      ///< as the configuration was checked
  std::string identity;                         ///< not empty
  std::string component = "default-scheduler";  ///< of its events: the scheduler name of the first profile
};

struct ElectionRequest {
  std::uint64_t id = 0;
  HttpRequest request;
};

/// Takes and keeps a Lease as client-go's leaderelection does (docs/behaviour/scheduler-core.md 7.7), without I/O:
/// whoever has it sends its requests, one at a time, and passes the answers on.
///
///   while (!elector.is_done()) {
///     if (auto next = elector.next_request()) send(next->request, [id = next->id](answer) { on_response(id, answer);
///     }); else wait until elector.next_wake_us(), or for an answer;
///   }
///
/// Durations are those of the clock. The time of day is only written into the lease and into events.
///
/// Differences from client-go, all towards safety: a leader that reads another holder in the lease has lost at once,
/// not at the end of its renewDeadline; it releases a lease only while it reads itself there; a standby that is stopped
/// while its acquisition is under way waits for the answer and releases what it got.
/// One thread at a time.
class LeaderElector {
 public:
  enum class State : std::uint8_t {
    kStandby,
    kLeading,
    kLost,     ///< for good. The lease may be being released: until is_done()
    kStopped,  ///< stop() was called; as kLost
  };

  /// @param clock  must outlive the elector @param wall_time_us  the time of day, microseconds since the epoch
  /// @param seed  of the jitter
  LeaderElector(ElectionOptions options, const Clock& clock, std::function<std::int64_t()> wall_time_us,
                std::uint64_t seed);

  /// The request to send now; nullopt where there is none, also while one is under way. Judges the deadlines, so it is
  /// called at next_wake_us() while a request is under way too.
  std::optional<ElectionRequest> next_request();
  /// The answer to a request. One to a request that was given up, as its deadline passed, changes nothing.
  void on_response(std::uint64_t id, const HttpResponse& response);
  /// When to call next_request() again at the latest, by the clock; the past where a request can be sent now; INT64_MAX
  /// when it is done, or only an answer is waited for.
  std::int64_t next_wake_us() const;
  /// No write may start from now on, and the lease is released.
  void stop();

  State state() const { return state_; }
  /// Lost or stopped, and nothing more is to be sent.
  bool is_done() const { return step_ == Step::kDone; }
  /// Whether a write to the cluster may start now. False from the last renewal's start + renewDeadline on, which is
  /// before another process may take the lease.
  bool may_write() const;
  /// Of the lease as it was seen last; empty: none.
  const std::string& leader() const { return observed_.holder; }
  /// The gauge leader_election_master_status.
  int master_status() const { return state_ == State::kLeading ? 1 : 0; }
  /// The counter leader_election_slowpath_total.
  std::int64_t slow_path_count() const { return slow_path_count_; }
  /// Why the health check "leaderElection" fails: only on a leader that has not renewed for leaseDuration + 20 s, which
  /// means that nobody calls next_request() any more. Empty: healthy.
  std::string health_problem() const;

  /// Lines for the log, since the last call.
  std::vector<std::string> take_messages();
  /// POSTs of core/v1 Events, since the last call. Their answers do not matter.
  std::vector<HttpRequest> take_events();

 private:
  enum class Step : std::uint8_t {
    kWait,        ///< until next_try_us_
    kFastUpdate,  ///< PUT by a leader that has the lease's version
    kGet,
    kCreate,
    kUpdate,
    kReleaseGet,
    kReleaseUpdate,
    kDone,
  };

  void begin_attempt();
  void send(Step step, LeaseRecord record = {});
  HttpRequest request_of(Step step) const;
  void on_get(const HttpResponse& response);
  void on_write(const HttpResponse& response);
  void on_release_get(const HttpResponse& response);
  void end_attempt(bool has_lease);
  void become_leader();
  void lose(const std::string& why);
  void begin_release();
  void finish();
  LeaseRecord own_record() const;
  void observe(const LeaseRecord& record);
  bool is_holder() const { return observed_.holder == options_.identity; }
  bool is_lease_valid() const;
  void report_leader();
  /// Lost or stopped.
  bool is_ending() const { return state_ == State::kLost || state_ == State::kStopped; }
  void say(std::string message);
  void record_event(std::string_view what);
  std::string lease_name() const;

  ElectionOptions options_;
  const Clock* clock_;
  std::function<std::int64_t()> wall_time_us_;
  std::mt19937_64 dice_;

  State state_ = State::kStandby;
  Step step_ = Step::kWait;
  bool is_to_send_ = false;       ///< of step_: the request was not given out yet
  std::uint64_t request_id_ = 0;  ///< of the last one given out
  bool is_awaited_ = false;       ///< its answer
  bool has_led_ = false;
  std::int64_t next_try_us_;
  std::int64_t attempt_us_ = 0;             ///< start of the attempt under way
  std::int64_t attempt_wall_us_ = 0;        ///< the same as time of day
  std::int64_t round_end_us_ = 0;           ///< of a leader: renewed by then, or lost
  std::int64_t release_end_us_ = 0;         ///< of one that is_ending()
  std::int64_t renewed_us_ = 0;             ///< start of the attempt that acquired or renewed last
  LeaseRecord sent_record_;                 ///< of the write under way
  std::optional<Lease> lease_;              ///< as the server gave it last
  std::optional<LeaseRecord> read_record_;  ///< of the last GET
  LeaseRecord observed_;
  std::int64_t observed_us_ = 0;
  std::string reported_leader_;
  std::int64_t slow_path_count_ = 0;
  std::vector<std::string> messages_;
  std::vector<HttpRequest> events_;
};

}  // namespace berth
