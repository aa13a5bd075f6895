// SPDX-License-Identifier: Apache-2.0
// Explanations and preemption, of snapshots and forks.

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "host/capi/api_error.h"
#include "host/capi/json_text.h"
#include "host/capi/questions.h"
#include "host/cluster/engine_cluster.h"
#include "host/objects/interruption.h"
#include "host/objects/pod_copy.h"
#include "host/preemption/default_preemption.h"
#include "host/scheduler/explain_document.h"

namespace berth::capi {
namespace {

/// A pod in an engine that is in the state that is asked about.
struct AskedEngine {
  const Backend& engine;
  DefaultPreemption& preemption;
  PodToPlace pod;  ///< prepared there

  Evaluation evaluate() const { return engine.evaluate(pod); }
  PreemptionResult preempt() const { return preemption.evaluate({&pod, 1}).front(); }
  std::string_view node_name(NodeIndex node) const { return engine.node_name(node); }
};

/// Calls ask(AskedEngine): with the engine of the cluster where that is in the state, and otherwise with one that is
/// opened for the call, which costs as much as loading the cluster.
template <class Ask>
void ask_engine(const State& state, const PodToPlace& pod, Ask ask) {
  const auto ask_cluster = [&](const Backend& engine, DefaultPreemption& preemption) {
    ask(AskedEngine{engine, preemption, pod});
  };
  if (state.is_of_cluster && state.cluster.ask_engine(state.facts.version, ask_cluster)) return;
  const std::unique_ptr<Fork> fork = state.fork.fork();
  Backend& engine = fork->as_engine();
  PodToPlace prepared{.pod = pod.pod, .profile = pod.profile};
  engine.prepare({&prepared, 1});
  DefaultPreemption preemption(engine, engine.cluster().cache(), state.facts.side->budgets);
  ask(AskedEngine{engine, preemption, prepared});
}

const Profile& profile_of(const State& state, const PodToPlace& pod) {
  return state.cluster.engine().config.profiles[static_cast<std::size_t>(pod.profile)];
}

bool fits_somewhere(const Evaluation& evaluation) {
  return std::ranges::any_of(evaluation.nodes, [](const NodeEvaluation& node) { return node.feasible; });
}

void refuse_not_judged(const ReadPod& pod) {
  if (pod.not_judged)
    throw ApiError(BERTH_E_UNSUPPORTED, "Pod " + pod.given->full_name(), "is not judged: " + pod.not_judged->text);
}

/// Why preemption has nothing to do; empty: it has.
std::string why_no_preemption(const Profile& profile, const Evaluation& evaluation) {
  if (!preempts(profile)) return "the profile runs no " + std::string(kDefaultPreemptionName);
  if (!evaluation.error.empty()) return evaluation.error;
  if (evaluation.nodes.empty()) return evaluation.message;
  return fits_somewhere(evaluation) ? "a node accepts the pod without it" : "";
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
void write_candidates(const PreemptionResult& preemption, const AskedEngine& engine, NodeTable& names, Result& result) {
  std::map<std::uint32_t, std::size_t> by_number;
  for (std::size_t i = 0; i < preemption.candidates.size(); ++i)
    by_number.emplace(names.number_of(std::string(engine.node_name(preemption.candidates[i].node))), i);
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
    ask_engine(state, to_place, [&](const AskedEngine& engine) {
      PreemptionResult preemption;
      result->message = why_no_preemption(profile_of(state, to_place), engine.evaluate());
      if (result->message.empty()) {
        preemption = engine.preempt();
        result->message = preemption.error.empty() ? preemption.message : preemption.error;
      }
      write_candidates(preemption, engine, cluster->nodes(), *result);
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
    ask_engine(state, to_place, [&](const AskedEngine& engine) {
      explanation.evaluation = engine.evaluate();
      if (why_no_preemption(profile_of(state, to_place), explanation.evaluation).empty())
        explanation.preemption = engine.preempt();
      write([&](NodeIndex node) { return engine.node_name(node); });
    });
  });
  if (status != BERTH_OK) result = std::make_unique<Result>(cluster, given.facts.version);
  return {std::move(result), status};
}

}  // namespace berth::capi
