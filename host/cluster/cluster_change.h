// SPDX-License-Identifier: Apache-2.0
#pragma once

// What can happen to a cluster from outside, as values: an engine takes them through Backend::apply(). Objects are
// shared and never change.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "host/cluster/cluster_storage.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// The parts of a Node object that rules read separately.
enum class NodePart : std::uint8_t { kAllocatable, kLabels, kTaints, kCordon, kImages, kFeatures, kDeclared };
inline constexpr std::size_t kNodePartCount = 7;

/// A set of parts.
class NodeParts {
 public:
  static constexpr NodeParts all() { return NodeParts((1u << kNodePartCount) - 1); }
  constexpr NodeParts() = default;
  constexpr void insert(NodePart part) { bits_ |= 1u << static_cast<unsigned>(part); }
  constexpr void insert(NodeParts parts) { bits_ |= parts.bits_; }
  constexpr bool contains(NodePart part) const { return (bits_ >> static_cast<unsigned>(part) & 1u) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  /// Only what rules of the load read: no node side does.
  constexpr bool are_load() const { return bits_ == 1u << static_cast<unsigned>(NodePart::kAllocatable); }
  friend constexpr bool operator==(NodeParts, NodeParts) = default;

 private:
  explicit constexpr NodeParts(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

/// A node whose object changed, or which came or went, in an engine.
struct ChangedNode {
  std::int32_t slot = -1;
  NodeParts parts;  ///< all of one that came or went
};

/// [NodePart] 64-bit hashes: parts with equal hashes are taken as equal.
using NodeFingerprint = std::array<std::uint64_t, kNodePartCount>;
NodeFingerprint fingerprint_of(const Node& node);
NodeParts differing_parts(const NodeFingerprint& a, const NodeFingerprint& b);

/// A node was added, or its object changed.
struct NodeUpsert {
  explicit NodeUpsert(NodePtr object) : node(std::move(object)), fingerprint(fingerprint_of(*node)) {}
  NodePtr node;
  NodeFingerprint fingerprint;
};

/// Pods that are known on the node stay known until they are removed themselves, and come back with a node of the name.
struct NodeRemoval {
  std::string name;
};

/// A pod was created, bound, or its object changed. On a node: it stands there from now on; this confirms a placement
/// of the engine there, and overrules one elsewhere. Without a node: its status.nominatedNodeName counts, or no longer
/// does; the engine does not keep the pod itself before it places it. Finished: it is removed.
struct PodUpsert {
  PodPtr pod;
};

/// A pod was deleted. Its nomination ends too.
struct PodRemoval {
  std::string uid;
};

/// A pending pod reserves room on a node. An empty name ends the reservation. The scheduler sets it before the API
/// server knows, so that it is not read from the pod's status.
struct NominationUpsert {
  PodPtr pod;
  std::string node_name;
};

struct NamespaceUpsert {
  Namespace object;
};
struct NamespaceRemoval {
  std::string name;
};

struct ServiceUpsert {
  Service object;
};
struct ServiceRemoval {
  std::string namespace_;
  std::string name;
};

/// ReplicationControllers, ReplicaSets and StatefulSets: default spreading reads their selectors.
struct WorkloadUpsert {
  Workload object;
};
struct WorkloadRemoval {
  std::string kind;
  std::string namespace_;
  std::string name;
};

/// A storage object was added, or changed.
struct StorageUpsert {
  StorageObject object;
};
struct StorageRemoval {
  StorageKind kind = StorageKind::kVolume;
  std::string namespace_;  ///< of claims and capacities; empty for the others
  std::string name;
};

/// Removing what is not there has no effect.
using ClusterChange =
    std::variant<NodeUpsert, NodeRemoval, PodUpsert, PodRemoval, NominationUpsert, NamespaceUpsert, NamespaceRemoval,
                 ServiceUpsert, ServiceRemoval, WorkloadUpsert, WorkloadRemoval, StorageUpsert, StorageRemoval>;

}  // namespace berth
