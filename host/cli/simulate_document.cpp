// SPDX-License-Identifier: Apache-2.0
#include "host/cli/simulate_document.h"

#include <algorithm>

#include "host/objects/json_out.h"

namespace berth {
namespace {

constexpr std::int64_t kSimulateSchemaVersion = 1;
constexpr double kUsPerSecond = 1e6;

void seconds_field(std::string_view name, std::int64_t time_us, DocumentWriter& writer) {
  writer.real_field(name, static_cast<double>(time_us) / kUsPerSecond);
}

void write_events(const ClusterEvents& events, DocumentWriter& writer) {
  writer.integer_field("arrived", events.arrived);
  writer.integer_field("placed", events.placed);
  writer.integer_field("preempted", events.preempted);
  writer.integer_field("failedAttempts", events.failed);
}

void write_state(const ClusterState& state, DocumentWriter& writer) {
  writer.integer_field("nodes", state.nodes);
  writer.integer_field("pending", state.pending);
  writer.integer_field("running", state.running);
  writer.integer_field("finished", state.finished);
  writer.integer_field("removed", state.removed);
}

void write_samples(const SimulationResult& result, const SimulationView& view, DocumentWriter& writer) {
  writer.key("samples");
  writer.begin_array();
  for (const TimelineSample& sample : view.samples) {
    writer.begin_object();
    seconds_field("seconds", sample.time_us, writer);
    write_state(sample.state, writer);
    write_events(sample.events, writer);
    writer.key("utilisation");
    writer.begin_object();
    for (std::size_t r = 0; r < result.resources.size(); ++r)
      writer.real_field(result.resources[r], utilisation(sample.state, r));
    writer.end_object();
    writer.end_object();
  }
  writer.end_array();
}

void write_summary(const SimulationResult& result, const SimulationView& view, DocumentWriter& writer) {
  writer.key("summary");
  writer.begin_object();
  write_events(result.totals, writer);
  write_state(result.last, writer);
  writer.integer_field("pendingMax", result.pending_max);
  writer.key("meanUtilisation");
  writer.begin_object();
  for (std::size_t r = 0; r < result.resources.size(); ++r)
    writer.real_field(result.resources[r], result.mean_utilisation[r]);
  writer.end_object();
  if (view.waits.count > 0) {
    writer.key("waitSeconds");
    writer.begin_object();
    seconds_field("p50", view.waits.p50_us, writer);
    seconds_field("p90", view.waits.p90_us, writer);
    seconds_field("p99", view.waits.p99_us, writer);
    seconds_field("max", view.waits.max_us, writer);
    writer.end_object();
  }
  writer.end_object();
}

void write_waiting(const SimulationResult& result, DocumentWriter& writer) {
  writer.key("waiting");
  writer.begin_array();
  for (const WaitingPod& pod : result.waiting) {
    writer.begin_object();
    writer.string_field("pod", pod.name);
    writer.string_field("reason", pod.reason);
    writer.string_field("message", pod.message);
    writer.end_object();
  }
  writer.end_array();
}

void write_scheduler_events(const SimulationResult& result, DocumentWriter& writer) {
  writer.integer_field("eventCount", result.event_count);
  writer.key("events");
  writer.begin_array();
  for (const SimulatedEvent& event : result.events) {
    writer.begin_object();
    seconds_field("seconds", event.time_us, writer);
    writer.string_field("pod", event.pod);
    writer.string_field("type", event.is_warning ? "Warning" : "Normal");
    writer.string_field("reason", event.reason);
    writer.string_field("action", event.action);
    writer.string_field("note", event.note);
    writer.end_object();
  }
  writer.end_array();
}

void write_failed_actions(const SimulationResult& result, DocumentWriter& writer) {
  writer.integer_field("failedActionCount", result.failed_action_count);
  writer.key("failedActions");
  writer.begin_array();
  for (const FailedAction& failed : result.failed_actions) {
    writer.begin_object();
    seconds_field("seconds", failed.time_us, writer);
    writer.string_field("action", failed.location);
    writer.string_field("message", failed.message);
    writer.end_object();
  }
  writer.end_array();
}

void write_pods(const SimulationResult& result, DocumentWriter& writer) {
  writer.key("pods");
  writer.begin_array();
  for (const SimulatedPod& pod : result.pods) {
    writer.begin_object();
    writer.string_field("pod", pod.name);
    writer.string_field("outcome", to_string(pod.outcome));
    if (!pod.node_name.empty()) writer.string_field("node", pod.node_name);
    seconds_field("arrivedSeconds", pod.arrived_us, writer);
    if (pod.placed_us) seconds_field("placedSeconds", *pod.placed_us, writer);
    if (pod.ended_us) seconds_field("endedSeconds", *pod.ended_us, writer);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

SimulationView::SimulationView(const SimulationResult& result, std::int64_t wanted_step_us, std::uint64_t used_seed)
    : step_us(std::max(wanted_step_us, result.samples_interval_us)),
      samples(fold(result.samples, step_us, result.end_us)),
      waits(wait_times(result.pods)),
      seed(used_seed) {}

void write_simulate_document(const SimulationResult& result, const SimulationView& view, DocumentWriter& writer) {
  writer.begin_object();
  writer.integer_field("schemaVersion", kSimulateSchemaVersion);
  writer.key("seed");
  writer.unsigned_integer(view.seed);
  writer.string_field("start", format_time(result.start_us));
  seconds_field("endSeconds", result.end_us, writer);
  writer.string_field("end", result.end == SimulationEnd::kUntil ? "until" : "quiet");
  seconds_field("intervalSeconds", view.step_us, writer);
  write_summary(result, view, writer);
  write_samples(result, view, writer);
  write_waiting(result, writer);
  write_scheduler_events(result, writer);
  write_failed_actions(result, writer);
  write_pods(result, writer);
  writer.end_object();
  writer.end_document();
}

}  // namespace berth
