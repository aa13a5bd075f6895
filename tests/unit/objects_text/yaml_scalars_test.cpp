// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/yaml_scalars.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace berth {
namespace {

/// The JSON text of a scalar.
std::string json_of(std::string_view value, std::string_view tag = "", bool plain = true) {
  std::string out;
  append_json_scalar(out, resolve_yaml_scalar(tag.empty() ? "" : "tag:yaml.org,2002:" + std::string(tag), value, plain),
                     value);
  return out;
}

std::string key_of(std::string_view value) { return yaml_key_text(resolve_yaml_scalar("", value, true), value); }

TEST(YamlScalars, Yaml11WordsAreNullsAndBooleans) {
  for (const char* word : {"", "~", "null", "Null", "NULL"}) EXPECT_EQ(json_of(word), "null") << word;
  for (const char* word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}) {
    EXPECT_EQ(json_of(word), "true") << word;
  }
  for (const char* word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}) {
    EXPECT_EQ(json_of(word), "false") << word;
  }
}

TEST(YamlScalars, OtherSpellingsAreStrings) {
  for (const char* word : {"nULL", "tRUE", "yES", "oN", "none", "nil", "yep", " ", "<<", "=", "+", "-", ".", "_"}) {
    EXPECT_EQ(json_of(word), '"' + std::string(word) + '"');
  }
}

struct Number {
  const char* text;
  const char* json;
};

TEST(YamlScalars, IntegersInEveryBaseKeepTheirValue) {
  for (const auto& [text, json] : std::initializer_list<Number>{{"0", "0"},
                                                                {"685230", "685230"},
                                                                {"+685_230", "685230"},
                                                                {"-5", "-5"},
                                                                {"-0", "0"},
                                                                {"0777", "511"},
                                                                {"0o777", "511"},
                                                                {"02472256", "685230"},
                                                                {"-010", "-8"},
                                                                {"0x_0A_74_AE", "685230"},
                                                                {"0XfF", "255"},
                                                                {"0b1010_0111_0100_1010_1110", "685230"},
                                                                {"-0b101010", "-42"},
                                                                {"1_000", "1000"},
                                                                {"9223372036854775807", "9223372036854775807"},
                                                                {"-9223372036854775808", "-9223372036854775808"},
                                                                {"18446744073709551615", "18446744073709551615"}}) {
    EXPECT_EQ(json_of(text), json) << text;
  }
}

TEST(YamlScalars, FloatsAreWrittenAsGoWritesThem) {
  for (const auto& [text, json] : std::initializer_list<Number>{{"1.5", "1.5"},
                                                                {".5", "0.5"},
                                                                {"5.", "5"},
                                                                {"-.1", "-0.1"},
                                                                {"+.5", "0.5"},
                                                                {"1e3", "1000"},
                                                                {"1E+3", "1000"},
                                                                {"6.8523e+5", "685230"},
                                                                {"685.230_15e+03", "685230.15"},
                                                                {"1.0", "1"},
                                                                {"08", "8"},
                                                                {"09.5", "9.5"},
                                                                {"1e-7", "1e-7"},
                                                                {"1.5e-10", "1.5e-10"},
                                                                {"1e21", "1e+21"},
                                                                {"-0.0", "-0"},
                                                                {"7071111107111111111140", "7.071111107111112e+21"},
                                                                {"9223372036854775809.0", "9223372036854776000"},
                                                                {"-9223372036854774784.0", "-9223372036854775000"},
                                                                {"1e-999", "0"}}) {
    EXPECT_EQ(json_of(text), json) << text;
  }
}

/// Go writes them without an exponent up to 1e21 (18446744073709552000), which JSON readers here take for an integer
/// that is too large. The number is the same.
TEST(YamlScalars, FloatsBeyondTheRangeOfIntegersHaveAnExponent) {
  for (const auto& [text, json] : std::initializer_list<Number>{{"1e20", "1e+20"},
                                                                {"18446744073709551616", "1.8446744073709552e+19"},
                                                                {"-9223372036854775809", "-9.223372036854776e+18"},
                                                                {"+18446744073709551615", "1.8446744073709552e+19"},
                                                                {"0777777777777777777777777", "7.777777777777778e+23"},
                                                                {"123456789012345678901", "1.2345678901234568e+20"}}) {
    EXPECT_EQ(json_of(text), json) << text;
  }
}

TEST(YamlScalars, NumberLookalikesAreStrings) {
  for (const char* text : {"1:30",
                           "190:20:30",
                           "0x",
                           "0xg",
                           "0b2",
                           "0o8",
                           "1e",
                           "1e+",
                           "e5",
                           "1.2.3",
                           "--5",
                           "+-5",
                           "100m",
                           "1Gi",
                           "2015-01-01",
                           "2015-02-24T18:19:39Z",
                           "-b_c",
                           "50cent",
                           ".e3",
                           "._5",
                           ".5.",
                           "1e999",
                           "0x10000000000000000",
                           "1 2"}) {
    EXPECT_EQ(json_of(text), '"' + std::string(text) + '"');
  }
}

TEST(YamlScalars, InfinitiesAndNaNAreRefused) {
  for (const char* text : {".inf", ".Inf", ".INF", "+.inf", "-.inf", ".nan", ".NaN", ".NAN"}) {
    EXPECT_THROW(json_of(text), std::invalid_argument) << text;
  }
}

TEST(YamlScalars, QuotedScalarsAreStrings) {
  for (const char* text : {"", "true", "12", "null", "1.5"}) {
    EXPECT_EQ(json_of(text, "", false), '"' + std::string(text) + '"');
  }
}

TEST(YamlScalars, TagsSetTheType) {
  EXPECT_EQ(json_of("12", "str"), "\"12\"");
  EXPECT_EQ(json_of("1", "int", false), "1");
  EXPECT_EQ(json_of("1.1", "float", false), "1.1");
  EXPECT_EQ(json_of("-1", "float"), "-1");
  EXPECT_EQ(json_of("", "null", false), "null");
  EXPECT_EQ(json_of("yes", "bool"), "true");
  EXPECT_EQ(json_of("2015-01-01", "timestamp"), "\"2015-01-01\"");
  std::string out;
  append_json_scalar(out, resolve_yaml_scalar("!custom", "12", true), "12");
  EXPECT_EQ(out, "\"12\"");
}

TEST(YamlScalars, AValueThatDoesNotFitItsTagIsRefused) {
  for (const auto& [tag, text] : std::initializer_list<Number>{
           {"int", "x"}, {"int", "1.5"}, {"bool", "1"}, {"null", "x"}, {"float", "x"}, {"binary", "aGk="}}) {
    EXPECT_THROW(json_of(text, tag), std::invalid_argument) << tag << " " << text;
  }
}

TEST(YamlScalars, KeysBecomeText) {
  EXPECT_EQ(key_of("yes"), "true");
  EXPECT_EQ(key_of("N"), "false");
  EXPECT_EQ(key_of("0x10"), "16");
  EXPECT_EQ(key_of("1.50"), "1.5");
  EXPECT_EQ(key_of("1e6"), "1e+06");
  EXPECT_EQ(key_of("1e5"), "100000");
  EXPECT_EQ(key_of("1e-5"), "1e-05");
  EXPECT_EQ(key_of(".inf"), ".inf");
  EXPECT_EQ(key_of("-.inf"), "-.inf");
  EXPECT_EQ(key_of(".nan"), ".nan");
  EXPECT_EQ(key_of("name"), "name");
  EXPECT_THROW(key_of("~"), std::invalid_argument);
}

TEST(YamlScalars, StringsAreEscapedForJson) {
  std::string out;
  append_json_string(out, std::string_view("a\"b\\c\n\t\x01\0z\xc3\xa9", 12));
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\n\\u0009\\u0001\\u0000z\xc3\xa9\"");
}

TEST(YamlScalars, OnlyAnUnquotedMergeKeyMerges) {
  EXPECT_TRUE(is_yaml_merge_key("", "<<", true));
  EXPECT_TRUE(is_yaml_merge_key("tag:yaml.org,2002:merge", "<<", false));
  EXPECT_FALSE(is_yaml_merge_key("", "<<", false));
  EXPECT_FALSE(is_yaml_merge_key("", "<", true));
}

}  // namespace
}  // namespace berth
