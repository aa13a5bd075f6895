// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/default_preemption.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/cluster/name_hash.h"
#include "host/framework/draw_bits.h"
#include "host/framework/status.h"
#include "host/objects/interruption.h"
#include "host/preemption/candidate_cost.h"
#include "host/preemption/shortlist.h"
#include "host/preemption/victim_bounds.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// Nodes that are tried at once, twice as many each time: those with the smallest bounds mostly have the best
/// candidate.
constexpr std::size_t kTriedFirst = 48;

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
    const Interruption* const interruption = current_interruption();
    for (std::size_t position = 0; position < victims_.size(); ++position) {
      check_interruption(interruption);
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
CandidateCost cost_of(const VictimRanks& ranks, const DryRunResult& result, const DryRunAnswer& answer) {
  constexpr std::size_t kMaskBits = 64;
  CandidateCost cost(answer.violations);
  const std::size_t victims = ranks.priorities.size();
  for (std::size_t first = 0; first < victims; first += kMaskBits) {
    const std::size_t count = std::min(kMaskBits, victims - first);
    const std::uint64_t all = count == kMaskBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    for (std::uint64_t evicted = all & ~result.kept[answer.first_kept + first / kMaskBits]; evicted != 0;
         evicted &= evicted - 1)
      cost.add_victim(ranks, first + static_cast<std::size_t>(std::countr_zero(evicted)));
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

PreemptionChoice DefaultPreemption::choose(const PodToPlace& pod, const Profile& profile,
                                           const CandidateTest& is_preferred) {
  lists_.refresh();
  return limits_.nodes == CandidateNodes::kAll ? choose_of_all(pod, profile, is_preferred)
                                               : choose_of_some(pod, profile.args.default_preemption, is_preferred);
}

PreemptionChoice DefaultPreemption::choose_of_all(const PodToPlace& pod, const Profile& profile,
                                                  const CandidateTest& is_preferred) {
  PreemptionChoice choice;
  CandidateRow& row = rows_.row_for(pod, backend_, lists_);
  choice.error = leave_out_before(pod, row);
  if (!choice.error.empty()) return choice;
  choice.message = ineligibility(*pod.pod, lists_,
                                 [&](NodeIndex node) { return backend_.verdicts_on(pod, {&node, 1}).nodes.front(); });
  choice.eligible = choice.message.empty();
  if (!choice.eligible) return choice;
  bound_unknown(pod, profile, row);
  if (const std::optional<std::size_t> best = best_candidate(pod, row)) {
    if (is_preferred) choice.candidate = preferred_candidate(pod, row, is_preferred);
    if (!choice.candidate) choice.candidate = candidate_at(pod, *best);
    return choice;
  }
  std::vector<std::string> errors;
  leave_out(pod, row.with(NodeFinding::kNeedsNobody), row);
  for (const std::uint32_t position : row.with(NodeFinding::kNeedsNobody))
    errors.push_back(needs_nobody_text(backend_, lists_.index(position)));
  Refusal refusal = why_no_candidate(pod, backend_.verdicts(pod), std::move(errors), backend_, lists_);
  choice.message = std::move(refusal.message);
  choice.error = std::move(refusal.error);
  return choice;
}

/// Keeps nothing for later pods: each has its own share of the nodes.
PreemptionChoice DefaultPreemption::choose_of_some(const PodToPlace& pod, const DefaultPreemptionArgs& args,
                                                   const CandidateTest& is_preferred) {
  PreemptionChoice choice;
  PodVerdicts verdicts = backend_.verdicts(pod);
  choice.error = verdicts.error;
  if (!choice.error.empty()) return choice;
  const auto verdict_on = [&](NodeIndex node) -> NodeVerdict& {
    return verdicts.nodes[static_cast<std::size_t>(node.value)];
  };
  choice.message = ineligibility(*pod.pod, lists_, verdict_on);
  choice.eligible = choice.message.empty();
  if (!choice.eligible) return choice;
  std::vector<std::size_t> potential;
  for (std::size_t position = 0; position < lists_.size(); ++position)
    if (verdict_on(lists_.index(position)).eviction_can_help()) potential.push_back(position);
  Shortlist shortlist(wanted_candidates(potential.size(), args));
  const std::uint64_t drawn = mix_bits(mix_bits(limits_.seed) ^ node_name_hash(pod.pod->uid()));
  std::vector<std::string> errors;
  std::optional<PreemptionCandidate> best;
  for (std::size_t i = 0; i < potential.size() && !shortlist.is_enough(); ++i) {
    const std::size_t position = potential[(drawn % potential.size() + i) % potential.size()];
    const VictimList list = lists_.list(position, pod.pod->priority);
    if (list.victims.empty()) continue;
    const DryRun run;
    const DryRunResult result = backend_.dry_run({{&pod, 1}, {&list, 1}, {&run, 1}});
    const DryRunAnswer& answer = result.answers.front();
    const NodeFinding finding = finding_of(answer, list, limits_);
    if (finding == NodeFinding::kNeedsNobody) errors.push_back(needs_nobody_text(backend_, list.node));
    if (finding != NodeFinding::kCandidate) continue;
    PreemptionCandidate found = candidate_of(list, result, answer);
    const bool is_second_choice = is_preferred && !is_preferred(found);
    shortlist.add(position, {is_second_choice, cost_of(lists_.ranks(position, pod.pod->priority), result, answer)},
                  answer.violations > 0);
    if (shortlist.best() == position) best = std::move(found);
    // Where no candidate is wanted, upstream's message counts those among the nodes where eviction does not help.
    verdict_on(list.node) = kNoNodeVerdict;
  }
  choice.candidate = std::move(best);
  if (choice.candidate) return choice;
  Refusal refusal = why_no_candidate(pod, verdicts, std::move(errors), backend_, lists_);
  choice.message = std::move(refusal.message);
  choice.error = std::move(refusal.error);
  return choice;
}

/// Where Filter may end with an error: leaves out the nodes where eviction cannot help before anything is tried on
/// them. Elsewhere the few that come into question are asked about afterwards.
/// @return non-empty: the cycle ends with this error
std::string DefaultPreemption::leave_out_before(const PodToPlace& pod, CandidateRow& row) {
  if (!row.verdicts_may_fail()) return backend_.verdicts_on(pod, {}).error;
  return leave_out(pod, row.with(NodeFinding::kUnknown), row);
}

/// Nodes where eviction cannot help are no candidates, whatever dry runs say.
/// @param positions  of nodes to ask about @return the error of a verdict, with nothing changed
std::string DefaultPreemption::leave_out(const PodToPlace& pod, std::span<const std::uint32_t> positions,
                                         CandidateRow& row) {
  std::vector<NodeIndex> nodes;
  nodes.reserve(positions.size());
  for (const std::uint32_t position : positions) nodes.push_back(lists_.index(position));
  const PodVerdicts verdicts = backend_.verdicts_on(pod, nodes);
  for (std::size_t i = 0; i < verdicts.nodes.size(); ++i)
    if (!verdicts.nodes[i].eviction_can_help()) row.set(positions[i], NodeFinding::kNoCandidate);
  return verdicts.error;
}

/// Finds out of every node of which nothing is known what a candidate there would cost at least.
void DefaultPreemption::bound_unknown(const PodToPlace& pod, const Profile& profile, CandidateRow& row) {
  const WantedRoom wanted =
      profile.enables(ExtensionPoint::kFilter, NodeResourcesFit::name) ? WantedRoom::of(*pod.pod) : WantedRoom();
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> reservation_on(row.reservations().empty() ? 0 : lists_.size(), kNone);
  for (std::uint32_t r = 0; r < row.reservations().size(); ++r)
    if (const std::size_t position = lists_.find(row.reservations()[r].node); position < lists_.size())
      reservation_on[position] = r;
  VictimLists::OfPriority of = lists_.of(pod.pod->priority);
  for (const std::uint32_t position : row.with(NodeFinding::kUnknown)) {
    const bool is_reserved = !reservation_on.empty() && reservation_on[position] != kNone;
    const NodeRoom& room = lists_.room(position);
    const std::optional<CandidateCost> least = of.bounds(position).least_cost(
        wanted, is_reserved ? room.without(row.reservations()[reservation_on[position]]) : room);
    row.set(position, least ? NodeFinding::kBounded : NodeFinding::kNoCandidate, least.value_or(CandidateCost()));
  }
}

/// Makes dry runs. @param positions  of bounded nodes
void DefaultPreemption::try_nodes(const PodToPlace& pod, std::span<const std::uint32_t> positions, CandidateRow& row) {
  VictimLists::OfPriority of = lists_.of(pod.pod->priority);
  std::vector<VictimList> lists;
  std::vector<DryRun> runs;
  lists.reserve(positions.size());
  runs.reserve(positions.size());
  for (const std::uint32_t position : positions) {
    runs.push_back({0, static_cast<std::uint32_t>(lists.size())});
    lists.push_back(of.list(position));
  }
  const DryRunResult result = backend_.dry_run({{&pod, 1}, lists, runs});
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const DryRunAnswer& answer = result.answers[r];
    const NodeFinding finding = finding_of(answer, lists[r], limits_);
    row.set(positions[r], finding,
            finding == NodeFinding::kCandidate ? cost_of(of.ranks(positions[r]), result, answer) : CandidateCost());
  }
}

/// A dry run for the victims themselves: rows keep what evicting them costs.
PreemptionCandidate DefaultPreemption::candidate_at(const PodToPlace& pod, std::size_t position) {
  const VictimList list = lists_.list(position, pod.pod->priority);
  const DryRun run;
  const DryRunResult result = backend_.dry_run({{&pod, 1}, {&list, 1}, {&run, 1}});
  return candidate_of(list, result, result.answers.front());
}

/// The first of the best candidates that is preferred.
std::optional<PreemptionCandidate> DefaultPreemption::preferred_candidate(const PodToPlace& pod, CandidateRow& row,
                                                                          const CandidateTest& is_preferred) {
  std::vector<std::uint32_t> positions = row.cheapest(kReplaceableTriesMax);
  for (;;) {
    std::vector<std::uint32_t> untried;
    std::copy_if(positions.begin(), positions.end(), std::back_inserter(untried),
                 [&](std::uint32_t position) { return row.finding(position) == NodeFinding::kBounded; });
    if (untried.empty()) break;
    try_nodes(pod, untried, row);
    positions = row.cheapest(kReplaceableTriesMax);
  }
  leave_out(pod, positions, row);
  for (const std::uint32_t position : positions) {
    if (row.finding(position) != NodeFinding::kCandidate) continue;
    PreemptionCandidate candidate = candidate_at(pod, position);
    if (is_preferred(candidate)) return candidate;
  }
  return std::nullopt;
}

/// Of the candidates of the least cost where eviction can help, the first.
std::optional<std::size_t> DefaultPreemption::best_candidate(const PodToPlace& pod, CandidateRow& row) {
  std::size_t tried_at_once = kTriedFirst;
  for (;;) {
    const std::optional<std::size_t> best = row.best();
    if (!best) return best;
    if (row.finding(*best) == NodeFinding::kBounded) {
      try_nodes(pod, row.to_try(tried_at_once), row);
      tried_at_once *= 2;
      continue;
    }
    const auto position = static_cast<std::uint32_t>(*best);
    leave_out(pod, {&position, 1}, row);
    if (row.finding(*best) == NodeFinding::kCandidate) return best;
    // Perhaps none is one: all at once, since each search for the next best one looks at every node.
    leave_out(pod, row.with(NodeFinding::kCandidate), row);
  }
}

}  // namespace berth
