// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/queue/pod_records.h"

namespace berth {

/// How many pods of the queue each plugin rejects, by profile. Counting needs no memory.
class RejectedPods {
 public:
  /// @param profiles  known ones; pods of others count together
  explicit RejectedPods(std::size_t profiles) : counts_((profiles + 1) * kPlugins) {}

  void add(std::uint8_t plugin, std::uint16_t profile) {
    Count& count = of(plugin, profile);
    ++count.now;
    count.was_ever = true;
  }
  void remove(std::uint8_t plugin, std::uint16_t profile) { --of(plugin, profile).now; }

  /// Calls visit(plugin, profile, count) for those that ever rejected a pod of a known profile.
  template <class Visit>
  void for_each_ever(Visit visit) const {
    for (std::size_t i = 0; i + kPlugins < counts_.size(); ++i)
      if (counts_[i].was_ever)
        visit(static_cast<std::uint8_t>(i % kPlugins), static_cast<std::uint16_t>(i / kPlugins), counts_[i].now);
  }

 private:
  static constexpr std::size_t kPlugins = 64;  ///< bits of a PluginSet
  struct Count {
    std::uint64_t now = 0;
    bool was_ever = false;
  };
  Count& of(std::uint8_t plugin, std::uint16_t profile) {
    const std::size_t known = counts_.size() / kPlugins - 1;
    return counts_[(profile < known ? profile : known) * kPlugins + plugin];
  }

  std::vector<Count> counts_;
};

}  // namespace berth
