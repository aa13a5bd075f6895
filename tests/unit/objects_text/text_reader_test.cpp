// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/text_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/objects_text/text_test_support.h"

namespace berth::testing {
namespace {

using Texts = std::vector<std::string>;

/// Without the line breaks that keep YAML's lines.
Texts flat(const ReadResult& result) {
  Texts texts = result.texts();
  for (std::string& text : texts) std::erase(text, '\n');
  return texts;
}

TEST(TextReader, JsonAndYamlGiveTheSameItems) {
  const Texts expected = {R"({"kind":"Pod"})", R"({"kind":"Node"})"};
  EXPECT_EQ(flat(read_text(R"({"kind":"List","items":[{"kind":"Pod"},{"kind":"Node"}]})")), expected);
  EXPECT_EQ(flat(read_text("kind: List\nitems:\n- kind: Pod\n- kind: Node\n")), expected);
  EXPECT_EQ(flat(read_text("apiVersion: v1\nitems:\n- kind: Pod\n- kind: Node\nkind: List\n")), expected);
  EXPECT_EQ(flat(read_text("kind: Pod\n---\nkind: Node\n")), expected);
  EXPECT_EQ(flat(read_text("- kind: Pod\n- kind: Node\n")), expected);
}

TEST(TextReader, YamlListsWithoutKindsGetHints) {
  const ReadResult result = read_text("items:\n- metadata: {}\nkind: PodList\napiVersion: v1\n");
  ASSERT_EQ(result.items.size(), 1U);
  EXPECT_EQ(result.items[0].kind_hint, "Pod");
  EXPECT_EQ(result.items[0].api_version_hint, "v1");
}

TEST(TextReader, ItemsHaveTheirYamlLine) {
  const ReadResult result = read_text("# comment\nkind: Pod\n---\n\nkind: List\nitems:\n- a: 1\n\n- b: 2\n");
  ASSERT_EQ(result.items.size(), 3U);
  EXPECT_EQ(result.items[0].location, "line 2");
  EXPECT_EQ(result.items[0].line, 2U);
  EXPECT_EQ(result.items[1].location, "line 7, items[0]");
  EXPECT_EQ(result.items[2].line, 9U);
}

TEST(TextReader, ANonJsonFlowMappingIsReadAsYaml) {
  EXPECT_EQ(flat(read_text("{kind: Pod, 'x': 1}\n---\nkind: Node\n")),
            (Texts{R"({"kind":"Pod","x":1})", R"({"kind":"Node"})"}));
  EXPECT_EQ(flat(read_text("# c\n{kind: Pod}\n")), Texts{R"({"kind":"Pod"})"});
}

TEST(TextReader, TextThatIsNeitherReportsTheJsonError) {
  const ReadResult result = read_text("{\"a\": 1,, }");
  EXPECT_TRUE(result.items.empty());
  EXPECT_EQ(result.problem_text(), "in: line 1, column 9: malformed JSON: got ',', expected '\"' of a field name");
}

TEST(TextReader, YamlMayFollowJson) {
  const ReadResult result = read_text("{\"kind\": \"Pod\"}\n---\nkind: Node\n---\n{\"kind\": \"Pod\"}\n");
  EXPECT_EQ(flat(result), (Texts{R"({"kind": "Pod"})", R"({"kind":"Node"})", R"({"kind":"Pod"})"}));
  EXPECT_EQ(result.items[1].location, "line 3");
  EXPECT_EQ(result.items[2].location, "line 5");
}

TEST(TextReader, AUtf8ByteOrderMarkIsAcceptedAndUtf16Refused) {
  EXPECT_EQ(read_text("\xef\xbb\xbf{\"a\":1}").texts(), Texts{R"({"a":1})"});
  EXPECT_EQ(flat(read_text("\xef\xbb\xbf"
                           "a: 1\n")),
            Texts{R"({"a":1})"});
  const std::string expected = "in: is UTF-16, UTF-32 or binary, expected UTF-8 text";
  EXPECT_EQ(read_text(std::string_view("\xff\xfe{\0", 4)).problem_text(), expected);
  EXPECT_EQ(read_text(std::string_view("\xfe\xff\0{", 4)).problem_text(), expected);
  EXPECT_EQ(read_text(std::string_view("{\0}\0", 4)).problem_text(), expected);
  EXPECT_EQ(read_text(std::string_view("\0{\0}", 4)).problem_text(), expected);
}

TEST(TextReader, ABlankFileIsAProblem) {
  const std::string expected = "in: is empty, expected Kubernetes objects: did the command that wrote it fail?";
  for (const std::string& text : {std::string(), std::string(" \n\t\r\n"), std::string(10'000, '\n'),
                                  std::string("\xef\xbb\xbf"), gzip(""), zstd("\n")}) {
    EXPECT_EQ(read_text(text).problem_text(), expected) << text.substr(0, 10);
  }
}

TEST(TextReader, AListWithoutItemsIsADocumentAndNoProblem) {
  for (const char* text : {R"({"kind":"List","items":[]})", "[]", "kind: List\nitems: []\n"}) {
    const TempFolder folder;
    TextReader reader({folder.write("in", text)});
    std::size_t documents = 0;
    for (ItemBatch batch; reader.next(batch);) {
      batch.convert();
      documents += batch.document_count();
      EXPECT_TRUE(batch.problems().empty()) << text;
    }
    EXPECT_EQ(documents, 1U) << text;
  }
}

TEST(TextReader, ReadsDirectoriesArchivesAndFilesInOrder) {
  const TempFolder folder;
  folder.write("dir/b.yaml.gz", gzip("kind: B\n"));
  folder.write("dir/a.json.zst", zstd(R"({"kind":"A"})"));
  folder.write("dir/ignored.txt", "{");
  const std::string last = folder.write("c", R"({"kind":"C"})");
  const ReadResult result = read_paths({folder.path("dir"), last});
  EXPECT_EQ(flat(result), (Texts{R"({"kind":"A"})", R"({"kind":"B"})", R"({"kind":"C"})"}));
  EXPECT_EQ(result.items[1].source, folder.path("dir/b.yaml.gz"));
  EXPECT_TRUE(result.problems.empty());
}

TEST(TextReader, AnUnreadableFileDoesNotStopOthers) {
  const TempFolder folder;
  const std::string bad = folder.write("bad.gz", gzip("{}").substr(0, 10));
  const std::string good = folder.write("good", "{\"kind\":\"Pod\"}");
  const ReadResult result = read_paths({folder.path("absent"), bad, good});
  EXPECT_EQ(result.texts(), Texts{R"({"kind":"Pod"})"});
  EXPECT_EQ(result.problem_text(),
            folder.path("absent") + ": no such file or directory\n" + bad + ": ends in the middle of its gzip data");
}

TEST(TextReader, ATruncatedArchiveKeepsTheItemsBeforeItsEnd) {
  const TempFolder folder;
  std::string text = R"({"kind":"List","items":[)";
  for (int i = 0; i < 20'000; ++i)
    text += (i ? "," : "") + std::string("{\"kind\":\"Pod\",\"n\":") + std::to_string(i * 7919) + "}";
  const std::string packed = gzip(text + "]}");
  const ReadResult result = read_paths({folder.write("a.gz", packed.substr(0, packed.size() / 2))});
  EXPECT_GT(result.items.size(), 1000U);
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_EQ(result.problems[0].message, "ends in the middle of its gzip data");
}

TEST(TextReader, StandardInputMayBeAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int saved = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  std::thread writer([end = ends[1]] {
    for (const char piece : std::string_view("kind: Pod\n---\nkind: Node\n")) EXPECT_EQ(write(end, &piece, 1), 1);
    close(end);
  });
  const ReadResult result = read_paths({"-"});
  writer.join();
  dup2(saved, STDIN_FILENO);
  close(saved);
  EXPECT_EQ(flat(result), (Texts{R"({"kind":"Pod"})", R"({"kind":"Node"})"}));
  EXPECT_EQ(result.items[0].source, "-");
}

TEST(TextReader, AFileAboveTheSizeLimitIsAProblemThatNamesIt) {
  TextLimits limits;
  limits.source_bytes_max = 100;
  const ReadResult result = read_text("{\"kind\":\"Pod\"}" + std::string(1000, ' '), limits);
  EXPECT_EQ(result.problem_text(), "in: is larger than the limit of 100 bytes (after decompression)");
}

TEST(TextReader, LongAndShortYamlDocumentsGiveTheSameItems) {
  std::string yaml = "kind: Pod\nid: first\n---\napiVersion: v1\nitems:\n";
  for (int i = 0; i < 5000; ++i) yaml += "- kind: Pod\n  metadata: {name: pod-" + std::to_string(i) + "}\n";
  yaml += "kind: List\n---\nkind: Node\n";
  TextLimits streamed;
  streamed.yaml_stream_bytes = 1000;
  streamed.block_bytes = 5000;
  const ReadResult whole = read_text(yaml);
  const ReadResult pieces = read_text(yaml, streamed);
  ASSERT_EQ(whole.items.size(), 5002U);
  ASSERT_EQ(flat(pieces), flat(whole));
  for (std::size_t i = 0; i < whole.items.size(); ++i) {
    ASSERT_EQ(pieces.items[i].line, whole.items[i].line);
    ASSERT_EQ(pieces.items[i].location, whole.items[i].location);
  }
  EXPECT_EQ(whole.items[5001].line, 10'008U);
}

TEST(TextReader, ManyYamlDocumentsKeepOrderAndLines) {
  std::string yaml;
  for (int i = 0; i < 20'000; ++i) yaml += "---\nkind: Pod\nid: " + std::to_string(i) + "\n";
  const ReadResult result = read_text(yaml);
  ASSERT_EQ(result.items.size(), 20'000U);
  EXPECT_EQ(flat(result)[12'345], R"({"kind":"Pod","id":12345})");
  EXPECT_EQ(result.items[12'345].location, "line 37037");
  EXPECT_EQ(result.items[0].location, "line 2");
}

TEST(TextReader, ABadYamlDocumentIsOneProblemAndOthersAreRead) {
  const ReadResult result =
      read_text("kind: Pod\n---\na: [\n---\nkind: Node\n---\nkind: A\nkind: B\n---\nitems:\n- kind: Pod\n- {\n");
  EXPECT_EQ(flat(result), (Texts{R"({"kind":"Pod"})", R"({"kind":"Node"})", R"({"kind":"Pod"})"}));
  ASSERT_EQ(result.problems.size(), 3U);
  EXPECT_EQ(result.problems[1].to_string(), "in: line 8: duplicate key \"kind\"");
}

TEST(TextReader, CountsDecompressedBytes) {
  const TempFolder folder;
  const std::string text = "{\"kind\":\"Pod\"}";
  TextReader reader({folder.write("a", text), folder.write("b", gzip(text))});
  for (ItemBatch batch; reader.next(batch);) batch.convert();
  EXPECT_EQ(reader.bytes_read(), 2 * text.size());
}

TEST(TextReader, CountsTheBytesOnDiskForProgress) {
  const TempFolder folder;
  const std::string packed = gzip("{\"kind\":\"Pod\"}" + std::string(100'000, ' '));
  TextReader reader({folder.write("a", packed), folder.write("b", "{\"kind\":\"Pod\"}")});
  EXPECT_EQ(reader.stored_bytes_total(), packed.size() + 14);
  EXPECT_EQ(reader.stored_bytes_read(), 0U);
  for (ItemBatch batch; reader.next(batch);) batch.convert();
  EXPECT_EQ(reader.stored_bytes_read(), packed.size() + 14);
  EXPECT_EQ(TextReader({"-"}).stored_bytes_total(), 0U) << "not known";
}

TEST(TextReader, BatchesOutliveTheReader) {
  const TempFolder folder;
  ItemBatch kept;
  {
    TextReader reader({folder.write("a", "{\"kind\":\"PodList\",\"items\":[{}]}")});
    ASSERT_TRUE(reader.next(kept));
  }
  ASSERT_EQ(kept.items().size(), 1U);
  EXPECT_EQ(kept.items()[0].json, "{}");
  EXPECT_EQ(kept.items()[0].kind_hint(), "Pod");
  kept.convert();
  EXPECT_EQ(kept.items().size(), 1U) << "nothing was left to convert";
}

TEST(ForEachItem, CallsInOrderAndReturnsTheProblems) {
  const TempFolder folder;
  const std::string file = folder.write("a", "{\"a\":1}{\"b\":2} x");
  Texts seen;
  const auto problems = for_each_item({file}, [&](const ItemSlice& item, const std::string& source) {
    seen.push_back(source + std::string(item.json));
  });
  EXPECT_EQ(seen, (Texts{file + "{\"a\":1}", file + "{\"b\":2}"}));
  EXPECT_EQ(problems.size(), 1U);
}

Texts documents(std::string_view text) {
  Texts out;
  for (const JsonDocument& document : documents_from_text(text, "in")) out.push_back(document.json);
  for (std::string& json : out) std::erase(json, '\n');
  return out;
}

TEST(Documents, AreNotSplit) {
  EXPECT_EQ(documents(R"({"kind":"List","items":[{}]} {"b":1})"),
            (Texts{R"({"kind":"List","items":[{}]})", R"({"b":1})"}));
  EXPECT_EQ(documents("kind: List\nitems: [{}]\n---\nb: 1\n"),
            (Texts{R"({"kind":"List","items":[{}]})", R"({"b":1})"}));
  EXPECT_EQ(documents("{kind: List}"), Texts{R"({"kind":"List"})"});
  EXPECT_EQ(documents(""), Texts{});
  EXPECT_EQ(documents("\xef\xbb\xbf"
                      "a: 1\n"),
            Texts{R"({"a":1})"});
}

TEST(Documents, HaveTheirLines) {
  const auto read = documents_from_text("# c\na: 1\n---\nb: 2\n", "in");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].line, 2U);
  EXPECT_EQ(read[1].line, 4U);
}

TEST(Documents, ThrowEveryProblem) {
  try {
    documents_from_text("a: [\n---\nb: 1\nb: 2\n", "in");
    FAIL() << "no error";
  } catch (const InputError& error) {
    ASSERT_EQ(error.problems().size(), 2U);
    EXPECT_EQ(error.problems()[1].to_string(), "in: line 4: duplicate key \"b\"");
  }
  EXPECT_THROW(documents_from_text(std::string_view("\xff\xfe{\0", 4), "in"), InputError);
}

TEST(Documents, AfterAHundredProblemsReadingEnds) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "---\n]\n";
  try {
    documents_from_text(text, "in");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().size(), 100U);
  }
}

TEST(Documents, AreReadFromFilesUpToALimit) {
  const TempFolder folder;
  EXPECT_EQ(documents_from_file(folder.write("a.gz", gzip("a: 1\n"))).size(), 1U);
  EXPECT_THROW(documents_from_file(folder.path("absent")), InputError);
  TextLimits limits;
  limits.item_bytes_max = 10'000;
  EXPECT_THROW(documents_from_file(folder.write("b", std::string(20'000, '#')), limits), InputError);
}

}  // namespace
}  // namespace berth::testing
