// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pods that wait because of a Permit plugin (docs/behaviour/scheduler-core.md 3.10), or of a PreBind plugin.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth {

struct PermitTimeout {
  std::string plugin;
  std::int64_t timeout_us = 0;
};

/// Records by uid, shared by all profiles. The first decision about a pod counts; later ones are ignored. Due timers
/// fire before any call is answered, in order of deadlines. Thread-safe.
class WaitingPods {
 public:
  /// `clock` must outlive the object.
  explicit WaitingPods(const Clock& clock = RealClock::shared()) : clock_(clock) {}

  /// Starts one timer per plugin. A record with the same uid is replaced.
  void add(PodPtr pod, const std::vector<PermitTimeout>& timeouts);
  void remove(std::string_view uid);

  /// @return false when the pod does not wait, is decided, or does not wait for this plugin
  bool allow(std::string_view uid, std::string_view plugin);
  /// @return false when the pod does not wait or is decided
  bool reject(std::string_view uid, std::string_view plugin, std::string message);
  /// As 1.36 ends the wait of a victim: an error, so that the pod takes the error backoff and needs no event.
  /// @return as reject()
  bool preempt(std::string_view uid, std::string_view plugin);

  bool is_waiting(std::string_view uid) const;  ///< has a record, decided or not
  std::vector<PodPtr> pods() const;
  std::vector<std::string> pending_plugins(std::string_view uid) const;

  /// @return nullopt while undecided; Success for a pod without a record
  std::optional<Status> decision(std::string_view uid);
  /// Blocks until the pod is decided, and removes its record. Success for a pod without one.
  Status wait(std::string_view uid);
  /// When the pod's record was made; nullopt for a pod without one.
  std::optional<std::int64_t> waits_since_us(std::string_view uid) const;
  const Clock& clock() const { return clock_; }
  /// When the next timer of an undecided pod fires.
  std::optional<std::int64_t> next_deadline_us() const;

  /// A PreBind plugin that answered Wait for the pod can say more now.
  void wake(std::string_view uid);
  /// The pods that were decided or woken since the last call, by uid, in that order: whoever drives many pods asks
  /// these alone.
  std::vector<std::string> take_ready();
  bool has_ready() const;

 private:
  struct Timer {
    std::int64_t timeout_us;
    std::int64_t deadline_us;
  };
  struct Record {
    PodPtr pod;
    std::int64_t since_us = 0;
    std::map<std::string, Timer, std::less<>> timers;  ///< of the plugins that have not allowed yet
    std::optional<Status> decision;
  };
  using Records = std::map<std::string, Record, std::less<>>;

  Record* undecided(std::string_view uid);
  void forget(std::string_view uid);
  void plan(const std::string& uid, const Record& record);
  void cancel(const std::string& uid, const Record& record);
  void decide(const std::string& uid, Record& record, Status decision);
  bool decide(std::string_view uid, Status decision);
  void fire_due_timers();
  static std::int64_t first_deadline_us(const Record& record);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable decided_;
  Records records_;
  std::set<std::pair<std::int64_t, std::string>> deadlines_;  ///< the first one of each undecided pod
  std::vector<std::string> ready_;                            ///< since take_ready()
};

}  // namespace berth
