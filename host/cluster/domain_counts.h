// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/cluster/pages.h"

namespace berth {

/// Domains of one page of counts. A power of two. Less than the nodes of a page: a fork copies a page for the one
/// domain of it that a pod counts in.
inline constexpr std::int32_t kPageDomainsLog2 = 9;
inline constexpr std::int32_t kPageDomains = 1 << kPageDomainsLog2;

/// While at most so many domains have a count, counts are a list: most workloads have few pods, and a page for each of
/// them would be nearly all zeroes.
inline constexpr std::size_t kListedDomains = 256;

/// A count for each domain from 1 on, most of which are 0.
class DomainCounts {
 public:
  DomainCounts() = default;
  /// @param zeroes  pages with room for every domain, all 0; shared until they are needed
  explicit DomainCounts(const Pages<std::int64_t>& zeroes) : pages_(zeroes) {}

  std::int64_t read(std::int32_t domain) const {
    if (is_paged_) return pages_.read(page_of(domain))[place_of(domain)];
    const std::size_t at = find(domain);
    return at == kNone ? 0 : entries_[at].count;
  }
  /// @return the count before
  std::int64_t add(std::int32_t domain, std::int64_t amount) {
    if (!is_paged_ && find(domain) == kNone) make_room();
    if (is_paged_) {
      std::int64_t& count = pages_.write(page_of(domain))[place_of(domain)];
      return std::exchange(count, count + amount);
    }
    Entry& entry = entries_[slot_for(domain)];
    used_ += entry.domain == 0 ? 1 : 0;
    entry.domain = domain;
    return std::exchange(entry.count, entry.count + amount);
  }
  /// Takes the place of the zeroes. @param zeroes  with room for more domains
  void grow(const Pages<std::int64_t>& zeroes) {
    Pages<std::int64_t> grown = zeroes;
    if (is_paged_)
      for_each(
          [&](std::int32_t domain, std::int64_t count) { grown.write(page_of(domain))[place_of(domain)] = count; });
    pages_ = std::move(grown);
  }

  bool is_listed() const { return !is_paged_; }
  /// Calls use(domain, count) for the domains whose count is not 0; in any order while is_listed(), else ascending.
  template <class Use>
  void for_each(Use use) const {
    for (const Entry& entry : entries_)
      if (entry.count != 0) use(entry.domain, entry.count);
    if (!is_paged_) return;
    const auto length = static_cast<std::int32_t>(pages_.page_length());
    for (std::size_t p = 0; p < pages_.page_count(); ++p) {
      const std::int64_t* const page = pages_.read(p);
      for (std::int32_t begin = 0; begin < length; begin += kCountsAtOnce) {
        const std::int32_t end = std::min(begin + kCountsAtOnce, length);
        std::int64_t any = 0;  // most counts are 0, and a loop without branches looks at several in a step
        for (std::int32_t d = begin; d < end; ++d) any |= page[d];
        for (std::int32_t d = begin; any != 0 && d < end; ++d)
          if (page[d] != 0) use(static_cast<std::int32_t>(p << kPageDomainsLog2) + d, page[d]);
      }
    }
  }

  /// Without what is shared with the zeroes.
  std::uint64_t bytes(const Pages<std::int64_t>& zeroes) const {
    std::uint64_t bytes = entries_.capacity() * sizeof(Entry);
    for (std::size_t p = 0; p < pages_.page_count(); ++p)
      if (!pages_.shares_page(zeroes, p)) bytes += sizeof(std::int64_t) * pages_.page_length();
    return bytes;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::size_t kEntriesMin = 8;
  static constexpr std::int32_t kCountsAtOnce = 32;  ///< a divisor of kPageDomains
  /// Without initialisers, since a copy of a list is then a copy of its bytes; lists are made of zeroes.
  struct Entry {
    std::int32_t domain;  ///< 0: none
    std::int64_t count;
  };
  static_assert(std::is_trivial_v<Entry>);

  static std::size_t page_of(std::int32_t domain) { return static_cast<std::size_t>(domain >> kPageDomainsLog2); }
  static std::size_t place_of(std::int32_t domain) { return static_cast<std::size_t>(domain & (kPageDomains - 1)); }

  /// Where the domain is or would be; there are entries, and one of them is free.
  std::size_t slot_for(std::int32_t domain) const {
    const std::size_t last = entries_.size() - 1;
    std::size_t at = ((static_cast<std::uint32_t>(domain) * 0x9e3779b1u) >> 16) & last;
    while (entries_[at].domain != 0 && entries_[at].domain != domain) at = (at + 1) & last;
    return at;
  }
  std::size_t find(std::int32_t domain) const {
    if (entries_.empty()) return kNone;
    const std::size_t at = slot_for(domain);
    return entries_[at].domain == domain ? at : kNone;
  }
  /// For one more entry: in a list of at most three quarters, or in pages.
  void make_room() {
    if (4 * (used_ + 1) <= 3 * entries_.size()) return;
    const auto live = static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.count != 0; }));
    if (live >= kListedDomains) {
      for (const Entry& entry : entries_)
        if (entry.count != 0) pages_.write(page_of(entry.domain))[place_of(entry.domain)] = entry.count;
      entries_ = {};
      is_paged_ = true;
      return;
    }
    std::size_t size = kEntriesMin;
    while (2 * (live + 1) > size) size *= 2;
    const std::vector<Entry> before = std::exchange(entries_, std::vector<Entry>(size));
    used_ = live;
    for (const Entry& entry : before)
      if (entry.count != 0) entries_[slot_for(entry.domain)] = entry;
  }

  std::vector<Entry> entries_;  ///< open addressing; a power of two, or none
  std::size_t used_ = 0;        ///< entries with a domain
  bool is_paged_ = false;
  Pages<std::int64_t> pages_;  ///< all zeroes unless is_paged_
};

}  // namespace berth
