// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/json_items.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/unit/objects_text/text_test_support.h"

namespace berth::testing {
namespace {

using Texts = std::vector<std::string>;

TEST(JsonItems, OneObjectIsOneItem) {
  const ReadResult result = split_json(" {\"kind\":\"Pod\"}\n");
  ASSERT_EQ(result.texts(), Texts{"{\"kind\":\"Pod\"}"});
  EXPECT_EQ(result.items[0].index, -1);
  EXPECT_EQ(result.items[0].location, "line 1");
  EXPECT_EQ(result.items[0].kind_hint, "");
}

TEST(JsonItems, BlankTextHasNoItemsAndNoProblems) {
  for (const char* text : {"", " ", "\n\n"}) {
    const ReadResult result = split_json(text);
    EXPECT_TRUE(result.items.empty());
    EXPECT_TRUE(result.problems.empty());
  }
}

TEST(JsonItems, ReadsObjectsWithOrWithoutLineBreaksBetween) {
  const ReadResult result = split_json("{\"a\":1}{\"b\":2}\n\n{}\n{\"c\":\n3}");
  EXPECT_EQ(result.texts(), (Texts{"{\"a\":1}", "{\"b\":2}", "{}", "{\"c\":\n3}"}));
  EXPECT_EQ(result.items[1].location, "line 1");
  EXPECT_EQ(result.items[3].location, "line 4");
  EXPECT_EQ(result.items[3].line, 4U);
}

TEST(JsonItems, AListGivesItsItems) {
  const ReadResult result = split_json(R"({"apiVersion":"v1","kind":"List","metadata":{},"items":[{"a":1}, {"b":2}]})");
  EXPECT_EQ(result.texts(), (Texts{"{\"a\":1}", "{\"b\":2}"}));
  EXPECT_EQ(result.items[1].index, 1);
  EXPECT_EQ(result.items[1].location, "line 1, items[1]");
  EXPECT_EQ(result.items[1].kind_hint, "");
  EXPECT_TRUE(result.problems.empty());
}

TEST(JsonItems, AListMayNameItsKindAfterItsItems) {
  const ReadResult result = split_json(R"({"apiVersion":"v1","items":[{"kind":"Pod"},{"kind":"Node"}],"kind":"List"})");
  EXPECT_EQ(result.texts(), (Texts{"{\"kind\":\"Pod\"}", "{\"kind\":\"Node\"}"}));
  EXPECT_TRUE(result.problems.empty());
}

TEST(JsonItems, ATypedListGivesItsKindAndVersionToItems) {
  const ReadResult result = split_json(R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{}}]})");
  ASSERT_EQ(result.items.size(), 1U);
  EXPECT_EQ(result.items[0].kind_hint, "Pod");
  EXPECT_EQ(result.items[0].api_version_hint, "v1");
}

TEST(JsonItems, ItemsWithoutAKindWaitForTheKindOfTheirList) {
  std::string text = R"({"apiVersion":"v1","items":[)";
  for (int i = 0; i < 100; ++i)
    text += (i ? "," : "") + std::string("{\"metadata\":{\"name\":\"") + std::to_string(i) + "\"}}";
  text += R"(],"kind":"PodList"} {"kind":"Node"})";
  for (const TextLimits& limits : {TextLimits{}, tiny_window()}) {
    const ReadResult result = split_json(R"({"kind":"First"})" + text, limits);
    ASSERT_EQ(result.items.size(), 102U);
    for (int i = 1; i <= 100; ++i) EXPECT_EQ(result.items[static_cast<std::size_t>(i)].kind_hint, "Pod");
    EXPECT_EQ(result.items[100].location, "line 1, items[99]");
    EXPECT_EQ(result.items[101].json, "{\"kind\":\"Node\"}");
  }
}

TEST(JsonItems, TooManyWaitingItemsAreAProblem) {
  TextLimits limits = tiny_window();
  limits.deferred_bytes_max = 200;
  std::string text = R"({"items":[)";
  for (int i = 0; i < 100; ++i) text += (i ? "," : "") + std::string("{\"metadata\":{}}");
  const ReadResult result = split_json(text + "],\"kind\":\"PodList\"}", limits);
  EXPECT_TRUE(result.items.empty());
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_TRUE(result.problems[0].location.starts_with("line 1, column ")) << result.problems[0].location;
  EXPECT_EQ(
      result.problems[0].message,
      "items without a kind come before the kind of their list and take more than the limit of 200 bytes; put the "
      "kind first");
}

TEST(JsonItems, TheMemoryOfWaitingItemsIsCountedAndNotTheirTextAlone) {
  TextLimits limits;
  limits.block_bytes = 1 << 10;
  limits.deferred_bytes_max = 64 << 10;
  std::string text = R"({"items":[)";
  for (int i = 0; i < 2000; ++i) text += (i ? "," : "") + std::string(R"({"metadata":{ }})");
  ASSERT_LT(text.size(), limits.deferred_bytes_max);
  EXPECT_EQ(split_json(text + "]}", limits).problems.size(), 1U);
  limits.deferred_bytes_max = 1 << 20;
  EXPECT_EQ(split_json(text + "]}", limits).problems.size(), 0U);
}

TEST(JsonItems, OfItemsTooShortToBeObjectsOnlyTheFirstAreHandedOut) {
  for (const std::size_t block_bytes : {std::size_t{16}, std::size_t{256} << 10}) {
    TextLimits limits;
    limits.block_bytes = block_bytes;
    limits.small_items_max = 3;
    std::string text = R"({"kind":"List","items":[)";
    for (int i = 0; i < 50; ++i) text += "{},";
    text += R"({"kind":"Pod","n":1}]}{}{}{}[7,7])";
    MemoryStream input(text);
    JsonItemSplitter splitter(std::make_shared<const std::string>("in"), limits);
    std::size_t items = 0;
    std::size_t skipped = 0;
    std::size_t documents = 0;
    for (ItemBatch batch; splitter.next(input, batch);) {
      items += batch.items().size();
      skipped += batch.skipped_count();
      documents += batch.document_count();
    }
    EXPECT_EQ(items, 4U) << "three of the short ones and the Pod";
    EXPECT_EQ(skipped, 52U);
    EXPECT_EQ(documents, 5U);
  }
}

TEST(JsonItems, ItemsOfATruncatedListAreKept) {
  const ReadResult result = split_json(R"({"items":[{"metadata":{}},{"a":1})");
  EXPECT_EQ(result.texts(), (Texts{"{\"metadata\":{}}", "{\"a\":1}"}));
  EXPECT_EQ(result.problem_text(), "in: line 1, column 34: the text ends in the middle of a JSON list");
}

TEST(JsonItems, NestedListsAreSplitWithThePathInTheLocation) {
  const ReadResult result = split_json(
      R"({"kind":"List","items":[{"kind":"Pod"},{"apiVersion":"v1","kind":"List","items":[{"x":1},
  {"kind":"NodeList","items":[{"y":2}]}]}]})");
  ASSERT_EQ(result.texts(), (Texts{"{\"kind\":\"Pod\"}", "{\"x\":1}", "{\"y\":2}"}));
  EXPECT_EQ(result.items[1].location, "line 1, items[1].items[0]");
  EXPECT_EQ(result.items[1].line, 1U);
  EXPECT_EQ(result.items[2].location, "line 2, items[1].items[1].items[0]");
  EXPECT_EQ(result.items[2].kind_hint, "Node");
  EXPECT_EQ(result.items[2].line, 2U);
}

TEST(JsonItems, NestedListsHaveADepthLimit) {
  std::string text = R"({"kind":"Pod"})";
  for (int i = 0; i < 30; ++i) text = R"({"kind":"List","items":[)" + text + "]}";
  const ReadResult result = split_json(text);
  EXPECT_TRUE(result.items.empty());
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_EQ(result.problems[0].message, "lists lie more than 16 deep");
}

TEST(JsonItems, AnArrayOfObjectsIsAList) {
  const ReadResult result = split_json("[{\"a\":1},{\"b\":2}]{\"c\":3}");
  EXPECT_EQ(result.texts(), (Texts{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"}));
  EXPECT_EQ(result.items[1].location, "line 1, items[1]");
  EXPECT_TRUE(split_json("[]").problems.empty());
}

TEST(JsonItems, ItemsOfANonListObjectStayInIt) {
  const Texts whole = {R"({"kind":"Menu","items":[{"a":1}]})", R"({"kind":"ConfigMapList","items":{"a":1}})"};
  EXPECT_EQ(split_json(whole[0] + whole[1]).texts(), whole);
}

TEST(JsonItems, ItemsBeforeANonListKindAreAProblem) {
  const ReadResult result = split_json(R"({"items":[{"kind":"Pod"}],"kind":"Menu"})");
  EXPECT_EQ(result.items.size(), 1U);
  EXPECT_EQ(result.problem_text(),
            "in: line 1: got \"items\" in an object of kind \"Menu\", expected a kind that ends in \"List\"");
}

TEST(JsonItems, EmptyListsHaveNoItems) {
  for (const char* text :
       {R"({"kind":"List","items":[]})", R"({"kind":"List","items": [ ] , "metadata":{}})", R"({"items":[]})"}) {
    const ReadResult result = split_json(text);
    EXPECT_TRUE(result.items.empty()) << text;
    EXPECT_TRUE(result.problems.empty()) << text;
  }
}

TEST(JsonItems, AnyWindowSizeGivesTheSameItems) {
  std::string text = R"({"kind":"List","metadata":{"resourceVersion":"[\"]"},"items":[)";
  for (int i = 0; i < 50; ++i) {
    text += (i ? ",\n" : "") + std::string("{\"kind\":\"Pod\",\"n\":\"") +
            std::string(static_cast<std::size_t>(i * 7), 'x') + "\\\"}\"}";
  }
  text += "]}{\"kind\":\"Node\"}[{\"z\":1}]";
  const ReadResult whole = split_json(text);
  ASSERT_EQ(whole.items.size(), 52U);
  for (const std::size_t bytes : {1U, 7U, 16U, 64U, 100U, 1000U}) {
    TextLimits limits;
    limits.block_bytes = bytes;
    const ReadResult pieces = split_json(text, limits);
    EXPECT_EQ(pieces.texts(), whole.texts());
    for (std::size_t i = 0; i < whole.items.size(); ++i) EXPECT_EQ(pieces.items[i].line, whole.items[i].line);
  }
}

struct Malformed {
  const char* text;
  const char* problem;
};

class MalformedJson : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedJson, IsAProblemWithLineAndColumnForAnyWindow) {
  EXPECT_EQ(split_json(GetParam().text).problem_text(), std::string("in: ") + GetParam().problem);
  EXPECT_EQ(split_json(GetParam().text, tiny_window()).problem_text(), std::string("in: ") + GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    JsonItems, MalformedJson,
    ::testing::Values(
        Malformed{"hello", "line 1, column 1: malformed JSON: got 'h', expected an object"},
        Malformed{"\n  12", "line 2, column 3: malformed JSON: got '1', expected an object"},
        Malformed{"{\"a\":1} x", "line 1, column 9: malformed JSON: got 'x', expected an object"},
        Malformed{"{\"a\":1},{}", "line 1, column 8: malformed JSON: got ',', expected an object"},
        Malformed{"{a:1}", "line 1, column 2: malformed JSON: got 'a', expected '\"' of a field name"},
        Malformed{"{\"a\":1,}", "line 1, column 8: malformed JSON: got '}', expected '\"' of a field name"},
        Malformed{"{\"a\" 1}", "line 1, column 6: malformed JSON: got '1', expected ':' behind a field name"},
        Malformed{"{\"a\":,}", "line 1, column 6: malformed JSON: got ',', expected a value"},
        Malformed{"{\"a\":1 \"b\":2}", "line 1, column 8: malformed JSON: got '\"', expected ',' or '}'"},
        Malformed{"{\"items\":[{} {}]}",
                  "line 1, column 14: malformed JSON: got '{', expected ',' or ']' behind an item"},
        Malformed{"{\"items\":[{},]}", "line 1, column 14: malformed JSON: got ']', expected an item"},
        Malformed{"{\"items\":[,]}", "line 1, column 11: malformed JSON: got ',', expected an item"},
        Malformed{"{\"items\":[{}]]",
                  "line 1, column 14: malformed JSON: got ']', expected ',' or '}' behind the items"},
        Malformed{"{\"items\":[{}],}", "line 1, column 15: malformed JSON: got '}', expected '\"' of a field name"},
        Malformed{"{\"items\":[],\n\"items\":[]}",
                  "line 2, column 1: malformed JSON: got '\"', expected one \"items\" in a list"},
        Malformed{"{\"a\":1", "line 1, column 7: the text ends in the middle of a JSON object"},
        Malformed{"{\"a\":\"", "line 1, column 7: the text ends in the middle of a JSON object"},
        Malformed{"{\"items\":[{\n", "line 2, column 1: the text ends in the middle of a JSON list"},
        Malformed{"{\"items\":[{}]", "line 1, column 14: the text ends in the middle of a JSON list"},
        Malformed{"[", "line 1, column 2: the text ends in the middle of a JSON list"},
        Malformed{"\x01", "line 1, column 1: malformed JSON: got byte 1, expected an object"}));

TEST(JsonItems, ItemsBeforeAnErrorAreKept) {
  const ReadResult result = split_json("{\"a\":1}\n{\"b\":2} ?");
  EXPECT_EQ(result.texts(), (Texts{"{\"a\":1}", "{\"b\":2}"}));
  EXPECT_EQ(result.problems.size(), 1U);
}

TEST(JsonItems, AnObjectAboveTheLimitIsAProblemAndSmallerOnesAreRead) {
  TextLimits limits = tiny_window();
  limits.item_bytes_max = 100;
  const std::string fitting = "{\"a\":\"" + std::string(92, 'x') + "\"}";
  ASSERT_EQ(fitting.size(), 100U);
  EXPECT_EQ(split_json(fitting, limits).texts(), Texts{fitting});
  const std::string larger = "{\"a\":\"" + std::string(93, 'x') + "\"}";
  EXPECT_EQ(split_json(larger, limits).problem_text(), "in: line 1: object is larger than the limit of 100 bytes");
  const std::string endless = "{\"a\":\"" + std::string(5000, 'x');
  EXPECT_EQ(split_json(endless, limits).problem_text(),
            "in: line 1, column 1: object is larger than the limit of 100 bytes");
  const std::string list = "{\"items\":[" + fitting + "," + larger + "," + fitting + "]}";
  EXPECT_EQ(split_json(list, limits).items.size(), 2U);
}

TEST(JsonItems, BytesAfterEachSliceAreReadable) {
  MemoryStream input("{\"items\":[{},{\"a\":1}]}");
  JsonItemSplitter splitter(std::make_shared<const std::string>("in"), {});
  ItemBatch batch;
  ASSERT_TRUE(splitter.next(input, batch));
  for (const ItemSlice& item : batch.items()) {
    EXPECT_EQ(item.readable_end() - (item.json.data() + item.json.size()), 64);
    std::string copy(item.json.data(), item.readable_end());
    EXPECT_TRUE(copy.starts_with(item.json));
  }
}

TEST(JsonItems, YamlAfterJsonDocumentsIsLeftToTheYamlReader) {
  MemoryStream input("{\"a\":1}\n--- \nb: 2\n");
  JsonItemSplitter splitter(std::make_shared<const std::string>("in"), {});
  ItemBatch batch;
  ASSERT_TRUE(splitter.next(input, batch));
  EXPECT_TRUE(batch.problems().empty());
  EXPECT_FALSE(splitter.next(input, batch));
  EXPECT_TRUE(splitter.yaml_follows());
  EXPECT_EQ(splitter.unread(), "--- \nb: 2\n");
  EXPECT_EQ(splitter.line(), 2U);
}

/// Returns its text and then an error.
class BreakingStream final : public ByteStream {
 public:
  explicit BreakingStream(std::string_view text) : text_(text) {}
  std::size_t read(char* out, std::size_t capacity) override {
    if (const std::size_t count = text_.read(out, capacity)) return count;
    throw InputError(InputProblem{"in", "", "broke"});
  }

 private:
  MemoryStream text_;
};

TEST(JsonItems, ItemsBeforeAReadErrorAreReturnedFirst) {
  BreakingStream input("{\"items\":[{\"a\":1},{\"b\":");
  JsonItemSplitter splitter(std::make_shared<const std::string>("in"), {});
  ItemBatch batch;
  ASSERT_TRUE(splitter.next(input, batch));
  EXPECT_EQ(batch.items().size(), 1U);
  EXPECT_THROW(splitter.next(input, batch), InputError);
}

}  // namespace
}  // namespace berth::testing
