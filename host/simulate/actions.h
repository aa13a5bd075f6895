// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a scenario does to the store, in the order of its times.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/simulate/scenario.h"
#include "host/store/object_store.h"

namespace berth {

/// Part of an action that the store refused, as an API server would: the object is there already, or is not there.
struct FailedAction {
  std::int64_t time_us = 0;  ///< from the start
  std::string location;      ///< "actions[3]"
  std::string message;       ///< as the API server words it
};

/// Puts everything into the store, pods last. @return the store's messages for objects that it refuses
std::vector<std::string> create_objects(const ClusterObjects& objects, bool keeps_status, ObjectStore& store);

/// Applies actions, arrivals, and pods of the cluster that are created after the start. What falls on one instant
/// happens in this order: pods of the cluster, actions and then arrivals as they stand in the file.
class ScenarioPlayer {
 public:
  static constexpr std::int64_t kNeverUs = INT64_MAX;
  static constexpr std::size_t kFailuresKept = 1000;

  /// Puts what is there at the start into the store.
  /// @param scenario, store  must outlive the player
  /// @throws InputError when the store refuses some of it
  ScenarioPlayer(const Scenario& scenario, ObjectStore& store);

  std::int64_t next_us() const { return due_.empty() ? kNeverUs : due_.begin()->first; }
  /// Does everything that is due by `now_us`.
  void run_until(std::int64_t now_us);

  /// How many there have been.
  std::size_t provisioner_changes() const { return provisioner_changes_; }
  const std::vector<FailedAction>& failures() const { return failures_; }  ///< the first kFailuresKept
  std::int64_t failure_count() const { return failure_count_; }

 private:
  void load_cluster();
  void play(std::size_t source);
  void play_late_pod();
  void play(const ScenarioAction& action);
  void play_arrival(std::size_t number);
  void change(const NodePatch& change, const std::string& location);
  template <class T>
  void replace(const std::vector<T>& objects, const std::string& location);
  void remove(const ObjectDeletion& deletion, const std::string& location);
  StoreStatus remove_workload(const ObjectReference& object);
  void fail(const std::string& location, std::string message);

  const Scenario& scenario_;
  ObjectStore& store_;
  std::multimap<std::int64_t, PodPtr> late_pods_;  ///< by creation time, equal ones in input order
  std::vector<std::int64_t> next_copy_;            ///< of each of scenario.arrivals
  /// Time, and source: 0 the late pods, then actions, then arrivals.
  std::set<std::pair<std::int64_t, std::size_t>> due_;
  std::vector<FailedAction> failures_;
  std::int64_t failure_count_ = 0;
  std::size_t provisioner_changes_ = 0;
};

}  // namespace berth
