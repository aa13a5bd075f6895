// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/schedule_summary.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "host/preemption/victims.h"
#include "host/scheduler/missing_inputs.h"
#include "host/scheduler/usage.h"

namespace berth {
namespace {

/// Budgets of which more pods were evicted than they allow. Each eviction is held against the budgets as loaded.
void fill_violated_budgets(const ClusterObjects& objects, ScheduleResult& result) {
  for (const PodDisruptionBudget& budget : objects.pod_disruption_budgets) {
    const DisruptionBudgets alone({&budget, 1});
    const auto evicted = std::count_if(result.evictions.begin(), result.evictions.end(),
                                       [&](const Eviction& eviction) { return alone.count(*eviction.victim); });
    if (evicted > std::max(budget.disruptions_allowed, 0))
      result.violated_budgets.push_back(
          {budget.namespace_ + "/" + budget.name, budget.disruptions_allowed, static_cast<std::int32_t>(evicted)});
  }
}

void fill_notes(const ClusterObjects& objects, const ScheduleOptions& options, ScheduleResult& result) {
  const bool unschedulable = std::any_of(result.unplaced.begin(), result.unplaced.end(),
                                         [](const Unplaced& pod) { return pod.reason == "Unschedulable"; });
  const bool some_preempt = std::any_of(options.config.profiles.begin(), options.config.profiles.end(), preempts);
  if (options.preemption.mode == PreemptionMode::kOff && unschedulable && some_preempt)
    result.notes.emplace_back("preemption is off: no running pod was evicted for a pod without a node");
  if (options.preemption.mode == PreemptionMode::kNominate && !result.evictions.empty())
    result.notes.emplace_back("pods that would be preempted are still there: the run stops at the nomination");
  if (objects.nodes.empty()) result.notes.emplace_back(kNoNodeNote);
  const bool may_evict = options.preemption.mode != PreemptionMode::kOff;
  for (std::string& note : missing_inputs(objects, options.config, may_evict)) result.notes.push_back(std::move(note));
}

/// Those that occurred.
std::map<std::string, std::int64_t> ways_of(const AnswerWays& ways) {
  std::map<std::string, std::int64_t> figures{{"index", ways.by_index}, {"runs", ways.by_runs}};
  for (std::size_t why = 0; why < ways.by_rows.size(); ++why)
    figures["rows_" + std::string(AnswerWays::kNames[why])] = ways.by_rows[why];
  std::erase_if(figures, [](const auto& figure) { return figure.second == 0; });
  return figures;
}

std::map<std::string, std::int64_t> host_figures(const BackendStats& stats) {
  return {{"columns", stats.host_columns},
          {"nodes", stats.host_nodes},
          {"pods", stats.host_pods},
          {"stops", stats.host_stops}};
}

void fill_figures(const ClusterObjects& objects, const ClusterCache& cache, const BackendStats& stats,
                  ScheduleResult& result) {
  result.stats.device = stats.device;
  result.stats.bytes["model"] = model_bytes(objects);
  result.stats.bytes["cache"] = cache.memory_bytes();
  result.stats.bytes["columns"] = stats.column_bytes;
  result.stats.bytes["rows"] = stats.row_bytes;
  result.stats.bytes["peakRss"] = peak_rss_bytes();
}

}  // namespace

std::string preempted_text(const Eviction& eviction, const Backend& backend) {
  return "preempted by " + eviction.preemptor->full_name() + " on node " +
         std::string(backend.node_name(eviction.node));
}

void fill_summary(const ClusterObjects& objects, const ScheduleOptions& options, const ClusterCache& loaded,
                  const Backend& backend, ScheduleResult& result) {
  fill_violated_budgets(objects, result);
  for (std::int32_t i = 0; i < backend.slot_count(); ++i) result.node_names.emplace_back(backend.node_name({i}));
  result.stats.nodes = backend.slot_count();
  result.stats.running_pods = static_cast<std::int64_t>(loaded.pod_count());
  result.stats.classes = backend.stats().class_count;
  if (result.stats.schedule_seconds > 0)
    result.stats.pods_per_second = static_cast<double>(result.stats.pods) / result.stats.schedule_seconds;
  fill_usage(loaded, options.preemption.mode == PreemptionMode::kEvict, result);
  fill_notes(objects, options, result);
  fill_figures(objects, loaded, backend.stats(), result);
  result.stats.ways = ways_of(backend.stats().ways);
  if (!options.engine.host_plugins.empty()) result.stats.host = host_figures(backend.stats());
}

}  // namespace berth
