// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/default_preemption.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/framework/status.h"
#include "host/preemption/candidate_cost.h"

namespace berth {
namespace {

constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling";
constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";
constexpr std::string_view kKeptBudget = "Preemption would violate a PodDisruptionBudget";
constexpr std::string_view kTerminating = "not eligible due to a terminating pod on the nominated node.";

/// Why the pod may not preempt now; empty when it may (4.2).
std::string_view ineligibility(const Pod& pod, const PodVerdicts& verdicts, const VictimLists& nodes) {
  if (pod.preemption_policy == PreemptionPolicy::kNever) return kPolicyNeverText;
  const std::string& nominated = pod.rare().nominated_node_name;
  const std::size_t position = nominated.empty() ? nodes.size() : nodes.find(nominated);
  if (position == nodes.size()) return {};
  const NodeVerdict& verdict = verdicts.nodes[static_cast<std::size_t>(nodes.index(position).value)];
  if (verdict.code == StatusCode::kUnschedulableAndUnresolvable) return {};
  const std::vector<PodPtr>& there = nodes.node(position).pods;
  const bool waits = std::any_of(there.begin(), there.end(), [&](const PodPtr& other) {
    return other->priority < pod.priority && other->terminating && other->rare().preempted;
  });
  return waits ? kTerminating : std::string_view();
}

/// The dry runs of preemptors, made as one request.
class Request {
 public:
  explicit Request(VictimLists& lists) : victims_(lists) {}

  /// @param preemptor  position among the preemptors
  void add(std::uint32_t preemptor, const Pod& pod, const PodVerdicts& verdicts) {
    std::vector<std::uint32_t>& list_of = list_of_[pod.priority];
    list_of.resize(victims_.size(), kNoList);
    for (std::size_t position = 0; position < victims_.size(); ++position) {
      const auto slot = static_cast<std::size_t>(victims_.index(position).value);
      if (!verdicts.nodes[slot].eviction_can_help()) continue;
      if (list_of[position] == kNoList) {
        const VictimList list = victims_.list(position, pod.priority);
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

  VictimLists& victims_;
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

/// A dry run after which the preemptor fits.
struct Found {
  const VictimList& list;
  const DryRunResult& result;
  const DryRunAnswer& answer;

  PreemptionCandidate candidate() const {
    return {list.node, evicted_victims(list.victims, result, answer), answer.violations};
  }
  /// No more than its cost, from the first victim of each group alone: they are in order of importance.
  CandidateCost least_cost() const {
    CandidateCost::Bound bound;
    for (const bool violates : {true, false}) {
      std::size_t v = 0;
      while (v < list.victims.size() && (result.keeps(answer, v) || list.victims[v].violates_budget != violates)) ++v;
      if (v < list.victims.size()) bound.add_most_important(*list.victims[v].pod);
    }
    return bound.of(answer.violations);
  }
  CandidateCost cost() const {
    CandidateCost cost(answer.violations);
    for (std::size_t v = 0; v < list.victims.size(); ++v)
      if (!result.keeps(answer, v)) cost.add_victim(*list.victims[v].pod);
    return cost;
  }
};

/// Calls found(position of the preemptor, Found) for every dry run that makes a candidate.
/// @param errors  [preemptor] receives what upstream calls an error where the preemptor fits with all victims back:
/// what AddPod leaves is not always what PreFilter finds (architecture.md, "One node with pods added")
template <class OnFound>
void for_each_candidate(const Request& request, const DryRunResult& result, const Backend& backend,
                        const PreemptionLimits& limits, std::span<std::vector<std::string>> errors, OnFound found) {
  for (std::size_t r = 0; r < result.answers.size(); ++r) {
    const DryRun& run = request.runs()[r];
    const DryRunAnswer& answer = result.answers[r];
    const VictimList& list = request.list(run);
    if (!answer.without_victims.accepts()) continue;
    if (answer.kept_count == list.victims.size()) {
      errors[run.preemptor].push_back("expected at least one victim pod on node \"" +
                                      std::string(backend.node_name(list.node)) + "\"");
    } else if (!limits.keeps_budgets || answer.violations == 0) {
      found(run.preemptor, Found{list, result, answer});
    }
  }
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

/// Why there is no candidate.
struct Refusal {
  std::string message;
  std::string error;  ///< non-empty: the cycle ends with this error
};

/// @param errors  of for_each_candidate()
Refusal why_no_candidate(const PodToPlace& pod, const PodVerdicts& verdicts, std::vector<std::string> errors,
                         const Backend& backend, VictimLists& lists) {
  Request request(lists);
  request.add(0, *pod.pod, verdicts);
  const auto resolvable_nodes = std::count_if(verdicts.nodes.begin(), verdicts.nodes.end(),
                                              [](const NodeVerdict& verdict) { return verdict.eviction_can_help(); });
  Diagnosis diagnosis = diagnosis_of(static_cast<std::int64_t>(lists.size()), resolvable_nodes,
                                     static_cast<std::int64_t>(request.runs().size()));
  for (const Status& status : backend.statuses_without_victims(request.of({&pod, 1}))) {
    if (status.code == StatusCode::kError) errors.push_back(status.message());
    if (status.ok()) ++diagnosis.reason_counts[std::string(kKeptBudget)];
    for (const std::string& reason : status.reasons) ++diagnosis.reason_counts[reason];
  }
  return {fit_error_text(diagnosis), errors.empty() ? "" : aggregate(errors)};
}

CandidateCost cost_of(const PreemptionCandidate& candidate) {
  CandidateCost cost(candidate.violations);
  for (const Pod* const victim : candidate.victims) cost.add_victim(*victim);
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

DefaultPreemption::DefaultPreemption(const Backend& backend, const ClusterCache& cache,
                                     std::span<const PodDisruptionBudget> budgets, const PreemptionLimits& limits)
    : backend_(backend), budgets_(budgets), limits_(limits), lists_(backend, cache, budgets_) {}

void DefaultPreemption::note_eviction(const Pod& pod) {
  if (!limits_.keeps_budgets) return;
  budgets_.use_one(pod);
  lists_.forget_victims();
}

std::vector<PreemptionResult> DefaultPreemption::evaluate(std::span<const PodToPlace> pods) {
  lists_.refresh();
  std::vector<PreemptionResult> results(pods.size());
  std::vector<PodVerdicts> verdicts;
  Request request(lists_);
  for (std::size_t p = 0; p < pods.size(); ++p) {
    verdicts.push_back(backend_.verdicts(pods[p]));
    results[p].error = verdicts[p].error;
    if (!results[p].error.empty()) continue;
    results[p].message = ineligibility(*pods[p].pod, verdicts[p], lists_);
    results[p].eligible = results[p].message.empty();
    if (results[p].eligible) request.add(static_cast<std::uint32_t>(p), *pods[p].pod, verdicts[p]);
  }
  const DryRunResult answers = backend_.dry_run(request.of(pods));
  std::vector<std::vector<std::string>> errors(pods.size());
  for_each_candidate(request, answers, backend_, limits_, errors, [&](std::uint32_t preemptor, const Found& found) {
    results[preemptor].candidates.push_back(found.candidate());
  });
  for (std::size_t p = 0; p < pods.size(); ++p) {
    PreemptionResult& result = results[p];
    result.best = best_candidates(result.candidates);
    if (!result.eligible || !result.candidates.empty()) continue;
    Refusal refusal = why_no_candidate(pods[p], verdicts[p], std::move(errors[p]), backend_, lists_);
    result.message = std::move(refusal.message);
    result.error = std::move(refusal.error);
  }
  return results;
}

PreemptionChoice DefaultPreemption::choose(const PodToPlace& pod) {
  lists_.refresh();
  PreemptionChoice choice;
  const PodVerdicts verdicts = backend_.verdicts(pod);
  choice.error = verdicts.error;
  if (!choice.error.empty()) return choice;
  choice.message = ineligibility(*pod.pod, verdicts, lists_);
  choice.eligible = choice.message.empty();
  if (!choice.eligible) return choice;
  Request request(lists_);
  request.add(0, *pod.pod, verdicts);
  const DryRunResult answers = backend_.dry_run(request.of({&pod, 1}));
  std::vector<std::string> errors;
  std::optional<CandidateCost> least;
  std::optional<Found> best;
  for_each_candidate(request, answers, backend_, limits_, {&errors, 1}, [&](std::uint32_t, const Found& found) {
    if (least && found.least_cost() >= *least) return;
    const CandidateCost cost = found.cost();
    if (least && cost >= *least) return;
    least = cost;
    best.emplace(found);
  });
  if (best) {
    choice.candidate = best->candidate();
    return choice;
  }
  Refusal refusal = why_no_candidate(pod, verdicts, std::move(errors), backend_, lists_);
  choice.message = std::move(refusal.message);
  choice.error = std::move(refusal.error);
  return choice;
}

}  // namespace berth
