// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/default_preemption.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace berth {
namespace {

constexpr std::string_view kNever = "not eligible due to preemptionPolicy=Never.";
constexpr std::string_view kTerminating = "not eligible due to a terminating pod on the nominated node.";

/// Upstream adds it to each priority, so that a sum grows with every victim.
constexpr std::int64_t kPriorityShift = std::int64_t{1} << 31;

/// The earliest start among the victims of the highest priority; the largest number where such a victim has none,
/// because it counts as started now.
std::int64_t earliest_start_us(const PreemptionCandidate& candidate) {
  const auto start_us = [](const Pod& pod) {
    return pod.start_time_us == 0 ? std::numeric_limits<std::int64_t>::max() : pod.start_time_us;
  };
  const auto more_urgent = [&](const Pod* a, const Pod* b) {
    return a->priority != b->priority ? a->priority > b->priority : start_us(*a) < start_us(*b);
  };
  return start_us(**std::min_element(candidate.victims.begin(), candidate.victims.end(), more_urgent));
}

std::int64_t sum_of_priorities(const PreemptionCandidate& candidate) {
  return std::accumulate(candidate.victims.begin(), candidate.victims.end(), std::int64_t{0},
                         [](std::int64_t sum, const Pod* pod) { return sum + pod->priority + kPriorityShift; });
}

/// What each step compares: less is better.
using Cost = std::int64_t (*)(const PreemptionCandidate&);
constexpr std::array<Cost, 5> kCosts = {
    [](const PreemptionCandidate& candidate) { return std::int64_t{candidate.violations}; },
    [](const PreemptionCandidate& candidate) { return std::int64_t{candidate.victims.front()->priority}; },
    sum_of_priorities,
    [](const PreemptionCandidate& candidate) { return static_cast<std::int64_t>(candidate.victims.size()); },
    [](const PreemptionCandidate& candidate) { return -earliest_start_us(candidate); },
};

/// The nodes of a cluster in node order, as the engine numbers them, and what preemptors may evict there.
class Nodes {
 public:
  Nodes(const Backend& backend, const ClusterCache& cache, const DisruptionBudgets& budgets)
      : budgets_(budgets), nodes_(cache.nodes_in_order()) {
    std::unordered_map<std::string_view, std::int32_t> slots;
    for (std::int32_t slot = 0; slot < backend.slot_count(); ++slot)
      if (const std::string_view name = backend.node_name({slot}); !name.empty()) slots.emplace(name, slot);
    for (const NodeInfo* node : nodes_) indexes_.push_back({slots.at(node->name)});
  }

  std::size_t size() const { return nodes_.size(); }
  const NodeInfo& node(std::size_t position) const { return *nodes_[position]; }
  NodeIndex index(std::size_t position) const { return indexes_[position]; }
  /// Position of the node; size() when there is none.
  std::size_t find(std::string_view name) const {
    const auto at =
        std::find_if(nodes_.begin(), nodes_.end(), [&](const NodeInfo* node) { return node->name == name; });
    return static_cast<std::size_t>(at - nodes_.begin());
  }

  /// potential_victims() of each node, made once for all preemptors of a priority. Valid while this exists.
  const std::vector<Victim>& victims(std::size_t position, std::int32_t priority) {
    std::vector<std::vector<Victim>>& of_priority = victims_[priority];
    if (of_priority.empty()) {
      of_priority.reserve(size());
      for (const NodeInfo* node : nodes_) of_priority.push_back(potential_victims(*node, priority, budgets_));
    }
    return of_priority[position];
  }

 private:
  const DisruptionBudgets& budgets_;
  std::span<const NodeInfo* const> nodes_;
  std::vector<NodeIndex> indexes_;
  std::map<std::int32_t, std::vector<std::vector<Victim>>> victims_;  ///< [priority][position]
};

/// Why the pod may not preempt now; empty when it may (4.2).
std::string_view ineligibility(const Pod& pod, const PodVerdicts& verdicts, const Nodes& nodes) {
  if (pod.preemption_policy == PreemptionPolicy::kNever) return kNever;
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

/// The dry runs of many preemptors, made as one request.
class Request {
 public:
  explicit Request(Nodes& nodes) : nodes_(nodes) {}

  /// @param preemptor  position among the preemptors
  void add(std::uint32_t preemptor, const Pod& pod, const PodVerdicts& verdicts) {
    for (std::size_t position = 0; position < nodes_.size(); ++position) {
      const auto slot = static_cast<std::size_t>(nodes_.index(position).value);
      if (!verdicts.nodes[slot].eviction_can_help()) continue;
      const std::vector<Victim>& victims = nodes_.victims(position, pod.priority);
      if (!victims.empty()) runs_.push_back({preemptor, list_of(position, pod.priority, victims)});
    }
  }

  DryRunResult run(const Backend& backend, std::span<const PodToPlace> preemptors) const {
    return backend.dry_run({preemptors, lists_, runs_});
  }
  std::span<const DryRun> runs() const { return runs_; }
  const VictimList& list(const DryRun& run) const { return lists_[run.list]; }

 private:
  std::uint32_t list_of(std::size_t position, std::int32_t priority, const std::vector<Victim>& victims) {
    const auto [at, is_new] = list_index_.try_emplace({priority, position}, static_cast<std::uint32_t>(lists_.size()));
    if (is_new) lists_.push_back({nodes_.index(position), victims});
    return at->second;
  }

  Nodes& nodes_;
  std::vector<VictimList> lists_;
  std::map<std::pair<std::int32_t, std::size_t>, std::uint32_t> list_index_;  ///< by priority and position
  std::vector<DryRun> runs_;
};

/// As upstream's utilerrors.NewAggregate() shows them.
std::string aggregate(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors.front();
  std::string text;
  for (const std::string& error : errors) text += (text.empty() ? "" : ", ") + error;
  return "[" + text + "]";
}

/// The error that ends the cycle when the victims of the list are gone: dry runs say that there is one, but not its
/// text.
std::string error_without(const PodToPlace& pod, const VictimList& list, Backend& backend) {
  const std::unique_ptr<Fork> fork = backend.fork();
  std::vector<ClusterChange> evictions;
  for (const Victim& victim : list.victims) evictions.emplace_back(PodRemoval{victim.pod->uid()});
  fork->apply(evictions);
  return fork->evaluate(pod).error;
}

/// What the dry runs of one preemptor found.
struct Findings {
  std::vector<PreemptionCandidate> candidates;
  std::vector<std::string> errors;        ///< count only where there is no candidate
  const VictimList* failed_on = nullptr;  ///< the first list with which Filter failed

  void add(const Backend& backend, const VictimList& list, const DryRunResult& result, const DryRunAnswer& answer) {
    if (answer.without_victims.code == StatusCode::kError && failed_on == nullptr) failed_on = &list;
    if (!answer.without_victims.accepts()) return;
    std::vector<const Pod*> victims = evicted_victims(list.victims, result, answer);
    if (!victims.empty()) {
      candidates.push_back({list.node, std::move(victims), answer.violations});
    } else {  // what AddPod leaves is not always what PreFilter finds: architecture.md, "One node with pods added"
      errors.push_back("expected at least one victim pod on node \"" + std::string(backend.node_name(list.node)) +
                       "\"");
    }
  }

  /// Without candidates.
  std::string error(const PodToPlace& pod, Backend& backend) {
    if (failed_on != nullptr) errors.push_back(error_without(pod, *failed_on, backend));
    return errors.empty() ? "" : aggregate(errors);
  }
};

}  // namespace

std::vector<std::size_t> best_candidates(std::span<const PreemptionCandidate> candidates) {
  std::vector<std::size_t> best(candidates.size());
  std::iota(best.begin(), best.end(), std::size_t{0});
  for (const Cost cost : kCosts) {
    if (best.size() <= 1) break;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::vector<std::size_t> kept;
    for (const std::size_t candidate : best) {
      const std::int64_t own = cost(candidates[candidate]);
      if (own < least) kept.clear();
      least = std::min(least, own);
      if (own == least) kept.push_back(candidate);
    }
    best = std::move(kept);
  }
  return best;
}

std::vector<PreemptionResult> DefaultPreemption::evaluate(std::span<const PodToPlace> pods) {
  std::vector<PreemptionResult> results(pods.size());
  Nodes nodes(backend_, cache_, budgets_);
  Request request(nodes);
  for (std::size_t p = 0; p < pods.size(); ++p) {
    const PodVerdicts verdicts = backend_.verdicts(pods[p]);
    results[p].error = verdicts.error;
    if (!verdicts.error.empty()) continue;
    results[p].message = ineligibility(*pods[p].pod, verdicts, nodes);
    results[p].eligible = results[p].message.empty();
    if (results[p].eligible) request.add(static_cast<std::uint32_t>(p), *pods[p].pod, verdicts);
  }
  const DryRunResult answers = request.run(backend_, pods);
  std::vector<Findings> findings(pods.size());
  for (std::size_t r = 0; r < answers.answers.size(); ++r) {
    const DryRun& run = request.runs()[r];
    findings[run.preemptor].add(backend_, request.list(run), answers, answers.answers[r]);
  }
  for (std::size_t p = 0; p < pods.size(); ++p) {
    results[p].candidates = std::move(findings[p].candidates);
    results[p].best = best_candidates(results[p].candidates);
    if (results[p].candidates.empty() && results[p].error.empty())
      results[p].error = findings[p].error(pods[p], backend_);
  }
  return results;
}

}  // namespace berth
