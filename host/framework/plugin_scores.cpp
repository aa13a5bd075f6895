// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin_scores.h"

#include <string_view>

#include "host/config/node_score.h"
#include "host/framework/plugin_calls.h"

namespace berth {
namespace {

Status score_error(std::string_view doing, std::string_view plugin, const std::string& what) {
  return {StatusCode::kError,
          std::string(plugin),
          {"running " + std::string(doing) + ": plugin " + quoted(plugin) + " " + what}};
}

}  // namespace

void ScoreCall::add(const FeasibleNodes& feasible, std::int32_t weight, ScoreOutcome& outcome) {
  ScoreColumn& column = outcome.columns.emplace_back();
  column.plugin = name_;
  column.weight = weight;
  column.raw.resize(feasible.nodes.size());
  requests_.push_back({feasible.pod, feasible.nodes, column.raw, nullptr});
  outcomes_.push_back(&outcome);
}

void ScoreCall::run(ScorePlugin& plugin) {
  if (requests_.empty()) return;
  std::vector<Status> statuses(requests_.size());
  for (std::size_t i = 0; i < requests_.size(); ++i) requests_[i].status = &statuses[i];
  const Status thrown = guarded_status([&] {
    plugin.score(requests_);
    return Status{};
  });
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const Status& status = thrown.ok() ? statuses[i] : thrown;
    ScoreOutcome& outcome = *outcomes_[i];
    if (!status.ok()) outcome.status = score_error("Score plugins", name_, "failed with: " + status.message());
    outcome.columns.back().normalized = outcome.columns.back().raw;
  }
}

void normalize_column(ScorePlugin& plugin, const FeasibleNodes& feasible, ScoreColumn& column, Status& status) {
  const Status returned =
      guarded_status([&] { return plugin.normalize(feasible.pod, feasible.nodes, column.normalized); });
  if (!returned.ok()) {
    status = score_error("Normalize on Score plugins", column.plugin, "failed with: " + returned.message());
  }
}

void add_up(ScoreOutcome& outcome) {
  for (const ScoreColumn& column : outcome.columns) {
    for (std::size_t node = 0; node < outcome.totals.size(); ++node) {
      const std::int64_t score = column.normalized[node];
      if (score < 0 || score > kMaxNodeScore) {
        outcome.status = score_error("Score plugins", column.plugin,
                                     "gave the score " + std::to_string(score) + ", which is not within [0, 100]");
        return;
      }
      outcome.totals[node] += score * column.weight;
    }
  }
}

}  // namespace berth
