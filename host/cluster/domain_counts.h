// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "host/cluster/pages.h"
#include "host/cluster/shared_ref.h"

namespace berth {

/// Domains of one page of counts. A power of two. Less than the nodes of a page: a fork copies a page for the one
/// domain of it that a pod counts in.
inline constexpr std::int32_t kPageDomainsLog2 = 9;
inline constexpr std::int32_t kPageDomains = 1 << kPageDomainsLog2;

/// While at most so many domains have a count, counts are a list: most workloads have few pods, and a page for each of
/// them would be nearly all zeroes.
inline constexpr std::int32_t kListedDomains = 256;

/// Counts of few domains.
class ListedCounts {
 public:
  std::int32_t size() const { return size_; }
  std::int32_t domain(std::int32_t at) const { return domains()[at]; }
  std::int64_t count(std::int32_t at) const { return counts()[at]; }
  /// Where the domain is; -1: nowhere. Domain 0, which has no count, is what fills the list up.
  std::int32_t find(std::int32_t domain) const {
    if (domain == 0) return -1;
    if (size_ <= kFewDomains) {  // as of zones
      for (std::int32_t at = 0; at < size_; ++at)
        if (domains()[at] == domain) return at;
      return -1;
    }
    for (std::int32_t begin = 0; begin < size_; begin += kSearchedAtOnce) {
      std::int32_t place = 0;  // from 1 on; without branches, so that several are compared in a step
      for (std::int32_t i = 0; i < kSearchedAtOnce; ++i) place |= domains()[begin + i] == domain ? i + 1 : 0;
      if (place != 0) return begin + place - 1;
    }
    return -1;
  }
  /// @param at  find(). @return false, and nothing changes: the list has no room for it
  bool write(std::int32_t domain, std::int32_t at, std::int64_t count) {
    if (!holds(count)) return false;
    if (count == 0) {
      if (at >= 0) remove(at);
      return true;
    }
    if (at < 0) {
      if (size_ == kListedDomains) return false;
      if (size_ == capacity()) resize();
      at = size_++;
      entries_[static_cast<std::size_t>(at)] = domain;
    }
    entries_[entries_.size() / 2 + static_cast<std::size_t>(at)] = static_cast<std::int32_t>(count);
    return true;
  }
  static bool holds(std::int64_t count) { return count >= INT32_MIN && count <= INT32_MAX; }
  std::uint64_t bytes() const { return entries_.capacity() * sizeof(std::int32_t); }

 private:
  static constexpr std::int32_t kSearchedAtOnce = 16;
  static constexpr std::int32_t kFewDomains = 8;
  static constexpr std::int32_t kGrowth = 4;  ///< lists that are full grow by this part

  std::int32_t capacity() const { return static_cast<std::int32_t>(entries_.size() / 2); }
  const std::int32_t* domains() const { return entries_.data(); }
  const std::int32_t* counts() const { return entries_.data() + capacity(); }
  void remove(std::int32_t at) {
    const auto half = static_cast<std::size_t>(capacity());
    const auto last = static_cast<std::size_t>(--size_);
    entries_[static_cast<std::size_t>(at)] = entries_[last];
    entries_[half + static_cast<std::size_t>(at)] = entries_[half + last];
    entries_[last] = 0;
  }
  /// More room, in whole steps of find().
  void resize() {
    const std::int32_t more = capacity() / kGrowth / kSearchedAtOnce * kSearchedAtOnce;
    const std::int32_t size = capacity() + std::max(more, kSearchedAtOnce);
    std::vector<std::int32_t> larger(2 * static_cast<std::size_t>(size), 0);
    std::copy_n(domains(), size_, larger.begin());
    std::copy_n(counts(), size_, larger.begin() + size);
    entries_ = std::move(larger);
  }

  /// Domains, and from the middle on the count of each, which is not 0. Domains that are not in use are 0.
  std::vector<std::int32_t> entries_;
  std::int32_t size_ = 0;  ///< domains in the list
};

/// A count for each domain from 1 on, most of which are 0. Copies share their list; one that changes few of its counts,
/// as a fork with a few pods, keeps these beside it.
class DomainCounts {
 public:
  std::int64_t read(std::int32_t domain) const {
    if (is_paged_) return pages_.read(page_of(domain))[place_of(domain)];
    if (change_count_ != 0)
      if (const Change* const change = find_change(domain)) return change->count;
    const std::int32_t at = list_ ? list_->find(domain) : -1;
    return at < 0 ? 0 : list_->count(at);
  }
  /// @param zeroes  zeroes() gives pages with room for every domain, all 0; called when the list has no room
  /// @return the count before
  template <class Zeroes>
  std::int64_t add(std::int32_t domain, std::int64_t amount, Zeroes zeroes) {
    if (!is_paged_) {
      std::int64_t before = 0;
      if (add_listed(domain, amount, before)) return before;
      leave_list(zeroes());
    }
    std::int64_t& count = pages_.write(page_of(domain))[place_of(domain)];
    return std::exchange(count, count + amount);
  }
  /// Of counts that are not listed, which need no room. Pages of as many domains are kept.
  /// @param before  the zeroes so far. @param zeroes  with room for more domains
  void grow(const Pages<std::int64_t>& before, const Pages<std::int64_t>& zeroes) {
    Pages<std::int64_t> grown = zeroes;
    if (pages_.page_length() == zeroes.page_length()) {
      for (std::size_t p = 0; p < pages_.page_count(); ++p)
        if (p >= before.page_count() || !pages_.shares_page(before, p)) grown.share_page(p, pages_);
    } else {
      for_each(
          [&](std::int32_t domain, std::int64_t count) { grown.write(page_of(domain))[place_of(domain)] = count; });
    }
    pages_ = std::move(grown);
  }

  bool is_listed() const { return !is_paged_; }
  /// Calls use(domain, count) for the domains whose count is not 0; in any order while is_listed(), else ascending.
  template <class Use>
  void for_each(Use use) const {
    if (!is_paged_) return for_each_listed(use);
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

  /// Without what is shared with others.
  std::uint64_t own_bytes() const { return (list_ && list_.is_mine_alone() ? list_->bytes() : 0) + pages_.own_bytes(); }
  /// Without what is shared with the zeroes. @param zeroes  null: there are none
  std::uint64_t bytes(const Pages<std::int64_t>* zeroes) const {
    std::uint64_t bytes = list_ ? list_->bytes() : 0;
    for (std::size_t p = 0; p < pages_.page_count(); ++p)
      if (zeroes == nullptr || !pages_.shares_page(*zeroes, p)) bytes += sizeof(std::int64_t) * pages_.page_length();
    return bytes;
  }

 private:
  static constexpr std::int32_t kCountsAtOnce = 32;  ///< a divisor of kPageDomains
  static constexpr std::int32_t kChangesMax = 4;

  /// A count that is another one than that of the list.
  struct Change {
    std::int32_t domain = 0;
    std::int32_t count = 0;
  };

  static std::size_t page_of(std::int32_t domain) { return static_cast<std::size_t>(domain >> kPageDomainsLog2); }
  static std::size_t place_of(std::int32_t domain) { return static_cast<std::size_t>(domain & (kPageDomains - 1)); }
  static std::uint64_t bit_of(std::int32_t domain) { return std::uint64_t{1} << (domain & 63); }

  const Change* find_change(std::int32_t domain) const {
    for (std::int32_t i = 0; i < change_count_; ++i)
      if (changes_[static_cast<std::size_t>(i)].domain == domain) return &changes_[static_cast<std::size_t>(i)];
    return nullptr;
  }
  /// @param before  [out] the count before. @return false, and nothing changes: the list has no room for it
  bool add_listed(std::int32_t domain, std::int64_t amount, std::int64_t& before) {
    if (list_ && !list_.is_mine_alone()) {
      before = read(domain);
      if (!ListedCounts::holds(before + amount)) return false;
      if (note_change(domain, static_cast<std::int32_t>(before + amount))) return true;
    }
    ListedCounts& list = list_.write();
    take_in_changes(list);
    const std::int32_t at = list.find(domain);
    before = at < 0 ? 0 : list.count(at);
    return list.write(domain, at, before + amount);
  }
  /// @return false, and nothing changes: there are too many
  bool note_change(std::int32_t domain, std::int32_t count) {
    if (const Change* const known = find_change(domain)) {
      changes_[static_cast<std::size_t>(known - changes_.data())].count = count;
      return true;
    }
    if (change_count_ == kChangesMax || list_->size() + change_count_ >= kListedDomains) return false;
    changes_[static_cast<std::size_t>(change_count_++)] = {domain, count};
    changed_bits_ |= bit_of(domain);
    return true;
  }
  /// There is room for them: note_change().
  void take_in_changes(ListedCounts& list) {
    for (; change_count_ > 0; --change_count_) {
      const Change& change = changes_[static_cast<std::size_t>(change_count_ - 1)];
      list.write(change.domain, list.find(change.domain), change.count);
    }
    changed_bits_ = 0;
  }
  template <class Use>
  void for_each_listed(Use use) const {
    const std::int32_t size = list_ ? list_->size() : 0;
    for (std::int32_t at = 0; at < size; ++at) {
      const std::int32_t domain = list_->domain(at);
      if ((changed_bits_ & bit_of(domain)) == 0 || find_change(domain) == nullptr) use(domain, list_->count(at));
    }
    for (std::int32_t i = 0; i < change_count_; ++i)
      if (const Change& change = changes_[static_cast<std::size_t>(i)]; change.count != 0)
        use(change.domain, std::int64_t{change.count});
  }
  /// @param paged  zeroes
  void leave_list(Pages<std::int64_t> paged) {
    for_each([&](std::int32_t domain, std::int64_t count) { paged.write(page_of(domain))[place_of(domain)] = count; });
    pages_ = std::move(paged);
    list_ = {};
    change_count_ = 0;
    changed_bits_ = 0;
    is_paged_ = true;
  }

  SharedRef<ListedCounts> list_;  ///< null: empty
  std::array<Change, kChangesMax> changes_;
  std::uint64_t changed_bits_ = 0;  ///< bit_of() of their domains
  std::int32_t change_count_ = 0;
  bool is_paged_ = false;
  Pages<std::int64_t> pages_;  ///< of counts that are not listed
};

}  // namespace berth
