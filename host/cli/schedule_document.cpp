// SPDX-License-Identifier: Apache-2.0
#include "host/cli/schedule_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/cli/device_figures.h"

namespace berth {
namespace {

constexpr std::int64_t kScheduleSchemaVersion = 1;

/// Nothing where the pod preempted none.
void write_preempted(const PreemptedPods& preempted, const Pod& pod, DocumentWriter& writer) {
  const std::span<const Eviction* const> evictions = preempted.of(pod);
  if (evictions.empty()) return;
  writer.key("preempted");
  writer.begin_array();
  for (const Eviction* const eviction : evictions) writer.string(eviction->victim->full_name());
  writer.end_array();
}

/// What the placement decides about the pod's unbound claims.
void write_volumes(const VolumeDecisions& volumes, DocumentWriter& writer) {
  writer.key("volumes");
  writer.begin_array();
  for (const auto& [claim, volume] : volumes.matches) {
    writer.begin_object();
    writer.string_field("claim", claim);
    writer.string_field("volume", volume);
    writer.end_object();
  }
  for (const auto& [claim, class_name] : volumes.provisions) {
    writer.begin_object();
    writer.string_field("claim", claim);
    writer.string_field("provisionWith", class_name);
    writer.string_field("selectedNode", volumes.node_name);
    writer.end_object();
  }
  writer.end_array();
}

void write_placements(const ScheduleResult& result, const PreemptedPods& preempted, DocumentWriter& writer) {
  writer.key("placements");
  writer.begin_array();
  for (const Placement& placement : result.placements) {
    writer.begin_object();
    writer.string_field("pod", placement.pod->full_name());
    writer.string_field("node", placed_node(result, placement));
    writer.integer_field("score", placement.score);
    if (placement.volumes != nullptr) write_volumes(*placement.volumes, writer);
    write_preempted(preempted, *placement.pod, writer);
    writer.end_object();
  }
  writer.end_array();
}

void write_unplaced(const ScheduleResult& result, const PreemptedPods& preempted, DocumentWriter& writer) {
  writer.key("unplaced");
  writer.begin_array();
  for (const Unplaced& unplaced : result.unplaced) {
    writer.begin_object();
    writer.string_field("pod", unplaced.pod->full_name());
    writer.string_field("reason", unplaced.reason);
    writer.string_field("message", unplaced_message(result, unplaced));
    if (unplaced.nominated != kNoNode)
      writer.string_field("nominatedNode", result.node_names.at(static_cast<std::size_t>(unplaced.nominated.value)));
    write_preempted(preempted, *unplaced.pod, writer);
    writer.end_object();
  }
  writer.end_array();
}

/// Nothing where no budget is violated.
void write_violated_budgets(const ScheduleResult& result, DocumentWriter& writer) {
  if (result.violated_budgets.empty()) return;
  writer.key("violatedBudgets");
  writer.begin_array();
  for (const ViolatedBudget& budget : result.violated_budgets) {
    writer.begin_object();
    writer.string_field("budget", budget.budget);
    writer.integer_field("allowed", budget.allowed);
    writer.integer_field("evicted", budget.evicted);
    writer.end_object();
  }
  writer.end_array();
}

void write_skipped(const ScheduleResult& result, DocumentWriter& writer) {
  writer.key("skipped");
  writer.begin_array();
  for (const Skipped& skipped : result.skipped) {
    writer.begin_object();
    writer.string_field("pod", skipped.pod);
    writer.string_field("reason", skipped.reason);
    writer.end_object();
  }
  writer.end_array();
}

/// Nothing where there is no note.
void write_notes(const std::vector<std::string>& notes, DocumentWriter& writer) {
  if (notes.empty()) return;
  writer.key("notes");
  writer.begin_array();
  for (const std::string& note : notes) writer.string(note);
  writer.end_array();
}

/// Nothing where there is none.
void write_figures(std::string_view name, const std::map<std::string, std::int64_t>& figures, DocumentWriter& writer) {
  if (figures.empty()) return;
  writer.key(name);
  writer.begin_object();
  for (const auto& [what, count] : figures) writer.integer_field(what, count);
  writer.end_object();
}

void write_stats(const ScheduleStats& stats, DocumentWriter& writer) {
  writer.key("stats");
  writer.begin_object();
  writer.integer_field("nodes", stats.nodes);
  writer.integer_field("pods", stats.pods);
  writer.integer_field("classes", stats.classes);
  writer.key("seconds");
  writer.begin_object();
  writer.real_field("load", stats.load_seconds);
  writer.real_field("compile", stats.compile_seconds);
  writer.real_field("schedule", stats.schedule_seconds);
  writer.end_object();
  writer.real_field("podsPerSecond", stats.pods_per_second);
  writer.key("bytes");
  writer.begin_object();
  for (const auto& [part, bytes] : stats.bytes) {
    writer.key(part);
    writer.unsigned_integer(bytes);
  }
  writer.end_object();
  write_figures("ways", stats.ways, writer);
  write_figures("host", stats.host, writer);
  if (stats.device) write_device(*stats.device, writer);
  writer.end_object();
}

void write_binding(const Placement& placement, std::string_view node, DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("apiVersion", "v1");
  writer.string_field("kind", "Binding");
  writer.key("metadata");
  writer.begin_object();
  writer.string_field("namespace", placement.pod->namespace_);
  writer.string_field("name", placement.pod->name);
  writer.end_object();
  writer.key("target");
  writer.begin_object();
  writer.string_field("apiVersion", "v1");
  writer.string_field("kind", "Node");
  writer.string_field("name", node);
  writer.end_object();
  writer.end_object();
}

/// The text as one word of bash: names that an API server accepts are plain, others may hold anything.
std::string bash_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  if (!text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "$'";
  for (const char c : text)
    word += is_plain(c) ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return word + "'";
}

}  // namespace

std::string_view unplaced_message(const ScheduleResult& result, const Unplaced& unplaced) {
  if (unplaced.message < 0) return "";
  return result.messages.at(static_cast<std::size_t>(unplaced.message));
}

std::string_view placed_node(const ScheduleResult& result, const Placement& placement) {
  return result.node_names.at(static_cast<std::size_t>(placement.node.value));
}

void write_schedule_document(const ScheduleResult& result, DocumentWriter& writer) {
  writer.begin_object();
  writer.integer_field("schemaVersion", kScheduleSchemaVersion);
  writer.key("backend");
  writer.begin_object();
  writer.string_field("servedBy", result.served_by);
  writer.string_field("why", result.why);
  writer.end_object();
  writer.key("seed");
  writer.unsigned_integer(result.seed);
  const PreemptedPods preempted(result);
  write_placements(result, preempted, writer);
  write_unplaced(result, preempted, writer);
  write_violated_budgets(result, writer);
  write_skipped(result, writer);
  write_notes(result.notes, writer);
  write_stats(result.stats, writer);
  writer.end_object();
  writer.end_document();
}

void write_bindings(const ScheduleResult& result, DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("apiVersion", "v1");
  writer.string_field("kind", "List");
  writer.key("items");
  writer.begin_array();
  for (const Placement& placement : result.placements) {
    write_binding(placement, placed_node(result, placement), writer);
  }
  writer.end_array();
  writer.end_object();
  writer.end_document();
}

void write_deletions(const ScheduleResult& result, Output& output) {
  for (const Eviction& eviction : result.evictions)
    output.write("kubectl delete pod --namespace " + bash_word(eviction.victim->namespace_) + " " +
                 bash_word(eviction.victim->name) + "\n");
}

PreemptedPods::PreemptedPods(const ScheduleResult& result) {
  for (const Eviction& eviction : result.evictions) of_uid_[eviction.preemptor->uid()].push_back(&eviction);
}

std::span<const Eviction* const> PreemptedPods::of(const Pod& preemptor) const {
  if (of_uid_.empty()) return {};
  const auto at = of_uid_.find(preemptor.uid());
  if (at == of_uid_.end()) return {};
  return at->second;
}

}  // namespace berth
