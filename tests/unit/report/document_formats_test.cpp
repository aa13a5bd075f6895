// SPDX-License-Identifier: Apache-2.0
#include "host/report/document_formats.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth {
namespace {

/// An object with every kind of value, empty containers and arrays in arrays among them.
void write_sample(DocumentWriter& writer) {
  writer.begin_object();
  writer.string_field("text", "a \"quoted\" \\ line\nand\ttab \x01 \xc3\xa9");
  writer.integer_field("lowest", std::numeric_limits<std::int64_t>::min());
  writer.key("highest");
  writer.unsigned_integer(std::numeric_limits<std::uint64_t>::max());
  writer.real_field("real", 0.25);
  writer.key("yes");
  writer.boolean(true);
  writer.key("none");
  writer.begin_array();
  writer.end_array();
  writer.key("empty");
  writer.begin_object();
  writer.end_object();
  writer.key("list");
  writer.begin_array();
  writer.begin_object();
  writer.string_field("a", "on");
  writer.string_field("b", "ns/name");
  writer.end_object();
  writer.begin_object();
  writer.end_object();
  writer.begin_array();
  writer.integer(1);
  writer.integer(2);
  writer.end_array();
  writer.end_array();
  writer.end_object();
  writer.end_document();
}

std::string json_text(int spread_depth) {
  std::string text;
  {
    Output output(text);
    write_sample(*json_writer(output, spread_depth));
  }
  return text;
}

TEST(JsonWriter, RoundTripsThroughAParser) {
  const nlohmann::json value = nlohmann::json::parse(json_text(2));
  EXPECT_EQ(value["text"], "a \"quoted\" \\ line\nand\ttab \x01 \xc3\xa9");
  EXPECT_EQ(value["lowest"], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value["highest"], std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(value["real"], 0.25);
  EXPECT_EQ(value["yes"], true);
  EXPECT_EQ(value["none"], nlohmann::json::array());
  EXPECT_EQ(value["empty"], nlohmann::json::object());
  EXPECT_EQ(value["list"], nlohmann::json::parse(R"([{"a":"on","b":"ns/name"},{},[1,2]])"));
}

TEST(JsonWriter, CompactAndIndentedOutputAreEqual) {
  EXPECT_EQ(nlohmann::json::parse(json_text(0)), nlohmann::json::parse(json_text(9)));
  const std::string line = json_text(0);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(JsonWriter, WritesOneEntryOfOuterListsPerLine) {
  EXPECT_NE(json_text(2).find("\n    {\"a\": \"on\",\"b\": \"ns/name\"},\n"), std::string::npos) << json_text(2);
}

TEST(YamlWriter, QuotesAmbiguousScalars) {
  std::string text;
  {
    Output output(text);
    write_sample(*yaml_writer(output));
  }
  EXPECT_NE(text.find("- a: \"on\"\n    b: ns/name\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\"yes\": true\n"), std::string::npos) << text;
  EXPECT_NE(text.find("none: []\nempty: {}\nlist:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  - {}\n  - - 1\n    - 2\n"), std::string::npos) << text;
}

/// C1 controls, bidirectional overrides, separators, a tag above 0xffff and a character that needs no escape.
constexpr std::string_view kHostile = "\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x80\x81\x7f\xc3\xa9";

TEST(JsonWriter, EscapesWhatATerminalActsOnAndKeepsTheText) {
  std::string text;
  {
    Output output(text);
    json_writer(output, 0)->string(kHostile);
  }
  EXPECT_EQ(text, "\"\\u009b\\u202e\\u2028\\udb40\\udc01\\u007f\xc3\xa9\"");
  EXPECT_EQ(nlohmann::json::parse(text).get<std::string>(), kHostile);
}

TEST(JsonWriter, WritesTheReplacementCharacterForBytesThatAreNotUtf8) {
  std::string text;
  {
    Output output(text);
    json_writer(output, 0)->string("a\xff");
  }
  EXPECT_EQ(text, "\"a\\ufffd\"");
}

TEST(YamlWriter, EscapesWhatATerminalActsOn) {
  std::string text;
  {
    Output output(text);
    yaml_writer(output)->string(kHostile);
  }
  // YAML readers do not combine surrogates.
  EXPECT_EQ(text, "\"\\u009b\\u202e\\u2028\\U000e0001\\u007f\xc3\xa9\"");
}

}  // namespace
}  // namespace berth
