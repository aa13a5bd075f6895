// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scenario.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "host/objects/pod_state.h"
#include "tests/support/check_placement.h"
#include "tests/support/object_text.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

/// Reads the words after "expect".
class ExpectationReader {
 public:
  ExpectationReader(const std::vector<std::string>& words, int line) : words_(words) { result_.line = line; }

  Expectation read() {
    result_.pod = next("a pod");
    const std::string verb = next("->, error or a clause");
    if (verb == "error") {
      result_.kind = Expectation::Kind::kError;
    } else if (verb == "->") {
      read_nodes(next("a node"));
    } else {
      --at_;  // of an asked pod
    }
    while (at_ < words_.size()) read_clause(next("a clause"));
    return std::move(result_);
  }

 private:
  std::string next(const char* what) {
    if (at_ >= words_.size()) throw TextError(std::string("the line ends where it should have ") + what);
    return words_[at_++];
  }

  /// "none", "any", or names joined with '|'.
  void read_nodes(const std::string& word) {
    result_.kind = word == "none" ? Expectation::Kind::kUnschedulable : Expectation::Kind::kPlaced;
    if (word == "none" || word == "any") return;
    std::istringstream names(word);
    for (std::string name; std::getline(names, name, '|');) result_.nodes.push_back(name);
  }

  static std::set<std::string> names_in(const std::string& list) {
    const std::vector<std::string> words = split_words(list);
    return {words.begin(), words.end()};
  }

  void read_clause(const std::string& word) {
    if (word == "text") {
      result_.text = next("a text");
    } else if (word == "feasible") {
      result_.feasible = names_in(next("a list of nodes"));
    } else if (word == "unresolvable") {
      result_.unresolvable = names_in(next("a list of nodes"));
    } else {
      read_named_clause(word);
    }
  }

  /// "refused NODE: REFUSAL", "total NODE: NUMBER" or "scores PLUGIN: NODE=RAW/NORMALIZED ...".
  void read_named_clause(const std::string& word) {
    if (word != "refused" && word != "total" && word != "scores") throw TextError("no clause: \"" + word + "\"");
    std::string name = next("a name");
    if (!name.ends_with(":")) throw TextError("a colon is missing behind \"" + name + "\"");
    name.pop_back();
    const std::string value = next("a value");
    if (word == "refused") {
      result_.refused[name] = value;
    } else if (word == "total") {
      result_.totals[name] = integer(value);
    } else {
      for (const std::string& entry : split_words(value)) read_score(entry, result_.scores[name]);
    }
  }

  /// "NODE=RAW/NORMALIZED"
  static void read_score(const std::string& entry, std::map<std::string, ExpectedScore>& scores) {
    const auto [node, score] = key_value(entry);
    const std::vector<std::string> parts = split(score, '/');
    if (parts.size() != 2) fail("not NODE=RAW/NORMALIZED", entry);
    scores[node] = {integer(parts[0]), integer(parts[1])};
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 1;
  Expectation result_;
};

void append(std::vector<PodPtr>&& pods, std::vector<PodPtr>& to) { to.insert(to.end(), pods.begin(), pods.end()); }

void read_object(const std::vector<std::string>& words, Scenario& scenario) {
  const std::string& kind = words.front();
  if (kind == "node") {
    add_nodes(words, scenario.objects);
  } else if (kind == "namespace") {
    add_namespace(words, scenario.objects);
  } else if (kind == "service") {
    add_service(words, scenario.objects);
  } else if (kind == "workload") {
    add_workload(words, scenario.objects);
  } else if (kind == "pod") {
    append(make_pods(words), scenario.objects.pods);
  } else if (kind == "ask") {
    append(make_pods(words), scenario.asked);
  } else {
    throw TextError("no such line: \"" + kind + "\"");
  }
}

void read_line(const std::vector<std::string>& words, int line, Scenario& scenario) {
  const std::string& kind = words.front();
  if (kind == "config") {
    apply_config(words, scenario.config);
  } else if (kind == "engine") {
    apply_engine(words, scenario.engine);
  } else if (kind == "expect") {
    scenario.expectations.push_back(ExpectationReader(words, line).read());
  } else if (words.size() < 2) {
    throw TextError("a name is missing");
  } else {
    read_object(words, scenario);
  }
}

std::string describe(const NodeEvaluation& node) {
  std::string reasons;
  for (const std::string& reason : node.status.reasons) reasons += (reasons.empty() ? "" : "; ") + reason;
  return node.status.plugin + "(" + reasons + ")";
}

/// One run of a scenario on one backend.
class Run {
 public:
  Run(const Scenario& scenario, std::string_view backend_name) : scenario_(scenario) {
    cache_ = fill_cache(scenario.objects);
    backend_ = open_backend(backend_name, cache_, scenario.objects, scenario.config, scenario.engine);
    if (backend_ == nullptr) throw std::invalid_argument("no such backend here: " + std::string(backend_name));
    for (const PodPtr& pod : scenario.pending()) pods_.push_back(to_place(pod));
    for (const PodPtr& pod : scenario.asked) asked_.push_back(to_place(pod));
  }

  std::vector<std::string> go(std::size_t batch_size) {
    backend_->compile(asked_);
    for (const PodToPlace& pod : asked_) look(pod);
    backend_->compile(pods_);
    for (std::size_t at = 0; at < pods_.size();) {
      const std::size_t count = batch_size == 0 ? pods_.size() : std::min(batch_size, pods_.size() - at);
      if (count == 1) look(pods_[at]);
      const std::span<const PodToPlace> batch = std::span(pods_).subspan(at, count);
      const BatchResult result = backend_->commit_batch(batch, {});
      if (result.outcomes.size() != count) {
        problems_.push_back("the backend answered " + std::to_string(result.outcomes.size()) + " of " +
                            std::to_string(count) + " pods");
        return std::move(problems_);
      }
      for (std::size_t i = 0; i < count; ++i) take(batch[i].pod, result.outcomes[i], result.messages);
      at += count;
    }
    check_result();
    return std::move(problems_);
  }

 private:
  struct Answer {
    OutcomeKind kind = OutcomeKind::kError;
    std::string node;
    std::string text;
  };

  void say(const Expectation& expectation, const std::string& what) {
    problems_.push_back("line " + std::to_string(expectation.line) + ": pod " + expectation.pod + ": " + what);
  }

  PodToPlace to_place(const PodPtr& pod) const {
    const Profile* profile = scenario_.config.find_profile(pod->spec->scheduler_name);
    return {pod, static_cast<std::int32_t>(profile - scenario_.config.profiles.data()), -1};
  }

  /// Compares the backend's evaluation of a pod with its expectations.
  void look(const PodToPlace& pod) {
    for (const Expectation& expectation : scenario_.expectations) {
      if (expectation.pod != pod.pod->name || !expectation.asks()) continue;
      compare(expectation, backend_->evaluate(pod));
    }
  }

  void compare(const Expectation& expectation, const Evaluation& evaluation) {
    if (expectation.kind == Expectation::Kind::kAsked) compare_text(expectation, evaluation);
    std::set<std::string> feasible;
    std::set<std::string> unresolvable;
    for (const NodeEvaluation& node : evaluation.nodes) {
      const std::string name(backend_->node_name(node.node));
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
      const std::string name(backend_->node_name(node.node));
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
    const std::string name(backend_->node_name(node.node));
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

  void take(const PodPtr& pod, const Outcome& outcome, const std::vector<Message>& messages) {
    Answer answer{outcome.kind, "", ""};
    if (outcome.kind == OutcomeKind::kPlaced) {
      answer.node = backend_->node_name(outcome.node);
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
    const CheckRules rules = check_rules(scenario_.config, scenario_.config.profiles.front(), scenario_.engine);
    for (std::string& problem : check_placement(scenario_.objects, placed_, rules)) {
      problems_.push_back(std::move(problem));
    }
  }

  void check_was_asked(const Expectation& expectation) {
    const auto has_name = [&](const PodPtr& pod) { return pod->name == expectation.pod; };
    const bool is_there = std::any_of(scenario_.asked.begin(), scenario_.asked.end(), has_name);
    if (!is_there) say(expectation, "there is no such asked pod");
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
  std::shared_ptr<ClusterCache> cache_;
  std::unique_ptr<Backend> backend_;
  std::vector<PodToPlace> pods_;
  std::vector<PodToPlace> asked_;
  std::vector<PlacedPod> placed_;
  std::map<std::string, Answer> answers_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<PodPtr> Scenario::pending() const {
  std::vector<PodPtr> result;
  std::copy_if(objects.pods.begin(), objects.pods.end(), std::back_inserter(result),
               [](const PodPtr& pod) { return is_pending(*pod); });
  return result;
}

Scenario parse_scenario(std::string_view text) {
  Scenario scenario;
  scenario.config = default_scheduler_config(FeatureGates());
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("#")) {
      if (scenario.title.empty()) scenario.title = line.substr(std::min<std::size_t>(2, line.size()));
      continue;
    }
    try {
      const std::vector<std::string> words = split_words(line);
      if (!words.empty()) read_line(words, number, scenario);
    } catch (const std::exception& error) {
      throw TextError("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return scenario;
}

std::vector<std::string> run_scenario(const Scenario& scenario, std::string_view backend_name, std::size_t batch_size) {
  return Run(scenario, backend_name).go(batch_size);
}

}  // namespace berth::test
