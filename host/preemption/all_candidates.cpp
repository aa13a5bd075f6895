// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/all_candidates.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "host/framework/status.h"
#include "host/objects/interruption.h"
#include "host/preemption/candidate_cost.h"
#include "host/preemption/victims.h"

namespace berth {
namespace {

constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling";
constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";
constexpr std::string_view kKeptBudget = "Preemption would violate a PodDisruptionBudget";
constexpr std::string_view kTerminating = "not eligible due to a terminating pod on the nominated node.";

/// The dry runs of preemptors, made as one request.
class Request {
 public:
  explicit Request(PreemptedState& state) : state_(state) {}

  /// @param preemptor  position among the preemptors
  void add(std::uint32_t preemptor, const Pod& pod, const PodVerdicts& verdicts) {
    std::vector<std::uint32_t>& list_of = list_of_[pod.priority];
    list_of.resize(state_.size(), kNoList);
    const Interruption* const interruption = current_interruption();
    for (std::size_t position = 0; position < state_.size(); ++position) {
      check_interruption(interruption);
      const auto slot = static_cast<std::size_t>(state_.index(position).value);
      if (!verdicts.nodes[slot].eviction_can_help()) continue;
      if (list_of[position] == kNoList) {
        const VictimList list = state_.list(position, pod.priority);
        if (list.victims.empty()) continue;
        list_of[position] = static_cast<std::uint32_t>(lists_.size());
        lists_.push_back(list);
      }
      runs_.push_back({preemptor, list_of[position]});
    }
  }

  /// Valid while this exists. @param preemptors  as add() counts them
  DryRunRequest of(std::span<const PodToPlace> preemptors) const { return {preemptors, lists_, runs_}; }
  std::span<const DryRun> runs() const { return runs_; }
  const VictimList& list(const DryRun& run) const { return lists_[run.list]; }

 private:
  static constexpr std::uint32_t kNoList = UINT32_MAX;

  PreemptedState& state_;
  std::vector<VictimList> lists_;
  std::map<std::int32_t, std::vector<std::uint32_t>> list_of_;  ///< [priority][position]
  std::vector<DryRun> runs_;
};

/// As upstream's utilerrors.NewAggregate() shows them: each text once.
std::string aggregate(const std::vector<std::string>& errors) {
  std::vector<std::string_view> seen;
  std::string text;
  for (const std::string& error : errors) {
    if (std::find(seen.begin(), seen.end(), error) != seen.end()) continue;
    seen.emplace_back(error);
    text += (text.empty() ? "" : ", ") + error;
  }
  return seen.size() == 1 ? text : "[" + text + "]";
}

/// The nodes where nothing is tried: eviction does not help, or there is nobody to evict.
Diagnosis diagnosis_of(std::int64_t nodes, std::int64_t resolvable_nodes, std::int64_t nodes_with_victims) {
  Diagnosis diagnosis;
  diagnosis.node_count = nodes;
  if (resolvable_nodes < nodes) diagnosis.reason_counts[std::string(kNotHelpful)] = nodes - resolvable_nodes;
  if (nodes_with_victims < resolvable_nodes)
    diagnosis.reason_counts[std::string(kNoVictims)] = resolvable_nodes - nodes_with_victims;
  return diagnosis;
}

CandidateCost cost_of(const PreemptionCandidate& candidate) {
  CandidateCost cost(candidate.violations);
  VictimRanks ranks;
  for (const Pod* const victim : candidate.victims) {
    ranks.add(*victim);
    cost.add_victim(ranks, ranks.priorities.size() - 1);
  }
  return cost;
}

}  // namespace

bool preempts(const Profile& profile) { return profile.enables(ExtensionPoint::kPostFilter, kDefaultPreemptionName); }

std::string no_victims_text(std::int64_t nodes, std::int64_t resolvable_nodes) {
  return fit_error_text(diagnosis_of(nodes, resolvable_nodes, 0));
}

std::vector<std::size_t> best_candidates(std::span<const PreemptionCandidate> candidates) {
  std::vector<std::size_t> best;
  std::optional<CandidateCost> least;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const CandidateCost cost = cost_of(candidates[c]);
    if (least && cost > *least) continue;
    if (!least || cost < *least) best.clear();
    least = cost;
    best.push_back(c);
  }
  return best;
}

std::optional<CandidateLoss> why_not_chosen(const PreemptionCandidate& candidate, const PreemptionCandidate& best) {
  return cost_of(candidate).loss_to(cost_of(best));
}

std::string_view ineligibility(const Pod& pod, PreemptedState& state,
                               const std::function<NodeVerdict(NodeIndex)>& verdict_on_nominated) {
  if (pod.preemption_policy == PreemptionPolicy::kNever) return kPolicyNeverText;
  const std::string& nominated = pod.rare().nominated_node_name;
  const std::size_t position = nominated.empty() ? state.size() : state.find(nominated);
  if (position == state.size()) return {};
  const NodeVerdict verdict = verdict_on_nominated(state.index(position));
  if (verdict.code == StatusCode::kUnschedulableAndUnresolvable) return {};
  const std::vector<PodPtr> there = state.pods_below(position, pod.priority);
  const bool waits =
      std::ranges::any_of(there, [](const PodPtr& other) { return other->terminating && other->rare().preempted; });
  return waits ? kTerminating : std::string_view();
}

NodeFinding finding_of(const DryRunAnswer& answer, const VictimList& list, const PreemptionLimits& limits) {
  if (!answer.without_victims.accepts()) return NodeFinding::kNoCandidate;
  if (answer.kept_count == list.victims.size()) return NodeFinding::kNeedsNobody;
  return limits.keeps_budgets && answer.violations > 0 ? NodeFinding::kNoCandidate : NodeFinding::kCandidate;
}

std::string needs_nobody_text(std::string_view node_name) {
  return "expected at least one victim pod on node \"" + std::string(node_name) + "\"";
}

PreemptionCandidate candidate_of(const VictimList& list, const DryRunResult& result, const DryRunAnswer& answer) {
  return {list.node, evicted_victims(list.victims, result, answer), answer.violations};
}

NoCandidate why_no_candidate(const PodToPlace& pod, const PodVerdicts& verdicts, std::vector<std::string> errors,
                             PreemptedState& state) {
  Request request(state);
  request.add(0, *pod.pod, verdicts);
  const auto resolvable_nodes = std::count_if(verdicts.nodes.begin(), verdicts.nodes.end(),
                                              [](const NodeVerdict& verdict) { return verdict.eviction_can_help(); });
  Diagnosis diagnosis = diagnosis_of(static_cast<std::int64_t>(state.size()), resolvable_nodes,
                                     static_cast<std::int64_t>(request.runs().size()));
  for (const Status& status : state.statuses_without_victims(request.of({&pod, 1}))) {
    if (status.code == StatusCode::kError) errors.push_back(status.message());
    if (status.ok()) ++diagnosis.reason_counts[std::string(kKeptBudget)];
    for (const std::string& reason : status.reasons) ++diagnosis.reason_counts[reason];
  }
  return {fit_error_text(diagnosis), errors.empty() ? "" : aggregate(errors)};
}

std::vector<PreemptionResult> all_candidates(std::span<const PodToPlace> pods, PreemptedState& state,
                                             const PreemptionLimits& limits) {
  std::vector<PreemptionResult> results(pods.size());
  std::vector<PodVerdicts> verdicts;
  Request request(state);
  for (std::size_t p = 0; p < pods.size(); ++p) {
    verdicts.push_back(state.verdicts(pods[p]));
    results[p].error = verdicts[p].error;
    if (!results[p].error.empty()) continue;
    results[p].message = ineligibility(
        *pods[p].pod, state, [&](NodeIndex node) { return verdicts[p].nodes[static_cast<std::size_t>(node.value)]; });
    results[p].eligible = results[p].message.empty();
    if (results[p].eligible) request.add(static_cast<std::uint32_t>(p), *pods[p].pod, verdicts[p]);
  }
  const DryRunResult answers = state.dry_run(request.of(pods));
  std::vector<std::vector<std::string>> errors(pods.size());
  for (std::size_t r = 0; r < answers.answers.size(); ++r) {
    const DryRun& run = request.runs()[r];
    const VictimList& list = request.list(run);
    const NodeFinding finding = finding_of(answers.answers[r], list, limits);
    if (finding == NodeFinding::kNeedsNobody)
      errors[run.preemptor].push_back(needs_nobody_text(state.node_name(list.node)));
    if (finding == NodeFinding::kCandidate)
      results[run.preemptor].candidates.push_back(candidate_of(list, answers, answers.answers[r]));
  }
  for (std::size_t p = 0; p < pods.size(); ++p) {
    PreemptionResult& result = results[p];
    result.best = best_candidates(result.candidates);
    if (!result.eligible || !result.candidates.empty()) continue;
    NoCandidate why = why_no_candidate(pods[p], verdicts[p], std::move(errors[p]), state);
    result.message = std::move(why.message);
    result.error = std::move(why.error);
  }
  return results;
}

}  // namespace berth
