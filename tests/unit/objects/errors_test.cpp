// SPDX-License-Identifier: Apache-2.0
#include "host/objects/errors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth {
namespace {

InputProblem problem(std::string object, std::string location, std::string message) {
  return {"f.json", std::move(location), std::move(message), std::move(object)};
}

std::vector<InputProblem> folded(std::vector<InputProblem> problems, std::size_t limit = 100) {
  std::vector<InputProblem> kept;
  for (InputProblem& one : problems) fold_into(kept, std::move(one), limit);
  return kept;
}

TEST(InputProblem, NamesObjectBesideFileAndPath) {
  EXPECT_EQ(problem("Pod a/b", "items[1].spec", "bad").to_string(), "f.json: items[1].spec (Pod a/b): bad");
  EXPECT_EQ(problem("Pod a/b", "", "bad").to_string(), "f.json: Pod a/b: bad");
  EXPECT_EQ(problem("", "line 3", "bad").to_string(), "f.json: line 3: bad");
}

TEST(FoldInto, CountsProblemsThatDifferOnlyInPositionNameAndValue) {
  const auto kept = folded({problem("Pod a/x", "items[1].spec.priority", R"(got "hi\"gh", expected an integer)"),
                            problem("Pod a/y", "items[27].spec.priority", R"(got "low", expected an integer)"),
                            problem("Pod b/z", "items[3].spec.priority", R"(got "7", expected an integer)")});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].to_string(),
            R"(f.json: items[1].spec.priority (Pod a/x): got "hi\"gh", expected an integer (and 2 more like it))");
  EXPECT_EQ(total_count(kept), 3);
}

TEST(FoldInto, ComparesPathsWithinTheObject) {
  EXPECT_EQ(folded({problem("Pod a/x", "spec.priority", "bad"), problem("Pod a/x", "line 7, spec.priority", "bad"),
                    problem("Pod a/x", "line 9, items[3].items[2].spec.priority", "bad")})
                .size(),
            1u);
}

TEST(FoldInto, KeepsProblemsOfOtherKindsFieldsAndMessagesApart) {
  EXPECT_EQ(folded({problem("Pod a/x", "spec.priority", "bad"), problem("Node x", "spec.priority", "bad"),
                    problem("Pod a/x", "spec.nodeName", "bad"), problem("Pod a/x", "spec.priority", "worse")})
                .size(),
            4u);
}

TEST(FoldInto, AddsUpRepetitionsOfPartsOfALoad) {
  const auto part = folded({problem("Pod a/x", "spec", "bad"), problem("Pod a/y", "spec", "bad")});
  std::vector<InputProblem> all = part;
  for (InputProblem one : part) fold_into(all, std::move(one), 100);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].repeat_count, 3);
}

TEST(FoldInto, DropsWhatIsBeyondTheLimit) {
  const auto kept = folded({problem("", "a", "bad"), problem("", "b", "bad"), problem("", "a", "bad")}, 1);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(total_count(kept), 2);
}

}  // namespace
}  // namespace berth
