// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace berth {

enum class RecordedKind : std::uint8_t {
  kDecision,  ///< an attempt to place `pod`
  kBinding,   ///< the API server took the binding of `pod` to `node`
  kEviction,  ///< `pod` is evicted from `node` for `preemptor`
};

/// What a pod is known by.
struct RecordedPod {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string full_name() const { return name_space + "/" + name; }
  friend bool operator==(const RecordedPod&, const RecordedPod&) = default;
};

/// One thing that the scheduler did. Fields that its kind does not have are empty or 0.
struct RecordedEvent {
  RecordedKind kind = RecordedKind::kDecision;
  std::int64_t time_us = 0;  ///< of the scheduler's clock, since the epoch
  RecordedPod pod;
  std::string node;
  RecordedPod preemptor;     ///< of an eviction
  std::string profile;       ///< of a decision, as the next five
  std::int64_t attempt = 0;  ///< counts from 1
  std::string result;        ///< "scheduled", "unschedulable", "error"
  std::int64_t score = 0;    ///< of `node`
  std::string message;       ///< why there is no node
  friend bool operator==(const RecordedEvent&, const RecordedEvent&) = default;
};

}  // namespace berth
