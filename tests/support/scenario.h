// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scenarios: clusters, pods and expected results, as text. docs/testing.md describes the format.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/cluster/cluster_change.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth::test {

/// The verdict of one plugin on a node.
struct ExpectedScore {
  std::int64_t raw = 0;
  std::int64_t normalized = 0;
};

/// One `expect` line.
struct Expectation {
  enum class Kind { kPlaced, kUnschedulable, kError, kAsked };  ///< kAsked: the pod is looked at and never placed
  int line = 0;
  std::string pod;
  Kind kind = Kind::kAsked;
  std::vector<std::string> nodes;  ///< any of them; empty: any node at all
  std::string text;                ///< whole message or error; empty: not looked at
  /// What a placement decides: the existing volume of each unbound claim, "" for one to be provisioned.
  std::optional<std::map<std::string, std::string>> volumes;
  // Checked just before the pod is placed:
  std::map<std::string, std::string> refused;                          ///< node -> "Plugin" or "Plugin(reason; reason)"
  std::map<std::string, std::int64_t> totals;                          ///< node -> total
  std::optional<std::set<std::string>> feasible;                       ///< all nodes that are
  std::optional<std::set<std::string>> unresolvable;                   ///< all nodes that no eviction could help
  std::map<std::string, std::map<std::string, ExpectedScore>> scores;  ///< plugin -> node

  /// Whether an expectation is checked before the pod is placed.
  bool asks() const {
    return kind == Kind::kAsked || !refused.empty() || !totals.empty() || feasible || unresolvable || !scores.empty();
  }
};

// What happens in a scenario, in the order of the text:

/// Pods that are placed one after another, with nothing between them.
struct PlacePods {
  std::vector<PodPtr> pods;
};
/// Pods that are looked at, after the first verb of a scenario.
struct AskPods {
  std::vector<PodPtr> pods;
};
struct TellChanges {
  std::vector<ClusterChange> changes;
};
struct EvictPod {
  PodPtr pod;
};
/// The steps up to its EndFork happen in a fork of what is around.
struct OpenFork {
  std::string name;
};
struct EndFork {};
struct PromoteFork {
  std::string name;
  bool is_refused = false;  ///< expected
};

struct Step {
  int line = 0;  ///< the first one
  std::variant<PlacePods, AskPods, TellChanges, EvictPod, OpenFork, EndFork, PromoteFork> action;
};

/// A cluster with its configuration and the expected results.
struct Scenario {
  std::string title;
  ClusterObjects objects;
  SchedulerConfig config;
  EngineConfig engine;
  std::vector<PodPtr> asked;  ///< looked at before the first step
  std::vector<Step> steps;
  bool has_verbs = false;  ///< not only pods are placed
  std::vector<Expectation> expectations;

  std::vector<PodPtr> pending() const;  ///< in the order of the text, those of forks too
};

/// @throws TextError naming the line and the unknown word
Scenario parse_scenario(std::string_view text);

/// Runs the scenario on a backend, `batch_size` pods per call (0: all that a step places), and checks the result.
/// @return one line per difference; expectations just before a pod's placement are checked only in batches of one pod,
///     those of asked pods always. The run ends at a step that throws, which is a difference too
/// @throws std::invalid_argument when the backend is not available
std::vector<std::string> run_scenario(const Scenario& scenario, std::string_view backend_name, std::size_t batch_size);

}  // namespace berth::test
