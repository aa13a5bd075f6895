// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/watch_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

std::string padded(std::string_view text) {
  std::string copy(text);
  copy.reserve(text.size() + kSlicePaddingBytes);
  return copy;
}

TEST(LineBuffer, CutsLinesWhereverThePiecesEnd) {
  const std::string text = "first\nsecond\n\nthird\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineBuffer buffer;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at += piece)
      ASSERT_TRUE(buffer.add(std::string_view(text).substr(at, piece), [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
      }));
    EXPECT_EQ(lines, (std::vector<std::string>{"first", "second", "third"})) << piece;
    EXPECT_EQ(buffer.rest_bytes(), 0u);
  }
}

TEST(LineBuffer, EndsWhenTheReaderWantsNoMore) {
  LineBuffer buffer;
  int lines = 0;
  EXPECT_FALSE(buffer.add("a\nb\nc\n", [&](std::string_view) { return ++lines < 2; }));
  EXPECT_EQ(lines, 2);
}

TEST(LineBuffer, RefusesALineWithoutEnd) {
  LineBuffer buffer;
  const std::string piece(std::size_t{1} << 20, 'x');
  const auto ignore = [](std::string_view) { return true; };
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(buffer.add(piece, ignore));
  EXPECT_FALSE(buffer.add(piece, ignore));
}

TEST(WatchTextReader, ReadsEventsInAnyOrderOfFields) {
  WatchTextReader reader;
  WatchLine line;
  const std::string usual = padded(R"({"type":"MODIFIED","object":{"metadata":{"resourceVersion":"7"}}})");
  ASSERT_TRUE(reader.read_line(usual, line));
  EXPECT_EQ(line.type, WatchLineType::kModified);
  EXPECT_EQ(line.object, R"({"metadata":{"resourceVersion":"7"}})");
  const std::string turned = padded(R"({"object":{"a":[1,{"b":"}"}]} , "type":"DELETED"})");
  ASSERT_TRUE(reader.read_line(turned, line));
  EXPECT_EQ(line.type, WatchLineType::kDeleted);
  EXPECT_EQ(line.object, R"({"a":[1,{"b":"}"}]})");
}

TEST(WatchTextReader, SaysWhatIsNoEvent) {
  WatchTextReader reader;
  WatchLine line;
  const std::vector<std::string> bad = {R"({"type":"MODIFIED"})",
                                        R"({"object":{}})",
                                        R"({"type":"CHANGED","object":{}})",
                                        R"([])",
                                        R"({"type":7})",
                                        R"({"type":"ADDED","object":[]})",
                                        R"({"type":"ADDED","object":{"a")",
                                        "",
                                        "\x01"};
  for (const std::string& text : bad) {
    EXPECT_FALSE(reader.read_line(padded(text), line)) << text;
    EXPECT_FALSE(reader.problem().empty()) << text;
  }
}

TEST(WatchTextReader, ReadsVersions) {
  WatchTextReader reader;
  ObjectVersion version;
  ASSERT_TRUE(reader.read_version(
      padded(R"({"metadata":{"name":"a","resourceVersion":"12345678901","generation":3,"annotations":)"
             R"({"x":"y","k8s.io/initial-events-end":"true"},"managedFields":[{}]}})"),
      version));
  EXPECT_EQ(version.resource_version, 12345678901u);
  EXPECT_EQ(version.generation, 3);
  EXPECT_TRUE(version.ends_initial_events);
  ASSERT_TRUE(reader.read_version(padded(R"({"metadata":{"resourceVersion":"5","annotations":null}})"), version));
  EXPECT_FALSE(version.ends_initial_events);
  EXPECT_EQ(version.generation, 0);
  EXPECT_FALSE(reader.read_version(padded(R"({"metadata":{"name":"a"}})"), version));
  EXPECT_EQ(reader.problem(), "an object without metadata.resourceVersion");
  EXPECT_FALSE(reader.read_version(padded(R"({"spec":{}})"), version));
}

TEST(ApiStatus, IsReadFromAnyText) {
  const ApiStatus status = read_api_status(
      R"({"kind":"Status","code":410,"reason":"Expired","message":"too old","details":{"retryAfterSeconds":2}})");
  EXPECT_EQ(status.code, 410);
  EXPECT_EQ(status.reason, "Expired");
  EXPECT_EQ(status.message, "too old");
  EXPECT_EQ(status.retry_after_s, 2);
  EXPECT_EQ(read_api_status("upstream connect error").message, "upstream connect error");
  EXPECT_EQ(read_api_status(R"({"kind":"Status","code":"x"})").code, 0);
  EXPECT_EQ(read_api_status(std::string(5000, 'x')).message.size(), 300u);
}

}  // namespace
}  // namespace berth
