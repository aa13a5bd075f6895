// SPDX-License-Identifier: Apache-2.0
#include "host/objects/selectors.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace berth {
namespace {

TEST(SelectorOperators, EveryNameRoundTrips) {
  for (const auto* name : {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}) {
    const auto op = parse_selector_operator(name);
    ASSERT_TRUE(op.has_value()) << name;
    EXPECT_EQ(to_string(*op), name);
  }
  for (const auto* name : {"", "in", "Equals", "GT"}) EXPECT_FALSE(parse_selector_operator(name).has_value()) << name;
}

TEST(LabelValues, AreShortWithAlphanumericEnds) {
  for (const auto* text : {"", "a", "A-b_c.d", "9"}) EXPECT_TRUE(is_label_value(text)) << text;
  for (const auto* text : {"-5", "a-", "_", "a b", "a/b", "\xc3\xa9"}) EXPECT_FALSE(is_label_value(text)) << text;
  EXPECT_TRUE(is_label_value(std::string(63, 'a')));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
}

TEST(QualifiedNames, HaveAnOptionalDnsPrefix) {
  for (const auto* text : {"a", "A_b.c-1", "example.com/x", "a/b"}) EXPECT_TRUE(is_qualified_name(text)) << text;
  for (const auto* text : {"", "/a", "a/", "a/b/c", "Example.com/x", "-a", "a..b/c", "a_b/c"}) {
    EXPECT_FALSE(is_qualified_name(text)) << text;
  }
}

TEST(DnsSubdomains, AreLowerCaseWithAlphanumericPartEnds) {
  for (const auto* text : {"a", "a-b.c", "0.1"}) EXPECT_TRUE(is_dns_subdomain(text)) << text;
  for (const auto* text : {"", "A", ".a", "a.", "a..b", "-a", "a-", "a-.b", "a.-b", "a_b"}) {
    EXPECT_FALSE(is_dns_subdomain(text)) << text;
  }
  EXPECT_TRUE(is_dns_subdomain(std::string(253, 'a')));
  EXPECT_FALSE(is_dns_subdomain(std::string(254, 'a')));
}

TEST(ParseInt64, AcceptsWhatGoAccepts) {
  EXPECT_EQ(parse_int64("7"), 7);
  EXPECT_EQ(parse_int64("+7"), 7);
  EXPECT_EQ(parse_int64("-7"), -7);
  EXPECT_EQ(parse_int64("007"), 7);
  EXPECT_EQ(parse_int64("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const auto* text : {"", "+", "-", "+-7", "--7", "7 ", " 7", "7.0", "0x7", "1_0", "9223372036854775808", "v7"}) {
    EXPECT_FALSE(parse_int64(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace berth
