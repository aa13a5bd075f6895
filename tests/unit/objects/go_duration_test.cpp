// SPDX-License-Identifier: Apache-2.0
#include "host/objects/go_duration.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace berth {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

TEST(GoDuration, AcceptsWhatGoAccepts) {
  EXPECT_EQ(parse_go_duration_ns("15s"), 15 * kSecondNs);
  EXPECT_EQ(parse_go_duration_ns("1m30s"), 90 * kSecondNs);
  EXPECT_EQ(parse_go_duration_ns("1.5h"), 5400 * kSecondNs);
  EXPECT_EQ(parse_go_duration_ns(".5s"), kSecondNs / 2);
  EXPECT_EQ(parse_go_duration_ns("5.s"), 5 * kSecondNs);
  EXPECT_EQ(parse_go_duration_ns("-2ms"), -2'000'000);
  EXPECT_EQ(parse_go_duration_ns("+7us"), 7'000);
  EXPECT_EQ(parse_go_duration_ns("7\xC2\xB5s"), 7'000);
  EXPECT_EQ(parse_go_duration_ns("7\xCE\xBCs"), 7'000);
  EXPECT_EQ(parse_go_duration_ns("0"), 0);
  EXPECT_EQ(parse_go_duration_ns("-0"), 0);
  EXPECT_EQ(parse_go_duration_ns("3ns2ns"), 5);
}

TEST(GoDuration, ReadsTheWholeRange) {
  EXPECT_EQ(parse_go_duration_ns("9223372036854775807ns"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_go_duration_ns("-9223372036854775808ns"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_go_duration_ns("9223372036854775808ns"), std::nullopt);
  EXPECT_EQ(parse_go_duration_ns("-9223372036854775809ns"), std::nullopt);
  EXPECT_EQ(parse_go_duration_ns("9223372036s9223372036s"), std::nullopt);
  EXPECT_EQ(parse_go_duration_ns("9999999999h"), std::nullopt);
  EXPECT_EQ(parse_go_duration_ns("0.9223372036854775808999h"), 3320413933267);
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const char* text :
       {"", "-", "15", "s", ".s", ".", "1d", "1s ", " 1s", "1 s", "1.2.3s", "--1s", "1S", "s1", "1e3s"}) {
    EXPECT_EQ(parse_go_duration_ns(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_go_duration_ns(std::string(100'000, '9')), std::nullopt);
}

TEST(GoDuration, MicrosecondsAreRoundedAwayFromZero) {
  EXPECT_EQ(duration_us(1'500), 2);
  EXPECT_EQ(duration_us(1), 1);
  EXPECT_EQ(duration_us(0), 0);
  EXPECT_EQ(duration_us(-1), -1);
  EXPECT_EQ(duration_us(2'000), 2);
}

TEST(GoDurationText, PrintsLikeGo) {
  const std::pair<std::int64_t, const char*> rows[] = {
      {0, "0s"},
      {1, "1µs"},
      {250, "250µs"},
      {1'000, "1ms"},
      {1'500, "1.5ms"},
      {999'999, "999.999ms"},
      {1'000'000, "1s"},
      {1'500'000, "1.5s"},
      {10'000'000, "10s"},
      {60'000'000, "1m0s"},
      {90'250'000, "1m30.25s"},
      {900'000'000, "15m0s"},
      {3'600'000'000, "1h0m0s"},
      {3'661'000'001, "1h1m1.000001s"},
      {-1'500'000, "-1.5s"},
      {INT64_MIN, "-2562047788h0m54.775808s"},
  };
  for (const auto& [micros, text] : rows) EXPECT_EQ(go_duration_text(micros), text);
}

}  // namespace
}  // namespace berth
