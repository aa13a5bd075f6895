// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/topology_counts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "host/objects/heap_bytes.h"

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
  domain_capacity_.push_back(column.domain_count + kSpareDomains);
  columns_.push_back(SharedRef<DomainColumn>::make(std::move(column)));
  return static_cast<std::int32_t>(columns_.size()) - 1;
}

void TopologyCounts::replace_column(std::int32_t column, DomainColumn with) {
  const auto c = static_cast<std::size_t>(column);
  domain_capacity_[c] = with.domain_count + kSpareDomains;
  columns_[c] = SharedRef<DomainColumn>::make(std::move(with));
  std::erase_if(domain_sets_.write(), [&](const DomainSet& set) { return set.column == column; });
  for (std::int32_t t = 0; t < table_count_; ++t) write(t).domains = -1;  // sets moved: found again
}

// Tables

TopologyCounts::Table& TopologyCounts::write(std::int32_t table) {
  Table& mine = tables_.write(page_of(table))[place_of(table)].write();
  mine.version = versions_.next();
  return mine;
}

std::int32_t TopologyCounts::add_table(std::int32_t column, std::int32_t mask_id, NodeMask mask, bool tracks_minimum) {
  if (free_tables_.empty()) {
    const std::int32_t page_count = table_count_ / kTablesPerPage + 1;
    tables_.grow(static_cast<std::size_t>(page_count));
    free_tables_.push_back(table_count_++);
  }
  const std::int32_t index = free_tables_.back();
  free_tables_.pop_back();
  Table& table = write(index);
  table.added_at = ++tables_added_;
  table.column = column;
  table.mask_id = mask_id;
  table.tracks_minimum = tracks_minimum;
  reset_table(index, std::move(mask));
  return index;
}

void TopologyCounts::remove_table(std::int32_t index) {
  Table& table = write(index);
  const std::int32_t column = table.column;
  table = Table();
  table.column = column;
  table.mask_id = -1;
  reset_table(index, nullptr);
  free_tables_.push_back(index);
}

void TopologyCounts::remove_mask(std::int32_t mask_id) {
  for (DomainSet& set : domain_sets_.write())
    if (set.mask_id == mask_id) set = {-1, -1, nullptr, {}};
}

void TopologyCounts::add_tables_of(const TopologyCounts& other) {
  for (std::int32_t c = column_count(); c < other.column_count(); ++c) {
    columns_.push_back(other.columns_[static_cast<std::size_t>(c)]);
    domain_capacity_.push_back(other.domain_capacity_[static_cast<std::size_t>(c)]);
  }
  tables_.grow(other.tables_.page_count());
  for (std::int32_t t = 0; t < other.table_count_; ++t)
    if (t >= table_count_ || other.added_at(t) > tables_added_) write(t) = other.at(t);
  table_count_ = other.table_count_;
  tables_added_ = other.tables_added_;
  versions_.renew();  // what follows is newer than these
  free_tables_ = other.free_tables_;
  domain_sets_ = other.domain_sets_;
  zeroes_ = other.zeroes_;
}

void TopologyCounts::reset_table(std::int32_t index, NodeMask mask) {
  Table& table = write(index);
  table.mask = std::move(mask);
  table.counts = DomainCounts();
  table.total = table.minimum = table.histogram_base = 0;
  table.existing_domains = 0;
  if (!table.tracks_minimum) return;
  table.domains = domain_set(table);
  const std::vector<std::int32_t>& nodes = (*domain_sets_)[static_cast<std::size_t>(table.domains)].node_count;
  table.existing_domains = static_cast<std::int32_t>(
      std::count_if(nodes.begin(), nodes.end(), [](std::int32_t count) { return count > 0; }));
  table.histogram.assign(1, table.existing_domains);
}

std::vector<std::int32_t> TopologyCounts::nodes_that_count(const DomainColumn& column, const NodeMask& mask) {
  std::vector<std::int32_t> nodes(static_cast<std::size_t>(column.domain_count) + 1, 0);
  for (std::size_t i = 0; i < column.domain_of.size(); ++i)
    if (mask == nullptr || (*mask)[i] != 0) ++nodes[static_cast<std::size_t>(column.domain_of[i])];
  nodes.front() = 0;
  return nodes;
}

// Domains that begin and cease to exist

std::int32_t TopologyCounts::domain_set(const Table& table) {
  std::vector<DomainSet>& sets = domain_sets_.write();
  for (std::size_t s = 0; s < sets.size(); ++s)
    if (sets[s].column == table.column && sets[s].mask_id == table.mask_id) return static_cast<std::int32_t>(s);
  auto at = std::find_if(sets.begin(), sets.end(), [](const DomainSet& set) { return set.column < 0; });
  if (at == sets.end()) at = sets.emplace(sets.end());
  *at = {table.column, table.mask_id, table.mask, nodes_that_count(column(table.column), table.mask)};
  return static_cast<std::int32_t>(at - sets.begin());
}

std::int32_t& TopologyCounts::existing_with(Table& table, std::int64_t count) {
  if (count < table.histogram_base) {
    // Only what-ifs take away pods that were never counted, so this stays rare and small.
    table.histogram.insert(table.histogram.begin(), static_cast<std::size_t>(table.histogram_base - count), 0);
    table.histogram_base = count;
  }
  const auto slot = static_cast<std::size_t>(count - table.histogram_base);
  if (slot >= table.histogram.size()) table.histogram.resize(slot + 1, 0);
  return table.histogram[slot];
}

/// After a domain changed its count, or ceased to exist.
void TopologyCounts::settle_minimum(Table& table) {
  if (table.existing_domains == 0) return;
  while (existing_with(table, table.minimum) == 0) ++table.minimum;
}

void TopologyCounts::leave(std::int32_t set, std::int32_t domain) {
  if (domain == 0 ||
      --domain_sets_.write()[static_cast<std::size_t>(set)].node_count[static_cast<std::size_t>(domain)] > 0)
    return;
  for (std::int32_t t = 0; t < table_count(); ++t) {
    if (at(t).domains != set) continue;
    Table& table = write(t);
    --table.existing_domains;
    --existing_with(table, count(t, domain));
    settle_minimum(table);
  }
}

void TopologyCounts::enter(std::int32_t set, std::int32_t domain) {
  if (domain == 0) return;
  std::vector<std::int32_t>& nodes = domain_sets_.write()[static_cast<std::size_t>(set)].node_count;
  if (nodes.size() <= static_cast<std::size_t>(domain)) nodes.resize(static_cast<std::size_t>(domain) + 1, 0);
  if (++nodes[static_cast<std::size_t>(domain)] > 1) return;
  for (std::int32_t t = 0; t < table_count(); ++t) {
    if (at(t).domains != set) continue;
    Table& table = write(t);
    const std::int64_t now = count(t, domain);
    ++existing_with(table, now);
    table.minimum = table.existing_domains == 0 ? now : std::min(table.minimum, now);
    ++table.existing_domains;
  }
}

/// Counts of a column's tables get room for a domain with a higher number than any so far. Those of most tables are
/// listed and need none, so that a fork does not copy all tables for a new node.
void TopologyCounts::make_room(std::int32_t column, std::int32_t domain) {
  std::int32_t& capacity = domain_capacity_[static_cast<std::size_t>(column)];
  if (domain <= capacity) return;
  const Pages<std::int64_t> before = zeroes(capacity + 1);
  const Pages<std::int64_t> with_room = zeroes(domain + domain / 4 + kSpareDomains + 1);
  capacity = domain + domain / 4 + kSpareDomains;  // a quarter more, so that counts seldom move
  for (std::int32_t t = 0; t < table_count_; ++t)
    if (at(t).column == column && !at(t).counts.is_listed()) write(t).counts.grow(before, with_room);
}

void TopologyCounts::move_node(std::int32_t column, std::int32_t node, std::int32_t to) {
  make_room(column, to + kSpareDomains);
  DomainColumn& domains = write_column(column);
  std::int32_t& domain = domains.domain_of[static_cast<std::size_t>(node)];
  const std::int32_t from = domain;
  domain = to;
  domains.domain_count = std::max(domains.domain_count, to);
  for (std::size_t s = 0; domain_sets_ && s < domain_sets_->size(); ++s) {
    const DomainSet& set = (*domain_sets_)[s];
    if (set.column != column) continue;
    if (set.mask != nullptr && (*set.mask)[static_cast<std::size_t>(node)] == 0) continue;
    leave(static_cast<std::int32_t>(s), from);
    enter(static_cast<std::int32_t>(s), to);
  }
}

void TopologyCounts::change_mask(std::int32_t mask_id, const NodeMask& with, std::int32_t node) {
  const auto counts_in = [&](const NodeMask& mask) {
    return mask == nullptr || (*mask)[static_cast<std::size_t>(node)] != 0;
  };
  for (std::size_t s = 0; domain_sets_ && s < domain_sets_->size(); ++s) {
    if ((*domain_sets_)[s].mask_id != mask_id) continue;
    DomainSet& set = domain_sets_.write()[s];
    const bool before = counts_in(std::exchange(set.mask, with));
    const std::int32_t domain = this->column(set.column)[node];
    if (before && !counts_in(with)) leave(static_cast<std::int32_t>(s), domain);
    if (!before && counts_in(with)) enter(static_cast<std::int32_t>(s), domain);
  }
  for (std::int32_t t = 0; t < table_count_; ++t)
    if (at(t).mask_id == mask_id) write(t).mask = with;
}

void TopologyCounts::reindex(std::int32_t column) { index_domains(write_column(column)); }

const Pages<std::int64_t>& TopologyCounts::zeroes(std::int32_t entries) {
  if (zeroes_)
    if (const auto known = zeroes_->find(entries); known != zeroes_->end()) return known->second;
  Pages<std::int64_t> made(static_cast<std::size_t>((entries + kPageDomains - 1) / kPageDomains),
                           static_cast<std::size_t>(std::min(entries, kPageDomains)), 0);
  return zeroes_.write().emplace(entries, std::move(made)).first->second;
}

TopologyCounts TopologyCounts::zeroed() const {
  TopologyCounts copy = *this;
  for (std::int32_t t = 0; t < table_count(); ++t) copy.reset_table(t, at(t).mask);
  return copy;
}

void TopologyCounts::add(std::int32_t index, std::int32_t node, std::int64_t amount) {
  const std::int32_t domain = counted_domain(at(index), node);
  if (domain == 0) return;
  Table& table = write(index);
  const std::int64_t before = table.counts.add(domain, amount, [&]() -> const Pages<std::int64_t>& {
    return zeroes(domain_capacity_[static_cast<std::size_t>(table.column)] + 1);
  });
  const std::int64_t count = before + amount;
  table.total += amount;
  if (table.tracks_minimum && (guests_.empty() || is_in_histogram(table, domain))) note_move(table, before, count);
}

void TopologyCounts::note_move(Table& table, std::int64_t from, std::int64_t to) {
  --existing_with(table, from);
  ++existing_with(table, to);
  table.minimum = std::min(table.minimum, to);
  settle_minimum(table);
}

std::int64_t TopologyCounts::minimum(std::int32_t table) const {
  if (existing_domains(table) == 0) return std::numeric_limits<std::int32_t>::max();
  if (domain_changes_.empty()) return at(table).minimum;
  std::int64_t count = lowest_possible(table);
  while (domains_with(table, count) == 0) ++count;
  return count;
}

std::int64_t TopologyCounts::minimum_with(std::int32_t index, std::int64_t from, std::int64_t to) const {
  if (!domain_changes_.empty()) {
    for (std::int64_t count = lowest_possible(index); count < to; ++count)
      if (domains_with(index, count) > (count == from ? 1 : 0)) return count;
    return to;
  }
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

// Guests

std::int32_t TopologyCounts::domain_count(std::int32_t column) const {
  std::int32_t highest = this->column(column).domain_count;
  for (const GuestPlace& guest : guests_)
    highest = std::max(highest, guest.domain_of[static_cast<std::size_t>(column)]);
  return highest;
}

void TopologyCounts::set_guest(GuestPlace place) {
  for (std::int32_t c = 0; c < column_count(); ++c) make_room(c, place.domain_of[static_cast<std::size_t>(c)]);
  const auto known =
      std::find_if(guests_.begin(), guests_.end(), [&](const GuestPlace& guest) { return guest.slot == place.slot; });
  if (known != guests_.end()) {
    *known = std::move(place);
  } else {
    guests_.push_back(std::move(place));
  }
  find_domain_changes();
}

/// The domains of a set to which guests add a node, or from which they take one away.
void TopologyCounts::find_domain_changes() {
  domain_changes_.clear();
  const std::size_t set_count = !domain_sets_ ? 0 : domain_sets_->size();
  for (std::size_t s = 0; s < set_count; ++s) {
    const DomainSet& set = (*domain_sets_)[s];
    if (set.column < 0) continue;
    const std::vector<std::int32_t>& domain_of = column(set.column).domain_of;
    std::map<std::int32_t, std::int32_t> more;  // [domain] nodes that count
    for (const GuestPlace& guest : guests_) {
      const auto slot = static_cast<std::size_t>(guest.slot);
      const bool counted = slot < domain_of.size() && (set.mask == nullptr || (*set.mask)[slot] != 0);
      if (counted) --more[domain_of[slot]];
      if (guest.counts_in[static_cast<std::size_t>(set.mask_id)] != 0)
        ++more[guest.domain_of[static_cast<std::size_t>(set.column)]];
    }
    for (const auto& [domain, change] : more) {
      const auto d = static_cast<std::size_t>(domain);
      const std::int32_t before = d < set.node_count.size() ? set.node_count[d] : 0;
      if (domain == 0 || (before > 0) == (before + change > 0)) continue;
      domain_changes_.push_back({static_cast<std::int32_t>(s), domain, before == 0});
    }
  }
}

/// The histogram has the domains that exist without guests.
bool TopologyCounts::is_in_histogram(const Table& table, std::int32_t domain) const {
  const std::vector<std::int32_t>& nodes = (*domain_sets_)[static_cast<std::size_t>(table.domains)].node_count;
  return static_cast<std::size_t>(domain) < nodes.size() && nodes[static_cast<std::size_t>(domain)] > 0;
}

std::int32_t TopologyCounts::existing_with_guests(const Table& table) const {
  std::int32_t existing = table.existing_domains;
  for (const DomainChange& change : domain_changes_)
    if (change.set == table.domains) existing += change.begins ? 1 : -1;
  return existing;
}

/// Existing domains with a count.
std::int64_t TopologyCounts::domains_with(std::int32_t index, std::int64_t wanted) const {
  const Table& table = at(index);
  const std::int64_t slot = wanted - table.histogram_base;
  std::int64_t domains = 0;
  if (slot >= 0 && slot < static_cast<std::int64_t>(table.histogram.size()))
    domains = table.histogram[static_cast<std::size_t>(slot)];
  for (const DomainChange& change : domain_changes_)
    if (change.set == table.domains && count(index, change.domain) == wanted) domains += change.begins ? 1 : -1;
  return domains;
}

/// No existing domain has a lower count.
std::int64_t TopologyCounts::lowest_possible(std::int32_t index) const {
  const Table& table = at(index);
  std::int64_t lowest = table.existing_domains > 0 ? table.minimum : std::numeric_limits<std::int64_t>::max();
  for (const DomainChange& change : domain_changes_)
    if (change.set == table.domains && change.begins) lowest = std::min(lowest, count(index, change.domain));
  return lowest;
}

std::uint64_t TopologyCounts::own_bytes() const {
  std::uint64_t bytes = heap_bytes(guests_, domain_changes_, columns_, domain_capacity_, free_tables_);
  bytes += tables_.own_bytes([](const SharedRef<Table>& table) {
    if (!table || !table.is_mine_alone()) return std::uint64_t{0};
    return heap_block_bytes(sizeof(Table)) + table->counts.own_bytes() + heap_bytes(table->histogram);
  });
  for (const SharedRef<DomainColumn>& column : columns_)
    if (column.is_mine_alone())
      bytes += heap_bytes(column->domain_of, column->nodes_by_domain, column->first_of_domain);
  return bytes;
}

std::uint64_t TopologyCounts::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& column : columns_)
    bytes += heap_bytes(column->domain_of, column->nodes_by_domain, column->first_of_domain);
  const Zeroes none;
  const Zeroes& zeroes = zeroes_ ? *zeroes_ : none;
  for (const auto& [entries, pages] : zeroes) bytes += pages.bytes();
  for (std::int32_t t = 0; t < table_count_; ++t) {
    const Table& table = at(t);
    const auto of_column = zeroes.find(domain_capacity_[static_cast<std::size_t>(table.column)] + 1);
    bytes += table.counts.bytes(of_column == zeroes.end() ? nullptr : &of_column->second);
    bytes += heap_bytes(table.histogram);
  }
  return bytes;
}

}  // namespace berth
