// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts per topology domain for the terms of PodTopologySpread and InterPodAffinity, in arrays of which a placement
// changes one entry each. docs/behaviour/plugins-topology.md 7.1.
//
// A column numbers the domains of one label key: node n lies in domain `domain_of[n]`, 0 where it has none. A table
// counts something (pods that match a query, or terms of pods) per domain of one column. The caller defines what is
// counted.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/cluster/pages.h"

namespace berth {

struct DomainColumn {
  std::string key;
  std::vector<std::int32_t> domain_of;  ///< [node_count] 1 to domain_count, 0: no domain
  std::int32_t domain_count = 0;
  bool one_node_each = false;                 ///< no domain holds two nodes
  std::vector<std::int32_t> first_of_domain;  ///< [domain_count + 2] into nodes_by_domain
  std::vector<std::int32_t> nodes_by_domain;  ///< nodes of domain d: from first_of_domain[d] to first_of_domain[d + 1]

  std::int32_t operator[](std::int32_t node) const { return domain_of[static_cast<std::size_t>(node)]; }
};

/// Numbers the nodes of each domain; `domain_of` and `domain_count` are given.
void index_domains(DomainColumn& column);

/// Which nodes count; null: all.
using NodeMask = std::shared_ptr<const std::vector<std::uint8_t>>;

/// One change of one table that a pod brings to its node.
struct CountMove {
  std::int32_t table = 0;
  std::int32_t amount = 1;
  friend bool operator==(const CountMove&, const CountMove&) = default;
};

/// A value: copies share columns and the pages of counts. Columns and tables are only added.
class TopologyCounts {
 public:
  std::int32_t add_column(DomainColumn column);
  void replace_column(std::int32_t column, DomainColumn with);
  const DomainColumn& column(std::int32_t c) const { return *columns_[static_cast<std::size_t>(c)]; }
  std::int32_t column_count() const { return static_cast<std::int32_t>(columns_.size()); }

  /// A table of zeroes. @param tracks_minimum  minimum() will be asked for
  std::int32_t add_table(std::int32_t column, NodeMask mask, bool tracks_minimum);
  std::int32_t table_count() const { return static_cast<std::int32_t>(tables_.size()); }
  /// Back to zeroes, over a column that may have been replaced.
  void reset_table(std::int32_t table, NodeMask mask);

  /// The same tables, every count 0.
  TopologyCounts zeroed() const;

  std::int32_t column_of(std::int32_t table) const { return at(table).column; }
  const NodeMask& mask_of(std::int32_t table) const { return at(table).mask; }
  bool tracks_minimum(std::int32_t table) const { return at(table).tracks_minimum; }
  /// [domain] 1 where a domain holds a node that counts.
  static std::vector<std::uint8_t> domains_that_exist(const DomainColumn& column, const NodeMask& mask);
  /// Whether add() on the node changes a count.
  bool counts_node(std::int32_t table, std::int32_t node) const {
    const NodeMask& mask = mask_of(table);
    return column(column_of(table))[node] != 0 && (mask == nullptr || (*mask)[static_cast<std::size_t>(node)] != 0);
  }
  void add(std::int32_t table, std::int32_t node, std::int64_t amount);
  void add_all(const std::vector<CountMove>& moves, std::int32_t node, std::int64_t sign) {
    for (const CountMove& move : moves) add(move.table, node, sign * move.amount);
  }

  std::int64_t count(std::int32_t table, std::int32_t domain) const {
    return at(table).counts.read(static_cast<std::size_t>(domain >> kPageNodesLog2))[domain & (kPageNodes - 1)];
  }
  /// The counts of a table by domain, for loops over many nodes.
  const Pages<std::int64_t>& pages(std::int32_t table) const { return at(table).counts; }
  std::int64_t count_at(std::int32_t table, std::int32_t node) const {
    return count(table, column(column_of(table))[node]);
  }
  /// Over all domains.
  std::int64_t total(std::int32_t table) const { return at(table).total; }
  /// Domains with a node that counts; they exist even when their count is 0.
  std::int32_t existing_domains(std::int32_t table) const { return at(table).existing_domains; }
  /// Over existing domains; INT32_MAX without one. Only of tables that track it.
  std::int64_t minimum(std::int32_t table) const;
  /// minimum() if the count of one existing domain were `to`. @param from  the count of that domain
  std::int64_t minimum_with(std::int32_t table, std::int64_t from, std::int64_t to) const;

  std::uint64_t bytes() const;  ///< of columns and tables; what a copy shares counts in each

 private:
  struct Table {
    std::int32_t column = 0;
    NodeMask mask;
    Pages<std::int64_t> counts;  ///< by domain; [0] stays 0
    std::int64_t total = 0;
    std::int32_t existing_domains = 0;
    bool tracks_minimum = false;
    std::int64_t minimum = 0;
    /// [k] existing domains with count `histogram_base + k`: where the minimum goes when its last domain rises.
    std::vector<std::int32_t> histogram;
    std::int64_t histogram_base = 0;
  };
  const Table& at(std::int32_t table) const { return tables_[static_cast<std::size_t>(table)]; }
  void note_move(Table& table, std::int64_t from, std::int64_t to);
  const Pages<std::int64_t>& zeroes(std::int32_t entries);

  std::vector<std::shared_ptr<const DomainColumn>> columns_;
  std::vector<Table> tables_;
  /// Pages of zeroes by number of entries. Tables begin with them and copy a page at its first count: most queries
  /// have matches in few domains.
  std::map<std::int32_t, Pages<std::int64_t>> zeroes_;
};

}  // namespace berth
