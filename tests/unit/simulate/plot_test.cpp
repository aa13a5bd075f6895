// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/plot.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

SimulationResult result_with(std::size_t samples) {
  SimulationResult result;
  result.start_us = kDefaultStartUs;
  result.resources = {"cpu", "memory", "pods", "x.example/<gpu>"};
  for (std::size_t i = 0; i < samples; ++i) {
    TimelineSample sample;
    sample.time_us = static_cast<std::int64_t>(i) * 1'000'000;
    sample.state.pending = static_cast<std::int64_t>(i % 10);
    sample.state.allocatable = {4000, 4000, 10, 2};
    sample.state.requested = {1000, 2000, 5, 2};
    sample.events.preempted = i % 2 == 0 ? 1 : 0;
    result.samples.push_back(sample);
  }
  result.end_us = samples == 0 ? 0 : result.samples.back().time_us;
  return result;
}

TEST(EscapedForSvg, LeavesNoMarkupAndNothingThatXmlCannotHold) {
  EXPECT_EQ(escaped_for_svg("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
  EXPECT_EQ(escaped_for_svg("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped_for_svg(std::string_view("\0\x1b\n", 3)), bad + bad + bad);
  EXPECT_EQ(escaped_for_svg("\xFF"), bad);
  EXPECT_EQ(escaped_for_svg("\xC3"), bad);
  EXPECT_EQ(escaped_for_svg("\xC0\xAF"), bad + bad);
  EXPECT_EQ(escaped_for_svg("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(escaped_for_svg("\xEF\xBF\xBF"), bad + bad + bad) << "U+FFFF";
}

TEST(PlotSvg, DrawsThreePanels) {
  const std::string svg = plot_svg(result_with(100));
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find(">Utilisation: requested / allocatable<"), std::string::npos);
  EXPECT_NE(svg.find(">Pending pods<"), std::string::npos);
  EXPECT_NE(svg.find(">Preempted pods in steps of 1s<"), std::string::npos);
  EXPECT_EQ(count_of(svg, "<path"), 5u) << "four resources and pending pods";
  EXPECT_EQ(count_of(svg, "width=\"2\""), 50u) << "one bar for each step with a preemption";
  EXPECT_NE(svg.find("x.example/&lt;gpu&gt;"), std::string::npos);
}

TEST(PlotSvg, LongRunsAreFolded) {
  const std::string svg = plot_svg(result_with(50'000));
  EXPECT_LT(svg.size(), 200'000u);
}

TEST(PlotSvg, AnEmptyRunGivesAnImage) {
  const std::string svg = plot_svg(result_with(0));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace berth
