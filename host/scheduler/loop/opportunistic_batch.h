// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opportunistic batching of one profile: the node that was next best for the last pod is tried first for an equal one,
// where the chosen node can host no more of them. docs/behaviour/scheduler-core.md 6.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/framework/clock.h"
#include "host/scheduler/loop/loop_meter.h"

namespace berth {

class OpportunisticBatch {
 public:
  static constexpr std::int64_t kAgeMaxUs = 500'000;

  /// @param profile  its schedulerName, for the meter
  /// @param clock, meter  outlive this; meter null: nobody is told
  OpportunisticBatch(std::string profile, const Clock& clock, LoopMeter* meter)
      : profile_(std::move(profile)), clock_(clock), meter_(meter) {}

  /// A pod that passed PreFilter.
  struct Asked {
    std::uint64_t cycle = 0;               ///< SchedulingQueue::scheduling_cycle()
    std::optional<std::string> signature;  ///< nullopt: it has none
    bool last_node_exists = false;         ///< of last_node()
    bool last_node_refuses = false;        ///< by its Filter plugins, pods nominated to it left out
  };
  /// The node that was chosen last; empty: none.
  const std::string& last_node() const { return last_node_; }
  /// 6.4. @return the node to try first; empty: none
  std::string hint(const Asked& asked);
  /// 6.5, after a node was chosen. @param others  BatchResult::others, by name
  void store(const Asked& asked, std::string_view hinted, std::string_view chosen, std::vector<std::string> others);

 private:
  struct Kept {
    std::string signature;
    std::vector<std::string> nodes;  ///< best last
    std::int64_t since_us = 0;
  };
  std::optional<BatchFlush> reason_against(const Asked& asked) const;
  void flush(BatchFlush reason) const;

  std::string profile_;
  const Clock& clock_;
  LoopMeter* meter_;
  std::uint64_t last_cycle_ = 0;
  std::string last_node_;
  std::optional<Kept> kept_;
};

}  // namespace berth
