// SPDX-License-Identifier: Apache-2.0
// Explanations and preemption, of snapshots and forks.

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/capi/api_error.h"
#include "host/capi/json_text.h"
#include "host/capi/questions.h"
#include "host/cluster/engine_cluster.h"
#include "host/objects/interruption.h"
#include "host/objects/pod_copy.h"
#include "host/preemption/default_preemption.h"
#include "host/preemption/fork_preemption.h"
#include "host/scheduler/explain_document.h"

namespace berth::capi {
namespace {

/// A pod in the state that is asked about.
class AskedState {
 public:
  virtual ~AskedState() = default;
  virtual Evaluation evaluate() = 0;
  virtual PodVerdicts verdicts() = 0;  ///< of the nodes, in any order
  virtual PreemptionResult preempt() = 0;
  virtual std::string_view node_name(NodeIndex node) const = 0;
};

/// That of the cluster, whose engine keeps what preemption finds out.
class AskedEngine : public AskedState {
 public:
  AskedEngine(const Backend& engine, DefaultPreemption& preemption, const PodToPlace& pod)
      : engine_(engine), preemption_(preemption), pod_(pod) {}
  Evaluation evaluate() override { return engine_.evaluate(pod_); }
  PodVerdicts verdicts() override { return engine_.verdicts(pod_); }
  PreemptionResult preempt() override { return preemption_.evaluate({&pod_, 1}).front(); }
  std::string_view node_name(NodeIndex node) const override { return engine_.node_name(node); }

 private:
  const Backend& engine_;
  DefaultPreemption& preemption_;
  const PodToPlace& pod_;
};

class AskedFork : public AskedState {
 public:
  AskedFork(const State& state, const PodToPlace& pod) : state_(state), pod_(pod) {}
  Evaluation evaluate() override { return state_.fork.evaluate(pod_); }
  PodVerdicts verdicts() override { return state_.fork.verdicts_on(pod_, state_.fork.nodes_in_order()); }
  PreemptionResult preempt() override {
    return candidates_in_fork(pod_, state_.fork, state_.facts.side->budgets, victims_);
  }
  std::string_view node_name(NodeIndex node) const override { return state_.fork.node_name(node); }

 private:
  const State& state_;
  const PodToPlace& pod_;
  std::vector<PodPtr> victims_;  ///< keeps them
};

/// Calls ask(AskedState&).
template <class Ask>
void ask_in(const State& state, const PodToPlace& pod, Ask ask) {
  const auto ask_cluster = [&](const Backend& engine, DefaultPreemption& preemption) {
    AskedEngine asked(engine, preemption, pod);
    ask(asked);
  };
  if (state.is_of_cluster && state.cluster.ask_engine(state.facts.version, ask_cluster)) return;
  AskedFork asked(state, pod);
  ask(asked);
}

const Profile& profile_of(const State& state, const PodToPlace& pod) {
  return state.cluster.engine().config.profiles[static_cast<std::size_t>(pod.profile)];
}

void refuse_not_judged(const ReadPod& pod) {
  if (pod.not_judged)
    throw ApiError(BERTH_E_UNSUPPORTED, "Pod " + pod.given->full_name(), "is not judged: " + pod.not_judged->text);
}

/// Why preemption has nothing to do; empty: it has.
/// @param nodes  NodeVerdict or NodeEvaluation of each node @param accepts  of one
template <class Node, class Accepts>
std::string why_no_preemption(const Profile& profile, const std::string& error, const std::vector<Node>& nodes,
                              Accepts accepts) {
  if (!preempts(profile)) return "the profile runs no " + std::string(kDefaultPreemptionName);
  if (!error.empty()) return error;
  if (nodes.empty()) return std::string(kNoNodesText);
  return std::ranges::any_of(nodes, accepts) ? "a node accepts the pod without it" : "";
}

/// Runs `ask`, which calls the engine. @return BERTH_OK, or why it was interrupted
template <class Ask>
berth_status unless_stopped(const StopWatch& watch, Ask ask) {
  if (const berth_status why = watch.stop(); why != BERTH_OK) return why;
  const StopScope scope(watch);
  try {
    ask();
  } catch (const Interrupted&) {
    return watch.stop();
  }
  return BERTH_OK;
}

/// So that columns are there when there is no candidate.
void add_candidate_columns(Result& result) {
  for (const std::uint32_t id :
       {std::uint32_t{BERTH_COLUMN_NODE}, std::uint32_t{BERTH_COLUMN_VICTIM_BEGIN}, std::uint32_t{BERTH_COLUMN_VICTIM}})
    result.column<std::uint32_t>(id);
  result.column<std::int32_t>(BERTH_COLUMN_VIOLATIONS);
  result.column<std::uint8_t>(BERTH_COLUMN_BEST);
}

/// @param preemption  without candidates: the columns are empty
void write_candidates(const PreemptionResult& preemption, const AskedState& state, NodeTable& names, Result& result) {
  std::map<std::uint32_t, std::size_t> by_number;
  for (std::size_t i = 0; i < preemption.candidates.size(); ++i)
    by_number.emplace(names.number_of(state.node_name(preemption.candidates[i].node)), i);
  auto& nodes = result.column<std::uint32_t>(BERTH_COLUMN_NODE);
  auto& violations = result.column<std::int32_t>(BERTH_COLUMN_VIOLATIONS);
  auto& best = result.column<std::uint8_t>(BERTH_COLUMN_BEST);
  auto& begin = result.column<std::uint32_t>(BERTH_COLUMN_VICTIM_BEGIN);
  auto& victims = result.column<std::uint32_t>(BERTH_COLUMN_VICTIM);
  for (const auto& [node, at] : by_number) {
    const PreemptionCandidate& candidate = preemption.candidates[at];
    nodes.push_back(node);
    violations.push_back(candidate.violations);
    best.push_back(std::ranges::find(preemption.best, at) != preemption.best.end() ? 1 : 0);
    begin.push_back(static_cast<std::uint32_t>(victims.size()));
    for (const Pod* victim : candidate.victims) victims.push_back(result.number_of(victim->uid()));
  }
  begin.push_back(static_cast<std::uint32_t>(victims.size()));
}

}  // namespace

bool Cluster::ask_engine(std::uint64_t version, const AskEngine& ask) {
  const std::unique_lock alone(mutex_);
  if (facts_.version != version) return false;
  std::unique_ptr<Preempting> kept = std::move(preempting_);  // gone where something below throws
  const ClusterCache& cache = backend_->cluster().cache();
  if (kept == nullptr || kept->cache != &cache || kept->side != facts_.side)
    kept = std::make_unique<Preempting>(*backend_, cache, facts_.side);
  try {
    ask(*backend_, kept->preemption);
  } catch (const Interrupted&) {  // what is kept is right as far as it goes
    preempting_ = std::move(kept);
    throw;
  }
  preempting_ = std::move(kept);
  return true;
}

Answer preempt(const State& given, const std::shared_ptr<Cluster>& cluster, const ReadPod& pod, std::uint32_t flags,
               const StopWatch& watch) {
  refuse_not_judged(pod);
  auto result = std::make_unique<Result>(cluster, given.facts.version);
  const PodToPlace& to_place = pod.placeable((flags & BERTH_AS_MOVED) != 0);
  const berth_status status = unless_stopped(watch, [&] {
    const MovedState moved(given, pod, flags);
    const State state = moved.state();
    ask_in(state, to_place, [&](AskedState& asked) {
      PreemptionResult preemption;
      const PodVerdicts verdicts = asked.verdicts();
      result->message = why_no_preemption(profile_of(state, to_place), verdicts.error, verdicts.nodes,
                                          [](const NodeVerdict& verdict) { return verdict.accepts(); });
      if (result->message.empty()) {
        preemption = asked.preempt();
        result->message = preemption.error.empty() ? preemption.message : preemption.error;
      }
      write_candidates(preemption, asked, cluster->nodes(), *result);
    });
  });
  if (status == BERTH_OK) return {std::move(result), status};
  result = std::make_unique<Result>(cluster, given.facts.version);
  result->message = berth_status_text(status);
  add_candidate_columns(*result);
  result->column<std::uint32_t>(BERTH_COLUMN_VICTIM_BEGIN).push_back(0);
  return {std::move(result), status};
}

Answer explain(const State& given, const std::shared_ptr<Cluster>& cluster, const ReadPod& pod, std::uint32_t flags,
               const StopWatch& watch) {
  refuse_not_judged(pod);
  auto result = std::make_unique<Result>(cluster, given.facts.version);
  const berth_status status = unless_stopped(watch, [&] {
    const MovedState moved(given, pod, flags);
    const State state = moved.state();
    const PodToPlace& to_place = pod.placeable((flags & BERTH_AS_MOVED) != 0);
    auto named = copy_of(*pod.given);
    named->node_name = given.fork.node_of_pod(pod.uid);
    Explanation explanation{named->full_name(), named, PodStanding()};
    if (!named->node_name.empty()) explanation.standing.state = PodState::kRunning;
    JsonText writer(result->json);
    const auto write = [&](const auto& name_of) {
      const auto name = [&](NodeIndex node) {
        check_interruption(current_interruption());
        return name_of(node);
      };
      write_explain_record(explanation, name, writer);
    };
    if ((flags & BERTH_WITH_PREEMPTION) == 0) {
      explanation.evaluation = state.fork.evaluate(to_place);
      return write([&](NodeIndex node) { return state.fork.node_name(node); });
    }
    ask_in(state, to_place, [&](AskedState& asked) {
      explanation.evaluation = asked.evaluate();
      if (why_no_preemption(profile_of(state, to_place), explanation.evaluation.error, explanation.evaluation.nodes,
                            [](const NodeEvaluation& node) { return node.feasible; })
              .empty())
        explanation.preemption = asked.preempt();
      write([&](NodeIndex node) { return asked.node_name(node); });
    });
  });
  if (status != BERTH_OK) result = std::make_unique<Result>(cluster, given.facts.version);
  return {std::move(result), status};
}

}  // namespace berth::capi
