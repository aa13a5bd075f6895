// SPDX-License-Identifier: Apache-2.0
#include "plugins/label_index.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace berth {
namespace {

using Numbers = std::vector<std::int32_t>;

TEST(LabelIndexTest, AnEntryWithoutRequirementsIsACandidateForAnyLabels) {
  LabelIndex index;
  index.add(0, {});
  index.add(1, {{"app", "web"}});
  EXPECT_EQ(index.candidates({}), Numbers{0});
  EXPECT_EQ(index.candidates({{"app", "web"}}), (Numbers{0, 1}));
  EXPECT_EQ(index.candidates({{"app", "db"}}), Numbers{0});
}

TEST(LabelIndexTest, AFullyMatchedEntryIsAlwaysFound) {
  LabelIndex index;
  for (int i = 0; i < 20; ++i) index.add(i, {{"app", "web"}, {"hash", "x"}, {"tier", "front"}});
  const LabelMap labels{{"app", "web"}, {"hash", "x"}, {"tier", "front"}, {"zone", "a"}};
  EXPECT_EQ(index.candidates(labels).size(), 20u);
  for (int i = 0; i < 18; ++i) index.remove(i, {{"app", "web"}, {"hash", "x"}, {"tier", "front"}});
  EXPECT_EQ(index.candidates(labels), (Numbers{18, 19}));
}

TEST(LabelIndexTest, ACommonLabelDoesNotMakeEveryEntryACandidate) {
  LabelIndex index;
  std::vector<std::string> hashes;
  for (int i = 0; i < 100; ++i) hashes.push_back(std::to_string(i));
  for (int i = 0; const std::string& hash : hashes) index.add(i++, {{"app", "web"}, {"pod-template-hash", hash}});
  EXPECT_LE(index.candidates({{"app", "web"}, {"pod-template-hash", "57"}}).size(), 2u);
}

struct Sets {
  std::vector<LabelMap> labels{
      {{"app", "web"}, {"name", "web-0"}}, {{"app", "web"}, {"name", "web-1"}}, {{"app", "db"}}};
  LabelSetIndex index;

  void demand(const std::vector<LabelMap::Entry>& demanded) {
    index.demand(demanded, [this](auto use) {
      for (std::int32_t i = 0; const LabelMap& set : labels) use(i++, set);
    });
  }
};

TEST(LabelSetIndexTest, AKeyThatIsDemandedLaterFindsTheSetsFromBefore) {
  Sets sets;
  sets.demand({{"app", "web"}});
  EXPECT_EQ(sets.index.candidates({{"app", "web"}}), (Numbers{0, 1}));
  sets.demand({{"app", "web"}, {"name", "web-1"}});
  EXPECT_EQ(sets.index.candidates({{"app", "web"}, {"name", "web-1"}}), Numbers{1});
  EXPECT_EQ(sets.index.candidates({{"app", "other"}}), Numbers{});
  EXPECT_EQ(sets.index.candidates({{"app", "db"}}), Numbers{2}) << "a key is indexed with all its values";
}

TEST(LabelSetIndexTest, SetsThatComeAndGoAreFollowed) {
  Sets sets;
  sets.demand({{"app", "web"}});
  sets.index.add(3, {{"app", "web"}});
  sets.index.remove(0, sets.labels[0]);
  EXPECT_EQ(sets.index.candidates({{"app", "web"}}), (Numbers{3, 1}));
}

TEST(LabelSetIndexTest, AKeyIsIndexedUntilItWasReleasedAsOftenAsDemanded) {
  Sets sets;
  sets.demand({{"app", "web"}});
  sets.demand({{"app", "db"}});
  sets.index.release({{"app", "web"}});
  EXPECT_EQ(sets.index.candidates({{"app", "web"}}), (Numbers{0, 1}));
  sets.index.release({{"app", "db"}});
  EXPECT_THROW(sets.index.candidates({{"app", "web"}}), std::out_of_range);
}

}  // namespace
}  // namespace berth
