// SPDX-License-Identifier: Apache-2.0
#pragma once

// One node with some pods added and others removed, as Filter reads it: for pods that are nominated to the node, and
// for victims of a preemption. The snapshot does not change, so any number of overlays may be read in parallel.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"
#include "host/cluster/topology_counts.h"

namespace berth {

/// The tables with the pods of one node changed. Has those members of TopologyCounts that batching/node_topology.h
/// reads, for that node.
class OverlaidCounts {
 public:
  explicit OverlaidCounts(const TopologyCounts& counts) : counts_(counts) {}

  void reset(std::int32_t node) {
    node_ = node;
    changes_.clear();
  }
  /// @param sign  1: the pod is added, -1: removed
  void apply(std::span<const CountMove> moves, int sign);

  std::int32_t node() const { return node_; }
  std::int32_t domain_of(std::int32_t column, std::int32_t node) const { return counts_.domain_of(column, node); }
  std::int32_t column_of(std::int32_t table) const { return counts_.column_of(table); }
  /// @param node  the node of the overlay
  std::int64_t count_at(std::int32_t table, std::int32_t node) const {
    return counts_.count_at(table, node) + change_of(table);
  }
  std::int64_t total(std::int32_t table) const { return counts_.total(table) + change_of(table); }
  std::int32_t existing_domains(std::int32_t table) const { return counts_.existing_domains(table); }
  std::int64_t minimum(std::int32_t table) const;

 private:
  struct Change {
    std::int32_t table;
    std::int64_t amount;
  };
  std::int64_t change_of(std::int32_t table) const {
    for (const Change& change : changes_)
      if (change.table == table) return change.amount;
    return 0;
  }

  const TopologyCounts& counts_;
  std::int32_t node_ = -1;
  std::vector<Change> changes_;  ///< few: at most one per table that the class reads
};

/// What a pod brings to its node, as one class reads it.
struct PodEffect {
  const ResourceDelta& delta;
  std::span<const HostPort> ports;
  std::span<const CountMove> moves;  ///< TopologyQueries::effect(); empty where the class reads no table
  const Pod* pod = nullptr;          ///< where plugins on the host run
};

/// See the top of the file. Used for one class after another and one node after another, so that it allocates only
/// when a class is larger than all before, or requests host ports.
class NodeOverlay {
 public:
  /// `snapshot` must outlive the overlay.
  explicit NodeOverlay(const Snapshot& snapshot) : snapshot_(snapshot), counts_(snapshot.topology()) {}

  /// Which amounts and ports will be read: those that the class requests. Call reset() afterwards.
  void read_for(const PodClass& pod_class);
  /// The node without changes.
  void reset(std::int32_t node);
  void add(const PodEffect& pod) { apply(pod, 1, 1); }
  void remove(const PodEffect& pod) { apply(pod, 1, -1); }
  /// Removes `pod_count` pods whose amounts, ports and moves are those of `pods` together.
  void remove_all(const PodEffect& pods, std::int64_t pod_count) { apply(pods, pod_count, -1); }
  /// What plugins on the host see of remove_all(). @param pods  that live as long as the overlay reads for the node
  void remove_for_hosts(const Pod* pod) { note_pod(pod, -1); }

  /// Changes the tables alone.
  void apply_moves(std::span<const CountMove> moves, int sign) { counts_.apply(moves, sign); }

  // A Node of batching/load_rules.h, of the columns that the class requests.
  std::int64_t allocatable(std::int32_t column) const {
    return column == kNoColumn ? 0 : amounts_of(column).allocatable;
  }
  std::int64_t requested(std::int32_t column) const { return column == kNoColumn ? 0 : amounts_of(column).requested; }
  std::int64_t pod_count() const { return pod_count_; }
  std::int64_t allowed_pods() const { return snapshot_.allowed_pods(node_); }
  /// Sorted. Of a class that requests no port, those of the node without changes.
  const std::vector<HostPort>& used_ports() const { return tracks_ports_ ? ports_ : snapshot_.used_ports(node_); }

  /// The amounts of one column on the node.
  struct Amounts {
    std::int64_t allocatable = 0;
    std::int64_t requested = 0;
  };
  /// The columns that the class requests, and their amounts.
  std::span<const std::int32_t> columns() const { return columns_; }
  std::span<const Amounts> amounts() const { return amounts_; }

  std::int32_t node() const { return node_; }
  std::string_view node_name() const { return snapshot_.node_name(node_); }
  const OverlaidCounts& counts() const { return counts_; }
  // Where plugins on the host decide on the class: the changes in the order in which they were made.
  std::span<const Pod* const> added_pods() const { return added_pods_; }
  std::span<const Pod* const> removed_pods() const { return removed_pods_; }

 private:
  void note_pod(const Pod* pod, int sign);
  static constexpr std::int32_t kNotRead = -1;

  void apply(const PodEffect& pods, std::int64_t pod_count, int sign);
  const Amounts& amounts_of(std::int32_t column) const {
    return amounts_[static_cast<std::size_t>(index_of_column_[static_cast<std::size_t>(column)])];
  }

  const Snapshot& snapshot_;
  std::int32_t node_ = -1;
  std::vector<std::int32_t> columns_;          ///< that the class requests, each once
  std::vector<std::int32_t> index_of_column_;  ///< [resource column] into columns_, or kNotRead
  std::vector<Amounts> amounts_;               ///< parallel to columns_
  std::int64_t pod_count_ = 0;
  bool tracks_ports_ = false;
  std::vector<HostPort> ports_;
  OverlaidCounts counts_;
  bool tracks_pods_ = false;
  std::vector<const Pod*> added_pods_;
  std::vector<const Pod*> removed_pods_;
};

}  // namespace berth
