// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/default_preemption.h"

#include <algorithm>
#include <bit>
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
/// @param verdict_on  verdict_on(NodeIndex) of the pod
template <class VerdictOn>
std::string_view ineligibility(const Pod& pod, const VictimLists& nodes, VerdictOn verdict_on) {
  if (pod.preemption_policy == PreemptionPolicy::kNever) return kPolicyNeverText;
  const std::string& nominated = pod.rare().nominated_node_name;
  const std::size_t position = nominated.empty() ? nodes.size() : nodes.find(nominated);
  if (position == nodes.size()) return {};
  const NodeVerdict verdict = verdict_on(nodes.index(position));
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

/// @param limits  of the preemptor
NodeFinding finding_of(const DryRunAnswer& answer, const VictimList& list, const PreemptionLimits& limits) {
  if (!answer.without_victims.accepts()) return NodeFinding::kNoCandidate;
  if (answer.kept_count == list.victims.size()) return NodeFinding::kNeedsNobody;
  return limits.keeps_budgets && answer.violations > 0 ? NodeFinding::kNoCandidate : NodeFinding::kCandidate;
}

/// What upstream calls an error where the preemptor fits with all victims back: what AddPod leaves is not always what
/// PreFilter finds (architecture.md, "One node with pods added").
std::string needs_nobody_text(const Backend& backend, NodeIndex node) {
  return "expected at least one victim pod on node \"" + std::string(backend.node_name(node)) + "\"";
}

PreemptionCandidate candidate_of(const VictimList& list, const DryRunResult& result, const DryRunAnswer& answer) {
  return {list.node, evicted_victims(list.victims, result, answer), answer.violations};
}

/// @param ranks  of the victims of the list
CandidateCost cost_of(std::span<const VictimRank> ranks, const DryRunResult& result, const DryRunAnswer& answer) {
  constexpr std::size_t kMaskBits = 64;
  CandidateCost cost(answer.violations);
  for (std::size_t first = 0; first < ranks.size(); first += kMaskBits) {
    const std::size_t count = std::min(kMaskBits, ranks.size() - first);
    const std::uint64_t all = count == kMaskBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    for (std::uint64_t evicted = all & ~result.kept[answer.first_kept + first / kMaskBits]; evicted != 0;
         evicted &= evicted - 1)
      cost.add_victim(ranks[first + static_cast<std::size_t>(std::countr_zero(evicted))]);
  }
  return cost;
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

/// @param errors  needs_nobody_text() of nodes, in node order
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
  for (const Pod* const victim : candidate.victims) cost.add_victim(rank_of(*victim));
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
    results[p].message = ineligibility(
        *pods[p].pod, lists_, [&](NodeIndex node) { return verdicts[p].nodes[static_cast<std::size_t>(node.value)]; });
    results[p].eligible = results[p].message.empty();
    if (results[p].eligible) request.add(static_cast<std::uint32_t>(p), *pods[p].pod, verdicts[p]);
  }
  const DryRunResult answers = backend_.dry_run(request.of(pods));
  std::vector<std::vector<std::string>> errors(pods.size());
  for (std::size_t r = 0; r < answers.answers.size(); ++r) {
    const DryRun& run = request.runs()[r];
    const VictimList& list = request.list(run);
    const NodeFinding finding = finding_of(answers.answers[r], list, limits_);
    if (finding == NodeFinding::kNeedsNobody) errors[run.preemptor].push_back(needs_nobody_text(backend_, list.node));
    if (finding == NodeFinding::kCandidate)
      results[run.preemptor].candidates.push_back(candidate_of(list, answers, answers.answers[r]));
  }
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
  CandidateRow& row = rows_.row_for(pod, backend_, lists_);
  const std::vector<std::uint32_t> unknown = row.unknown();
  std::vector<NodeIndex> nodes;
  nodes.reserve(unknown.size());
  for (const std::uint32_t position : unknown) nodes.push_back(lists_.index(position));
  const PodVerdicts verdicts = backend_.verdicts_on(pod, nodes);
  choice.error = verdicts.error;
  if (!choice.error.empty()) return choice;
  choice.message = ineligibility(*pod.pod, lists_,
                                 [&](NodeIndex node) { return backend_.verdicts_on(pod, {&node, 1}).nodes.front(); });
  choice.eligible = choice.message.empty();
  if (!choice.eligible) return choice;
  find_candidates(pod, unknown, verdicts.nodes, row);
  if (const std::optional<std::size_t> best = row.best()) {
    // Once more, for the victims themselves.
    const VictimList list = lists_.list(*best, pod.pod->priority);
    const DryRun run;
    const DryRunResult result = backend_.dry_run({{&pod, 1}, {&list, 1}, {&run, 1}});
    choice.candidate = candidate_of(list, result, result.answers.front());
    return choice;
  }
  std::vector<std::string> errors;
  for (std::size_t position = 0; position < lists_.size(); ++position)
    if (row.finding(position) == NodeFinding::kNeedsNobody)
      errors.push_back(needs_nobody_text(backend_, lists_.index(position)));
  Refusal refusal = why_no_candidate(pod, backend_.verdicts(pod), std::move(errors), backend_, lists_);
  choice.message = std::move(refusal.message);
  choice.error = std::move(refusal.error);
  return choice;
}

/// @param positions  of nodes to look at  @param verdicts  of these nodes
void DefaultPreemption::find_candidates(const PodToPlace& pod, std::span<const std::uint32_t> positions,
                                        std::span<const NodeVerdict> verdicts, CandidateRow& row) {
  std::vector<VictimList> lists;
  std::vector<DryRun> runs;
  std::vector<std::uint32_t> position_of_run;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const VictimList list =
        verdicts[i].eviction_can_help() ? lists_.list(positions[i], pod.pod->priority) : VictimList();
    if (list.victims.empty()) {
      row.set(positions[i], NodeFinding::kNoCandidate);
      continue;
    }
    runs.push_back({0, static_cast<std::uint32_t>(lists.size())});
    lists.push_back(list);
    position_of_run.push_back(positions[i]);
  }
  if (runs.empty()) return;
  const DryRunResult result = backend_.dry_run({{&pod, 1}, lists, runs});
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const DryRunAnswer& answer = result.answers[r];
    const NodeFinding finding = finding_of(answer, lists[r], limits_);
    row.set(position_of_run[r], finding,
            finding == NodeFinding::kCandidate
                ? cost_of(lists_.ranks(position_of_run[r], pod.pod->priority), result, answer)
                : CandidateCost());
  }
}

}  // namespace berth
