// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/post_filter.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace berth {
namespace {

/// About 8 MiB. Beyond that all are forgotten, and the next pod of a class is looked at again.
constexpr std::size_t kFailuresMax = 16'384;

}  // namespace

PostFilter::PostFilter(Backend& backend, const ClusterCache& cache, const SchedulerConfig& config,
                       std::span<const PodDisruptionBudget> budgets, const PreemptionLimits& limits)
    : backend_(backend),
      cache_(cache),
      config_(config),
      limits_(limits),
      replaceable_(backend, config),
      has_default_constraints_(std::any_of(config.profiles.begin(), config.profiles.end(), [](const Profile& profile) {
        return !profile.args.pod_topology_spread.default_constraints.empty();
      })) {
  for (const Profile& profile : config.profiles) plugins_.emplace_back(profile);
  set_budgets(budgets);
}

void PostFilter::set_budgets(std::span<const PodDisruptionBudget> budgets) {
  preemption_ = std::make_unique<DefaultPreemption>(backend_, cache_, budgets, limits_);
  forget_failures();
}

bool PostFilter::has_no_candidate(const PodToPlace& pod) const {
  return failures_.contains(key_of(pod)) && pod.pod->rare().nominated_node_name.empty();
}

PostFilterResult PostFilter::run(PodToPlace& pod, const Message& message) {
  return run(pod, message, plugins_[static_cast<std::size_t>(pod.profile)]);
}

PostFilterResult PostFilter::run(PodToPlace& pod, const Message& message, const PostFilterPlugins& plugins) {
  std::vector<Status> statuses;
  return plugins.run(
      message, [&] { return preempt(pod, message); },
      [&](PostFilterPlugin& plugin) {
        if (statuses.empty()) statuses = filter_statuses(pod);
        return Framework::run_post_filter(plugin, {*pod.pod, cache_.nodes_in_order(), statuses});
      });
}

std::vector<Status> PostFilter::filter_statuses(PodToPlace& pod) {
  backend_.prepare({&pod, 1});
  const std::span<const NodeInfo* const> nodes = cache_.nodes_in_order();
  std::unordered_map<std::string_view, std::size_t> position_of;
  for (std::size_t i = 0; i < nodes.size(); ++i) position_of.emplace(nodes[i]->name, i);
  std::vector<Status> statuses(nodes.size());
  for (const NodeEvaluation& node : backend_.evaluate(pod).nodes)
    if (!node.feasible) statuses[position_of.at(backend_.node_name(node.node))] = node.status;
  return statuses;
}

PostFilterResult PostFilter::preempt(PodToPlace& pod, const Message& message) {
  const bool has_nomination = !pod.pod->rare().nominated_node_name.empty();
  if (pod.pod->preemption_policy == PreemptionPolicy::kNever && !has_nomination)
    return {as_preemption_text(kPolicyNeverText), {}, true};
  if (const auto known = failures_.find(key_of(pod)); !has_nomination && known != failures_.end() &&
                                                      known->second.text_version == text_version_ &&
                                                      known->second.message == message)
    return {known->second.text, {}, false};
  backend_.prepare({&pod, 1});
  CandidateTest is_preferred;
  if (limits_.replaceable_first)
    is_preferred = [&](const PreemptionCandidate& candidate) { return replaceable_.fit_elsewhere(pod, candidate); };
  PreemptionChoice choice =
      preemption_->choose(pod, config_.profiles[static_cast<std::size_t>(pod.profile)], is_preferred);
  if (choice.candidate) return {{}, std::move(choice.candidate), false};
  PostFilterResult result{as_preemption_text(choice.error.empty() ? choice.message : choice.error),
                          {},
                          !choice.eligible || !choice.error.empty(),
                          !choice.error.empty()};
  if (!result.keeps_nomination && pod.class_index >= 0 && !may_gain_from_pods(*pod.pod)) {
    if (failures_.size() >= kFailuresMax) failures_.clear();
    failures_.insert_or_assign(key_of(pod), Failure{message, result.text, text_version_});
  }
  return result;
}

/// A pod that comes to a node may make room for pods with such terms elsewhere; for others it only takes room.
bool PostFilter::may_gain_from_pods(const Pod& pod) const {
  const PodSpec& spec = *pod.spec;
  if (spec.pod_affinity && !spec.pod_affinity->required.empty()) return true;
  return has_default_constraints_ || !spec.topology_spread_constraints.empty();
}

}  // namespace berth
