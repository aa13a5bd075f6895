// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts per topology domain for the terms of PodTopologySpread and InterPodAffinity, in arrays of which a placement
// changes one entry each. docs/behaviour/plugins-topology.md 7.1.
//
// A column numbers the domains of one label key: node n lies in domain `domain_of[n]`, 0 where it has none. A table
// counts something (pods that match a query, or terms of pods) per domain of one column. The caller defines what is
// counted.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/domain_counts.h"
#include "host/cluster/pages.h"
#include "host/cluster/shared_ref.h"
#include "host/cluster/version_numbers.h"

namespace berth {

struct DomainColumn {
  std::string key;
  std::vector<std::int32_t> domain_of;        ///< [slot_count] 1 to domain_count, 0: no domain
  std::int32_t domain_count = 0;              ///< domains that no node lies in included
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

/// Where a guest of a what-if lies (host/cluster/guest_nodes.h), instead of what columns and masks say.
struct GuestPlace {
  std::int32_t slot = -1;
  std::vector<std::int32_t> domain_of;  ///< [column] 0: none
  std::vector<std::uint8_t> counts_in;  ///< [mask_id] 1: the node counts
  friend bool operator==(const GuestPlace&, const GuestPlace&) = default;
};

/// A value: copies share columns and the pages of counts. Columns are only added; the number of a table that was
/// removed is given again.
class TopologyCounts {
 public:
  std::int32_t add_column(DomainColumn column);
  /// Reset every table afterwards.
  void replace_column(std::int32_t column, DomainColumn with);
  /// Moves a node to another domain (0: none), which may be a new one. Its counts must be 0 in all tables of the
  /// column: take them off before and add them afterwards. Call reindex() before the next read of nodes_by_domain.
  void move_node(std::int32_t column, std::int32_t node, std::int32_t to);
  /// Numbers the nodes of each domain again.
  void reindex(std::int32_t column);
  const DomainColumn& column(std::int32_t c) const { return *columns_[static_cast<std::size_t>(c)]; }
  std::int32_t column_count() const { return static_cast<std::int32_t>(columns_.size()); }

  /// A table of zeroes. @param mask_id  for change_mask(): equal for tables whose masks change together
  /// @param tracks_minimum  minimum() will be asked for
  std::int32_t add_table(std::int32_t column, std::int32_t mask_id, NodeMask mask, bool tracks_minimum);
  /// From now on the table is all zeroes, until add_table() gives its number again.
  void remove_table(std::int32_t table);
  /// No table of the mask is left.
  void remove_mask(std::int32_t mask_id);
  /// Another mask that differs from the one before for one node. The node's counts must be 0 in all tables of the mask.
  void change_mask(std::int32_t mask_id, const NodeMask& with, std::int32_t node);
  /// Tables are numbered below this; those that were removed read as zeroes.
  std::int32_t table_count() const { return table_count_; }
  /// How many tables were ever added, and the value of that with a table.
  std::uint64_t tables_added() const { return tables_added_; }
  std::uint64_t added_at(std::int32_t table) const { return at(table).added_at; }
  /// Grows whenever something about the table changes, and is not below that of any table from before. Equal in a copy
  /// while neither changed the table, and only then. Which nodes lie in which domain is no part of the table.
  std::uint64_t version(std::int32_t table) const { return at(table).version; }
  /// Back to zeroes, over a column that may have been replaced.
  void reset_table(std::int32_t table, NodeMask mask);

  /// Adds the columns and tables that were added to `other` since this one was copied from it, with its counts. No
  /// table was removed since.
  void add_tables_of(const TopologyCounts& other);

  /// The same tables, every count 0.
  TopologyCounts zeroed() const;

  /// Moves a guest to a place, which may be in domains with higher numbers than any so far, while its counts are 0 in
  /// all tables. Domains that it begins or ends exist, or not, from then on. Costs few steps for each guest, and not
  /// the number of nodes or tables, as long as there is room for the domains: kSpareDomains.
  void set_guest(GuestPlace place);
  /// Nodes lie where columns and masks say, until set_guest(). @return where they lay
  std::vector<GuestPlace> take_guests() {
    domain_changes_.clear();
    return std::exchange(guests_, {});
  }
  /// The domain of a node, guest or not.
  std::int32_t domain_of(std::int32_t column, std::int32_t node) const {
    if (!guests_.empty())
      if (const GuestPlace* guest = find_guest(node)) return guest->domain_of[static_cast<std::size_t>(column)];
    return this->column(column)[node];
  }
  /// The highest number of a domain, those of guests included.
  std::int32_t domain_count(std::int32_t column) const;

  std::int32_t column_of(std::int32_t table) const { return at(table).column; }
  const NodeMask& mask_of(std::int32_t table) const { return at(table).mask; }
  bool tracks_minimum(std::int32_t table) const { return at(table).tracks_minimum; }
  /// [domain] nodes that count; [0] is 0.
  static std::vector<std::int32_t> nodes_that_count(const DomainColumn& column, const NodeMask& mask);
  /// Whether add() on the node changes a count.
  bool counts_node(std::int32_t table, std::int32_t node) const { return counted_domain(at(table), node) != 0; }
  void add(std::int32_t table, std::int32_t node, std::int64_t amount);
  void add_all(const std::vector<CountMove>& moves, std::int32_t node, std::int64_t sign) {
    for (const CountMove& move : moves) add(move.table, node, sign * move.amount);
  }

  std::int64_t count(std::int32_t table, std::int32_t domain) const { return at(table).counts.read(domain); }
  /// Calls use(domain, count) for the domains of the table whose count is not 0, in any order.
  template <class Use>
  void for_each_count(std::int32_t table, Use use) const {
    at(table).counts.for_each(use);
  }
  /// Calls use(domain) for the domains of the table whose count is not 0, ascending.
  template <class Use>
  void for_each_counted(std::int32_t table, Use use) const {
    const DomainCounts& counts = at(table).counts;
    if (!counts.is_listed()) return counts.for_each([&](std::int32_t domain, std::int64_t) { use(domain); });
    std::vector<std::int32_t> domains;
    counts.for_each([&](std::int32_t domain, std::int64_t) { domains.push_back(domain); });
    std::sort(domains.begin(), domains.end());
    for (const std::int32_t domain : domains) use(domain);
  }
  std::int64_t count_at(std::int32_t table, std::int32_t node) const {
    return count(table, domain_of(column_of(table), node));
  }
  /// Over all domains.
  std::int64_t total(std::int32_t table) const { return at(table).total; }
  /// Domains with a node that counts; they exist even when their count is 0.
  std::int32_t existing_domains(std::int32_t table) const {
    return domain_changes_.empty() ? at(table).existing_domains : existing_with_guests(at(table));
  }
  /// Whether the domain has a node that counts, guests aside. Only of tables that track the minimum.
  bool exists(std::int32_t table, std::int32_t domain) const { return is_in_histogram(at(table), domain); }
  /// Over existing domains; INT32_MAX without one. Only of tables that track it.
  std::int64_t minimum(std::int32_t table) const;
  /// minimum() if the count of one existing domain were `to`. @param from  the count of that domain
  std::int64_t minimum_with(std::int32_t table, std::int64_t from, std::int64_t to) const;

  std::uint64_t bytes() const;      ///< of columns and tables; what a copy shares counts in each
  std::uint64_t own_bytes() const;  ///< of what no copy shares

 private:
  struct Table {
    std::uint64_t added_at = 0;
    std::uint64_t version = 0;
    std::int32_t column = 0;
    std::int32_t mask_id = 0;
    std::int32_t domains = -1;  ///< index into domain_sets_, of tables that track the minimum
    NodeMask mask;
    DomainCounts counts;
    std::int64_t total = 0;
    std::int32_t existing_domains = 0;
    bool tracks_minimum = false;
    std::int64_t minimum = 0;
    /// [k] existing domains with count `histogram_base + k`: where the minimum goes when its last domain rises.
    std::vector<std::int32_t> histogram;
    std::int64_t histogram_base = 0;
  };
  /// Which domains exist for the tables of one column and mask that track the minimum.
  struct DomainSet {
    std::int32_t column = 0;
    std::int32_t mask_id = 0;
    NodeMask mask;
    std::vector<std::int32_t> node_count;  ///< [domain] nodes that count
  };
  /// A domain that exists, or not, because of guests. Histograms and existing_domains of tables do not contain that.
  struct DomainChange {
    std::int32_t set = 0;
    std::int32_t domain = 0;
    bool begins = false;
  };
  const GuestPlace* find_guest(std::int32_t node) const {
    for (const GuestPlace& guest : guests_)
      if (guest.slot == node) return &guest;
    return nullptr;
  }
  static bool counts_guest(const Table& table, const GuestPlace& guest) {
    return guest.domain_of[static_cast<std::size_t>(table.column)] != 0 &&
           (table.mask_id < 0 || guest.counts_in[static_cast<std::size_t>(table.mask_id)] != 0);
  }
  /// The domain whose count add() changes; 0: the node does not count.
  std::int32_t counted_domain(const Table& table, std::int32_t node) const {
    if (!guests_.empty())
      if (const GuestPlace* guest = find_guest(node))
        return counts_guest(table, *guest) ? guest->domain_of[static_cast<std::size_t>(table.column)] : 0;
    return table.mask == nullptr || (*table.mask)[static_cast<std::size_t>(node)] != 0 ? column(table.column)[node] : 0;
  }
  bool is_in_histogram(const Table& table, std::int32_t domain) const;
  void find_domain_changes();
  std::int32_t existing_with_guests(const Table& table) const;
  std::int64_t domains_with(std::int32_t index, std::int64_t count) const;
  std::int64_t lowest_possible(std::int32_t index) const;
  /// Unsigned, which divides by a shift.
  static std::size_t page_of(std::int32_t table) { return static_cast<std::uint32_t>(table) / kTablesPerPage; }
  static std::size_t place_of(std::int32_t table) { return static_cast<std::uint32_t>(table) % kTablesPerPage; }
  const Table& at(std::int32_t table) const { return *tables_.read(page_of(table))[place_of(table)]; }
  Table& write(std::int32_t table);
  void note_move(Table& table, std::int64_t from, std::int64_t to);
  std::int32_t domain_set(const Table& table);
  void leave(std::int32_t set, std::int32_t domain);
  void enter(std::int32_t set, std::int32_t domain);
  static void settle_minimum(Table& table);
  static std::int32_t& existing_with(Table& table, std::int64_t count);
  void make_room(std::int32_t column, std::int32_t domain);
  DomainColumn& write_column(std::int32_t column) { return columns_[static_cast<std::size_t>(column)].write(); }
  const Pages<std::int64_t>& zeroes(std::int32_t entries);

  /// More domains than there are, so that guests find room.
  static constexpr std::int32_t kSpareDomains = 16;

  std::vector<GuestPlace> guests_;
  std::vector<DomainChange> domain_changes_;
  std::vector<SharedRef<DomainColumn>> columns_;
  std::vector<std::int32_t> domain_capacity_;  ///< [column] domains that the counts of its tables have room for
  static constexpr std::int32_t kTablesPerPage = 16;
  /// Shared with copies in two steps, pages and tables: the first write to a table after a copy copies that table
  /// alone.
  Pages<SharedRef<Table>> tables_{0, kTablesPerPage};
  std::int32_t table_count_ = 0;
  std::uint64_t tables_added_ = 0;
  VersionNumbers versions_;  ///< of tables
  std::vector<std::int32_t> free_tables_;
  SharedRef<std::vector<DomainSet>> domain_sets_;  ///< of column -1: free
  /// Pages of zeroes by number of entries. Tables begin with them and copy a page at its first count: most queries
  /// have matches in few domains.
  using Zeroes = std::map<std::int32_t, Pages<std::int64_t>>;
  SharedRef<Zeroes> zeroes_;
};

}  // namespace berth
