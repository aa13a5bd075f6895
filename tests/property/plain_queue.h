// SPDX-License-Identifier: Apache-2.0
#pragma once

// docs/behaviour/scheduler-core.md 1 written down as it reads: maps, lists, and a look at every pod. Hints are asked
// pod by pod.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/framework/queueing_hints.h"
#include "host/objects/pod.h"

namespace berth::test {

class PlainQueue {
 public:
  struct Options {
    std::int64_t initial_us = 1'000'000;
    std::int64_t max_us = 10'000'000;
    std::int64_t stay_us = 300'000'000;
    bool early_pop = true;
  };
  struct Attempt {
    PodPtr pod;
    std::int64_t timestamp_us = 0;
    std::int64_t number = 0;  ///< of the return or the arrival, for equal pods
    int attempts = 0;
    int failures = 0;
    int errors = 0;
    std::set<std::string> unschedulable;
    std::set<std::string> pending;
    std::string gating;
  };
  /// The PreEnqueue plugins that keep a pod out, in their order. The one that did so last time is asked first.
  using Gates = std::function<std::vector<std::string>(const Pod&)>;

  PlainQueue(Options options, std::vector<std::unique_ptr<QueueingHints>> hints, Gates gates)
      : options_(options), hints_(std::move(hints)), gates_(std::move(gates)) {}

  void set_time(std::int64_t now_us) { now_us_ = now_us; }
  void add(const PodPtr& pod);
  void update(const PodPtr& before, const PodPtr& after, const std::vector<ClusterEvent>& events);
  void remove(const Pod& pod);
  void activate(const PodPtr& pod);
  std::optional<Attempt> pop();
  bool add_failed(Attempt attempt, std::set<std::string> unschedulable, std::set<std::string> pending);
  void done(const Pod& pod);
  void raise(ClusterEvent event, const EventObjects& objects, std::int32_t priority_max);
  void flush_backoff();
  void flush_leftovers();
  /// "active", "backoff", "unschedulable" and "gated" by pod name.
  std::map<std::string, std::string> places() const;

 private:
  enum class Verdict { kSkip, kAfterBackoff, kImmediately };
  struct Raised {
    ClusterEvent event;
    EventObjects objects;
    bool for_one = false;
  };
  struct Entry {
    std::optional<std::string> marker;  ///< uid
    Raised raised;
  };
  using Pods = std::map<std::string, Attempt>;  ///< by name

  std::optional<std::int64_t> expiry_us(const Attempt& attempt) const;
  bool backs_off(const Attempt& attempt) const;
  std::int64_t window(std::int64_t time_us) const;
  Verdict worth(const Attempt& attempt, const Raised& raised) const;
  bool registered(const std::string& plugin, ClusterEvent event) const;
  void run_gates(Attempt& attempt) const;
  bool to_active(Attempt attempt, bool from_backoff);
  bool to_backoff(Attempt attempt);
  bool place(Attempt attempt, Verdict verdict);
  bool is_in_flight(const Pod& pod) const;
  void record(const Raised& raised);
  void flush(Pods& pods);

  Options options_;
  std::vector<std::unique_ptr<QueueingHints>> hints_;
  Gates gates_;
  std::int64_t now_us_ = 0;
  std::int64_t next_number_ = 0;
  Pods active_, backoff_, error_, unschedulable_;
  std::list<Entry> in_flight_;
};

}  // namespace berth::test
