// SPDX-License-Identifier: Apache-2.0
// The checks of the fuzz targets on inputs that are known to be nasty; runs without libFuzzer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fuzz/text_checks.h"

namespace berth::testing {
namespace {

std::vector<std::string> nasty_texts() {
  std::vector<std::string> texts = {
      "",
      " ",
      "\n",
      "{",
      "}",
      "[",
      "]",
      "\"",
      "\\",
      ",",
      ":",
      "{}",
      "[]",
      "{\"",
      "{\"a",
      "{\"a\"",
      "{\"a\":",
      "{\"a\":\"",
      "{\"a\":\"\\",
      "{\"a\":1",
      "{\"a\":1}",
      "[1,2]",
      "[1,2",
      "[[[[",
      "{\"items\":",
      "{\"items\":[",
      "{\"items\":[{}",
      "{\"items\":[1,[2],null,\"x\"]}",
      "{\"items\":[}]}",
      "{\"items\":[{]}}",
      "{\"kind\":\"List\",\"items\":[{\"kind\":",
      "{\"kind\":\"List\",\"items\":[{\"kind\":\"List\",\"items\":[}]}",
      "{\"kind\":\"List\",\"items\":[{\"kind\":\"List\",\"items\":[1 2,,3]}]}",
      "{\"kind\":\"List\",\"items\":[{\"kind\":\"XList\",\"items\":[{\"kind\":\"YList\",\"items\":[]}]}]}",
      "{\"items\":[{}],\"kind\":\"PodList\"}{\"items\":[{\"a\":1}],\"kind\":\"List\"}",
      "[{}]{}[]",
      "{}---",
      "{}\n--",
      "{}\n---\na: 1",
      "\xef\xbb\xbf{}",
      std::string("\0\0\0\0", 4),
      std::string("{}\0{}", 5),
      "\xff\xfe",
      "a: b: c",
      "- - - -",
      "? a\n: b",
      "? [a]\n: b",
      "&a a: *a",
      "*a",
      "&a [*a]",
      "<<: *a",
      "<<: {<<: {<<: {a: 1}}}",
      "{<<: [{a: 1}, {<<: {b: 2}}]}",
      "<<: {}\n<<: {a: 1}\n<<: {a: 2}",
      "{<<: 1}",
      "a: &x {<<: &y {b: &z 1}}\nc: [*x, *y, *z]",
      "&a : 1",
      "{&a a: &b b, *a : *b}",
      "--- >\n---\n",
      "--- |1\n a\n--- \"\n---\n\"",
      "%YAML 1.1\n",
      "%YAML 9.9\n---\na",
      "%FOO\n---\n{}",
      "%TAG ! x\n---\n!a b: 1",
      "!!int a",
      "!!binary aaa",
      "! a: ! 1",
      "!!map [1]",
      "!!seq {a: 1}",
      "!!str {a: !!str 1}",
      "a: !!float 1e999",
      "a: 1e999",
      "a: .inf",
      "a: 0x",
      "a: 0b",
      "a: 0_",
      "a: -",
      "a: +",
      "a: +0x",
      "a: -0b1",
      "a: 00",
      "a: 0o",
      "\t",
      "a:\tb",
      "a: |\n\tb",
      "'",
      "\"\\x41\\u0041\\U00000041\"",
      "a: \"\\ud800\"",
      "a: \"\\0\"",
      "a: '\x7f'",
      "...",
      "...\n...\n---\n...\n",
      "---\r\n---\r\na: 1\r\n",
      "a\r---\rb",
      "# c",
      "#\n---\n#\n---\n{a: 1}",
      "{a: 1, a: 2}",
      "{? a, ? b}",
      "[a: 1, b]",
      "{a, b: }",
      "[,]",
      "{,}",
      "a: [}",
      "a: {]",
      "[7071111107111111111140\n,0]",
      "[18446744073709551616, -9223372036854775809, 123456789012345678901]",
      "18446744073709551616: 1"};
  texts.push_back(std::string(5000, '['));
  texts.push_back(std::string(5000, '{'));
  texts.push_back("{\"a\":" + std::string(5000, '['));
  texts.push_back(std::string(300, '-') + "\n");
  texts.push_back("\"" + std::string(70'000, '\\'));
  texts.push_back("[" + std::string(70'000, ',') + "]");
  texts.push_back("- " + std::string(70'000, 'x') + ": 1\n");
  std::string laughs = "- &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "- &a" + std::to_string(i) + " [" + last + ", " + last + "]\n";
  }
  texts.push_back(laughs);
  return texts;
}

TEST(NastyText, DoesNotBreakTheJsonSplitterForAnyWindow) {
  for (const std::string& text : nasty_texts()) {
    SCOPED_TRACE(text.substr(0, 100));
    fuzz::check_json_items(text);
  }
}

TEST(NastyText, BecomesJsonOrAnError) {
  for (const std::string& text : nasty_texts()) {
    SCOPED_TRACE(text.substr(0, 100));
    fuzz::check_yaml(text);
    fuzz::check_documents(text);
  }
}

/// Every prefix, and every text with one byte changed, of something that is read well.
TEST(NastyText, PrefixesAndFlippedBytesOfValidTextDoNotCrash) {
  const std::string yaml =
      "apiVersion: v1\nitems:\n- &p {kind: Pod, n: [1, 0x2, 3.5, yes, ~]}\n- <<: *p\n  m: |\n    text\n  q: "
      "\"a\\n\"\nkind: List\n---\nb: *p\n";
  const std::string json = R"({"apiVersion":"v1","items":[{"kind":"Pod","n":[1,"}\""]},)"
                           R"({"kind":"NodeList","items":[{"a":{}}]}],"kind":"List"} [{"b":null}])";
  for (const std::string& text : {yaml, json}) {
    for (std::size_t i = 0; i <= text.size(); ++i) {
      std::string prefix = text.substr(0, i);
      fuzz::check_json_items(prefix);
      fuzz::check_yaml(prefix);
      for (const char replacement : {'\0', '"', '{', ']', '\n', ':', '*', '\\'}) {
        std::string changed = text;
        if (i < text.size()) changed[i] = replacement;
        fuzz::check_json_items(changed);
        fuzz::check_yaml(changed);
      }
    }
  }
}

}  // namespace
}  // namespace berth::testing
