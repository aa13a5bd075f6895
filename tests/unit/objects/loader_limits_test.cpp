// SPDX-License-Identifier: Apache-2.0
// What input may cost at most: each limit of docs/objects.md, with small numbers in place of the real ones, and inputs
// that are small on disk and would be large in memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <ostream>
#include <string>

#include "host/objects/loader.h"
#include "tests/support/sanitized.h"
#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

LoadResult load(const std::string& text, const LoadOptions& options = {}) {
  return load_cluster_from_text(text, "f", options);
}

TEST(LoaderLimits, ReadingEndsAfterSoManyInvalidObjects) {
  LoadOptions options;
  options.invalid_objects_max = 10;
  options.problems_max = 2;
  options.text.block_bytes = 256;
  const LoadResult result = load(repeated(R"({"apiVersion":"v1","kind":"Node"})", 1000), options);
  EXPECT_TRUE(result.is_incomplete);
  EXPECT_GT(result.left_out_count, 10);
  EXPECT_LT(result.left_out_count, 100);
  ASSERT_EQ(result.problems.size(), 2U);
  EXPECT_EQ(result.problems.back().message, "the input has more than 10 invalid objects; the rest was not read");
}

TEST(LoaderLimits, ItemsTooShortToBeObjectsAreInvalidObjects) {
  LoadOptions options;
  options.text.small_items_max = 5;
  const LoadResult all = load(repeated("{}", 1000), options);
  EXPECT_EQ(all.left_out_count, 1000);
  EXPECT_EQ(all.problem_count, 1000);
  EXPECT_EQ(total_count(all.problems), 1000) << "the count of those that were not looked at is said too";
  EXPECT_FALSE(all.is_incomplete);
  options.invalid_objects_max = 999;
  EXPECT_TRUE(load(repeated("{}", 1000), options).is_incomplete);
}

TEST(LoaderLimits, OnlyTheFirstInvalidObjectsAreListedAndAllAreCounted) {
  LoadOptions options;
  options.left_out_max = 7;
  options.problems_max = 3;
  const std::string node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})";
  const LoadResult repeated_nodes = load(repeated(node, 100), options);
  EXPECT_EQ(repeated_nodes.left_out.size(), 7U);
  EXPECT_EQ(repeated_nodes.left_out_count, 99);
  const LoadResult nameless = load(repeated(R"({"apiVersion":"v1","kind":"Node"})", 100), options);
  EXPECT_EQ(nameless.left_out.size(), 7U);
  EXPECT_EQ(nameless.left_out_count, 100);
  EXPECT_EQ(nameless.problem_count, 100);
  EXPECT_EQ(nameless.problems.size(), 1U) << "repetitions are one line";
  std::string different;
  for (const char* kind : {"Node", "Namespace", "Service", "Pod"})
    different += R"({"apiVersion":"v1","kind":")" + std::string(kind) + "\"}";
  EXPECT_EQ(load(different, options).problems.size(), 3U);
}

TEST(LoaderLimits, UnknownKindsBeyondTheLimitAreCountedTogether) {
  LoadOptions options;
  options.unknown_kinds_max = 5;
  options.text.block_bytes = 64;
  std::string text;
  for (int i = 0; i < 100; ++i) text += R"({"apiVersion":"v1","kind":"K)" + std::to_string(i) + "\"}";
  const LoadResult result = load(text, options);
  EXPECT_LT(result.objects.unknown_kinds.size(), 15U);
  std::int64_t count = 0;
  for (const auto& [kind, objects] : result.objects.unknown_kinds) count += objects;
  EXPECT_EQ(count, 100);
  EXPECT_GT(result.objects.unknown_kinds.at(std::string(kOtherKinds)), 80);
}

TEST(LoaderLimits, AnObjectWithMoreListEntriesThanItsLimitIsRefused) {
  const std::string head =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"})";
  const LoadResult result = load(head + repeated(",{}", 100'000) + "]}}");
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_EQ(result.problems[0].message, "lists with 100001 entries together, expected at most 100000 in an object");
  EXPECT_TRUE(result.objects.pods.empty());
  const std::string yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n";
  EXPECT_EQ(load(yaml + repeated("  - {}\n", 100'001)).problems.size(), 1U);
  EXPECT_FALSE(load(R"({"apiVersion":"a/v1","kind":"Foreign","x":[1)" + repeated(",1", 200'000) + "]}").problem_count)
      << "what is not decoded has no such limit";
}

TEST(LoaderLimits, ReadingEndsAfterSoManyDenseListEntries) {
  LoadOptions options;
  options.dense_entries_max = 1000;
  const auto pod = [](int number, const std::string& gate) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p)" + std::to_string(number) +
           R"("},"spec":{"containers":[{"name":"c"}],"tolerations":[{})" + repeated("," + gate, 200) + "]}}";
  };
  std::string dense;
  std::string ordinary;
  for (int i = 0; i < 20; ++i) {
    dense += pod(i, "{}");
    ordinary += pod(i, R"({"operator":"Exists"})");
  }
  EXPECT_TRUE(load(ordinary, options).problems.empty());
  const LoadResult result = load(dense, options);
  EXPECT_TRUE(result.is_incomplete);
  ASSERT_FALSE(result.problems.empty());
  EXPECT_EQ(result.problems.back().message,
            "the input has more than 1000 list entries beyond one for each 16 bytes of their object; the rest was not "
            "read");
}

/// Runs `work` in a process of its own. @return the most memory that was resident there, in MiB; -1 when it failed
long peak_mebibytes(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  rusage usage = {};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return -1;
  return usage.ru_maxrss / 1024;
}

struct Bomb {
  const char* name;
  std::string (*text)();
};
void PrintTo(const Bomb& bomb, std::ostream* out) { *out << bomb.name; }

class LoaderMemory : public testing::TestWithParam<Bomb> {};

/// Texts of some megabytes each; what they take is measured beyond the text and the process itself.
TEST_P(LoaderMemory, StaysBelow500Mebibytes) {
  if (test::kIsSanitized) GTEST_SKIP() << "a sanitizer's own memory would be measured";
  constexpr long kLimitMebibytes = 500;
  const long peak = peak_mebibytes([] {
    LoadOptions options;
    options.threads = 2;
    const LoadResult result = load(GetParam().text(), options);
    if (result.objects.nodes.size() > 1) _exit(1);
  });
  EXPECT_GT(peak, 0);
  EXPECT_LT(peak, kLimitMebibytes);
  RecordProperty("peak_mebibytes", static_cast<int>(peak));
}

INSTANTIATE_TEST_SUITE_P(
    All, LoaderMemory,
    testing::Values(
        Bomb{"EmptyObjects", [] { return repeated("{}", 10'000'000); }},
        Bomb{"EmptyItems", [] { return R"({"kind":"List","items":[{})" + repeated(",{}", 10'000'000) + "]}"; }},
        Bomb{"EmptyItemsBeforeTheKind", [] { return R"({"items":[{})" + repeated(",{}", 10'000'000) + "]}"; }},
        Bomb{"YamlFlowItems", [] { return "[a" + repeated(",a", 5'000'000) + "]"; }},
        Bomb{"YamlFlowItemsOfAnObject", [] { return "kind: Pod\nx: [a" + repeated(",a", 5'000'000) + "]"; }},
        Bomb{"NumbersOfAnObject",
             [] { return R"({"apiVersion":"v1","kind":"Node","x":[1)" + repeated(",1", 8'300'000) + "]}"; }},
        Bomb{"ContainersOfAPod",
             [] {
               return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{})" +
                      repeated(",{}", 5'000'000) + "]}}";
             }},
        Bomb{"PreferredTermsOfManyPods",
             [] {
               std::string text;
               for (int i = 0; i < 100; ++i) {
                 text += R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p)" + std::to_string(i) +
                         R"("},"spec":{"containers":[{"name":"c"}],"affinity":{"nodeAffinity":)" +
                         R"({"preferredDuringSchedulingIgnoredDuringExecution":[{})" +
                         repeated(",{}", 90'000 + static_cast<std::size_t>(i)) + "]}}}}\n";
               }
               return text;
             }},
        Bomb{
            "ClaimsOfAStatefulSet",
            [] {
              std::string templates;
              for (int i = 0; i < 100; ++i)
                templates += (i == 0 ? "" : ",") + (R"({"metadata":{"name":"c)" + std::to_string(i) + "\"}}");
              return R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s"},"spec":{"replicas":100000,)"
                     R"("template":{"spec":{"containers":[{"name":"c"}]}},"volumeClaimTemplates":[)" +
                     templates + "]}}";
            }},
        Bomb{"EmptyItemsOfANestedList",
             [] {
               return R"({"kind":"List","items":[{"kind":"NodeList","apiVersion":"v1","items":[{})" +
                      repeated(",{}", 5'500'000) + "]}]}";
             }},
        Bomb{"EmptyYamlDocuments", [] { return repeated("---\n", 3'000'000); }},
        Bomb{"YamlAnchors", [] { return "a:\n" + repeated("- &a x\n", 3'000'000); }},
        Bomb{"UnclosedBrackets", [] { return repeated("[", 30'000'000); }},
        Bomb{"NamelessNodes", [] { return repeated(R"({"apiVersion":"v1","kind":"Node"})", 1'000'000); }}),
    [](const testing::TestParamInfo<Bomb>& bomb) { return std::string(bomb.param.name); });

}  // namespace
}  // namespace berth
