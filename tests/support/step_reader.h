// SPDX-License-Identifier: Apache-2.0
#pragma once

// The lines of a scenario that are executed in their order. docs/testing.md describes them.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/cluster_change.h"
#include "tests/support/scenario.h"

namespace berth::test {

/// Reads `pod`, `ask` and the verbs `event`, `evict`, `fork`, `end` and `promote` into Scenario::steps.
class StepReader {
 public:
  /// `scenario` must outlive the reader.
  explicit StepReader(Scenario& scenario) : scenario_(scenario) {}

  /// @return false when it is another line
  /// @throws TextError naming an unknown word
  bool read(const std::vector<std::string>& words, int line);
  /// Call after the last line. @throws TextError naming a fork without an end
  void finish() const;

 private:
  void read_pods(const std::vector<std::string>& words);
  void place(const PodPtr& pod);
  void ask(const std::vector<std::string>& words);
  void read_verb(const std::vector<std::string>& words);
  void read_event(const std::vector<std::string>& words);
  std::vector<ClusterChange> changes_of_pods(const std::vector<std::string>& words);
  ClusterChange change_of_nomination(const std::vector<std::string>& words) const;
  ClusterChange removal(const std::vector<std::string>& words) const;
  void open_fork(const std::string& name);
  void end_fork();
  void promote(const std::vector<std::string>& words);

  bool is_in_fork() const { return !open_forks_.empty(); }
  const PodPtr& known_pod(const std::string& name) const;
  template <class Action>
  void add(Action action) {
    scenario_.steps.push_back({line_, std::move(action)});
  }

  Scenario& scenario_;
  int line_ = 0;
  std::map<std::string, PodPtr> pods_;                   ///< the newest object of each name
  std::set<std::string> forks_;                          ///< all so far
  std::vector<std::pair<std::string, int>> open_forks_;  ///< with the lines that open them
};

}  // namespace berth::test
