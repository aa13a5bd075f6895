// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/record/field_differences.h"
#include "host/record/recording_reader.h"

namespace berth {

/// What two runs did differently about one pod.
struct RecordedDifference {
  std::optional<RecordedEvent> a;  ///< absent: only b did it, as far as was looked
  std::optional<RecordedEvent> b;
};

/// Fields of inputs of one kind.
struct InputDifference {
  std::string kind;
  FieldDifferences fields;
};

struct RecordingComparison {
  /// Whether both did the same, as far as both recordings go.
  bool is_equal = false;
  /// False where the seeds are not the same, of which uids are made: pods are those of the same name then.
  bool compares_uids = true;
  /// Both have their end and are equal up to it.
  bool is_complete = false;
  std::int64_t events_equal = 0;  ///< from the beginning, before the first difference
  std::vector<FactDifference> facts;
  std::vector<InputDifference> inputs;          ///< of kinds whose bytes differ
  std::vector<RecordedDifference> differences;  ///< the first ones, in the order of a and then of b
};

/// Fields of one kind of input that are named.
inline constexpr std::size_t kFieldsNamedMax = 10;

/// Events of each recording, from the first difference on, among which the same pod is looked for.
inline constexpr std::size_t kComparedEventsMax = 100'000;

/// Reads both from their beginning. Up to the first difference events are compared one by one; from there on, decisions
/// by pod and attempt, and evictions by victim and preemptor, within kComparedEventsMax events.
/// @throws InputError for a damaged recording
RecordingComparison compare(RecordingReader& a, RecordingReader& b, std::size_t differences_max);

}  // namespace berth
