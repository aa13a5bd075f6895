// SPDX-License-Identifier: Apache-2.0
#pragma once

// Nodes that an autoscaler may add, as estimates try them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/capi/guard.h"
#include "host/capi/what_if.h"

namespace berth::capi {

/// At most so much of a resource on all new nodes together.
struct ResourceCap {
  std::string resource;
  std::int64_t amount = 0;
  friend bool operator==(const ResourceCap&, const ResourceCap&) = default;
};

/// A kind of node that may be added, with the pods that come with it.
struct NodeShape {
  NodePtr node;                 ///< with the name that those of new nodes begin with
  std::vector<PodPtr> pods;     ///< placed by force on each
  std::uint32_t nodes_max = 0;  ///< 0: no cap
  std::vector<ResourceCap> caps;
  std::int64_t price = 0;
  std::uint32_t number = 0;   ///< the position of the first shape that no rule can tell from this one
  std::uint32_t same_as = 0;  ///< the same, of those with equal caps: it has the same answer
};

/// @param state  in which nodes are copied
/// @throws ApiError, InputError
std::vector<NodeShape> read_shapes(const State& state, const berth_shape* const* shapes, std::size_t count,
                                   CallLog& log);

/// Adds and removes nodes of a shape in a fork. Their names are those that no node there has.
class NewNodes {
 public:
  /// The arguments must outlive this.
  NewNodes(const NodeShape& shape, Fork& fork) : shape_(shape), fork_(fork) {}

  /// Adds a node with its pods.
  NodeIndex add();
  /// Removes the latest one, with its pods.
  void remove_last();
  std::size_t count() const { return count_; }
  const std::string& name(std::size_t i) const { return nodes_[i].name; }

 private:
  struct New {
    std::string name;
    std::vector<ClusterChange> come;  ///< the node, and the pods that come with it
    std::vector<ClusterChange> go;
  };
  New make();

  const NodeShape& shape_;
  Fork& fork_;
  std::vector<New> nodes_;  ///< those that are there, and those that went, which come again as they were
  std::size_t count_ = 0;
  std::size_t next_number_ = 0;
};

}  // namespace berth::capi
