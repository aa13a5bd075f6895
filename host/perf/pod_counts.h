// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts of pods by how far scheduling has come, kept up to date from the events of a store.

#include <cstdint>
#include <string>
#include <vector>

#include "host/perf/perf_config.h"
#include "host/store/object_store.h"

namespace berth {

struct PodFilter {
  std::vector<std::string> namespaces;  ///< empty: all
  PerfSelector selector;
  bool matches(const Pod& pod) const;
};

enum class PodStage : std::uint8_t {
  kUnattempted,
  kAttempted,  ///< has the condition PodScheduled, and no node
  kScheduled,  ///< has a node
};
PodStage stage_of(const StoredPod& pod);

/// Of the pods that match a filter.
class PodCounts {
 public:
  /// Counts the pods in the store. Every event before must have been read by the caller's watch already.
  PodCounts(const ObjectStore& store, PodFilter filter);
  void apply(const ObjectChange<Pod>& change);
  std::int64_t attempted() const { return attempted_; }
  std::int64_t scheduled() const { return scheduled_; }

 private:
  void add(const StoredPodPtr& pod, std::int64_t amount);

  PodFilter filter_;
  std::int64_t attempted_ = 0;
  std::int64_t scheduled_ = 0;
};

/// Whether the change gave a node to a pod that matches.
bool got_scheduled(const ObjectChange<Pod>& change, const PodFilter& filter);

}  // namespace berth
