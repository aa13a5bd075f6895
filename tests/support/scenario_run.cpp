// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "batching/backend.h"
#include "host/objects/pod_state.h"
#include "tests/support/check_placement.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth::test {
namespace {

std::string describe(const NodeEvaluation& node) {
  std::string reasons;
  for (const std::string& reason : node.status.reasons) reasons += (reasons.empty() ? "" : "; ") + reason;
  return node.status.plugin + "(" + reasons + ")";
}

/// One run of a scenario on one backend.
class Run {
 public:
  Run(const Scenario& scenario, std::string_view backend_name, std::size_t batch_size)
      : scenario_(scenario), batch_size_(batch_size) {
    cache_ = fill_cache(scenario.objects);
    backend_ = open_backend(backend_name, cache_, scenario.objects, scenario.config, scenario.engine);
    if (backend_ == nullptr) throw std::invalid_argument("no such backend here: " + std::string(backend_name));
    around_.push_back(backend_.get());
  }

  std::vector<std::string> go() {
    std::vector<PodToPlace> asked = to_place(scenario_.asked);
    backend_->prepare(asked);
    for (const PodToPlace& pod : asked) ask(pod);
    prepare_pods_of_engine();
    for (const Step& step : scenario_.steps)
      if (!take_step(step)) return std::move(problems_);
    check_result();
    return std::move(problems_);
  }

 private:
  struct Answer {
    OutcomeKind kind = OutcomeKind::kError;
    std::string node;
    std::string text;
  };

  void say_of_line(const std::string& what) { problems_.push_back("line " + std::to_string(line_) + ": " + what); }

  void say(const Expectation& expectation, const std::string& what) {
    problems_.push_back("line " + std::to_string(expectation.line) + ": pod " + expectation.pod + ": " + what);
  }

  std::vector<PodToPlace> to_place(const std::vector<PodPtr>& pods) const {
    std::vector<PodToPlace> result;
    for (const PodPtr& pod : pods) {
      const Profile* profile = scenario_.config.find_profile(pod->spec->scheduler_name);
      result.push_back({pod, static_cast<std::int32_t>(profile - scenario_.config.profiles.data()), -1});
    }
    return result;
  }

  /// Calls what the lines are executed in: the engine, or a fork.
  template <class Call>
  auto here(Call call) const {
    return std::visit([&](auto* engine_or_fork) { return call(*engine_or_fork); }, around_.back());
  }
  bool is_in_fork() const { return around_.size() > 1; }
  std::string_view node_name(NodeIndex node) const {
    return here([&](auto& at) { return at.node_name(node); });
  }

  /// All of them before the first step: they stay prepared across events.
  void prepare_pods_of_engine() {
    int depth = 0;
    for (const Step& step : scenario_.steps) {
      if (std::holds_alternative<OpenFork>(step.action)) ++depth;
      if (std::holds_alternative<EndFork>(step.action)) --depth;
      const auto* place = std::get_if<PlacePods>(&step.action);
      if (place == nullptr || depth > 0) continue;
      for (PodToPlace& pod : to_place(place->pods)) pods_.push_back(std::move(pod));
    }
    backend_->prepare(pods_);
  }

  /// @return false when it threw
  bool take_step(const Step& step) {
    try {
      line_ = step.line;
      std::visit([&](const auto& action) { take(action); }, step.action);
      return true;
    } catch (const std::exception& error) {
      say_of_line(error.what());
      return false;
    }
  }

  void take(const PlacePods& step) {
    if (is_in_fork()) {
      place(prepared(step.pods));
    } else {
      place(std::span(pods_).subspan(next_pod_, step.pods.size()));
      next_pod_ += step.pods.size();
    }
  }

  void take(const AskPods& step) {
    for (const PodToPlace& pod : prepared(step.pods)) ask(pod);
  }

  void take(const TellChanges& step) { tell(step.changes); }

  void take(const EvictPod& step) {
    const auto answer = answers_.find(step.pod->name);
    const bool was_placed = answer != answers_.end() && answer->second.kind == OutcomeKind::kPlaced;
    if (!was_placed && !is_on_node(*step.pod)) say_of_line("pod " + step.pod->name + " is on no node");
    const ClusterChange removal = PodRemoval{step.pod->uid()};
    tell({&removal, 1});
  }

  void take(const OpenFork& step) {
    std::unique_ptr<Fork>& fork = forks_[step.name];
    fork = here([](auto& at) { return at.fork(); });
    around_.push_back(fork.get());
  }

  void take(const EndFork& /*step*/) { around_.pop_back(); }

  void take(const PromoteFork& step) {
    if (forks_.at(step.name)->promote() != step.is_refused) return;
    say_of_line("fork " + step.name + (step.is_refused ? " is promoted" : " is refused"));
  }

  void tell(std::span<const ClusterChange> changes) {
    here([&](auto& at) { at.apply(changes); });
  }

  std::vector<PodToPlace> prepared(const std::vector<PodPtr>& pods) {
    std::vector<PodToPlace> result = to_place(pods);
    backend_->prepare(result);
    return result;
  }

  void place(std::span<const PodToPlace> pods) {
    for (std::size_t at = 0; at < pods.size();) {
      const std::size_t count = batch_size_ == 0 ? pods.size() : std::min(batch_size_, pods.size() - at);
      place_batch(pods.subspan(at, count));
      at += count;
    }
  }

  void place_batch(std::span<const PodToPlace> batch) {
    if (batch.size() == 1) look(batch.front());
    const BatchResult result = std::visit([&](auto* at) { return commit(*at, batch); }, around_.back());
    if (result.outcomes.size() != batch.size()) {
      throw std::runtime_error("the backend answered " + std::to_string(result.outcomes.size()) + " of " +
                               std::to_string(batch.size()) + " pods");
    }
    for (std::size_t i = 0; i < batch.size(); ++i) note_answer(batch[i].pod, result.outcomes[i], result.messages);
  }

  static BatchResult commit(Backend& engine, std::span<const PodToPlace> batch) {
    return commit_with_refills(batch, {}, engine);
  }
  static BatchResult commit(Fork& fork, std::span<const PodToPlace> batch) { return fork.commit_batch(batch, {}); }

  void ask(const PodToPlace& pod) {
    asked_.insert(pod.pod->name);
    look(pod);
  }

  /// Compares the backend's evaluation of a pod with its expectations.
  void look(const PodToPlace& pod) {
    for (const Expectation& expectation : scenario_.expectations) {
      if (expectation.pod != pod.pod->name || !expectation.asks()) continue;
      compare(expectation, here([&](auto& at) { return at.evaluate(pod); }));
    }
  }

  void compare(const Expectation& expectation, const Evaluation& evaluation) {
    if (expectation.kind == Expectation::Kind::kAsked) compare_text(expectation, evaluation);
    std::set<std::string> feasible;
    std::set<std::string> unresolvable;
    for (const NodeEvaluation& node : evaluation.nodes) {
      const std::string name(node_name(node.node));
      if (node.feasible) feasible.insert(name);
      if (!node.feasible && node.status.code == StatusCode::kUnschedulableAndUnresolvable) unresolvable.insert(name);
      compare(expectation, node);
    }
    compare_names(expectation, "feasible", expectation.feasible, feasible);
    compare_names(expectation, "unresolvable", expectation.unresolvable, unresolvable);
    for (const auto& [plugin, scores] : expectation.scores) compare_scores(expectation, plugin, scores, evaluation);
  }

  void compare_text(const Expectation& expectation, const Evaluation& evaluation) {
    const std::string& text = evaluation.error.empty() ? evaluation.message : evaluation.error;
    const bool is_wrong = expectation.text.empty() ? !evaluation.error.empty() : expectation.text != text;
    if (is_wrong) say(expectation, "says \"" + text + "\"");
  }

  void compare_names(const Expectation& expectation, const char* what,
                     const std::optional<std::set<std::string>>& wanted, const std::set<std::string>& names) {
    if (!wanted || *wanted == names) return;
    std::string list;
    for (const std::string& name : names) list += " " + name;
    say(expectation, std::string(what) + " are" + (list.empty() ? " none" : list));
  }

  void compare_scores(const Expectation& expectation, const std::string& plugin,
                      const std::map<std::string, ExpectedScore>& wanted, const Evaluation& evaluation) {
    for (const NodeEvaluation& node : evaluation.nodes) {
      const std::string name(node_name(node.node));
      const auto expected = wanted.find(name);
      if (expected == wanted.end()) continue;
      const auto found = std::find_if(node.scores.begin(), node.scores.end(),
                                      [&](const PluginScore& score) { return score.plugin == plugin; });
      // A skipped plugin has no score, which reads as 0.
      const ExpectedScore got =
          found == node.scores.end() ? ExpectedScore{} : ExpectedScore{found->raw, found->normalized};
      if (node.feasible && got.raw == expected->second.raw && got.normalized == expected->second.normalized) continue;
      say(expectation,
          plugin + " gives " + name + " " + std::to_string(got.raw) + "/" + std::to_string(got.normalized));
    }
  }

  void compare(const Expectation& expectation, const NodeEvaluation& node) {
    const std::string name(node_name(node.node));
    if (const auto total = expectation.totals.find(name); total != expectation.totals.end()) {
      if (!node.feasible || node.total != total->second) {
        say(expectation,
            "total of " + name + " is " + std::to_string(node.total) + ", not " + std::to_string(total->second));
      }
    }
    const auto refused = expectation.refused.find(name);
    if (refused == expectation.refused.end()) return;
    const std::string& wanted = refused->second;
    const bool same = wanted.find('(') == std::string::npos ? node.status.plugin == wanted : describe(node) == wanted;
    if (node.feasible || !same) {
      say(expectation, name + " says " + (node.feasible ? "yes" : describe(node)) + ", not " + wanted);
    }
  }

  void note_answer(const PodPtr& pod, const Outcome& outcome, const std::vector<Message>& messages) {
    Answer answer{outcome.kind, "", ""};
    if (outcome.kind == OutcomeKind::kPlaced) {
      answer.node = node_name(outcome.node);
      placed_.push_back({pod, answer.node});
    } else {
      answer.text = messages.at(static_cast<std::size_t>(outcome.message)).text;
    }
    answers_[pod->name] = answer;
  }

  void check_result() {
    for (const Expectation& expectation : scenario_.expectations) {
      if (expectation.kind == Expectation::Kind::kAsked) {
        check_was_asked(expectation);
        continue;
      }
      const auto answer = answers_.find(expectation.pod);
      if (answer == answers_.end()) {
        say(expectation, "there is no such pending pod");
      } else {
        compare(expectation, answer->second);
      }
    }
    for (const Expectation& expectation : scenario_.expectations) compare_volumes(expectation);
    if (scenario_.has_verbs) return;  // the checker knows neither events nor forks
    const CheckRules rules = check_rules(scenario_.config, scenario_.config.profiles.front(), scenario_.engine);
    for (std::string& problem : check_placement(scenario_.objects, placed_, rules)) {
      problems_.push_back(std::move(problem));
    }
  }

  /// Of placements of the engine, which are all still assumed.
  void compare_volumes(const Expectation& expectation) {
    if (!expectation.volumes) return;
    std::map<std::string, std::string> decided;
    for (const PodToPlace& pod : pods_) {
      if (pod.pod->name != expectation.pod) continue;
      const VolumeDecisionsPtr decisions = backend_->volume_decisions(*pod.pod);
      if (decisions == nullptr) break;
      for (const auto& [claim, volume] : decisions->matches) decided[claim] = volume;
      for (const auto& [claim, class_name] : decisions->provisions) decided[claim] = "";
    }
    if (decided == *expectation.volumes) return;
    std::string list;
    for (const auto& [claim, volume] : decided) list.append(" ").append(claim).append("=").append(volume);
    say(expectation, "volumes are" + (list.empty() ? " none" : list));
  }

  void check_was_asked(const Expectation& expectation) {
    if (!asked_.contains(expectation.pod)) say(expectation, "there is no such asked pod");
  }

  void compare(const Expectation& expectation, const Answer& answer) {
    const std::string got = answer.kind == OutcomeKind::kPlaced ? "placed on " + answer.node : answer.text;
    const bool same_kind = static_cast<int>(expectation.kind) == static_cast<int>(answer.kind);
    const auto& nodes = expectation.nodes;
    const bool same_node = nodes.empty() || std::find(nodes.begin(), nodes.end(), answer.node) != nodes.end();
    const bool same_text = expectation.text.empty() || expectation.text == answer.text;
    if (!same_kind || !same_node || !same_text) say(expectation, "is " + got);
  }

  const Scenario& scenario_;
  std::size_t batch_size_;
  std::shared_ptr<ClusterCache> cache_;
  std::unique_ptr<Backend> backend_;
  std::map<std::string, std::unique_ptr<Fork>> forks_;
  std::vector<std::variant<Backend*, Fork*>> around_;  ///< the engine, and the forks whose lines are executed
  int line_ = 0;                                       ///< of the step
  std::vector<PodToPlace> pods_;                       ///< of the engine, in their order
  std::size_t next_pod_ = 0;
  std::set<std::string> asked_;
  std::vector<PlacedPod> placed_;
  std::map<std::string, Answer> answers_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> run_scenario(const Scenario& scenario, std::string_view backend_name, std::size_t batch_size) {
  return Run(scenario, backend_name, batch_size).go();
}

}  // namespace berth::test
