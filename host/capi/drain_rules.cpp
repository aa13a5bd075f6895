// SPDX-License-Identifier: Apache-2.0
#include "host/capi/drain_rules.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "host/capi/api_error.h"
#include "host/objects/node_match.h"

namespace berth::capi {
namespace {

constexpr std::uint32_t kKubectl = 1u << BERTH_DRAIN_KUBECTL;
constexpr std::uint32_t kAutoscaler = 1u << BERTH_DRAIN_CLUSTER_AUTOSCALER;
constexpr std::uint32_t kKarpenter = 1u << BERTH_DRAIN_KARPENTER;

/// What a rule is asked about.
struct Asked {
  const Pod& pod;
  const OwnerReference* controller;  ///< null: none
  const DrainPolicy& policy;
  const SideObjects& side;
  std::int32_t budget_count;  ///< that count the pod
};

const OwnerReference* controller_of(const Pod& pod) {
  if (pod.owners == nullptr) return nullptr;
  const auto at = std::ranges::find_if(*pod.owners, &OwnerReference::controller);
  return at == pod.owners->end() ? nullptr : &*at;
}

bool has_annotation(const Pod& pod, std::string_view name, std::string_view value) {
  const std::string* const found = pod.rare().annotation(name);
  return found != nullptr && *found == value;
}

/// A pod that the kubelet runs of its own accord: by its annotation, or owned by its node.
bool is_mirror(const Asked& asked) {
  return asked.pod.rare().annotation(kMirrorAnnotation) != nullptr ||
         (asked.controller != nullptr && asked.controller->kind == "Node" && asked.controller->api_version == "v1");
}
bool is_of_daemon_set(const Asked& asked) {
  return asked.controller != nullptr && asked.controller->kind == "DaemonSet";
}
bool tolerates_taint(const Asked& asked) {
  const Node node = drained(Node(), asked.policy);
  return std::ranges::all_of(node.taints, [&](const Taint& taint) {
    return taint.effect == TaintEffect::kPreferNoSchedule ||
           std::ranges::any_of(asked.pod.spec->tolerations,
                               [&](const Toleration& toleration) { return tolerates(toleration, taint); });
  });
}
bool has_too_few_replicas(const Asked& asked) {
  if (asked.policy.min_replicas <= 0 || asked.controller == nullptr) return false;
  const OwnerReference& owner = *asked.controller;
  if (owner.kind != "ReplicaSet" && owner.kind != "ReplicationController") return false;
  const auto known = asked.side.replicas.find({owner.kind, asked.pod.namespace_, owner.name});
  return known == asked.side.replicas.end() || known->second < asked.policy.min_replicas;
}
bool blocks_by_local_storage(const Asked& asked) {
  const PodSpec& spec = *asked.pod.spec;
  return (spec.has_host_path || spec.has_empty_dir_on_disk) && !asked.pod.rare().local_volumes_are_safe;
}

/// A rule: whom it concerns, what that means where it holds, and where not, and in which presets it does.
struct Rule {
  std::uint32_t rule;
  std::uint32_t presets;
  std::uint8_t outcome;                   ///< where the rule holds
  std::optional<std::uint8_t> otherwise;  ///< where it does not; nullopt: the rules behind it decide
  bool (*concerns)(const Asked& asked);   ///< null: asked of all pods of a node together, by fates_of()
};
/// In the order in which they are asked: the first one that decides counts.
constexpr std::array<Rule, 15> kRules = {{
    {BERTH_RULE_MIRROR, kKubectl | kAutoscaler | kKarpenter, BERTH_POD_STAYS, std::nullopt, is_mirror},
    {BERTH_RULE_TERMINATING, kKarpenter, BERTH_POD_ENDS, std::nullopt,
     [](const Asked& asked) { return asked.pod.terminating; }},
    {BERTH_RULE_MIN_REPLICAS, kAutoscaler, BERTH_POD_BLOCKS, std::nullopt, has_too_few_replicas},
    {BERTH_RULE_DAEMON_SET, kKubectl, BERTH_POD_BLOCKS, BERTH_POD_STAYS, is_of_daemon_set},
    {BERTH_RULE_TOLERATES_TAINT, kKarpenter, BERTH_POD_STAYS, std::nullopt, tolerates_taint},
    {BERTH_RULE_SAFE_TO_EVICT, kAutoscaler, BERTH_POD_MOVES, std::nullopt,
     [](const Asked& asked) { return has_annotation(asked.pod, kSafeToEvictAnnotation, "true"); }},
    {BERTH_RULE_ON_COMPLETION, kAutoscaler, BERTH_POD_STAYS, std::nullopt,
     [](const Asked& asked) { return has_annotation(asked.pod, kSafeToEvictAnnotation, kOnCompletion); }},
    {BERTH_RULE_EMPTY_DIR, kKubectl, BERTH_POD_BLOCKS, std::nullopt,
     [](const Asked& asked) { return asked.pod.spec->has_empty_dir; }},
    {BERTH_RULE_NO_CONTROLLER, kKubectl | kAutoscaler, BERTH_POD_BLOCKS, std::nullopt,
     [](const Asked& asked) { return asked.controller == nullptr; }},
    {BERTH_RULE_KUBE_SYSTEM, kAutoscaler, BERTH_POD_BLOCKS, std::nullopt,
     [](const Asked& asked) { return asked.pod.namespace_ == "kube-system" && asked.budget_count == 0; }},
    {BERTH_RULE_NOT_SAFE_TO_EVICT, kAutoscaler, BERTH_POD_BLOCKS, std::nullopt,
     [](const Asked& asked) { return has_annotation(asked.pod, kSafeToEvictAnnotation, "false"); }},
    {BERTH_RULE_LOCAL_STORAGE, kAutoscaler, BERTH_POD_BLOCKS, std::nullopt, blocks_by_local_storage},
    {BERTH_RULE_DO_NOT_DISRUPT, kKarpenter, BERTH_POD_BLOCKS, std::nullopt,
     [](const Asked& asked) { return has_annotation(asked.pod, kDoNotDisruptAnnotation, "true"); }},
    {BERTH_RULE_MANY_BUDGETS, kKubectl, BERTH_POD_BLOCKS, std::nullopt,
     [](const Asked& asked) { return asked.budget_count > 1; }},
    {BERTH_RULE_BUDGET, kKubectl | kAutoscaler | kKarpenter, BERTH_POD_BLOCKS, std::nullopt, nullptr},
}};

bool is_about_budgets(std::uint32_t rule) { return rule == BERTH_RULE_BUDGET || rule == BERTH_RULE_MANY_BUDGETS; }

/// A pod that is safe to evict is held back by budgets alone.
PodFate fate_by(const Asked& asked, bool only_budgets) {
  for (const Rule& rule : kRules) {
    if (only_budgets && !is_about_budgets(rule.rule)) continue;
    if (rule.concerns == nullptr || !rule.concerns(asked)) continue;
    if (asked.policy.has(rule.rule)) {
      const PodFate fate{rule.outcome, static_cast<std::uint8_t>(rule.rule)};
      if (fate.outcome != BERTH_POD_MOVES) return fate;
      const PodFate rest = fate_by(asked, true);
      return rest.outcome == BERTH_POD_BLOCKS ? rest : fate;
    }
    if (rule.otherwise) return {*rule.otherwise, static_cast<std::uint8_t>(rule.rule)};
  }
  return {};
}

}  // namespace

DrainPolicy drain_policy(std::uint32_t preset, std::uint32_t on, std::uint32_t off, std::int32_t min_replicas) {
  if (preset > BERTH_DRAIN_KARPENTER) throw ApiError(BERTH_E_ARGUMENT, "preset", "is none of BERTH_DRAIN_*");
  std::uint32_t all = 0;
  std::uint32_t of_preset = 0;
  for (const Rule& rule : kRules) {
    all |= 1u << rule.rule;
    if ((rule.presets >> preset & 1) != 0) of_preset |= 1u << rule.rule;
  }
  if (((on | off) & ~all) != 0) throw ApiError(BERTH_E_ARGUMENT, "rules", "have bits that mean nothing");
  if ((on & off) != 0) throw ApiError(BERTH_E_ARGUMENT, "rules", "a rule is both on and off");
  if (min_replicas < 0) throw ApiError(BERTH_E_ARGUMENT, "min_replicas", "is below 0");
  return {preset, (of_preset | on) & ~off, min_replicas};
}

Node drained(const Node& node, const DrainPolicy& policy) {
  Node after = node;
  if (policy.preset == BERTH_DRAIN_KUBECTL) {
    after.unschedulable = true;
    after.taints.push_back({"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule});
  } else {
    const bool is_karpenter = policy.preset == BERTH_DRAIN_KARPENTER;
    after.taints.push_back(
        {is_karpenter ? "karpenter.sh/disrupted" : "ToBeDeletedByClusterAutoscaler", "", TaintEffect::kNoSchedule});
  }
  return after;
}

void sort_for_eviction(std::span<PodPtr> pods) {
  std::ranges::sort(pods, [](const PodPtr& a, const PodPtr& b) {
    return std::forward_as_tuple(-std::int64_t{a->priority}, a->namespace_, a->name) <
           std::forward_as_tuple(-std::int64_t{b->priority}, b->namespace_, b->name);
  });
}

std::vector<PodFate> fates_of(std::span<const PodPtr> pods, const DrainPolicy& policy, const SideObjects& side,
                              const DisruptionBudgets& budgets) {
  std::vector<PodFate> fates(pods.size());
  std::vector<Victim> victims;  // that no other rule keeps where they are
  std::vector<std::size_t> position;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const Pod& pod = *pods[i];
    fates[i] = fate_by({pod, controller_of(pod), policy, side, budgets.count_of(pod)}, false);
    // The API server asks no budget about a pod that ends.
    if (fates[i].outcome != BERTH_POD_MOVES || pod.terminating) continue;
    victims.push_back({&pod, false});
    position.push_back(i);
  }
  if (!policy.has(BERTH_RULE_BUDGET)) return fates;
  if (policy.preset == BERTH_DRAIN_KARPENTER) {  // it asks whether each pod may go, whichever others go with it
    for (Victim& victim : victims) budgets.mark_violations({&victim, 1});
  } else {
    budgets.mark_violations(victims);
  }
  for (std::size_t v = 0; v < victims.size(); ++v)
    if (victims[v].violates_budget) fates[position[v]] = {BERTH_POD_BLOCKS, BERTH_RULE_BUDGET};
  return fates;
}

}  // namespace berth::capi
