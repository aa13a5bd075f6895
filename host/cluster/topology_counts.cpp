// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/topology_counts.h"

#include <algorithm>
#include <limits>

namespace berth {

void index_domains(DomainColumn& column) {
  column.first_of_domain.assign(static_cast<std::size_t>(column.domain_count) + 2, 0);
  for (const std::int32_t domain : column.domain_of) ++column.first_of_domain[static_cast<std::size_t>(domain) + 1];
  column.one_node_each = std::all_of(column.first_of_domain.begin() + 2, column.first_of_domain.end(),
                                     [](std::int32_t nodes) { return nodes <= 1; });
  for (std::size_t d = 1; d < column.first_of_domain.size(); ++d)
    column.first_of_domain[d] += column.first_of_domain[d - 1];
  column.nodes_by_domain.resize(column.domain_of.size());
  std::vector<std::int32_t> next(column.first_of_domain.begin(), column.first_of_domain.end() - 1);
  for (std::size_t i = 0; i < column.domain_of.size(); ++i)
    column.nodes_by_domain[static_cast<std::size_t>(next[static_cast<std::size_t>(column.domain_of[i])]++)] =
        static_cast<std::int32_t>(i);
}

std::int32_t TopologyCounts::add_column(DomainColumn column) {
  columns_.push_back(std::make_shared<const DomainColumn>(std::move(column)));
  return static_cast<std::int32_t>(columns_.size()) - 1;
}

void TopologyCounts::replace_column(std::int32_t column, DomainColumn with) {
  columns_[static_cast<std::size_t>(column)] = std::make_shared<const DomainColumn>(std::move(with));
}

std::int32_t TopologyCounts::add_table(std::int32_t column, NodeMask mask, bool tracks_minimum) {
  Table& table = tables_.emplace_back();
  table.column = column;
  table.tracks_minimum = tracks_minimum;
  reset_table(table_count() - 1, std::move(mask));
  return table_count() - 1;
}

void TopologyCounts::reset_table(std::int32_t index, NodeMask mask) {
  Table& table = tables_[static_cast<std::size_t>(index)];
  const DomainColumn& column = *columns_[static_cast<std::size_t>(table.column)];
  const std::int32_t entries = column.domain_count + 1;
  table.mask = std::move(mask);
  table.counts = zeroes(entries);
  table.total = table.minimum = table.histogram_base = 0;
  table.existing_domains = 0;
  if (!table.tracks_minimum) return;
  const std::vector<std::uint8_t> exists = domains_that_exist(column, table.mask);
  table.existing_domains = static_cast<std::int32_t>(std::count(exists.begin() + 1, exists.end(), 1));
  table.histogram.assign(1, table.existing_domains);
}

std::vector<std::uint8_t> TopologyCounts::domains_that_exist(const DomainColumn& column, const NodeMask& mask) {
  std::vector<std::uint8_t> exists(static_cast<std::size_t>(column.domain_count) + 1, 0);
  for (std::size_t i = 0; i < column.domain_of.size(); ++i)
    if (mask == nullptr || (*mask)[i] != 0) exists[static_cast<std::size_t>(column.domain_of[i])] = 1;
  exists.front() = 0;
  return exists;
}

const Pages<std::int64_t>& TopologyCounts::zeroes(std::int32_t entries) {
  Pages<std::int64_t>& pages = zeroes_[entries];
  if (pages.page_count() == 0)
    pages = Pages<std::int64_t>(static_cast<std::size_t>((entries + kPageNodes - 1) / kPageNodes),
                                static_cast<std::size_t>(std::min(entries, kPageNodes)), 0);
  return pages;
}

TopologyCounts TopologyCounts::zeroed() const {
  TopologyCounts copy = *this;
  for (std::int32_t t = 0; t < table_count(); ++t) copy.reset_table(t, at(t).mask);
  return copy;
}

void TopologyCounts::add(std::int32_t index, std::int32_t node, std::int64_t amount) {
  if (!counts_node(index, node)) return;
  Table& table = tables_[static_cast<std::size_t>(index)];
  const std::int32_t domain = (*columns_[static_cast<std::size_t>(table.column)])[node];
  std::int64_t& count =
      table.counts.write(static_cast<std::size_t>(domain >> kPageNodesLog2))[domain & (kPageNodes - 1)];
  const std::int64_t before = count;
  count += amount;
  table.total += amount;
  if (table.tracks_minimum) note_move(table, before, count);
}

void TopologyCounts::note_move(Table& table, std::int64_t from, std::int64_t to) {
  std::vector<std::int32_t>& histogram = table.histogram;
  if (to < table.histogram_base) {
    // Only what-ifs take away pods that were never counted, so this stays rare and small.
    histogram.insert(histogram.begin(), static_cast<std::size_t>(table.histogram_base - to), 0);
    table.histogram_base = to;
  }
  const auto slot = [&](std::int64_t count) { return static_cast<std::size_t>(count - table.histogram_base); };
  if (slot(to) >= histogram.size()) histogram.resize(slot(to) + 1, 0);
  --histogram[slot(from)];
  ++histogram[slot(to)];
  table.minimum = std::min(table.minimum, to);
  while (histogram[slot(table.minimum)] == 0) ++table.minimum;
}

std::int64_t TopologyCounts::minimum(std::int32_t table) const {
  return at(table).existing_domains == 0 ? std::numeric_limits<std::int32_t>::max() : at(table).minimum;
}

std::int64_t TopologyCounts::minimum_with(std::int32_t index, std::int64_t from, std::int64_t to) const {
  const Table& table = at(index);
  if (to <= table.minimum) return to;
  if (from > table.minimum) return table.minimum;
  // The domain leaves the minimum: up to `to`, the next count of another domain.
  for (std::int64_t count = table.minimum; count < to; ++count) {
    const auto slot = static_cast<std::size_t>(count - table.histogram_base);
    if (slot < table.histogram.size() && table.histogram[slot] > (count == from ? 1 : 0)) return count;
  }
  return to;
}

std::uint64_t TopologyCounts::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& column : columns_) bytes += 4 * (2 * column->domain_of.size() + column->first_of_domain.size());
  for (const auto& [entries, pages] : zeroes_) bytes += pages.bytes();
  for (const Table& table : tables_) {
    const Pages<std::int64_t>& zeroes = zeroes_.at(columns_[static_cast<std::size_t>(table.column)]->domain_count + 1);
    for (std::size_t p = 0; p < table.counts.page_count(); ++p)
      if (!table.counts.shares_page(zeroes, p)) bytes += sizeof(std::int64_t) * table.counts.page_length();
    bytes += sizeof(std::int32_t) * table.histogram.capacity();
  }
  return bytes;
}

}  // namespace berth
