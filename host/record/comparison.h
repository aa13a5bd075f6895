// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/record/recording_reader.h"

namespace berth {

/// What two runs did differently about one pod.
struct RecordedDifference {
  std::optional<RecordedEvent> a;  ///< absent: only b did it, as far as was looked
  std::optional<RecordedEvent> b;
};

/// A fact of the runs that is not the same: an option, the version, an input.
struct FactDifference {
  std::string key;
  std::string a;  ///< empty: it has none
  std::string b;
};

struct RecordingComparison {
  /// Whether both did the same, as far as both recordings go.
  bool is_equal = false;
  /// Both have their end and are equal up to it.
  bool is_complete = false;
  std::int64_t events_equal = 0;  ///< from the beginning, before the first difference
  std::vector<FactDifference> facts;
  std::vector<RecordedDifference> differences;  ///< the first ones, in the order of a and then of b
};

/// Events of each recording, from the first difference on, among which the same pod is looked for.
inline constexpr std::size_t kComparedEventsMax = 100'000;

/// Reads both from their beginning. Up to the first difference events are compared one by one; from there on, decisions
/// by pod and attempt, and evictions by victim and preemptor, within kComparedEventsMax events.
/// @throws InputError for a damaged recording
RecordingComparison compare(RecordingReader& a, RecordingReader& b, std::size_t differences_max);

}  // namespace berth
