// SPDX-License-Identifier: Apache-2.0
#include "host/record/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace berth {
namespace {

/// What of one run is looked up in the other. No name holds a line break.
std::string key_of(const RecordedEvent& event, bool with_uids) {
  std::string key = fmt::format("{}\n{}\n{}\n{}", static_cast<int>(event.kind), event.pod.full_name(), event.attempt,
                                event.preemptor.full_name());
  if (with_uids) key += fmt::format("\n{}\n{}", event.pod.uid, event.preemptor.uid);
  return key;
}

bool are_same(const RecordedEvent& a, const RecordedEvent& b, bool with_uids) {
  if (with_uids || a.pod.full_name() != b.pod.full_name() || a.preemptor.full_name() != b.preemptor.full_name())
    return a == b;
  RecordedEvent with_uids_of_a = b;
  with_uids_of_a.pod.uid = a.pod.uid;
  with_uids_of_a.preemptor.uid = a.preemptor.uid;
  return a == with_uids_of_a;
}

/// The inputs in order, as facts: "input 1 (cluster)".
std::map<std::string, std::string> inputs_of(const RecordingReader& reader) {
  std::map<std::string, std::string> inputs;
  for (std::size_t i = 0; i < reader.inputs().size(); ++i) {
    const RecordedInput& input = reader.inputs()[i];
    inputs[input.kind] +=
        fmt::format("{}{} bytes, checksum {}", inputs[input.kind].empty() ? "" : "; ", input.bytes, input.checksum);
  }
  return inputs;
}

constexpr std::string_view kInputFact = "input: ";

std::vector<FactDifference> fact_differences(const RecordingReader& a, const RecordingReader& b) {
  std::map<std::string, FactDifference> all;
  for (const auto& [key, value] : a.facts()) all[key].a = value;
  for (const auto& [key, value] : b.facts()) all[key].b = value;
  for (const auto& [kind, value] : inputs_of(a)) all[std::string(kInputFact) + kind].a = value;
  for (const auto& [kind, value] : inputs_of(b)) all[std::string(kInputFact) + kind].b = value;
  std::vector<FactDifference> differences;
  for (auto& [key, difference] : all) {
    if (difference.a == difference.b) continue;
    difference.key = key;
    differences.push_back(std::move(difference));
  }
  return differences;
}

std::vector<InputDifference> input_differences(const std::vector<FactDifference>& facts, RecordingReader& a,
                                               RecordingReader& b) {
  std::vector<InputDifference> differences;
  for (const FactDifference& fact : facts) {
    if (!fact.key.starts_with(kInputFact)) continue;
    const std::string kind = fact.key.substr(kInputFact.size());
    FieldDifferences fields = field_differences(a, b, kind, kFieldsNamedMax);
    if (fields.count > 0) differences.push_back({kind, std::move(fields)});
  }
  return differences;
}

using Events = std::vector<RecordedEvent>;

/// `first`, when there is one, and what follows.
Events window(RecordingReader& reader, std::optional<RecordedEvent> first) {
  Events events;
  if (!first) return events;
  events.push_back(std::move(*first));
  for (RecordedEvent event; events.size() < kComparedEventsMax && reader.next(event);) events.push_back(event);
  return events;
}

/// A window that its recording did not fill, of a run that came to its end, holds all that there is.
bool holds_all(const Events& events, const RecordingReader& reader) {
  return events.size() < kComparedEventsMax && reader.extent().is_complete;
}

class WindowComparison {
 public:
  WindowComparison(const Events& a, const Events& b, bool with_uids, std::size_t differences_max,
                   std::vector<RecordedDifference>& differences)
      : a_(a), b_(b), with_uids_(with_uids), max_(differences_max), differences_(differences) {
    for (const RecordedEvent& event : a) in_a_.try_emplace(key_of(event, with_uids), &event);
    for (const RecordedEvent& event : b) in_b_.try_emplace(key_of(event, with_uids), &event);
  }

  void compare(bool with_bindings, bool b_has_all, bool a_has_all) {
    for (const RecordedEvent& event : a_) {
      if (!is_wanted(event, with_bindings)) continue;
      const auto other = in_b_.find(key_of(event, with_uids_));
      if (other == in_b_.end()) {
        if (b_has_all) add({event, std::nullopt});
      } else if (!are_same(event, *other->second, with_uids_)) {
        add({event, *other->second});
      }
    }
    for (const RecordedEvent& event : b_) {
      if (a_has_all && is_wanted(event, with_bindings) && !in_a_.contains(key_of(event, with_uids_)))
        add({std::nullopt, event});
    }
  }

 private:
  static bool is_wanted(const RecordedEvent& event, bool with_bindings) {
    return with_bindings || event.kind != RecordedKind::kBinding;
  }
  void add(RecordedDifference difference) {
    if (differences_.size() < max_) differences_.push_back(std::move(difference));
  }

  const Events& a_;
  const Events& b_;
  bool with_uids_;
  std::size_t max_;
  std::vector<RecordedDifference>& differences_;
  std::unordered_map<std::string, const RecordedEvent*> in_a_;
  std::unordered_map<std::string, const RecordedEvent*> in_b_;
};

}  // namespace

RecordingComparison compare(RecordingReader& a, RecordingReader& b, std::size_t differences_max) {
  RecordingComparison result;
  result.facts = fact_differences(a, b);
  result.inputs = input_differences(result.facts, a, b);
  const auto made_by_seed = [](const FactDifference& fact) { return fact.key == "option.seed"; };
  result.compares_uids = std::none_of(result.facts.begin(), result.facts.end(), made_by_seed);
  RecordedEvent from_a;
  RecordedEvent from_b;
  bool has_a = a.next(from_a);
  bool has_b = b.next(from_b);
  while (has_a && has_b && are_same(from_a, from_b, result.compares_uids)) {
    ++result.events_equal;
    has_a = a.next(from_a);
    has_b = b.next(from_b);
  }
  // A run that died says nothing of what it would have done next.
  const bool a_may_go_on = !has_a && !a.extent().is_complete;
  const bool b_may_go_on = !has_b && !b.extent().is_complete;
  result.is_equal = (!has_a && !has_b) || a_may_go_on || b_may_go_on;
  result.is_complete = result.is_equal && a.extent().is_complete && b.extent().is_complete;
  if (result.is_equal) return result;
  const Events in_a = window(a, has_a ? std::optional(from_a) : std::nullopt);
  const Events in_b = window(b, has_b ? std::optional(from_b) : std::nullopt);
  WindowComparison windows(in_a, in_b, result.compares_uids, differences_max, result.differences);
  const bool a_has_all = holds_all(in_a, a);
  const bool b_has_all = holds_all(in_b, b);
  // A pod that was decided differently is bound differently: the binding is worth a line only where nothing else is.
  windows.compare(false, b_has_all, a_has_all);
  if (result.differences.empty()) windows.compare(true, b_has_all, a_has_all);
  if (result.differences.empty()) {  // the same things in another order
    result.differences.push_back(
        {has_a ? std::optional(in_a.front()) : std::nullopt, has_b ? std::optional(in_b.front()) : std::nullopt});
  }
  return result;
}

}  // namespace berth
