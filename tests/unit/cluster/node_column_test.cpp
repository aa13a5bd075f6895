// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/node_column.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace berth {
namespace {

constexpr std::int32_t kRun = NodeColumn<std::int64_t>::kRunNodes;
constexpr std::int32_t kBlock = 32 * kRun;

std::vector<std::int64_t> values_of(const NodeColumn<std::int64_t>& column) {
  std::vector<std::int64_t> values;
  for (std::int32_t node = 0; node < column.capacity(); ++node) values.push_back(column[node]);
  return values;
}

TEST(NodeColumnTest, EveryValueStartsAsZero) {
  const NodeColumn<std::int64_t> column(kBlock + 1);
  ASSERT_EQ(column.capacity(), 2 * kBlock);
  EXPECT_EQ(values_of(column), std::vector<std::int64_t>(2 * kBlock));
}

TEST(NodeColumnTest, ACopyHasItsValuesInTheSamePlace) {
  const NodeColumn<std::int64_t> first(2000);
  const NodeColumn<std::int64_t> second = first;
  for (std::int32_t node = 0; node < first.capacity(); ++node) ASSERT_TRUE(second.shares(first, node)) << node;
}

TEST(NodeColumnTest, AWriteCopiesOneRunAndChangesNoCopy) {
  NodeColumn<std::int64_t> first(2000);
  first.write(kRun) = 5;
  const NodeColumn<std::int64_t> second = first;
  first.write(kRun + 1) = 9;
  EXPECT_EQ(first[kRun + 1], 9);
  EXPECT_EQ(first[kRun], 5);
  EXPECT_EQ(second[kRun + 1], 0);
  for (std::int32_t node = 0; node < first.capacity(); ++node)
    ASSERT_EQ(first.shares(second, node), node < kRun || node >= 2 * kRun) << node;
}

TEST(NodeColumnTest, WithoutAnotherCopyAWriteStaysInPlace) {
  NodeColumn<std::int64_t> column(100);
  const std::int64_t* const before = &column[7];
  {
    const NodeColumn<std::int64_t> copy = column;
  }
  EXPECT_EQ(&column.write(7), before);
}

TEST(NodeColumnTest, GrowingKeepsValues) {
  NodeColumn<std::int64_t> column(10);
  column.write(9) = 3;
  column.grow(5);
  EXPECT_EQ(column.capacity(), kBlock);
  column.grow(3 * kBlock - 5);
  EXPECT_EQ(column.capacity(), 3 * kBlock);
  EXPECT_EQ(column[9], 3);
  EXPECT_EQ(column[3 * kBlock - 6], 0);
}

TEST(NodeColumnTest, FillChangesEveryValueAndNoCopy) {
  NodeColumn<std::int64_t> first(2 * kBlock - 5);
  const NodeColumn<std::int64_t> second = first;
  first.fill(4);
  EXPECT_EQ(values_of(first), std::vector<std::int64_t>(2 * kBlock, 4));
  EXPECT_EQ(values_of(second), std::vector<std::int64_t>(2 * kBlock));
}

TEST(NodeColumnTest, ARunEndsWithItsBlock) {
  NodeColumn<std::int64_t> column(2000);
  column.write(kBlock - 1) = 1;
  column.write(kBlock) = 2;
  EXPECT_EQ(column.run(kBlock - kRun).back(), 1);
  EXPECT_EQ(column.run(kBlock).front(), 2);
}

/// Columns that are copied, written and dropped in any order hold what plain arrays do.
TEST(NodeColumnTest, CopiesOfCopiesKeepTheirOwnValues) {
  constexpr std::int32_t kNodes = 2048;
  std::mt19937 random(5);
  std::vector<NodeColumn<std::int64_t>> columns{NodeColumn<std::int64_t>(kNodes)};
  std::vector<std::vector<std::int64_t>> models{std::vector<std::int64_t>(kNodes)};
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t at = random() % columns.size();
    const auto action = random() % 40;
    if (action == 0 && columns.size() < 12) {
      columns.push_back(NodeColumn<std::int64_t>(columns[at]));
      models.push_back(std::vector<std::int64_t>(models[at]));
    } else if (action == 1 && columns.size() > 1) {
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(at));
      models.erase(models.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const auto node = static_cast<std::int32_t>(random() % kNodes);
      columns[at].write(node) = step;
      models[at][static_cast<std::size_t>(node)] = step;
    }
    if (step % 500 != 0) continue;
    for (std::size_t i = 0; i < columns.size(); ++i) ASSERT_EQ(values_of(columns[i]), models[i]) << step;
  }
}

/// Counts its instances, and can fail to be copied.
struct Counted {
  static inline int alive = 0;
  static inline int copies_left = -1;

  Counted() { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted& other) {
    if (copies_left == 0) throw std::runtime_error("no more copies");
    if (copies_left > 0) --copies_left;
    value = other.value;
    return *this;
  }
  ~Counted() { --alive; }

  int value = 0;
};

TEST(NodeColumnTest, AFailedWriteChangesNothingAndLosesNothing) {
  {
    NodeColumn<Counted> first(1024);
    first.write(3).value = 1;
    const NodeColumn<Counted> second = first;
    first.write(40).value = 2;  // owns one run now, and shares the others
    NodeColumn<Counted> third = first;
    for (int copies = 0; copies < kBlock; ++copies) {
      Counted::copies_left = copies;
      EXPECT_THROW(third.write(3), std::runtime_error) << copies;
      EXPECT_EQ(third[3].value, 1);
      EXPECT_EQ(third[40].value, 2);
      if (!third.shares(first, 40)) break;  // the list of runs is its own by now
    }
    Counted::copies_left = -1;
    third.write(3).value = 7;
    EXPECT_EQ(third[3].value, 7);
    EXPECT_EQ(first[3].value, 1);
    EXPECT_EQ(second[40].value, 0);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(NodeColumnTest, CopiesAreWrittenInThreads) {
  NodeColumn<std::int64_t> column(2048);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([copy = column, t, round]() mutable {
        for (std::int32_t node = t; node < 2048; node += 97) copy.write(node) += 1 + round;
        const NodeColumn<std::int64_t> again = copy;
        for (std::int32_t node = t; node < 2048; node += 97) copy.write(node) -= 1 + round;
        for (std::int32_t node = t; node < 2048; node += 97) {
          EXPECT_EQ(copy[node] + 1 + round, again[node]);
        }
      });
    column.write(round) += 1;
    for (std::thread& thread : threads) thread.join();
  }
  for (std::int32_t node = 0; node < 2048; ++node) EXPECT_EQ(column[node], node < 20 ? 1 : 0);
}

}  // namespace
}  // namespace berth
