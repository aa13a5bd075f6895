// SPDX-License-Identifier: Apache-2.0
#include "host/queue/queue_counts.h"

#include <array>

namespace berth {
namespace {

constexpr std::array<std::string_view, 6> kMoveNames = {
    "", "ScheduleAttemptFailure", "BackoffComplete", "PopFromBackoffQ", "ForceActivate", "UnschedulableTimeout"};
constexpr std::array<std::string_view, 3> kQueueNames = {"active", "backoff", "unschedulable"};

}  // namespace

std::string to_string(const QueueLabel& label) {
  if (label.move == QueueLabel::Move::kEvent) return to_string(label.event);
  return std::string(kMoveNames[static_cast<std::size_t>(label.move)]);
}

QueueCounts::Code QueueCounts::code_of(const QueueLabel& label) {
  return static_cast<Code>(label.move) << 24 | static_cast<Code>(label.event.resource) << 16 | label.event.actions;
}

QueueLabel QueueCounts::label_of(Code code) {
  return {static_cast<QueueLabel::Move>(code >> 24),
          {static_cast<EventResource>(code >> 16 & 0xffu), static_cast<std::uint16_t>(code & 0xffffu)}};
}

std::map<std::pair<std::string, std::string>, std::uint64_t> QueueCounts::incoming() const {
  std::map<std::pair<std::string, std::string>, std::uint64_t> named;
  for (const auto& [key, count] : incoming_)
    if (count > 0)
      named[{std::string(kQueueNames[static_cast<std::size_t>(key.first)]), to_string(label_of(key.second))}] = count;
  return named;
}

}  // namespace berth
