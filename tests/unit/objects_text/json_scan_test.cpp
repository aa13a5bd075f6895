// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/json_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace berth {
namespace {

/// The result of find_value_end for `text`: bytes of the value, or -1.
std::ptrdiff_t value_bytes(std::string text) {
  const auto size = static_cast<std::ptrdiff_t>(text.size());
  text.append(kSlicePaddingBytes, ']');  // padding must not count
  const char* end = find_value_end(text.data(), text.data() + size);
  return end == nullptr ? -1 : end - text.data();
}

/// The same by a loop a child could read. A backslash outside of strings is malformed; it hides a quote there, too.
std::ptrdiff_t slow_value_bytes(const std::string& text) {
  int depth = 0;
  bool inside = false;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && !escaped) inside = !inside;
    escaped = c == '\\' && !escaped;
    if (inside) continue;
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return static_cast<std::ptrdiff_t>(i) + 1;
    }
  }
  return -1;
}

TEST(JsonScan, AValueEndsWhereItsBracketCloses) {
  EXPECT_EQ(value_bytes("{}"), 2);
  EXPECT_EQ(value_bytes("{\"a\":[1,{}]},"), 12);
  EXPECT_EQ(value_bytes("[\"}]\", 1] ]"), 9);
  EXPECT_EQ(value_bytes("{\"a\":"), -1);
  EXPECT_EQ(value_bytes("[[]"), -1);
}

TEST(JsonScan, AStringEndsAtItsUnescapedQuote) {
  EXPECT_EQ(value_bytes("\"\""), 2);
  EXPECT_EQ(value_bytes("\"a\\\"b\" x"), 6);
  EXPECT_EQ(value_bytes("\"a\\\\\"b\""), 5);
  EXPECT_EQ(value_bytes("\"abc"), -1);
  EXPECT_EQ(value_bytes("\"abc\\\""), -1);
  for (std::size_t length = 0; length < 200; ++length) {
    EXPECT_EQ(value_bytes("\"" + std::string(length, 'x') + "\"y"), static_cast<std::ptrdiff_t>(length) + 2);
    const std::string slashes(length, '\\');
    const bool closed = length % 2 == 0;
    EXPECT_EQ(value_bytes("\"" + slashes + "\""), closed ? static_cast<std::ptrdiff_t>(length) + 2 : -1) << length;
  }
}

TEST(JsonScan, AWordEndsAtTheFirstForeignCharacter) {
  EXPECT_EQ(value_bytes("12,"), 2);
  EXPECT_EQ(value_bytes("-1.5e3}"), 6);
  EXPECT_EQ(value_bytes("null \n"), 4);
  EXPECT_EQ(value_bytes("true"), -1) << "more of the word may follow";
  EXPECT_EQ(value_bytes(""), -1);
}

TEST(JsonScan, MatchesAByteLoopOnRandomText) {
  constexpr std::string_view kAlphabet = "{}[]\"\\a, \n";
  std::uint64_t state = 7;
  const auto draw = [&state](std::uint64_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % bound;
  };
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? "{" : "[";
    const std::uint64_t length = draw(300);
    for (std::uint64_t i = 0; i < length; ++i) text += kAlphabet[draw(round % 3 == 0 ? 6 : kAlphabet.size())];
    ASSERT_EQ(value_bytes(text), slow_value_bytes(text)) << text;
  }
}

TEST(JsonScan, NewlinesAreCountedAcrossStrides) {
  for (std::size_t length = 0; length < 300; length += 7) {
    std::string text(length, 'x');
    for (std::size_t i = 0; i < length; i += 3) text[i] = '\n';
    const auto expected = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(count_newlines(text.data(), text.data() + length), expected);
  }
}

ObjectShape shape_of(std::string& text) {
  const std::size_t size = text.size();
  text.append(kSlicePaddingBytes, '\0');
  return inspect_object(std::string_view(text).substr(0, size));
}

TEST(JsonScan, AShapeHasKindVersionAndItems) {
  std::string text = R"({"metadata": {"kind": "no"}, "kind" : "PodList", "apiVersion": "v1", "items": [1, 2]})";
  const ObjectShape shape = shape_of(text);
  EXPECT_TRUE(shape.is_object);
  EXPECT_EQ(shape.kind, "PodList");
  EXPECT_EQ(shape.api_version, "v1");
  ASSERT_NE(shape.items, nullptr);
  EXPECT_EQ(*shape.items, '1');
}

TEST(JsonScan, AShapeOfAnotherValueIsEmpty) {
  for (std::string text : {"", "[]", "12", "{", "{}", "{\"kind\"", "{\"kind\":", "{\"kind\":1}", "{\"items\":{}}"}) {
    const ObjectShape shape = shape_of(text);
    EXPECT_EQ(shape.kind, "") << text;
    EXPECT_EQ(shape.items, nullptr) << text;
  }
}

/// The text from the place that `path` leads to up to the next line break.
std::string found_at(std::string text, std::string_view path) {
  const std::size_t size = text.size();
  text.append(kSlicePaddingBytes, '\0');
  const std::string_view json = std::string_view(text).substr(0, size);
  const std::string_view rest = json.substr(static_cast<std::size_t>(find_field(json, path) - json.data()));
  return std::string(rest.substr(0, rest.find('\n')));
}

TEST(JsonScan, AFieldIsFoundByItsPath) {
  const std::string json =
      "{\"kind\": \"Pod\",\n \"spec\": {\n\"a\": [\n1,\n[2, \n3],\n{\"b\": \n4}],\n\"x.y/z\": {\n\"c\": 5\n}}\n}";
  EXPECT_EQ(found_at(json, "spec"), "\"spec\": {");
  EXPECT_EQ(found_at(json, "spec.a"), "\"a\": [");
  EXPECT_EQ(found_at(json, "spec.a[0]"), "1,");
  EXPECT_EQ(found_at(json, "spec.a[1][1]"), "3],");
  EXPECT_EQ(found_at(json, "spec.a[2].b"), "\"b\": ");
  EXPECT_EQ(found_at(json, "spec[x.y/z]"), "\"x.y/z\": {");
  EXPECT_EQ(found_at(json, "spec[x.y/z].c"), "\"c\": 5");
}

TEST(JsonScan, AFieldThatIsAbsentLeadsToWhatIsAroundIt) {
  const std::string json = "{\"spec\":\n{\"a\":\n[1,\n2]}}";
  EXPECT_EQ(found_at(json, ""), "{\"spec\":");
  EXPECT_EQ(found_at(json, "metadata.name"), "{\"spec\":");
  EXPECT_EQ(found_at(json, "spec.aa"), "\"spec\":");
  EXPECT_EQ(found_at(json, "spec.a[2]"), "\"a\":");
  EXPECT_EQ(found_at(json, "spec.a[99999999999999999999999]"), "\"a\":");
  EXPECT_EQ(found_at(json, "spec.a.b"), "\"a\":");
  EXPECT_EQ(found_at(json, "spec.a[1].b"), "2]}}");
  EXPECT_EQ(found_at("[1]", "[0]"), "1]");
  EXPECT_EQ(found_at("[", "[0]"), "[");
  EXPECT_EQ(found_at("{\"a\"", "a"), "{\"a\"");
  EXPECT_EQ(found_at("", "a"), "");
}

TEST(JsonScan, OnlyPossibleListsAreScannedAgain) {
  const auto is_list = [](std::string text) {
    const std::size_t size = text.size();
    text.append(kSlicePaddingBytes, '\0');
    return may_be_list(std::string_view(text).substr(0, size));
  };
  EXPECT_FALSE(is_list(R"({"kind":"Pod"})"));
  EXPECT_FALSE(is_list(R"({"apiVersion":"v1","kind":"Pod","items":[]})"));
  EXPECT_TRUE(is_list(R"({"apiVersion":"v1","kind":"PodList"})"));
  EXPECT_TRUE(is_list(R"({"apiVersion":"v1","items":[],"kind":"List"})"));
  EXPECT_TRUE(is_list(R"({"metadata":{},"kind":"List"})"));
  EXPECT_FALSE(is_list("12"));
}

}  // namespace
}  // namespace berth
