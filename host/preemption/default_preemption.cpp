// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/default_preemption.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/cluster/name_hash.h"
#include "host/framework/draw_bits.h"
#include "host/preemption/all_candidates.h"
#include "host/preemption/candidate_cost.h"
#include "host/preemption/shortlist.h"
#include "host/preemption/victim_bounds.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// Nodes that are tried at once, twice as many each time: those with the smallest bounds mostly have the best
/// candidate.
constexpr std::size_t kTriedFirst = 48;

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

/// The state of an engine.
class StateOfEngine : public PreemptedState {
 public:
  /// @param lists  of the engine, refreshed
  StateOfEngine(const Backend& engine, VictimLists& lists) : engine_(engine), lists_(lists) {}
  std::size_t size() const override { return lists_.size(); }
  NodeIndex index(std::size_t position) const override { return lists_.index(position); }
  std::size_t find(std::string_view node_name) const override { return lists_.find(node_name); }
  std::string_view node_name(NodeIndex node) const override { return engine_.node_name(node); }
  std::vector<PodPtr> pods_below(std::size_t position, std::int32_t priority) override {
    std::vector<PodPtr> pods = lists_.node(position).pods;
    std::erase_if(pods, [&](const PodPtr& pod) { return pod->priority >= priority; });
    return pods;
  }
  VictimList list(std::size_t position, std::int32_t priority) override { return lists_.list(position, priority); }
  PodVerdicts verdicts(const PodToPlace& pod) override { return engine_.verdicts(pod); }
  DryRunResult dry_run(const DryRunRequest& request) override { return engine_.dry_run(request); }
  std::vector<Status> statuses_without_victims(const DryRunRequest& request) override {
    return engine_.statuses_without_victims(request);
  }

 private:
  const Backend& engine_;
  VictimLists& lists_;
};

}  // namespace

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
  StateOfEngine state(backend_, lists_);
  return all_candidates(pods, state, limits_);
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
  StateOfEngine state(backend_, lists_);
  choice.message = ineligibility(*pod.pod, state,
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
    errors.push_back(needs_nobody_text(state.node_name(lists_.index(position))));
  NoCandidate why = why_no_candidate(pod, backend_.verdicts(pod), std::move(errors), state);
  choice.message = std::move(why.message);
  choice.error = std::move(why.error);
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
  StateOfEngine state(backend_, lists_);
  choice.message = ineligibility(*pod.pod, state, verdict_on);
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
    if (finding == NodeFinding::kNeedsNobody) errors.push_back(needs_nobody_text(state.node_name(list.node)));
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
  NoCandidate why = why_no_candidate(pod, verdicts, std::move(errors), state);
  choice.message = std::move(why.message);
  choice.error = std::move(why.error);
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
