// SPDX-License-Identifier: Apache-2.0
// What a pod means to every node now: `berth explain` of a scheduler that runs.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/preemption/default_preemption.h"
#include "host/scheduler/intake.h"
#include "host/scheduler/loop/loop_cluster.h"
#include "host/scheduler/loop/scheduling_loop.h"

namespace berth {
namespace {

/// A pod that the engine keeps during a question.
class AskedPod {
 public:
  AskedPod(Backend& backend, PodPtr pod, std::int32_t profile) : backend_(backend), pod_{std::move(pod), profile, -1} {
    backend_.prepare({&pod_, 1});
  }
  ~AskedPod() { backend_.release({&pod_, 1}); }
  AskedPod(const AskedPod&) = delete;
  AskedPod& operator=(const AskedPod&) = delete;
  const PodToPlace& operator*() const { return pod_; }

 private:
  Backend& backend_;
  PodToPlace pod_;
};

}  // namespace

PodPtr LoopCluster::find_on_node(std::string_view name_space, std::string_view name) const {
  for (const PodPtr& pod : cache_.pods())
    if (pod->name == name && pod->namespace_ == name_space) return pod_with_node(pod->uid());
  return nullptr;
}

std::vector<PodDisruptionBudget> LoopCluster::budgets() const {
  std::vector<PodDisruptionBudget> budgets;
  budgets.reserve(budgets_.size());
  for (const auto& [key, budget] : budgets_) budgets.push_back(budget);
  return budgets;
}

void LoopCluster::evaluate(Explanation& explanation, ExplainDepth depth, const TakeExplanation& take) const {
  const bool is_on_node = !explanation.pod->node_name.empty();
  const PodPtr pod = is_on_node ? pending_copy_of(*explanation.pod) : explanation.pod;
  std::unique_ptr<Fork> without;
  if (is_on_node) {
    without = backend_->fork();
    const ClusterChange removal = PodRemoval{pod->uid()};
    without->apply({&removal, 1});
  }
  const NodeNames names = [&](NodeIndex node) {
    return without != nullptr ? without->node_name(node) : backend_->node_name(node);
  };
  const auto evaluate = [&](const AskedPod& asked) {
    return without != nullptr ? without->evaluate(*asked) : backend_->evaluate(*asked);
  };
  const std::int32_t profile = profile_index(options_.config, *pod);
  const AskedPod asked(*backend_, pod, profile);
  explanation.evaluation = evaluate(asked);
  if (!is_on_node && fits_nowhere(explanation.evaluation) && preempts(*explanation.profile))
    explanation.preemption = DefaultPreemption(*backend_, cache_, budgets()).evaluate({&*asked, 1}).front();
  if (depth == ExplainDepth::kReport) {
    explanation.claims =
        claims_of(*pod, *explanation.profile, options_.config.gates, cache_, explanation.evaluation, names);
    if (any_refuses(explanation.evaluation))
      explanation.topology = evaluate(AskedPod(*backend_, pod, topology_profile_of(profile, engine_config_)));
  }
  take(explanation, names);
}

PodPtr SchedulingLoop::find_queued(std::string_view name_space, std::string_view name) const {
  Pod key;
  key.namespace_ = name_space;
  key.name = name;
  if (const std::optional<QueuedPodInfo> queued = queue_.find(key)) return queued->pod;
  if (synchronous_preemption_ && same_name(*synchronous_preemption_->info.pod, key))
    return synchronous_preemption_->info.pod;
  return nullptr;
}

PodPtr SchedulingLoop::find_pod(std::string_view name_space, std::string_view name) const {
  if (PodPtr queued = find_queued(name_space, name)) return queued;
  return cluster_.find_on_node(name_space, name);
}

PodStanding SchedulingLoop::standing_of(const Pod& pod) const {
  const Profile* const profile = options_.config.find_profile(pod.spec->scheduler_name);
  if (!pod.node_name.empty()) {
    if (profile == nullptr) return {PodState::kRunning, "no profile is named \"" + pod.spec->scheduler_name + "\""};
    return {PodState::kRunning, tasks_.contains(pod.uid()) ? "its binding is under way" : ""};
  }
  if (pod.terminating) return {PodState::kDeleting, ""};
  std::string gates = why_gated(pod, *profile);
  return gates.empty() ? PodStanding() : PodStanding{PodState::kGated, std::move(gates)};
}

void SchedulingLoop::explain(const PodPtr& pod, ExplainDepth depth, const TakeExplanation& take) const {
  Explanation explanation{pod->full_name(), pod, standing_of(*pod)};
  if (explanation.standing.state != PodState::kDeleting)
    explanation.profile = options_.config.find_profile(pod->spec->scheduler_name);
  if (explanation.profile == nullptr) return take(explanation, [](NodeIndex) { return std::string_view(); });
  cluster_.evaluate(explanation, depth, take);
}

}  // namespace berth
