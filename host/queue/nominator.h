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

  /// A change that was made ready: apply() needs no memory for it. Void behind another apply().
  class Change;
  void apply(Change change);

  /// An earlier nomination ends, and a node without a name makes no other one. @param node  absent: what the pod's
  /// status names, if it names one
  Change addition(const PodPtr& pod, const std::optional<std::string>& node);
  /// @param keeps  a nomination stays that neither version's status names
  Change update_of(const Pod& before, const PodPtr& after, bool keeps = true);
  Change removal(const Pod& pod) const;
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
  using ByUid = std::unordered_map<std::string, Nomination>;
  using PodsOfNode = std::map<std::uint64_t, PodPtr>;
  using ByNode = std::unordered_map<std::string, PodsOfNode>;

  PodLister lister_;
  ByUid nominations_;
  /// By node, and there by order: many pods may be nominated for one large node, and each of them leaves alone.
  ByNode pods_on_;
  std::uint64_t next_order_ = 0;
};

class Nominator::Change {
 private:
  friend class Nominator;
  std::vector<ByUid::const_iterator> removed_;  ///< nominations that end
  ByUid::node_type added_;                      ///< empty: there is none
  ByNode::node_type node_;                      ///< of `added_`, without pods
  PodsOfNode::node_type pod_;                   ///< of `added_`
};

}  // namespace berth
