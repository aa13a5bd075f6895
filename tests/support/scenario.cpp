// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scenario.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "host/objects/pod_state.h"
#include "tests/support/object_text.h"
#include "tests/support/step_reader.h"
#include "tests/support/storage_text.h"

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
    } else if (word == "volumes") {
      read_volumes(next("a list of claims"));
    } else if (word == "unresolvable") {
      result_.unresolvable = names_in(next("a list of nodes"));
    } else {
      read_named_clause(word);
    }
  }

  /// "CLAIM=VOLUME ...", without a volume where one is to be provisioned; names are those of the namespace "default".
  void read_volumes(const std::string& list) {
    result_.volumes.emplace();
    for (const std::string& entry : split_words(list)) {
      const auto [claim, volume] = key_value(entry);
      (*result_.volumes)["default/" + claim] = volume;
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
  } else if (const std::optional<StorageObject> object = read_storage_object(words)) {
    add(*object, scenario.objects.storage);
  } else {
    throw TextError("no such line: \"" + kind + "\"");
  }
  if (scenario.has_verbs) fail("after the first verb it comes with an event", kind);
}

void read_line(const std::vector<std::string>& words, int line, StepReader& steps, Scenario& scenario) {
  const std::string& kind = words.front();
  if (kind == "config") {
    apply_config(words, scenario.config);
  } else if (kind == "engine") {
    apply_engine(words, scenario.engine);
  } else if (kind == "expect") {
    scenario.expectations.push_back(ExpectationReader(words, line).read());
  } else if (words.size() < 2 && kind != "end") {
    throw TextError("a name is missing");
  } else if (!steps.read(words, line)) {
    read_object(words, scenario);
  }
}

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
  StepReader steps(scenario);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("#")) {
      if (scenario.title.empty()) scenario.title = line.substr(std::min<std::size_t>(2, line.size()));
      continue;
    }
    try {
      const std::vector<std::string> words = split_words(line);
      if (!words.empty()) read_line(words, number, steps, scenario);
    } catch (const std::exception& error) {
      throw TextError("line " + std::to_string(number) + ": " + error.what());
    }
  }
  steps.finish();
  return scenario;
}

}  // namespace berth::test
