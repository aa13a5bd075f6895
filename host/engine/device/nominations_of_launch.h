// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "batching/commit_state.h"
#include "host/engine/device/device_rows.h"
#include "host/engine/device/launch_plan.h"

namespace berth {

/// Adds pods to the plan of a launch as far as nominations let them share it. A row leaves out the nodes that refuse
/// its pods because of nominations. Which these are is known before the launch, and changes where a pod is placed on a
/// node with nominated pods: the launch ends there. Where nominated pods change counts that the class of a pod reads,
/// any placement may change it: such a pod has a launch of its own.
class NominationsOfLaunch {
 public:
  /// @param state  of the pods: that of an engine, or of a fork @param plan  gets the pods; without any so far
  NominationsOfLaunch(CommitState& state, LaunchPlan& plan) : state_(state), plan_(plan) {}

  /// @return false, with nothing added, when the launch ends before the pod
  bool add_pod(const PodToPlace& pod) {
    const Nominations& nominations = state_.nominations;
    const bool is_first = plan_.row_of_pod.empty();
    if (is_alone_ || (!is_first && nominations.holds(*pod.pod))) return false;
    const bool is_known = plan_.contains(pod.class_index);
    if (!is_known && (!nominations.empty() || state_.nomination_answers.knows(pod.class_index))) {
      const NominationAnswers::Refused refused = state_.nomination_answers.of(pod);
      if (!is_first && refused.follows_counts) return false;
      is_alone_ = refused.follows_counts || nominations.holds(*pod.pod);
      const auto row = static_cast<std::size_t>(plan_.add_class(pod.class_index));
      plan_.left_out[row] = {refused.version, {refused.nodes.members().begin(), refused.nodes.members().end()}};
      priorities_.resize(plan_.classes.size());
      priorities_[row] = pod.pod->priority;
    } else if (is_known && !nominations.empty()) {
      const auto row = static_cast<std::size_t>(plan_.add_class(pod.class_index));
      if (nominations.tell_apart(priorities_[row], pod.pod->priority)) return false;
    }
    if (plan_.stops_at.empty() && nominations.any_against(*pod.pod))
      plan_.stops_at = node_set_of(nominations.nominated_nodes(), state_.snapshot.slot_count());
    plan_.add_pod(pod.class_index);
    return true;
  }

 private:
  CommitState& state_;
  LaunchPlan& plan_;
  std::vector<std::int32_t> priorities_;  ///< [row] of a pod of the row, where some pod is nominated
  bool is_alone_ = false;                 ///< the launch ends behind its first pod
};

}  // namespace berth
