// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/objects/pod.h"

namespace berth {

/// The newest version of a pod that the API server is known to have, by namespace and name; null: none.
using PodLister = std::function<PodPtr(std::string_view name_space, std::string_view name)>;

/// Which node each pending pod reserves, as the scheduler means it: docs/behaviour/scheduler-core.md 1.12. The engine
/// keeps its own view of what is reserved (batching/nominations.h); this one says what a nomination is when versions of
/// a pod disagree.
class Nominator {
 public:
  /// @param lister  absent: every pod exists and has no node
  explicit Nominator(PodLister lister = nullptr) : lister_(std::move(lister)) {}

  /// An earlier nomination ends, and a node without a name makes no other one. @param node  absent: what the pod's
  /// status names, if it names one
  void add(const PodPtr& pod, const std::optional<std::string>& node);
  void update(const Pod& before, const PodPtr& after);
  void remove(const Pod& pod);

  /// Absent: the pod has no nomination.
  std::optional<std::string> node_of(const Pod& pod) const;
  /// As they were when they were nominated, in order.
  std::vector<PodPtr> pods_on(const std::string& node) const;
  std::size_t size() const { return nominations_.size(); }

 private:
  struct Nomination {
    std::string node;
    std::uint64_t order;  ///< key in pods_on_[node]
  };

  PodLister lister_;
  std::unordered_map<std::string, Nomination> nominations_;  ///< by uid
  /// By node, and there by order: many pods may be nominated for one large node, and each of them leaves alone.
  std::unordered_map<std::string, std::map<std::uint64_t, PodPtr>> pods_on_;
  std::uint64_t next_order_ = 0;
};

}  // namespace berth
