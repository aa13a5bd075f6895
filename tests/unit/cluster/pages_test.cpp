// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace berth {
namespace {

TEST(PagesTest, EveryEntryStartsWithTheGivenValue) {
  const Pages<std::int64_t> pages(3, 8, 7);
  ASSERT_EQ(pages.page_count(), 3u);
  ASSERT_EQ(pages.page_length(), 8u);
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(pages.read(p)[i], 7);
}

TEST(PagesTest, ACopySharesEveryPage) {
  const Pages<std::int64_t> first(2, 4, 1);
  const Pages<std::int64_t> second = first;
  EXPECT_TRUE(second.shares_page(first, 0));
  EXPECT_TRUE(second.shares_page(first, 1));
}

TEST(PagesTest, AWriteDoesNotChangeTheOtherCopy) {
  Pages<std::int64_t> first(2, 4, 1);
  const Pages<std::int64_t> second = first;
  first.write(0)[2] = 9;
  EXPECT_EQ(first.read(0)[2], 9);
  EXPECT_EQ(second.read(0)[2], 1);
}

TEST(PagesTest, AWriteCopiesOnlyItsPage) {
  Pages<std::int64_t> first(2, 4, 1);
  const Pages<std::int64_t> second = first;
  first.write(0)[2] = 9;
  EXPECT_FALSE(first.shares_page(second, 0));
  EXPECT_TRUE(first.shares_page(second, 1));
}

TEST(PagesTest, AWriteKeepsTheOtherEntriesOfItsPage) {
  Pages<std::int64_t> first(1, 4, 5);
  const Pages<std::int64_t> second = first;
  first.write(0)[0] = 9;
  EXPECT_EQ(first.read(0)[3], 5);
}

TEST(PagesTest, AnUnsharedPageIsWrittenInPlace) {
  Pages<std::int64_t> pages(1, 4, 0);
  const std::int64_t* before = pages.read(0);
  EXPECT_EQ(pages.write(0), before);
}

TEST(PagesTest, AReleasedPageIsWrittenInPlaceAgain) {
  Pages<std::int64_t> pages(1, 4, 0);
  {
    const Pages<std::int64_t> copy = pages;
  }
  const std::int64_t* before = pages.read(0);
  EXPECT_EQ(pages.write(0), before);
}

TEST(PagesTest, FillChangesEveryPageAndNoCopy) {
  Pages<std::int64_t> first(2, 4, 1);
  const Pages<std::int64_t> second = first;
  first.fill(3);
  for (std::size_t p = 0; p < 2; ++p) {
    EXPECT_EQ(first.read(p)[3], 3);
    EXPECT_EQ(second.read(p)[3], 1);
  }
}

TEST(PagesTest, EntriesThatOwnMemoryAreDeepCopied) {
  Pages<std::vector<int>> first(1, 2, {1, 2});
  const Pages<std::vector<int>> second = first;
  first.write(0)[0].push_back(3);
  EXPECT_EQ(first.read(0)[0], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(second.read(0)[0], (std::vector<int>{1, 2}));
}

TEST(PagesTest, PagesAreCacheLineAligned) {
  const Pages<std::int32_t> pages(3, 3, 0);
  for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.read(p)) % 64, 0u);
}

TEST(PagesTest, BytesCountWholePages) { EXPECT_EQ(Pages<std::int64_t>(3, 8).bytes(), 3u * 8u * 8u); }

TEST(PagesTest, PagesMayBeGivenBackByAnotherThread) {
  std::optional<Pages<std::int64_t>> pages(std::in_place, 3, 1024, 7);
  std::thread([&] {
    const Pages<std::int64_t> copy = *pages;
    pages->write(0)[0] = 8;
    pages.reset();
    EXPECT_EQ(copy.read(0)[0], 7);
  }).join();
  const Pages<std::int64_t> next(3, 1024, 9);
  EXPECT_EQ(next.read(2)[1023], 9);
}

}  // namespace
}  // namespace berth
