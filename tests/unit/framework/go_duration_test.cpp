// SPDX-License-Identifier: Apache-2.0
#include "host/framework/go_duration.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(GoDuration, ReadsAsGoPrintsIt) {
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
