// SPDX-License-Identifier: Apache-2.0
#include "host/cli/difference_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "host/cli/recorded_simulation.h"
#include "host/objects/errors.h"
#include "host/scheduler/loop/loop_observer.h"

namespace berth {
namespace {

constexpr std::size_t kNodesNamedMax = 3;

/// One pod on one node, as a run had it.
struct NodeAnswer {
  std::string refusal;                                                            ///< empty: the node is feasible
  std::map<std::string, std::pair<std::int64_t, std::int32_t>> score_and_weight;  ///< [plugin]
  friend bool operator==(const NodeAnswer&, const NodeAnswer&) = default;
};

/// What a run, done again, says at one attempt.
struct AttemptAgain {
  bool is_as_recorded = false;
  std::map<std::string, NodeAnswer> nodes;  ///< [name]
  std::set<std::string> best;               ///< nodes of the highest total
};

NodeAnswer answer_of(const NodeEvaluation& node) {
  NodeAnswer answer;
  if (!node.feasible) {
    const std::string reasons = node.status.message();
    answer.refusal = node.status.plugin + (reasons.empty() ? " refuses it" : " refuses it: " + reasons);
  }
  for (const PluginScore& score : node.scores)
    answer.score_and_weight[std::string(score.plugin)] = {score.normalized, score.weight};
  return answer;
}

/// Ends a simulation that is not needed any further.
struct AttemptReached : std::exception {};

/// Waits for one attempt of a simulation.
class AttemptSearch {
 public:
  explicit AttemptSearch(const RecordedEvent& wanted) : wanted_(wanted) {}

  void look(std::span<const PodToPlace> pods, Backend& backend) {
    if (tried_ + 1 != wanted_.attempt || !is_wanted(*pods.front().pod)) return;
    PodToPlace pod = pods.front();
    backend.prepare({&pod, 1});
    const Evaluation evaluation = backend.evaluate(pod);
    found_ = {};
    for (const NodeEvaluation& node : evaluation.nodes)
      found_.nodes.emplace(backend.node_name(node.node), answer_of(node));
    for (const NodeIndex node : evaluation.best) found_.best.emplace(backend.node_name(node));
  }
  void note(const Attempt& attempt) {
    if (!is_wanted(*attempt.info.pod)) return;
    tried_ = attempt.info.attempts;
    if (tried_ < wanted_.attempt) return;
    found_.is_as_recorded = to_string(attempt.result) == wanted_.result && attempt.node_name == wanted_.node &&
                            attempt.score == wanted_.score && attempt.message == wanted_.message;
    throw AttemptReached();
  }
  AttemptAgain take() { return std::move(found_); }

 private:
  bool is_wanted(const Pod& pod) const {
    return pod.name == wanted_.pod.name && pod.namespace_ == wanted_.pod.name_space &&
           (pod.stored_uid.empty() ? pod.uid() : pod.stored_uid) == wanted_.pod.uid;
  }

  const RecordedEvent& wanted_;
  std::int64_t tried_ = 0;
  AttemptAgain found_;
};

class SearchObserver final : public LoopObserver {
 public:
  explicit SearchObserver(AttemptSearch& search) : search_(search) {}
  void on_attempt(const Attempt& attempt) override { search_.note(attempt); }

 private:
  AttemptSearch& search_;
};

/// @param path  of the recording with the decision
AttemptAgain attempt_again(const std::string& path, const RecordedEvent& decision) {
  AttemptSearch search(decision);
  SimulateCommand command;
  command.input.quiet = true;
  command.config.backend = "cpu";
  with_recording(path, command, [&](const SimulateCommand& filled, SimulationFiles&& files) {
    PreparedSimulation prepared = prepare_simulation(filled, std::move(files));
    prepared.options.loop.batch_pods_max = 1;
    prepared.options.loop.before_attempts = [&](std::span<const PodToPlace> pods, Backend& backend) {
      search.look(pods, backend);
    };
    prepared.options.observe = [&](const Clock&) { return std::make_unique<SearchObserver>(search); };
    try {
      run_simulation(prepared, true);
    } catch (const AttemptReached&) {
      return;
    }
  });
  return search.take();
}

/// What plugins say of one node in A and in B, where it differs.
std::vector<std::string> node_lines(const std::string& name, const AttemptAgain& a, const AttemptAgain& b) {
  const auto in_a = a.nodes.find(name);
  const auto in_b = b.nodes.find(name);
  if (in_a == a.nodes.end() || in_b == b.nodes.end())
    return {fmt::format("node {} is not there in {}", name, in_a == a.nodes.end() ? "A" : "B")};
  const NodeAnswer& of_a = in_a->second;
  const NodeAnswer& of_b = in_b->second;
  const auto verdict = [](const NodeAnswer& answer) { return answer.refusal.empty() ? "it fits" : answer.refusal; };
  if (of_a.refusal != of_b.refusal)
    return {fmt::format("node {}: in A {}; in B {}", name, verdict(of_a), verdict(of_b))};
  std::set<std::string> plugins;
  for (const auto& [plugin, score] : of_a.score_and_weight) plugins.insert(plugin);
  for (const auto& [plugin, score] : of_b.score_and_weight) plugins.insert(plugin);
  const auto points = [](const NodeAnswer& answer, const std::string& plugin) {
    const auto score = answer.score_and_weight.find(plugin);
    return score == answer.score_and_weight.end() ? std::string("no score")
                                                  : fmt::format("{} x {}", score->second.first, score->second.second);
  };
  std::vector<std::string> lines;
  for (const std::string& plugin : plugins)
    if (points(of_a, plugin) != points(of_b, plugin))
      lines.push_back(
          fmt::format("node {}: {} gives {} in A, {} in B", name, plugin, points(of_a, plugin), points(of_b, plugin)));
  return lines;
}

/// The nodes that were chosen; where there is none, the first ones that are not refused alike.
std::set<std::string> nodes_concerned(const RecordedEvent& from_a, const RecordedEvent& from_b, const AttemptAgain& a,
                                      const AttemptAgain& b) {
  std::set<std::string> names;
  for (const RecordedEvent* const event : {&from_a, &from_b})
    if (!event->node.empty()) names.insert(event->node);
  if (!names.empty()) return names;
  const auto add_unlike = [&](const AttemptAgain& one, const AttemptAgain& other) {
    for (const auto& [name, answer] : one.nodes) {
      const auto there = other.nodes.find(name);
      if (names.size() < kNodesNamedMax && (there == other.nodes.end() || !(there->second == answer)))
        names.insert(name);
    }
  };
  add_unlike(a, b);
  add_unlike(b, a);
  return names;
}

/// Where plugins say the same of the nodes concerned.
std::string other_cause(const RecordedEvent& from_a, const RecordedEvent& from_b, const AttemptAgain& a,
                        const AttemptAgain& b) {
  const auto both_best_in = [&](const AttemptAgain& run) {
    return run.best.contains(from_a.node) && run.best.contains(from_b.node);
  };
  if (!from_a.node.empty() && from_a.node != from_b.node && both_best_in(a) && both_best_in(b))
    return "every plugin gives both nodes the same in A and in B, and no node is better: the tie was broken otherwise";
  if (from_a.node.empty() && from_b.node.empty())
    return "every plugin says the same of every node in A and in B: preemption says something else";
  return "every plugin says the same of these nodes in A and in B: a nomination or node sampling decided";
}

/// @param first  both runs decided about one pod
std::vector<std::string> causes(const RecordingReader& a, const RecordingReader& b, const RecordedDifference& first) {
  const AttemptAgain in_a = attempt_again(a.path(), *first.a);
  const AttemptAgain in_b = attempt_again(b.path(), *first.b);
  if (!in_a.is_as_recorded || !in_b.is_as_recorded)
    return {
        fmt::format("why: not known, since this berth decides otherwise than {} did", in_a.is_as_recorded ? "B" : "A")};
  std::vector<std::string> lines;
  for (const std::string& node : nodes_concerned(*first.a, *first.b, in_a, in_b))
    for (std::string& line : node_lines(node, in_a, in_b)) lines.push_back("why: " + std::move(line));
  if (lines.empty()) lines.push_back("why: " + other_cause(*first.a, *first.b, in_a, in_b));
  return lines;
}

}  // namespace

std::vector<std::string> cause_of_first(const RecordingReader& a, const RecordingReader& b,
                                        const RecordingComparison& comparison) {
  if (comparison.differences.empty()) return {};
  const RecordedDifference& first = comparison.differences.front();
  if (!first.a || !first.b || first.a->kind != RecordedKind::kDecision ||
      first.a->pod.full_name() != first.b->pod.full_name() || first.a->attempt != first.b->attempt)
    return {};
  try {
    return causes(a, b, first);
  } catch (const InputError& error) {  // of another version, or made by hand: what it says can be compared all the same
    return {fmt::format("why: not known, since the recordings cannot both be run again: {}", error.what())};
  }
}

}  // namespace berth
