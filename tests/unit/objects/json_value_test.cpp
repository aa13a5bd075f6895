// SPDX-License-Identifier: Apache-2.0
#include "host/objects/json_value.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace berth {
namespace {

static_assert(!std::is_copy_constructible_v<JsonValue> && !std::is_move_constructible_v<JsonValue>);

struct Document {
  JsonParser parser;
  ProblemSink sink{"f.json"};
  simdjson::dom::element root;

  explicit Document(std::string_view text) { root = parser.parse(text).value(); }
  std::string only_problem() const {
    EXPECT_EQ(sink.count(), 1u);
    return sink.empty() ? "" : sink.problems().front().to_string();
  }
};

TEST(JsonValue, AProblemHasPathValueAndExpectation) {
  Document document(R"({"spec":{"priority":"high"}})");
  const JsonValue root(document.root, document.sink, "items[17]");
  const JsonValue spec = root.field("spec");
  std::int32_t priority = 5;
  EXPECT_FALSE(spec.field("priority").read(priority));
  EXPECT_EQ(priority, 5);
  EXPECT_EQ(document.only_problem(), "f.json: items[17].spec.priority: got \"high\", expected an integer");
}

TEST(JsonValue, UnusualKeysAreWrittenInBrackets) {
  Document document(R"({"a":[{"nvidia.com/gpu":1}]})");
  const JsonValue root(document.root, document.sink);
  const JsonValue list = root.field("a");
  list.for_each_element(
      [](const JsonValue& element) { EXPECT_EQ(element.field("nvidia.com/gpu").path(), "a[0][nvidia.com/gpu]"); });
}

TEST(JsonValue, NullAndAbsentReadAlike) {
  Document document(R"({"a":null})");
  const JsonValue root(document.root, document.sink);
  std::string text = "kept";
  for (const auto* key : {"a", "b"}) {
    EXPECT_FALSE(root.field(key).present());
    EXPECT_FALSE(root.field(key).read(text));
    EXPECT_FALSE(root.field(key).expect_object());
  }
  EXPECT_EQ(text, "kept");
  EXPECT_TRUE(document.sink.empty());
}

TEST(JsonValue, EachReaderAcceptsOnlyItsType) {
  Document document(
      R"({"s":"x","b":true,"i":-3,"d":1.5,"u":18446744073709551615,"big":3000000000,"l":["a",null],"o":{}})");
  const JsonValue root(document.root, document.sink);
  std::string text;
  bool flag = false;
  std::int32_t small = 0;
  std::int64_t wide = 0;
  double real = 0;
  std::vector<std::string> list;
  EXPECT_TRUE(root.field("s").read(text) && text == "x");
  EXPECT_TRUE(root.field("b").read(flag) && flag);
  EXPECT_TRUE(root.field("i").read(small) && small == -3);
  EXPECT_TRUE(root.field("big").read(wide) && wide == 3000000000);
  EXPECT_TRUE(root.field("d").read(real) && real == 1.5);
  EXPECT_TRUE(root.field("i").read(real) && real == -3);
  EXPECT_TRUE(root.field("l").read(list) && list == (std::vector<std::string>{"a", ""}));
  EXPECT_TRUE(document.sink.empty());

  EXPECT_FALSE(root.field("big").read(small));
  EXPECT_FALSE(root.field("d").read(wide));
  EXPECT_FALSE(root.field("u").read(wide));
  EXPECT_FALSE(root.field("s").read(flag));
  EXPECT_FALSE(root.field("o").read(text));
  EXPECT_FALSE(root.field("l").expect_object());
  EXPECT_FALSE(root.field("o").expect_array());
  std::vector<std::string> messages;
  for (const auto& problem : document.sink.problems()) messages.push_back(problem.message);
  EXPECT_EQ(messages,
            (std::vector<std::string>{"got 3000000000, expected an integer of 32 bits", "got 1.5, expected an integer",
                                      "got 18446744073709551615, expected an integer of 64 bits",
                                      "got \"x\", expected true or false", "got an object, expected a string",
                                      "got an array, expected an object", "got an object, expected an array"}));
}

TEST(JsonValue, StrictReadingFindsUnknownAndRepeatedFields) {
  Document document(R"({"known":1,"other":null,"known":2})");
  const JsonValue root(document.root, document.sink);
  int visits = 0;
  root.for_each_field_strict([&](std::string_view key, const JsonValue&) {
    ++visits;
    return key == "known";
  });
  EXPECT_EQ(visits, 2);
  ASSERT_EQ(document.sink.count(), 2u);
  EXPECT_EQ(document.sink.problems()[0].to_string(), "f.json: other: unknown field");
  EXPECT_EQ(document.sink.problems()[1].to_string(), "f.json: known: duplicate field");
}

TEST(JsonValue, MapsVisitNullsAndObjectsDoNot) {
  Document document(R"({"a":null,"b":1})");
  const JsonValue root(document.root, document.sink);
  int fields = 0;
  int entries = 0;
  root.for_each_field([&](std::string_view, const JsonValue&) { ++fields; });
  root.for_each_entry([&](std::string_view, const JsonValue&) { ++entries; });
  EXPECT_EQ(fields, 1);
  EXPECT_EQ(entries, 2);
}

TEST(JsonValue, ALongStringIsRefused) {
  const std::string longest(kStringBytesMax, 'x');
  Document document("{\"a\":\"" + longest + "\",\"b\":\"" + longest + "x\",\"" + longest + "x\":1}");
  const JsonValue root(document.root, document.sink);
  std::string text;
  EXPECT_TRUE(root.field("a").read(text));
  EXPECT_FALSE(root.field("b").read(text));
  EXPECT_EQ(document.only_problem(), "f.json: b: string of 1048577 bytes, expected at most 1048576");
  root.for_each_entry([](std::string_view, const JsonValue&) {});
  EXPECT_EQ(document.sink.count(), 2u);
}

TEST(JsonValue, AMessageIsShortForAnyValue) {
  Document document("{\"a\":\"" + std::string(500, 'y') + "\\n\"}");
  const JsonValue root(document.root, document.sink);
  EXPECT_EQ(root.field("a").describe(), "\"" + std::string(80, 'y') + "...\"");
}

TEST(ProblemSink, KeepsTheFirstProblemsAndCountsAll) {
  ProblemSink sink("f", 2);
  for (int i = 0; i < 5; ++i) sink.add(std::to_string(i), "bad");
  EXPECT_EQ(sink.count(), 5u);
  ASSERT_EQ(sink.problems().size(), 2u);
  EXPECT_EQ(sink.problems()[1].location, "1");
  EXPECT_THROW(sink.throw_if_any(), InputError);
  EXPECT_NO_THROW(ProblemSink("g").throw_if_any());
}

TEST(JsonParser, ReportsMalformedTextAndContinues) {
  JsonParser parser;
  EXPECT_FALSE(parser.parse("{\"a\":").has_value());
  EXPECT_NE(parser.error().find("malformed JSON"), std::string::npos);
  EXPECT_TRUE(parser.parse("{\"a\":1}").has_value());
}

TEST(JsonParser, RefusesTextThatIsTooDeepOrTooLong) {
  JsonParser parser;
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parser.parse(nested(JsonParser::kMaxDepth - 1)).has_value());
  EXPECT_FALSE(parser.parse(nested(JsonParser::kMaxDepth + 1)).has_value());
  EXPECT_NE(parser.error().find("malformed"), std::string::npos);
  const std::string huge(JsonParser::kMaxBytes + 1, ' ');
  EXPECT_FALSE(parser.parse(huge).has_value());
  EXPECT_NE(parser.error().find("at most"), std::string::npos);
}

TEST(JsonParser, DoesNotReadPastTheEndOfMemory) {
  const std::string text = "{\"a\":12}";
  const std::vector<char> exact(text.begin(), text.end());
  JsonParser parser;
  const std::string_view view(exact.data(), exact.size());
  EXPECT_TRUE(parser.parse(view, exact.data() + exact.size()).has_value());
}

}  // namespace
}  // namespace berth
