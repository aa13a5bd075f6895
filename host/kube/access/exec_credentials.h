// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "host/kube/access/child_process.h"
#include "host/kube/access/exec_credential.h"
#include "host/kube/access/surroundings.h"
#include "host/kube/http/server_access.h"

namespace berth {

/// The identity that a credential plugin gives.
///
/// The first call of current() runs the plugin and waits for it. Later runs are on a thread of this object, so that
/// watches and the renewal of a lease go on meanwhile: 60 s before the credential expires (or after three quarters of
/// its time, where that is later), and after a 401, at most once a second. A run that failed is repeated after 5 s.
/// Until a run has ended well, current() gives the identity of before; where that has expired, or was refused and the
/// plugin failed, it throws with what is known. Any thread.
class ExecCredentials : public Credentials {
 public:
  /// @param cluster  given to the plugin where config.provides_cluster_info
  ExecCredentials(ExecConfig config, ExecCluster cluster, Surroundings around, ChildLimits limits = {});
  /// Kills a plugin that runs.
  ~ExecCredentials() override;
  ExecCredentials(const ExecCredentials&) = delete;
  ExecCredentials& operator=(const ExecCredentials&) = delete;

  ClientIdentity current() override;
  void note_unauthorized() override;
  /// Waits for the end of a run that is under way.
  void wait();

 private:
  /// Of a run.
  struct Outcome {
    ClientIdentity identity = {};
    std::optional<std::int64_t> expires_us = {};
    std::string failure = {};  ///< empty: it went well
  };

  // All but the two runs are called under mutex_.
  bool is_due() const;
  bool has_expired() const { return expires_us_ && around_.wall_time_us() > *expires_us_; }
  void begin_run();
  void take_outcome();
  void accept(Outcome outcome);
  Outcome run() const noexcept;
  Outcome run_plugin() const;
  ExecCredential credential_of(const ChildResult& result, const std::string& program) const;
  std::string hint() const;

  const ExecConfig config_;
  const ExecCluster cluster_;
  const Surroundings around_;
  const ChildLimits limits_;

  std::mutex mutex_;  ///< of what follows, up to worker_
  std::optional<ClientIdentity> identity_;
  std::optional<std::int64_t> expires_us_;  ///< wall time
  std::int64_t refresh_us_ = 0;             ///< wall time; of one that expires
  std::int64_t last_run_us_ = 0;            ///< of the clock; when the end of the last run was seen
  std::string failure_;                     ///< of the last run
  bool has_run_ = false;
  bool is_refused_ = false;

  std::thread worker_;  ///< joinable: a run whose outcome was not taken
  std::atomic<bool> is_cancelled_{false};
  std::mutex outcome_mutex_;
  std::optional<Outcome> outcome_;  ///< under outcome_mutex_
};

}  // namespace berth
