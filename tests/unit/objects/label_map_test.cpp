// SPDX-License-Identifier: Apache-2.0
#include "host/objects/label_map.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(LabelMap, EntriesAreSortedByKey) {
  const LabelMap map{{"b", "2"}, {"a", "1"}, {"c", ""}};
  std::vector<std::pair<std::string, std::string>> seen;
  for (const auto& [key, value] : map) seen.emplace_back(key, value);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", "2"}, {"c", ""}}));
  EXPECT_EQ(map.size(), 3u);
}

TEST(LabelMap, TheLastOfEqualKeysWins) {
  const LabelMap map{{"a", "1"}, {"b", "x"}, {"a", "2"}};
  EXPECT_EQ(map.find("a"), "2");
  EXPECT_EQ(map.size(), 2u);
}

TEST(LabelMap, AnEmptyValueIsNotAnAbsentKey) {
  const LabelMap map{{"a", ""}};
  EXPECT_EQ(map.find("a"), "");
  EXPECT_FALSE(map.find("b").has_value());
  EXPECT_FALSE(map.contains(""));
}

TEST(LabelMap, MapsWithEqualContentAreEqualInAnyOrder) {
  EXPECT_EQ((LabelMap{{"a", "1"}, {"b", "2"}}), (LabelMap{{"b", "2"}, {"a", "1"}}));
  EXPECT_FALSE((LabelMap{{"a", "12"}}) == (LabelMap{{"a1", "2"}}));
  EXPECT_EQ(LabelMap{}, LabelMap(std::vector<std::pair<std::string, std::string>>{}));
}

TEST(LabelMap, AnEmptyMapAllocatesNothing) {
  const LabelMap map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.size(), 0u);
  EXPECT_EQ(map.begin(), map.end());
}

TEST(LabelMap, PackedBytesMakeAnEqualMap) {
  std::vector<LabelMap::Entry> entries = {{"z", "1"}, {"a", "2"}, {"z", "3"}};
  std::string packed;
  LabelMap::pack(entries, packed);
  const LabelMap map = LabelMap::from_packed(packed);
  EXPECT_EQ(map, (LabelMap{{"a", "2"}, {"z", "3"}}));
  EXPECT_TRUE(LabelMap::from_packed("").empty());
}

TEST(LabelMap, BytesThatPackDidNotWriteAreSeen) {
  const LabelMap map{{"app", "web"}, {"tier", ""}};
  const std::string bytes(map.bytes());
  EXPECT_TRUE(LabelMap::is_packed(bytes));
  EXPECT_TRUE(LabelMap::is_packed({}));
  const std::size_t first = LabelMap{{"app", "web"}}.bytes().size();
  for (std::size_t size = 1; size < bytes.size(); ++size)
    EXPECT_EQ(LabelMap::is_packed(std::string_view(bytes).substr(0, size)), size == first) << size;
  EXPECT_FALSE(LabelMap::is_packed(bytes.substr(first) + bytes.substr(0, first))) << "keys ascend";
  EXPECT_FALSE(LabelMap::is_packed(bytes + bytes.substr(first))) << "a key comes once";
  std::string damaged = bytes;
  damaged[0] = '\xff';  // of the length of the first key
  EXPECT_FALSE(LabelMap::is_packed(damaged));
  EXPECT_FALSE(LabelMap::is_packed(LabelMap{{"app", "\xff"}}.bytes())) << "not UTF-8";
}

TEST(LabelMap, KeysAndValuesMayContainAnyBytes) {
  const std::string odd("x\0y", 3);
  const LabelMap map({{odd, odd}});
  EXPECT_EQ(map.find(odd), odd);
}

}  // namespace
}  // namespace berth
