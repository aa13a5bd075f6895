// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scores of plugins: one column per plugin, collected over a batch of pods, normalised and summed with weights:
// docs/behaviour/scheduler-core.md 3.7.

#include <cstdint>
#include <string>
#include <vector>

#include "host/framework/plugin.h"

namespace berth {

struct FeasibleNodes {
  PodClassView pod;
  NodeInfos nodes;
};

struct ScoreColumn {
  std::string plugin;
  std::int32_t weight = 1;
  std::vector<std::int64_t> raw;         ///< one a node
  std::vector<std::int64_t> normalized;  ///< within [0, 100]
};

/// Scores of one pod on its feasible nodes.
struct ScoreOutcome {
  Status status;                     ///< Success or Error; behind an Error the rest means nothing
  std::vector<ScoreColumn> columns;  ///< of the plugins that were not skipped, in profile order
  std::vector<std::int64_t> totals;  ///< weighted sums; all 1 when the profile has no Score plugin
};

/// The pods of a batch that one plugin scores.
class ScoreCall {
 public:
  explicit ScoreCall(const ScorePlugin& plugin) : name_(plugin.name()) {}

  /// Adds a pod, and the plugin's column to `outcome`. Both arguments must live until run() returns.
  void add(const FeasibleNodes& feasible, std::int32_t weight, ScoreOutcome& outcome);
  /// Fills the columns. A failure goes into the outcome's status.
  void run(ScorePlugin& plugin);

 private:
  std::string name_;
  std::vector<ScoreRequest> requests_;
  std::vector<ScoreOutcome*> outcomes_;
};

/// Normalises the plugin's column of `outcome`. A failure goes into the outcome's status.
void normalize_column(ScorePlugin& plugin, const FeasibleNodes& feasible, ScoreColumn& column, Status& status);

/// Adds the weighted columns to the totals. A score outside [0, 100] goes into the outcome's status.
void add_up(ScoreOutcome& outcome);

}  // namespace berth
