// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "host/framework/cluster_event.h"

namespace berth {

/// Why a pod enters a container: a cluster event, or one of the queue's own moves.
struct QueueLabel {
  enum class Move : std::uint8_t {
    kEvent,
    kScheduleAttemptFailure,
    kBackoffComplete,
    kPopFromBackoffQ,
    kForceActivate,
    kUnschedulableTimeout,
  };
  Move move = Move::kEvent;
  ClusterEvent event = {};  ///< for kEvent
  friend bool operator==(const QueueLabel&, const QueueLabel&) = default;
};
std::string to_string(const QueueLabel& label);

/// Figures of scheduler_* metrics (docs/behaviour/scheduler-core.md 1.14) that only grow. Those that upstream counts
/// wrongly are counted right here.
class QueueCounts {
 public:
  enum class Queue : std::uint8_t { kActive, kBackoff, kUnschedulable };

  /// count() of the same needs no memory afterwards.
  void make_room(Queue queue, const QueueLabel& label) { incoming_[{queue, code_of(label)}]; }
  void count(Queue queue, const QueueLabel& label) { ++incoming_[{queue, code_of(label)}]; }
  /// queue_incoming_pods_total: [{"active", "NodeAdd"}] and so on.
  std::map<std::pair<std::string, std::string>, std::uint64_t> incoming() const;

 private:
  using Code = std::uint32_t;
  static Code code_of(const QueueLabel& label);
  static QueueLabel label_of(Code code);
  std::map<std::pair<Queue, Code>, std::uint64_t> incoming_;
};

}  // namespace berth
