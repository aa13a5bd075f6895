// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scenarios: clusters, pods and what must become of them, as text. docs/testing.md describes the format.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"

namespace berth::test {

/// One `expect` line.
struct Expectation {
  enum class Kind { kPlaced, kUnschedulable, kError };
  int line = 0;
  std::string pod;
  Kind kind = Kind::kPlaced;
  std::vector<std::string> nodes;  ///< any of them; empty: any node at all
  std::string text;                ///< whole message; empty: not looked at
  std::map<std::string, std::string>
      refused;  ///< node -> "Plugin" or "Plugin(reason; reason)", just before the pod's turn
  std::map<std::string, std::int64_t> totals;  ///< node -> total, just before the pod's turn
};

/// A cluster with its configuration, and what is expected of it.
struct Scenario {
  std::string title;
  ClusterObjects objects;
  SchedulerConfig config;
  EngineConfig engine;
  std::vector<Expectation> expectations;

  std::vector<PodPtr> pending() const;  ///< in the order of the text, which is the order they are placed in
};

/// @throws TextError naming the line and the word that mean nothing
Scenario parse_scenario(std::string_view text);

/// Runs the scenario on a backend, `batch_size` pods a call (0: all at once), and checks the result.
/// @return one line per difference; what a backend refuses and totals are looked at with batch_size 1 only
/// @throws std::invalid_argument when the backend is not available
std::vector<std::string> run_scenario(const Scenario& scenario, std::string_view backend_name, std::size_t batch_size);

}  // namespace berth::test
