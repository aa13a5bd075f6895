// SPDX-License-Identifier: Apache-2.0
#include "host/objects/quantity.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace berth {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::int64_t value_of(std::string_view text) { return Quantity::parse(text).value().value(); }
std::int64_t milli_of(std::string_view text) { return Quantity::parse(text).value().milli_value(); }

TEST(Quantity, E_Q_1_AllSpellingsOfOneTenthAre100Milli) {
  for (const auto* text : {"100m", "0.1", "1e-1"}) EXPECT_EQ(milli_of(text), 100) << text;
}

TEST(Quantity, E_Q_2_MilliIsRoundedUp) { EXPECT_EQ(milli_of("1.0005"), 1001); }

TEST(Quantity, E_Q_3_ASmallAmountIsOneMilli) { EXPECT_EQ(milli_of("0.0001"), 1); }

TEST(Quantity, E_Q_4_ValueIsRoundedUp) { EXPECT_EQ(value_of("1500m"), 2); }

TEST(Quantity, E_Q_5_SuffixesScaleExactly) {
  EXPECT_EQ(value_of("1.5Gi"), 1610612736);
  EXPECT_EQ(value_of("123Mi"), 128974848);
  EXPECT_EQ(value_of("129M"), 129000000);
  EXPECT_EQ(value_of("0.1Ki"), 103);
}

TEST(Quantity, E_Q_6_RoundingPerEntryDiffersFromRoundingTheSum) {
  const Quantity half = Quantity::parse("0.5m").value();
  Quantity raw = half;
  raw += half;
  EXPECT_EQ(raw.milli_value(), 1);
  Quantity rounded = half.rounded_up_to_milli();
  rounded += half.rounded_up_to_milli();
  EXPECT_EQ(rounded.milli_value(), 2);
}

TEST(Quantity, E_Q_7_DigitsMayBeMissing) {
  for (const auto* text : {".", "+", "m", "Ki"}) EXPECT_EQ(value_of(text), 0) << text;
  EXPECT_EQ(value_of("0.5"), 1);
}

TEST(Quantity, EverySuffixHasItsFactor) {
  EXPECT_EQ(Quantity::parse("1n")->nano, 1);
  EXPECT_EQ(Quantity::parse("1u")->nano, 1000);
  EXPECT_EQ(Quantity::parse("1m")->nano, 1000000);
  EXPECT_EQ(value_of("1k"), 1000);
  EXPECT_EQ(value_of("1M"), 1000000);
  EXPECT_EQ(value_of("1G"), 1000000000);
  EXPECT_EQ(value_of("1T"), 1000000000000);
  EXPECT_EQ(value_of("1P"), 1000000000000000);
  EXPECT_EQ(value_of("1E"), 1000000000000000000);
  int shift = 0;
  for (const auto* text : {"1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}) {
    EXPECT_EQ(value_of(text), std::int64_t{1} << (shift += 10)) << text;
  }
}

TEST(Quantity, AnExponentIsNotTheExaSuffix) {
  EXPECT_EQ(value_of("1E3"), 1000);
  EXPECT_EQ(value_of("1e+3"), 1000);
  EXPECT_EQ(value_of("1500e-3"), 2);
  EXPECT_EQ(value_of("1.5e3"), 1500);
  EXPECT_EQ(value_of("1E"), 1000000000000000000);
}

TEST(Quantity, MalformedQuantitiesAreRefused) {
  for (const auto* text : {"",   "K",  "1K",   "1KI", "1g",  "1mi",   "1e", "1e+",  "1.2.3", "abc",
                           "1 ", " 1", "1Gi2", "--1", "+-1", "1e3Ki", "1i", "0x10", "1_000", "1e3.5"}) {
    EXPECT_FALSE(Quantity::parse(text).has_value()) << text;
  }
}

TEST(Quantity, AllFormsOfDigitsAreAccepted) {
  EXPECT_EQ(value_of("1."), 1);
  EXPECT_EQ(milli_of(".5"), 500);
  EXPECT_EQ(value_of("007"), 7);
  EXPECT_EQ(value_of("+3"), 3);
  EXPECT_EQ(value_of("-3"), -3);
}

TEST(Quantity, FinerThanNanoIsRoundedAwayFromZero) {
  EXPECT_EQ(Quantity::parse("0.1n")->nano, 1);
  EXPECT_EQ(Quantity::parse("1.0000000001")->nano, 1000000001);
  EXPECT_EQ(Quantity::parse("1e-999999999")->nano, 1);
  EXPECT_EQ(Quantity::parse("-1.5n")->nano, -2);
  EXPECT_EQ(Quantity::parse("0e999999999")->nano, 0);
}

TEST(Quantity, RefusesExponentsBeyond64Bits) {
  for (const auto* text : {"1e99999999999999999999", "1E-99999999999999999999", "0e9223372036854775808"}) {
    EXPECT_FALSE(Quantity::parse(text).has_value()) << text;
  }
}

/// Reads `text` as quantities.tsv writes it.
std::string reading_of(const std::string& text) {
  const std::optional<Quantity> quantity = Quantity::parse(text);
  if (!quantity) return "refused";
  const __int128 limit = Quantity::parse("1e28")->nano;
  std::string digits;
  for (__int128 rest = quantity->nano; rest != 0; rest /= 10) {
    const int digit = static_cast<int>(rest % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  if (digits.empty()) return "0";
  // An amount of exactly 10^28 stands in the table with its digits; Berth cannot tell it from a capped one.
  const bool is_capped = quantity->nano == limit || quantity->nano == -limit;
  return is_capped ? "over" : (quantity->nano < 0 ? "-" : "") + digits;
}

TEST(Quantity, ReadsEveryTextAsApimachineryDoes) {
  std::ifstream table("tests/unit/objects/quantities.tsv");
  ASSERT_TRUE(table.is_open());
  const std::string limit = "1" + std::string(37, '0');
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    std::string wanted = line.substr(tab + 1);
    if (wanted == limit || wanted == "-" + limit) wanted = "over";
    EXPECT_EQ(reading_of(line.substr(0, tab)), wanted) << line;
    ++count;
  }
  EXPECT_GT(count, 2000);
}

TEST(Quantity, ABinaryAmountIsCappedAtInt64Max) {
  EXPECT_EQ(value_of("8Ei"), kMax);
  EXPECT_EQ(value_of("100000000000000000000000000000000000000000000Ei"), kMax);
  EXPECT_EQ(Quantity::parse("9Ei"), Quantity::parse("8Ei"));
  EXPECT_EQ(value_of("7.5Ei"), 8646911284551352320);
}

TEST(Quantity, ADecimalAmountIsCappedAndItsIntegersSaturate) {
  EXPECT_EQ(Quantity::parse("1e28"), Quantity::parse("1e400"));
  EXPECT_EQ(value_of("1e28"), kMax);
  EXPECT_EQ(value_of("-1e28"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(milli_of("9223372036854775807"), kMax);
  EXPECT_EQ(value_of("9223372036854775807"), kMax);
  EXPECT_EQ(value_of(std::string(5000, '9')), kMax);
}

TEST(Quantity, AnEntryIsRoundedUpToMilli) {
  EXPECT_EQ(Quantity::parse("1.0001")->rounded_up_to_milli(), Quantity::parse("1001m"));
  EXPECT_EQ(Quantity::parse("1001m")->rounded_up_to_milli(), Quantity::parse("1001m"));
  EXPECT_EQ(Quantity::parse("-1.0001")->rounded_up_to_milli(), Quantity::parse("-1"));
}

TEST(Quantity, ItsTextRoundTrips) {
  for (const auto* text : {"0", "1", "-7", "100m", "1.5", "3u", "7n", "1.5Gi", "8Ei", "1e28", "0.000000001"}) {
    const Quantity quantity = Quantity::parse(text).value();
    EXPECT_EQ(Quantity::parse(quantity.to_string()), quantity) << text << " as " << quantity.to_string();
  }
  EXPECT_EQ(Quantity::parse("1500m")->to_string(), "1500m");
  EXPECT_EQ(Quantity::parse("2Ki")->to_string(), "2048");
}

}  // namespace
}  // namespace berth
