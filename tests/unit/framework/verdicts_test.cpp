// SPDX-License-Identifier: Apache-2.0
#include "host/framework/verdicts.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Verdicts, TheFirstRejectionWins) {
  Verdicts verdicts(2);
  verdicts.set_speaker("A");
  verdicts.refuse(1, StatusCode::kUnschedulable, {"first"});
  verdicts.set_speaker("B");
  verdicts.refuse(1, StatusCode::kError, {"second"});
  EXPECT_TRUE(verdicts.passes(0));
  EXPECT_EQ(verdicts.status(0), Status{});
  EXPECT_EQ(verdicts.status(1), (Status{StatusCode::kUnschedulable, "A", {"first"}}));
  EXPECT_EQ(verdicts.passing_count(), 1U);
}

TEST(Verdicts, RejectionsKeepTheirCodeAndOtherCodesAreErrors) {
  Verdicts verdicts(7);
  verdicts.set_speaker("P");
  for (std::uint8_t code = 0; code < 7; ++code) verdicts.refuse(code, static_cast<StatusCode>(code), {"why"});
  EXPECT_TRUE(verdicts.passes(0));
  const Status error{StatusCode::kError, "P", {"running \"P\" filter plugin: why"}};
  for (const std::size_t code : {1U, 4U, 5U}) EXPECT_EQ(verdicts.status(code), error);
  for (const std::size_t code : {2U, 3U, 6U}) {
    EXPECT_EQ(verdicts.status(code), (Status{static_cast<StatusCode>(code), "P", {"why"}}));
  }
  EXPECT_EQ(verdicts.first_error(), error);
}

TEST(Verdicts, FirstErrorIsEmptyWithoutErrors) {
  Verdicts verdicts(1);
  verdicts.refuse(0, StatusCode::kUnschedulable, {});
  EXPECT_EQ(verdicts.first_error(), std::nullopt);
  EXPECT_EQ(Verdicts(0).first_error(), std::nullopt);
}

}  // namespace
}  // namespace berth
