// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/record/recorded_event.h"

namespace berth {

struct RecordedPodView {
  std::string_view name_space;
  std::string_view name;
  std::string_view uid;
};

/// RecordedEvent whose texts lie elsewhere.
struct RecordedEventView {
  RecordedKind kind = RecordedKind::kDecision;
  std::int64_t time_us = 0;
  RecordedPodView pod;
  std::string_view node;
  RecordedPodView preemptor;
  std::string_view profile;
  std::int64_t attempt = 0;
  std::string_view result;
  std::int64_t score = 0;
  std::string_view message;
};

/// Reads `event`, which has to outlive the view.
RecordedEventView view_of(const RecordedEvent& event);

/// Appends what the hash of decisions reads of an event: docs/recordings.md lists it.
void append_bytes(std::string& out, const RecordedEventView& event);
/// Takes the first event off bytes of append_bytes(); the view reads them.
RecordedEventView take_event(std::string_view& bytes);

}  // namespace berth
