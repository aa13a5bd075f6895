// SPDX-License-Identifier: Apache-2.0
#pragma once

// PostFilter of pods that found no node: docs/behaviour/scheduler-core.md 3.6. It evicts nobody.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "host/preemption/default_preemption.h"
#include "host/preemption/post_filter_plugins.h"
#include "host/preemption/replaceable_victims.h"

namespace berth {

/// Runs the PostFilter plugins, and remembers for which pods DefaultPreemption has no candidate.
class PostFilter {
 public:
  /// @param backend, cache, config  outlive this; backend and cache have the same cluster
  PostFilter(Backend& backend, const ClusterCache& cache, const SchedulerConfig& config,
             std::span<const PodDisruptionBudget> budgets, const PreemptionLimits& limits);

  /// PostFilter of an attempt that failed with `message`. Prepares the pod when nodes have to be looked at.
  PostFilterResult run(PodToPlace& pod, const Message& message);
  /// The same with the plugins of a caller who has some from outside.
  PostFilterResult run(PodToPlace& pod, const Message& message, const PostFilterPlugins& plugins);
  /// The pod has no candidate, whatever its message, as long as pods only come to nodes since it was looked at.
  bool has_no_candidate(const PodToPlace& pod) const;
  /// Something happened that is not only a pod that came to a node.
  void forget_failures() { failures_.clear(); }
  /// A pod came to a node: whoever had no candidate has none, but the text may be another one.
  void forget_texts() { ++text_version_; }
  /// DefaultPreemption::note_eviction().
  void note_eviction(const Pod& pod) { preemption_->note_eviction(pod); }
  std::uint64_t fork_count() const { return replaceable_.fork_count(); }
  void set_budgets(std::span<const PodDisruptionBudget> budgets);

 private:
  /// Pods that fail alike. A class keeps its number as long as pods are compiled at the same epoch.
  struct FailureKey {
    std::uint64_t compiled_at;
    std::int32_t class_index;
    std::int32_t priority;
    friend auto operator<=>(const FailureKey&, const FailureKey&) = default;
  };
  struct Failure {
    Message message;
    std::string text;
    std::uint64_t text_version;
  };
  PostFilterResult preempt(PodToPlace& pod, const Message& message);
  /// What Filter says of each node, in node order: for plugins from outside.
  std::vector<Status> filter_statuses(PodToPlace& pod);
  static FailureKey key_of(const PodToPlace& pod) { return {pod.compiled_at, pod.class_index, pod.pod->priority}; }
  bool may_gain_from_pods(const Pod& pod) const;

  Backend& backend_;
  const ClusterCache& cache_;
  const SchedulerConfig& config_;
  PreemptionLimits limits_;
  ReplaceableVictims replaceable_;
  std::vector<PostFilterPlugins> plugins_;  ///< [profile]
  bool has_default_constraints_;            ///< some profile spreads pods that do not ask for it
  std::unique_ptr<DefaultPreemption> preemption_;
  std::map<FailureKey, Failure> failures_;
  std::uint64_t text_version_ = 0;
};

}  // namespace berth
