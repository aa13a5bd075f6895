// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/store/object_store.h"

namespace berth {

struct KubeletOptions {
  std::int64_t start_delay_us = 0;  ///< from the binding until the pod is Running
  /// From the deletion of a node until its pods are removed. Upstream's pod garbage collector waits 40 s, and looks
  /// every 20 s (kubernetes pkg/controller/podgc/gc_controller.go); the second figure is not modelled.
  std::int64_t orphan_delay_us = std::int64_t{40} * 1'000'000;
  /// From Running until Succeeded; nullopt, or no function: the pod runs until it is deleted. Asked whenever the pod
  /// changes; equal answers are expected.
  std::function<std::optional<std::int64_t>(const Pod&)> run_duration_us = nullptr;
};

/// Stands in for the kubelets of all nodes of a store, and for the pod garbage collector. A pod that is bound to a node
/// that exists becomes Running, and Succeeded after its run duration. A pod that is being deleted is removed when its
/// grace period or its run ends, at once when it never ran; before that its phase becomes Failed, or Succeeded.
///
/// Pods of a node that is deleted stay as they are until orphan_delay_us has passed. Then they become Failed with the
/// condition DisruptionTarget, and are removed without grace. When a node of the name comes back before that, they go
/// on there.
///
/// Starts no thread and never waits: who drives it calls run_until() when next_event_us() has come. Events happen in
/// the order of their times, equal ones in the order in which they became known, so that runs repeat. One call at a
/// time.
class Kubelet {
 public:
  static constexpr std::int64_t kNeverUs = INT64_MAX;

  /// @param store  must outlive the kubelet; pods that are on nodes already are taken over
  explicit Kubelet(ObjectStore& store, KubeletOptions options = {});
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;

  /// When run_until() has something to do next, by what is in the store now; kNeverUs when nothing is planned.
  std::int64_t next_event_us();
  /// Does everything that is due by `now_us`, also what follows from it.
  void run_until(std::int64_t now_us);

 private:
  struct NodeWork;
  /// Time, then sequence.
  using TaskKey = std::pair<std::int64_t, std::uint64_t>;
  enum class Action : std::uint8_t { kStart, kFinish, kEnd };
  struct PodWork {
    StoredPodPtr pod;  ///< newest version that was seen; on a node
    NodeWork* node = nullptr;
    std::size_t position = 0;  ///< in node->pods
    std::optional<TaskKey> task = {};
    Action action = Action::kStart;
    std::optional<std::int64_t> bound_us = {};    ///< when it was first seen on a node that exists
    std::optional<std::int64_t> started_us = {};  ///< to the microsecond, unlike status.startTime
  };
  struct NodeWork {
    bool exists = false;
    std::vector<PodWork*> pods;  ///< in no order
    std::optional<TaskKey> collection = {};
  };
  struct Task {
    PodWork* pod = nullptr;
    NodeWork* node = nullptr;  ///< to collect the pods of; one of the two is set
  };

  void list();
  void read_events();
  void take(const WatchEvent& event);
  void see_node(const std::string& name, bool exists, std::int64_t time_us);
  void see_pod(const StoredPodPtr& pod, std::int64_t time_us);
  void forget_pod(const std::string& uid);
  void plan(PodWork& work, std::int64_t time_us);
  void plan_collection(NodeWork& node, std::int64_t time_us);
  std::int64_t run_end_us(const PodWork& work) const;
  std::optional<TaskKey> add_task(std::int64_t time_us, Task task);
  void drop_task(std::optional<TaskKey>& key);
  void run(const PodWork& work, std::int64_t due_us);
  void collect(const NodeWork& node);
  void set_phase(const StoredPodPtr& pod, PodStatusPatch patch);
  void remove(const StoredPodPtr& pod);

  ObjectStore& store_;
  KubeletOptions options_;
  Watch watch_;
  std::unordered_map<std::string, PodWork> pods_;  ///< by uid: addresses stay
  std::map<std::string, NodeWork> nodes_;          ///< nodes that exist, or have pods
  std::map<TaskKey, Task> tasks_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace berth
