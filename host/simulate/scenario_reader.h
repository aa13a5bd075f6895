// SPDX-License-Identifier: Apache-2.0
#pragma once

// A scenario file: kind BerthScenario, apiVersion berth.dev/v1alpha1, YAML or JSON. docs/simulate.md describes the
// fields. Unknown fields are errors.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/text/text_reader.h"
#include "host/simulate/scenario.h"
#include "host/simulate/scenario_objects.h"

namespace berth {

/// As read: its objects wait for the classes of the cluster.
struct ScenarioFile {
  std::string source;
  JsonDocument document;                 ///< the text, for the lines of problems that show later
  std::optional<std::int64_t> start_us;  ///< absent: start_rule
  std::optional<StartRule> start_rule;
  std::optional<std::int64_t> until_us;
  std::int64_t start_delay_us = 0;
  std::optional<std::int64_t> run_duration_us;
  std::vector<std::string> clusters;  ///< paths, relative ones to the folder of the file

  struct Action {
    ScenarioAction action;  ///< without `create` and `replace`
    InlineObjects create;
    InlineObjects replace;
  };
  struct Arrival {
    Arrivals arrivals;  ///< without model and pools
    InlineObjects object;
  };
  std::vector<Action> actions;
  std::vector<Arrival> arrivals;
  std::vector<std::string> warnings;
  std::shared_ptr<ObjectPools> pools = std::make_shared<ObjectPools>();
};

/// Whether `path` is a file that holds a scenario. False for anything that cannot be read as one small text: whoever
/// reads it as a dump says what is wrong with it.
bool holds_scenario(const std::string& path);

/// @param is_strict  objects that an API server would refuse are problems, not warnings
/// @param declared   paths of objects whose values are kept; null: none
/// @throws InputError with the line, path, value and expectation of each problem
ScenarioFile load_scenario(const std::string& path, bool is_strict = false, const DeclaredPathsPtr& declared = nullptr);
/// The same for text in memory. Problems name `source`; relative paths stay as they are.
ScenarioFile parse_scenario(std::string_view text, const std::string& source, bool is_strict = false,
                            const DeclaredPathsPtr& declared = nullptr);

/// What `file` makes of `cluster`, the objects of its dumps and of those that were given beside it.
/// @param warnings  those about the file's objects are added
/// @throws InputError
Scenario make_scenario(ScenarioFile&& file, ClusterObjects&& cluster, std::vector<std::string>& warnings);

}  // namespace berth
