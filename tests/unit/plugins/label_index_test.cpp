// SPDX-License-Identifier: Apache-2.0
#include "plugins/label_index.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

using Numbers = std::vector<std::int32_t>;

TEST(LabelIndexTest, AnEntryWithoutRequirementsIsACandidateForAnyLabels) {
  LabelIndex index;
  index.add({});
  index.add({{"app", "web"}});
  EXPECT_EQ(index.candidates({}), Numbers{0});
  EXPECT_EQ(index.candidates({{"app", "web"}}), (Numbers{0, 1}));
  EXPECT_EQ(index.candidates({{"app", "db"}}), Numbers{0});
}

TEST(LabelIndexTest, AFullyMatchedEntryIsAlwaysFound) {
  LabelIndex index;
  for (int i = 0; i < 20; ++i) index.add({{"app", "web"}, {"hash", "x"}, {"tier", "front"}});
  const LabelMap labels{{"app", "web"}, {"hash", "x"}, {"tier", "front"}, {"zone", "a"}};
  EXPECT_EQ(index.candidates(labels).size(), 20u);
  EXPECT_EQ(index.candidates(labels, 18), (Numbers{18, 19}));
  EXPECT_EQ(index.size(), 20);
}

TEST(LabelIndexTest, ACommonLabelDoesNotMakeEveryEntryACandidate) {
  LabelIndex index;
  std::vector<std::string> hashes;
  for (int i = 0; i < 100; ++i) hashes.push_back(std::to_string(i));
  for (const std::string& hash : hashes) index.add({{"app", "web"}, {"pod-template-hash", hash}});
  EXPECT_LE(index.candidates({{"app", "web"}, {"pod-template-hash", "57"}}).size(), 2u);
}

}  // namespace
}  // namespace berth
