// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tables of TopologyCounts with their definitions, so that equal queries share one table, and all of them can be
// rebuilt when the number of slots changes. Numbers of tables and masks that keep_only() gives up are given again.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "batching/numbered.h"
#include "host/cluster/snapshot.h"
#include "host/objects/pod.h"

namespace berth {

/// Which nodes a spread constraint counts: docs/behaviour/plugins-topology.md 2.4. Null specs: that policy is Ignore.
struct EligibleNodes {
  std::vector<std::string> complete_keys;         ///< labels that a node must have, sorted
  std::shared_ptr<const PodSpec> affinity_of;     ///< nodes that its nodeSelector and required node affinity accept
  std::shared_ptr<const PodSpec> tolerations_of;  ///< nodes without a taint that it does not tolerate
};

/// The domains of label values that only guests of a what-if have (host/cluster/guest_nodes.h), which have no number in
/// the engine.
class GuestDomains {
 public:
  /// @param first  the lowest number that the column has free
  std::int32_t of(std::int32_t column, const std::string& value, std::int32_t first);

 private:
  struct Domain {
    std::int32_t column;
    std::string value;
    std::int32_t number;
  };
  std::vector<Domain> domains_;
};

class TopologyTables {
 public:
  /// @param comparison_operators  gate TaintTolerationComparisonOperators
  TopologyTables(Snapshot& snapshot, bool comparison_operators)
      : snapshot_(snapshot), comparison_operators_(comparison_operators) {}

  /// The domains of a label key. @param absent_is_empty  nodes without the label lie in the domain of the empty value
  std::int32_t key_column(const std::string& key, bool absent_is_empty = false);
  /// A column where every node is its own domain.
  std::int32_t node_column();

  /// A table over a column; the same table for equal arguments.
  /// @param counted  text that identifies what is counted: a query or a term
  std::int32_t table(const std::string& counted, std::int32_t column, const EligibleNodes& eligible,
                     bool tracks_minimum);
  /// How many tables were ever added.
  std::uint64_t added() const { return definitions_.added(); }
  std::int32_t size() const { return definitions_.size(); }
  LiveNumbers none_live() const { return LiveNumbers(definitions_.end()); }
  /// Gives up the tables that are not live, and the masks that no table has left.
  void keep_only(const LiveNumbers& live);
  /// Call when the number of slots changed: rebuilds columns and masks, and sets every count to 0.
  void rebuild();
  /// Whether the object of the node, which may be gone, puts it into other domains, or makes it count elsewhere.
  bool is_moved(std::int32_t slot);
  /// Takes that over. The node's counts must be 0 in every table.
  void move_node(std::int32_t slot);
  /// Where a guest lies, by its object. @param node  Snapshot::of_node(); null: it went, and reads as a free slot
  GuestPlace place_of_guest(std::int32_t slot, Snapshot* node, GuestDomains& domains) const;

 private:
  struct Column {
    std::string key;
    bool absent_is_empty = false;
    bool is_node = false;
  };
  struct Mask {
    EligibleNodes eligible;
    NodeMask nodes;  ///< null: all
    std::string signature;
    bool contains(std::int32_t slot) const { return nodes == nullptr || (*nodes)[static_cast<std::size_t>(slot)] != 0; }
  };
  class Eligibility;
  DomainColumn make_column(const Column& column);
  std::int32_t domain_at(const Column& column, std::int32_t slot) const;
  std::int32_t domain_of_guest(std::int32_t column, std::int32_t slot, const Node* node, GuestDomains& domains) const;
  NodeMask make_mask(const EligibleNodes& eligible);
  bool is_eligible(const EligibleNodes& eligible, std::int32_t slot) const;
  std::int32_t mask_of(const EligibleNodes& eligible);
  std::int32_t column(const std::string& signature, Column definition);

  Snapshot& snapshot_;
  bool comparison_operators_;
  std::vector<Column> columns_;
  std::map<std::string, std::int32_t> column_of_signature_;
  struct Definition {
    std::string signature;
    std::int32_t mask = 0;
  };
  Numbered<Mask> masks_;
  std::unordered_map<std::string, std::int32_t> mask_of_signature_;
  Numbered<Definition> definitions_;  ///< by table
  std::unordered_map<std::string, std::int32_t> table_of_signature_;
};

}  // namespace berth
