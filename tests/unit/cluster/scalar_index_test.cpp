// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/scalar_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace berth {
namespace {

struct Entry {
  int number;
};

ResourceAmounts amounts(std::vector<std::pair<std::string, std::int64_t>> scalars) {
  ResourceAmounts made;
  made.scalars = std::move(scalars);
  return made;
}

std::vector<int> numbers(const ScalarIndex<Entry>& index, std::string_view name) {
  std::vector<int> found;
  const auto nodes = index.nodes_with(name);
  for (const Entry* entry : nodes.value()) found.push_back(entry->number);
  std::sort(found.begin(), found.end());
  return found;
}

TEST(ScalarIndex, ANodeIsFoundWhileSomethingNamesTheResource) {
  ScalarIndex<Entry> index;
  Entry a{1}, b{2};
  index.add(a, amounts({{"gpu", 4}, {"nic", 1}}));
  index.add(a, amounts({{"gpu", 1}}));
  index.add(b, amounts({{"gpu", 2}}));
  EXPECT_EQ(numbers(index, "gpu"), (std::vector<int>{1, 2}));
  EXPECT_EQ(numbers(index, "nic"), std::vector<int>{1});
  index.drop(a, amounts({{"gpu", 4}, {"nic", 1}}));
  EXPECT_EQ(numbers(index, "gpu"), (std::vector<int>{1, 2}));
  EXPECT_EQ(numbers(index, "nic"), std::vector<int>{});
  index.drop(a, amounts({{"gpu", 1}}));
  EXPECT_EQ(numbers(index, "gpu"), std::vector<int>{2});
}

TEST(ScalarIndex, AnAmountOfZeroNamesNothing) {
  ScalarIndex<Entry> index;
  Entry a{1};
  index.add(a, amounts({{"hugepages-2Mi", 0}}));
  EXPECT_EQ(numbers(index, "hugepages-2Mi"), std::vector<int>{});
  index.drop(a, amounts({{"hugepages-2Mi", 0}}));
  EXPECT_EQ(numbers(index, "hugepages-2Mi"), std::vector<int>{});
}

TEST(ScalarIndex, AResourceOfManyNodesIsNotKeptUntilNobodyUsesIt) {
  ScalarIndex<Entry> index;
  std::deque<Entry> nodes;
  for (int i = 0; i < 1024; ++i) index.add(nodes.emplace_back(Entry{i}), amounts({{"gpu", 8}}));
  EXPECT_EQ(index.nodes_with("gpu")->size(), 1024u);
  index.add(nodes.emplace_back(Entry{1024}), amounts({{"gpu", 8}}));
  EXPECT_EQ(index.nodes_with("gpu"), std::nullopt);
  for (Entry& node : nodes) {
    EXPECT_EQ(index.nodes_with("gpu"), std::nullopt);
    index.drop(node, amounts({{"gpu", 8}}));
  }
  EXPECT_EQ(index.nodes_with("gpu")->size(), 0u);
  index.add(nodes.front(), amounts({{"gpu", 8}}));
  EXPECT_EQ(numbers(index, "gpu"), std::vector<int>{0});
}

TEST(ScalarIndex, ACopyNamesItsOwnNodes) {
  ScalarIndex<Entry> index, copy;
  Entry a{1}, copy_of_a{7};
  index.add(a, amounts({{"gpu", 4}}));
  copy.copy(index, [&](const Entry& node) { return node.number == 1 ? &copy_of_a : nullptr; });
  index.drop(a, amounts({{"gpu", 4}}));
  EXPECT_EQ(numbers(copy, "gpu"), std::vector<int>{7});
}

}  // namespace
}  // namespace berth
