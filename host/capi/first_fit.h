// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "batching/backend.h"

namespace berth::capi {

/// Nodes that FIRST_FIT and ORDER ask at once: the first ones often fit, and a question costs as much as a few nodes.
inline constexpr std::size_t kAskedFirst = 4;
inline constexpr std::size_t kAskedMax = 1024;

/// Finds the first node of a list that accepts a pod, in a fork in which pods come and none goes meanwhile: a node
/// whose load or object refuses a pod refuses all pods of its class from then on, and is not asked again.
class FirstFit {
 public:
  /// @param fork  must outlive this
  explicit FirstFit(Fork& fork) : fork_(fork) {}

  /// @param may_get_room  a nomination on the node may end, so that its load refuses nobody for good
  void add(std::string name, NodeIndex node, bool may_get_room);
  const std::string& name(std::size_t position) const { return nodes_[position].name; }
  std::size_t size() const { return nodes_.size(); }
  /// Call when a node came or went.
  void follow_nodes();

  /// @param kind  equal for pods that no rule can tell apart
  /// @param error  set to the text of an error that ends the pod's cycle
  /// @return a position; nullopt: no node accepts the pod
  std::optional<std::size_t> find(const PodToPlace& pod, std::uint64_t kind, std::string& error);

 private:
  struct Listed {
    std::string name;
    NodeIndex index;
    bool may_get_room = false;
  };
  /// Positions from `begin` on may accept pods of a kind; so may all from `seen` on, which are not listed yet.
  struct Open {
    std::vector<std::uint32_t> positions;
    std::size_t begin = 0;
    std::size_t seen = 0;
    bool has_found = false;
  };

  Fork& fork_;
  std::vector<Listed> nodes_;
  std::unordered_map<std::uint64_t, Open> open_;  ///< by kind
  std::vector<NodeIndex> asked_;
};

/// Why none of the nodes accepts a pod that all of them refuse, as kube-scheduler's event says it.
std::string why_nowhere(Fork& fork, const PodToPlace& pod, std::span<const NodeIndex> nodes);

/// The verdict is a refusal of a rule that reads the node's object and load alone: no pod that comes can change it.
/// @param may_get_room  a nomination may end, which changes loads
bool is_for_good(const NodeVerdict& verdict, bool may_get_room);

}  // namespace berth::capi
