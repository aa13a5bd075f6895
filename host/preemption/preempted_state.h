// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "batching/backend.h"

namespace berth {

/// A state of a cluster as preemption asks about it: that of an engine, or of a fork. Nodes have positions in node
/// order. It does not change while one object of this class is used.
class PreemptedState {
 public:
  virtual ~PreemptedState() = default;
  virtual std::size_t size() const = 0;
  virtual NodeIndex index(std::size_t position) const = 0;
  /// Position of the node; size() when there is none.
  virtual std::size_t find(std::string_view node_name) const = 0;
  virtual std::string_view node_name(NodeIndex node) const = 0;
  /// The pods of the node with a priority below `priority`.
  virtual std::vector<PodPtr> pods_below(std::size_t position, std::int32_t priority) = 0;
  /// potential_victims() of the node. Valid as long as the object.
  virtual VictimList list(std::size_t position, std::int32_t priority) = 0;
  /// Backend::verdicts(), Backend::dry_run() and Backend::statuses_without_victims()
  virtual PodVerdicts verdicts(const PodToPlace& pod) = 0;
  virtual DryRunResult dry_run(const DryRunRequest& request) = 0;
  virtual std::vector<Status> statuses_without_victims(const DryRunRequest& request) = 0;
};

}  // namespace berth
