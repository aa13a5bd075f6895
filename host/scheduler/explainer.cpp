// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/explainer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "host/cluster/cache.h"
#include "host/objects/errors.h"
#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "host/scheduler/backend_factory.h"
#include "host/scheduler/intake.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/pod_topology_spread/rule.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_claims.h"

namespace berth {

std::string_view to_string(PodState state) {
  switch (state) {
    case PodState::kPending:
      return "Pending";
    case PodState::kGated:
      return "Gated";
    case PodState::kRunning:
      return "Running";
    case PodState::kFinished:
      return "Finished";
    case PodState::kDeleting:
      return "Deleting";
    case PodState::kOtherScheduler:
      return "OtherScheduler";
  }
  return "Pending";
}

bool fits_nowhere(const Evaluation& evaluation) {
  return !evaluation.nodes.empty() && evaluation.error.empty() &&
         std::none_of(evaluation.nodes.begin(), evaluation.nodes.end(),
                      [](const NodeEvaluation& node) { return node.feasible; });
}

bool any_refuses(const Evaluation& evaluation) {
  return std::any_of(evaluation.nodes.begin(), evaluation.nodes.end(),
                     [](const NodeEvaluation& node) { return !node.feasible; });
}

SchedulerConfig with_topology_profiles(SchedulerConfig config) {
  const std::size_t count = config.profiles.size();
  for (std::size_t i = 0; i < count; ++i) {
    Profile profile = config.profiles[i];
    std::erase_if(profile.plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)], [](const EnabledPlugin& plugin) {
      return plugin.name != PodTopologySpread::name && plugin.name != InterPodAffinity::name;
    });
    config.profiles.push_back(std::move(profile));
  }
  return config;
}

std::int32_t topology_profile_of(std::int32_t profile, const SchedulerConfig& config) {
  return profile + static_cast<std::int32_t>(config.profiles.size() / 2);
}

std::vector<std::vector<ClaimVerdict>> claims_of(const Pod& pod, const Profile& profile, const FeatureGates& gates,
                                                 const ClusterCache& cluster, const Evaluation& evaluation,
                                                 const NodeNames& node_name) {
  if (!profile.enables(ExtensionPoint::kFilter, VolumeBinding::kName) || !has_volume(pod, has_claim)) return {};
  std::vector<const Node*> nodes;
  nodes.reserve(evaluation.nodes.size());
  for (const NodeEvaluation& node : evaluation.nodes)
    nodes.push_back(cluster.find_node(node_name(node.node))->node.get());
  return claim_verdicts(pod, cluster, nodes, gates);
}

struct Explainer::State {
  /// @param left_out  a running pod to treat as absent; null: none
  State(const ClusterObjects& all, std::shared_ptr<const ScheduleOptions> given, const Pod* left_out)
      : objects(all), options(std::move(given)), intake(partition_pods(objects, options->config, *cache, left_out)) {
    refuse_extenders(options->config);
    auto gated = intake.gated.begin();
    for (std::size_t i = 0; i <= intake.queue.size(); ++i) {
      for (; gated != intake.gated.end() && gated->queued_before == i; ++gated) pending.push_back(gated->pod);
      if (i < intake.queue.size()) pending.push_back(intake.queue[i].pod);
    }
    for (const GatedPod& pod : intake.gated) gates_of.emplace(pod.pod.get(), pod.message);
    opened = open_for_evaluation(cache, objects, options->config, options->engine, options->open_accelerator);
  }

  std::int32_t profile_of(const Pod& pod) const {
    const std::int32_t profile = profile_index(options->config, pod);
    if (profile >= 0) return profile;
    throw InputError(InputProblem{"", pod.full_name(), "no profile is named \"" + pod.spec->scheduler_name + "\""});
  }

  Evaluation evaluate(PodToPlace pod) {
    opened.backend->prepare({&pod, 1});
    Evaluation evaluation = opened.backend->evaluate(pod);
    opened.backend->release({&pod, 1});
    return evaluation;
  }

  /// The cluster in which the pod is on no node: this one, or one without it, which is kept for the next question.
  State& state_for(const Pod& pod) {
    if (is_finished(pod) || pod.node_name.empty()) return *this;
    if (without == nullptr || left_out_of_it != &pod) {
      without.reset();
      without = std::make_unique<State>(objects, options, &pod);
      left_out_of_it = &pod;
    }
    return *without;
  }

  PreemptionResult preempt(PodToPlace pod) {
    opened.backend->prepare({&pod, 1});
    DefaultPreemption preemption(*opened.backend, *cache, objects.pod_disruption_budgets);
    PreemptionResult result = preemption.evaluate({&pod, 1}).front();
    opened.backend->release({&pod, 1});
    return result;
  }

  const ClusterObjects& objects;
  /// Evaluations name plugins by views into it, so that all states of one explainer share it.
  std::shared_ptr<const ScheduleOptions> options;
  std::shared_ptr<ClusterCache> cache = std::make_shared<ClusterCache>();
  Intake intake;
  std::vector<PodPtr> pending;
  std::unordered_map<const Pod*, std::string> gates_of;
  OpenedBackend opened;
  std::unique_ptr<State> without;  ///< of state_for(); null: none is kept
  const Pod* left_out_of_it = nullptr;
};

namespace {

PodToPlace pending_version_of(const PodPtr& pod, std::int32_t profile) {
  const bool is_pending = pod->node_name.empty() && !is_finished(*pod);
  return {is_pending ? pod : pending_copy_of(*pod), profile, -1};
}

std::shared_ptr<const ScheduleOptions> for_explaining(ScheduleOptions options) {
  options.config = with_topology_profiles(std::move(options.config));
  return std::make_shared<const ScheduleOptions>(std::move(options));
}

}  // namespace

Explainer::Explainer(const ClusterObjects& objects, const ScheduleOptions& options)
    : state_(std::make_unique<State>(objects, for_explaining(options), nullptr)) {}

Explainer::~Explainer() = default;

std::span<const PodPtr> Explainer::pending() const { return state_->pending; }

const std::vector<Skipped>& Explainer::skipped() const { return state_->intake.skipped; }

PodStanding Explainer::standing_of(const Pod& pod) const {
  const bool has_profile = state_->options->config.find_profile(pod.spec->scheduler_name) != nullptr;
  const std::string no_profile = "no profile is named \"" + pod.spec->scheduler_name + "\"";
  if (is_finished(pod)) {
    const std::string phase = pod.phase == PodPhase::kSucceeded ? "phase Succeeded" : "phase Failed";
    return {PodState::kFinished, has_profile ? phase : phase + "; " + no_profile};
  }
  if (!pod.node_name.empty()) {
    const NodeInfo* info = state_->cache->find_node(pod.node_name);
    const bool is_known = info != nullptr && info->node != nullptr;
    return {PodState::kRunning, !has_profile ? no_profile : is_known ? "" : "its node is not in the input"};
  }
  if (pod.terminating) return {PodState::kDeleting, ""};
  if (!has_profile) return {PodState::kOtherScheduler, no_profile};
  const auto gates = state_->gates_of.find(&pod);
  if (gates != state_->gates_of.end()) return {PodState::kGated, gates->second};
  return {};
}

Evaluation Explainer::explain(const PodPtr& pod) {
  const std::int32_t profile = state_->profile_of(*pod);
  return state_->state_for(*pod).evaluate(pending_version_of(pod, profile));
}

Evaluation Explainer::explain_topology(const PodPtr& pod) {
  const std::int32_t profile = topology_profile_of(state_->profile_of(*pod), state_->options->config);
  return state_->state_for(*pod).evaluate(pending_version_of(pod, profile));
}

std::optional<PreemptionResult> Explainer::preempt(const PodPtr& pod, const Evaluation& evaluation) {
  if (!fits_nowhere(evaluation)) return std::nullopt;
  const std::int32_t profile = state_->profile_of(*pod);
  const Profile& of_pod = state_->options->config.profiles[static_cast<std::size_t>(profile)];
  if (!preempts(of_pod)) return std::nullopt;
  return state_->state_for(*pod).preempt(pending_version_of(pod, profile));
}

std::vector<std::vector<ClaimVerdict>> Explainer::claims(const Pod& pod, const Evaluation& evaluation) const {
  const SchedulerConfig& config = state_->options->config;
  const Profile& profile = config.profiles[static_cast<std::size_t>(state_->profile_of(pod))];
  return claims_of(pod, profile, config.gates, *state_->cache, evaluation,
                   [this](NodeIndex node) { return node_name(node); });
}

const ClusterCache& Explainer::cluster() const { return *state_->cache; }

std::string_view Explainer::node_name(NodeIndex node) const { return state_->opened.backend->node_name(node); }

std::string_view Explainer::served_by() const { return state_->opened.backend->name(); }

}  // namespace berth
