// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/domain_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace berth {
namespace {

constexpr std::int32_t kDomains = 1500;

Pages<std::int64_t> zeroes() { return {(kDomains >> kPageDomainsLog2) + 1, kPageDomains, 0}; }

/// Counts beside a plain map of those that are not 0.
class CountsAndModel {
 public:
  void add(std::int32_t domain, std::int64_t amount) {
    std::int64_t& count = model_[domain];
    ASSERT_EQ(counts_.add(domain, amount, zeroes), count);
    count += amount;
    if (count == 0) model_.erase(domain);
  }
  void expect_equal() const {
    std::map<std::int32_t, std::int64_t> all;
    counts_.for_each([&](std::int32_t domain, std::int64_t count) {
      EXPECT_TRUE(all.emplace(domain, count).second) << "domain " << domain << " comes twice";
    });
    EXPECT_EQ(all, model_);
    for (std::int32_t domain = 0; domain <= kDomains; ++domain) {
      const auto known = model_.find(domain);
      EXPECT_EQ(counts_.read(domain), known == model_.end() ? 0 : known->second) << "domain " << domain;
    }
  }
  const DomainCounts& counts() const { return counts_; }

 private:
  DomainCounts counts_;
  std::map<std::int32_t, std::int64_t> model_;
};

TEST(DomainCounts, AreThoseOfAMapWhateverIsAdded) {
  for (const std::int32_t domains : {1, 3, 16, 17, 100, 256, 257, kDomains}) {
    std::mt19937 random(static_cast<unsigned>(domains));
    CountsAndModel pair;
    for (int i = 0; i < 4000; ++i) {
      pair.add(1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(domains)),
               static_cast<std::int64_t>(random() % 5) - 2);
      if (i % 500 == 0) pair.expect_equal();
    }
    pair.expect_equal();
  }
}

/// Copies share lists, whose owners come and go.
TEST(DomainCounts, CopiesSeeNoChangeOfEachOther) {
  for (const unsigned domains : {3U, 20U, 256U, 300U}) {
    std::mt19937 random(domains);
    std::vector<CountsAndModel> pairs(1);
    for (int i = 0; i < 6000; ++i) {
      CountsAndModel& any = pairs[random() % pairs.size()];
      if (const std::uint_fast32_t what = random() % 40; what == 0 && pairs.size() < 8) {
        pairs.push_back(CountsAndModel(any));
      } else if (what == 1 && pairs.size() > 1) {
        any = CountsAndModel(pairs.back());
        pairs.pop_back();
      } else {
        any.add(1 + static_cast<std::int32_t>(random() % domains), static_cast<std::int64_t>(random() % 5) - 2);
      }
      if (i % 400 == 0)
        for (const CountsAndModel& pair : pairs) pair.expect_equal();
    }
    for (const CountsAndModel& pair : pairs) pair.expect_equal();
  }
}

TEST(DomainCounts, ACopyWithFewChangesHasNoListOfItsOwn) {
  CountsAndModel first;
  for (std::int32_t domain = 1; domain <= 100; ++domain) first.add(domain, domain);
  EXPECT_GT(first.counts().own_bytes(), 800U);
  CountsAndModel copy(first);
  EXPECT_LT(copy.counts().own_bytes(), 100U) << "the list is shared";
  for (const std::int32_t domain : {7, 200, 7, 8}) copy.add(domain, domain == 8 ? -8 : 1);
  EXPECT_LT(copy.counts().own_bytes(), 100U);
  copy.expect_equal();
  first.expect_equal();
  for (const std::int32_t domain : {300, 301, 302}) copy.add(domain, 1);
  EXPECT_GT(copy.counts().own_bytes(), 800U);
  copy.expect_equal();
}

TEST(DomainCounts, AListHoldsItsMostDomainsAndIsReadFromPagesAfterwards) {
  CountsAndModel pair;
  for (std::int32_t domain = 1; domain <= kListedDomains; ++domain) pair.add(domain, domain);
  EXPECT_TRUE(pair.counts().is_listed());
  pair.add(7, -7);
  pair.add(kListedDomains + 1, 1);
  EXPECT_TRUE(pair.counts().is_listed()) << "one domain went before another one came";
  pair.add(kListedDomains + 2, 1);
  EXPECT_FALSE(pair.counts().is_listed());
  pair.expect_equal();
}

TEST(DomainCounts, ACountThatA32BitNumberCannotHoldIsExact) {
  for (const std::int64_t large : {std::int64_t{1} << 40, -(std::int64_t{1} << 40)}) {
    CountsAndModel pair;
    pair.add(1, 3);
    pair.add(2, large);
    pair.add(2, 1);
    pair.add(1500, large);
    pair.expect_equal();
    EXPECT_FALSE(pair.counts().is_listed());
  }
}

TEST(DomainCounts, ACopyChangesAlone) {
  CountsAndModel pair;
  pair.add(4, 4);
  DomainCounts copy = pair.counts();
  EXPECT_EQ(copy.add(4, -4, zeroes), 4);
  EXPECT_EQ(copy.add(5, 1, zeroes), 0);
  pair.expect_equal();
  EXPECT_EQ(copy.read(4), 0);
  EXPECT_EQ(copy.read(5), 1);
}

TEST(DomainCounts, GrowWithTheirPagesAndLeaveThoseOfACopyAlone) {
  for (const std::int32_t entries : {100, kPageDomains, kDomains}) {
    const auto zeroes_for = [](std::int32_t count) {
      return Pages<std::int64_t>(static_cast<std::size_t>((count + kPageDomains - 1) / kPageDomains),
                                 static_cast<std::size_t>(std::min(count, kPageDomains)), 0);
    };
    const Pages<std::int64_t> before = zeroes_for(entries + 1);
    const Pages<std::int64_t> larger = zeroes_for(entries + 2000);
    const std::int64_t first = std::int64_t{1} << 40;  // which no list holds
    DomainCounts counts;
    for (const auto& [domain, count] : {std::pair(1, first), std::pair(entries, std::int64_t{5})})
      counts.add(domain, count, [&]() -> const Pages<std::int64_t>& { return before; });
    DomainCounts grown = counts;
    grown.grow(before, larger);
    EXPECT_EQ(grown.read(1), first);
    EXPECT_EQ(grown.read(entries), 5);
    EXPECT_EQ(grown.read(entries + 1999), 0);
    grown.add(1, 1, zeroes);
    grown.add(entries + 1999, 7, zeroes);
    EXPECT_EQ(grown.read(1), first + 1);
    EXPECT_EQ(grown.read(entries + 1999), 7);
    EXPECT_EQ(counts.read(1), first) << "pages of a copy";
    EXPECT_EQ(larger.read(0)[1], 0) << "zeroes";
  }
}

TEST(DomainCounts, HaveNoneInDomain0) { EXPECT_EQ(DomainCounts().read(0), 0); }

}  // namespace
}  // namespace berth
