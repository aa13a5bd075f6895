// SPDX-License-Identifier: Apache-2.0
// Codes and failure texts: docs/behaviour/plugins-node.md 16, docs/behaviour/scheduler-core.md 3.1 and 3.5.

#include "host/framework/status.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr const char* kCordoned = "node(s) were unschedulable";
constexpr const char* kTainted = "node(s) had untolerated taint(s)";
constexpr const char* kMismatch = "node(s) didn't match Pod's node affinity/selector";
constexpr const char* kOutside = "node(s) didn't satisfy plugin(s) [NodeAffinity]";

std::string text_of(std::int64_t node_count, std::map<std::string, std::int64_t> reason_counts) {
  return fit_error_text({node_count, std::move(reason_counts), ""});
}

TEST(FitErrorText, E_FE_1) {
  EXPECT_EQ(
      text_of(7, {{"Insufficient cpu", 3}, {"Insufficient memory", 1}, {kTainted, 2}, {kCordoned, 1}, {kMismatch, 1}}),
      "0/7 nodes are available: 1 Insufficient memory, 1 node(s) didn't match Pod's node affinity/selector, 1 "
      "node(s) were unschedulable, 2 node(s) had untolerated taint(s), 3 Insufficient cpu.");
}

TEST(FitErrorText, E_FE_2) {
  EXPECT_EQ(text_of(12, {{"Insufficient cpu", 10}, {kTainted, 2}}),
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had untolerated taint(s).");
}

TEST(FitErrorText, E_FE_3) {
  EXPECT_EQ(text_of(5, {{"Insufficient cpu", 1}, {kOutside, 4}}),
            "0/5 nodes are available: 1 Insufficient cpu, 4 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST(FitErrorText, E_FE_4) {
  EXPECT_EQ(text_of(5, {{kOutside, 5}}), "0/5 nodes are available: 5 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST(FitErrorText, E_FE_5) {
  EXPECT_EQ(fit_error_text({5, {}, "pod affinity terms conflict"}),
            "0/5 nodes are available: pod affinity terms conflict.");
}

TEST(FitErrorText, E_FE_6) {
  EXPECT_EQ(text_of(21, {{"Insufficient cpu", 11}, {"Too many pods", 1}, {"Insufficient memory", 9}, {kCordoned, 1}}),
            "0/21 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 11 Insufficient cpu, 9 "
            "Insufficient memory.");
}

TEST(FitErrorText, EndsWithTheColonWithoutReasons) { EXPECT_EQ(text_of(3, {}), "0/3 nodes are available:"); }

TEST(Status, JoinsItsReasons) {
  EXPECT_EQ((Status{StatusCode::kUnschedulable, "P", {"a", "b", "c"}}).message(), "a, b, c");
  EXPECT_EQ(Status{}.message(), "");
}

TEST(StatusCodes, MatchKubeScheduler) {
  const char* const names[] = {"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable",
                               "Wait",    "Skip",  "Pending"};
  for (std::uint8_t value = 0; value < 7; ++value) {
    EXPECT_EQ(to_string(static_cast<StatusCode>(value)), names[value]);
    EXPECT_EQ(is_rejected(static_cast<StatusCode>(value)), value == 2 || value == 3 || value == 6);
  }
}

}  // namespace
}  // namespace berth
