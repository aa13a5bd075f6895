// SPDX-License-Identifier: Apache-2.0
#include "host/live/live_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/unit/live/captured_log.h"

namespace berth {
namespace {

TEST(LiveLog, WritesTextAsKlogDoes) {
  CapturedLog captured;
  captured.log.warning("Pod \"x\" waits", {{"pod", "a/b"}, {"err", "line\nend\x1b[31m"}});
  const std::regex form(
      R"re(W\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ berth\] "Pod \\"x\\" waits" pod="a/b" err="line\\nend\\u001b\[31m"\n)re");
  EXPECT_TRUE(std::regex_match(captured.text(), form)) << captured.text();
}

TEST(LiveLog, WritesJson) {
  CapturedLog captured(LogFormat::kJson, 3);
  captured.log.detail(3, "Bound", {{"pod", "a/b"}});
  const auto line = nlohmann::json::parse(captured.text());
  EXPECT_EQ(line["msg"], "Bound");
  EXPECT_EQ(line["pod"], "a/b");
  EXPECT_EQ(line["v"], 3);
  EXPECT_GT(line["ts"].get<double>(), 1.7e12);
}

TEST(LiveLog, LeavesOutWhatIsTooDetailed) {
  CapturedLog captured(LogFormat::kText, 1);
  captured.log.detail(2, "hidden");
  EXPECT_EQ(captured.text(), "");
  captured.log.set_verbosity(2);
  captured.log.detail(2, "shown");
  EXPECT_NE(captured.text().find("shown"), std::string::npos);
}

}  // namespace
}  // namespace berth
