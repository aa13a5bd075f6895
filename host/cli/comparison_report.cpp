// SPDX-License-Identifier: Apache-2.0
#include "host/cli/comparison_report.h"

#include <fmt/format.h>

#include <utility>

#include "host/objects/json_out.h"
#include "host/report/figures.h"
#include "host/report/terminal.h"

namespace berth {
namespace {

std::string what_happened(const std::optional<RecordedEvent>& event) {
  if (!event) return "did nothing of the kind";
  const std::string time = format_time(event->time_us);
  if (event->kind == RecordedKind::kBinding) return fmt::format("{}: bound to {}", time, event->node);
  if (event->kind == RecordedKind::kEviction)
    return fmt::format("{}: evicted from {} for {}", time, event->node, event->preemptor.full_name());
  const std::string head = fmt::format("{}: {}", time, event->result);
  if (!event->node.empty()) return fmt::format("{} on {}, score {}", head, event->node, event->score);
  return fmt::format("{}: {}", head, event->message);
}

std::string_view kind_of(const RecordedEvent& event) {
  switch (event.kind) {
    case RecordedKind::kDecision:
      return "decision";
    case RecordedKind::kBinding:
      return "binding";
    case RecordedKind::kEviction:
      break;
  }
  return "eviction";
}

/// In words, what of the two answers is not the same.
std::string difference_in_words(const RecordedEvent& a, const RecordedEvent& b) {
  if (a.kind != b.kind || a.pod.full_name() != b.pod.full_name()) return "the order is another";
  if (a.result != b.result) return fmt::format("A: {}, B: {}", a.result, b.result);
  if (a.node != b.node) {
    if (a.kind != RecordedKind::kDecision) return "another node";
    if (a.score == b.score) return "another node of the same score: the tie was broken otherwise, or the nodes differ";
    return fmt::format("another node: the best total was {} in A and is {} in B", a.score, b.score);
  }
  if (a.score != b.score) return "the same node with another score";
  if (a.message != b.message) return "another reason";
  return "the same at another time";
}

void append_line(std::string& text, const std::string& line) { text += printable(line) + "\n"; }

void append_facts(const RecordingComparison& comparison, std::string& text) {
  if (comparison.facts.empty()) {
    if (!comparison.is_equal) append_line(text, "Both runs have the same version, options and inputs.");
    return;
  }
  append_line(text, "What differs between the runs:");
  const auto shown = [](const std::string& value) { return value.empty() ? std::string("-") : value; };
  for (const FactDifference& fact : comparison.facts)
    append_line(text, fmt::format("  {}: {} | {}", fact.key, shown(fact.a), shown(fact.b)));
  for (const InputDifference& input : comparison.inputs) {
    append_line(text,
                fmt::format("{} in which the {} differs:",
                            counted(static_cast<std::int64_t>(input.fields.count), "field", "fields"), input.kind));
    for (const FactDifference& field : input.fields.first)
      append_line(text, fmt::format("  {}: {} | {}", field.key, shown(field.a), shown(field.b)));
    if (input.fields.first.size() < input.fields.count) append_line(text, "  ...");
  }
}

void append_difference(const RecordedDifference& difference, std::string& text) {
  const RecordedEvent& event = difference.a ? *difference.a : *difference.b;
  std::string head = fmt::format("{} of {}", kind_of(event), event.pod.full_name());
  if (event.kind == RecordedKind::kDecision) head += fmt::format(", attempt {}", event.attempt);
  if (difference.a && difference.b) head += ": " + difference_in_words(*difference.a, *difference.b);
  append_line(text, head);
  append_line(text, "  A  " + what_happened(difference.a));
  append_line(text, "  B  " + what_happened(difference.b));
}

}  // namespace

std::string extent_report(const RecordingReader& reader) {
  const RecordedExtent& extent = reader.extent();
  std::string text =
      fmt::format("{}: {}, {}, {}", reader.path(), counted(extent.decisions, "decision", "decisions"),
                  counted(extent.bindings, "binding", "bindings"), counted(extent.evictions, "eviction", "evictions"));
  if (extent.time_us != 0) text += " until " + format_time(extent.time_us);
  if (!extent.hash.empty()) text += ", hash " + extent.hash;
  if (!extent.is_complete) text += "; the recording ends without its last batch: the run did not come to its end";
  return printable(text) + "\n";
}

std::string comparison_report(const RecordingReader& a, const RecordingReader& b, const RecordingComparison& comparison,
                              const std::vector<std::string>& cause) {
  std::string text = "A " + extent_report(a) + "B " + extent_report(b);
  append_facts(comparison, text);
  if (!comparison.compares_uids) append_line(text, "Uids are made of the seed, and are not compared; hashes differ.");
  if (comparison.is_complete) {
    append_line(text, "Equal: the same decisions, bindings and evictions.");
    return text;
  }
  const std::string events = counted(comparison.events_equal, "event", "events");
  if (comparison.is_equal) {
    append_line(text, fmt::format("Equal as far as both recordings go: {}.", events));
    return text;
  }
  append_line(text, fmt::format("Different after {} that are equal. The first differences:", events));
  bool is_first = true;
  for (const RecordedDifference& difference : comparison.differences) {
    append_difference(difference, text);
    if (!std::exchange(is_first, false)) continue;
    for (const std::string& line : cause) append_line(text, "  " + line);
    if (comparison.differences.size() > 1) append_line(text, "The differences after it may all come of it:");
  }
  return text;
}

}  // namespace berth
