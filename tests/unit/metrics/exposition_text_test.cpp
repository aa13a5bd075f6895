// SPDX-License-Identifier: Apache-2.0
// The check of the text format has to find what is wrong.
#include "tests/unit/metrics/exposition_text.h"

#include <gtest/gtest.h>

namespace berth::test {
namespace {

const std::string kCounter = "# HELP c help\n# TYPE c counter\n";
const std::string kHistogram = "# HELP h help\n# TYPE h histogram\n";

TEST(ExpositionText, ReadsSamplesAndTypes) {
  const ExpositionText read = parse_exposition(kCounter + "c{a=\"x\\\"y\\\\z\\n\",b=\"\"} 3\n" + kHistogram +
                                               "h_count 2\nh_sum 1.5\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\n");
  EXPECT_EQ(read.values.at("c{a=\"x\\\"y\\\\z\\n\",b=\"\"}"), 3);
  EXPECT_EQ(read.values.at("h_bucket{le=\"+Inf\"}"), 2);
  EXPECT_EQ(read.types.at("h"), "histogram");
  EXPECT_EQ(unescaped("x\\\"y\\\\z\\n"), "x\"y\\z\n");
}

TEST(ExpositionText, RefusesWhatIsWrong) {
  for (const std::string& wrong : {
           std::string("c 1\n"),                                                                // no type
           kCounter + "c 1",                                                                    // no end of the line
           kCounter,                                                                            // no sample
           kCounter + "c 1\nc 1\n",                                                             // twice
           kCounter + "d 1\n",                                                                  // another family
           kCounter + "c -1\n",                                                                 // a negative count
           kCounter + "c 1x\n",                                                                 // no number
           kCounter + "c{a=\"x} 1\n",                                                           // an open quote
           kCounter + "c{a=\"\\x\"} 1\n",                                                       // an unknown escape
           kCounter + "c{b=\"1\",a=\"2\"} 1\n",                                                 // the order of labels
           kCounter + "c{1a=\"2\"} 1\n",                                                        // the name of a label
           kCounter + "c 1\n" + kCounter + "c{a=\"1\"} 1\n",                                    // a family twice
           kHistogram + "h_count 2\nh_sum 1\nh_bucket{le=\"1\"} 2\n",                           // no +Inf
           kHistogram + "h_count 2\nh_sum 1\nh_bucket{le=\"+Inf\"} 1\n",                        // another count
           kHistogram + "h_count 2\nh_bucket{le=\"+Inf\"} 2\n",                                 // no sum
           kHistogram + "h_count 2\nh_sum 1\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\n",  // a bucket that shrinks
       })
    EXPECT_THROW(parse_exposition(wrong), ExpositionError) << wrong;
}

}  // namespace
}  // namespace berth::test
