// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/yaml_to_json.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "host/objects/text/yaml_documents.h"
#include "tests/unit/objects_text/text_test_support.h"

namespace berth::testing {
namespace {

struct Converted {
  std::string json;  ///< without line breaks and the blanks between documents
  std::string problems;
};

Converted convert(std::string_view yaml, const TextLimits& limits = {}, std::size_t step = 4096) {
  MemoryStream input(yaml);
  YamlJsonStream stream(input, "in", limits);
  Converted out;
  std::string buffer(step, '\0');
  for (bool more = true; more;) {
    try {
      const std::size_t count = stream.read(buffer.data(), buffer.size());
      out.json.append(buffer.data(), count);
      more = count > 0;
    } catch (const InputError& error) {
      out.problems += (out.problems.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  std::erase(out.json, '\n');
  while (out.json.ends_with(' ')) out.json.pop_back();
  out.json.erase(0, out.json.find_first_not_of(' '));
  return out;
}

std::string json_of(std::string_view yaml) {
  const Converted out = convert(yaml);
  EXPECT_EQ(out.problems, "") << yaml;
  EXPECT_EQ(convert(yaml, {}, 1).json, out.json) << "read byte by byte";
  return out.json;
}

std::string problem_of(std::string_view yaml, const TextLimits& limits = {}) { return convert(yaml, limits).problems; }

TEST(YamlToJson, ReadsMappingsListsAndScalarsInBothStyles) {
  EXPECT_EQ(json_of("a: 1\nb:\n- x\n- d: {c: [1, \"2\", '3']}\n"), R"({"a":1,"b":["x",{"d":{"c":[1,"2","3"]}}]})");
  EXPECT_EQ(json_of("a:\nb: {}\nc: []\n"), R"({"a":null,"b":{},"c":[]})");
  EXPECT_EQ(json_of("- 1\n- - 2\n"), "[1,[2]]");
}

TEST(YamlToJson, BlockScalarsAreStrings) {
  EXPECT_EQ(json_of("a: |\n  1\n  two\nb: >-\n  x\n  y\n"), R"({"a":"1\ntwo\n","b":"x y"})");
}

TEST(YamlToJson, NonStringKeysBecomeText) {
  EXPECT_EQ(json_of("yes: 1\n2: b\n1.5: c\n'3': d\n"), R"({"true":1,"2":"b","1.5":"c","3":"d"})");
}

TEST(YamlToJson, KeysWithQuotesAreEscaped) { EXPECT_EQ(json_of("'a\"b': 1\n"), R"({"a\"b":1})"); }

TEST(YamlToJson, EmptyDocumentsAreSkipped) {
  EXPECT_EQ(json_of(""), "");
  EXPECT_EQ(json_of("# nothing\n"), "");
  EXPECT_EQ(json_of("---\n---\n...\n---\na: 1\n---\n~\n"), R"({"a":1})");
}

TEST(YamlToJson, ReadsSeveralDocuments) {
  EXPECT_EQ(json_of("a: 1\n---\nb: 2\n...\nc: 3\n--- {d: 4}\n"), R"({"a":1} {"b":2} {"c":3} {"d":4})");
}

TEST(YamlToJson, DirectivesBelongToTheNextDocument) {
  EXPECT_EQ(json_of("%YAML 1.1\n---\na: 1\n...\n%TAG !y! tag:yaml.org,2002:\n---\nb: !y!int '1'\n"),
            R"({"a":1} {"b":1})");
}

TEST(YamlToJson, AliasesRepeatTheirAnchors) {
  EXPECT_EQ(json_of("a: &x 1\nb: *x\nc: &y {d: [*x, s]}\ne: *y\n"),
            R"({"a":1,"b":1,"c":{"d":[1,"s"]},"e":{"d":[1,"s"]}})");
  EXPECT_EQ(json_of("- &x\n  a:\n    - 1\n- *x\n"), R"([{"a":[1]},{"a":[1]}])");
  EXPECT_EQ(json_of("&k key: &v 7\nb: {*k : *v}\n"), R"({"key":7,"b":{"key":7}})");
  EXPECT_EQ(json_of("a: &x Foo\nb: *x\nc: &x Bar\nd: *x\n"), R"({"a":"Foo","b":"Foo","c":"Bar","d":"Bar"})");
}

TEST(YamlToJson, AnchorsEndWithTheirDocument) {
  EXPECT_EQ(problem_of("a: &x 1\n---\nb: *x\n"), "in: line 3: unknown alias \"x\" (an anchor cannot contain itself)");
  EXPECT_EQ(problem_of("a: &x [*x]\n"), "in: line 1: unknown alias \"x\" (an anchor cannot contain itself)");
}

TEST(YamlToJson, MergeKeysAddOnlyMissingKeys) {
  EXPECT_EQ(json_of("a: &a {x: 1, z: 2}\nb:\n  <<: *a\n  z: 3\n"), R"({"a":{"x":1,"z":2},"b":{"z":3,"x":1}})");
  EXPECT_EQ(json_of("a: &a {x: 1}\nb: {x: 2, <<: *a}\n"), R"({"a":{"x":1},"b":{"x":2}})");
  EXPECT_EQ(json_of("- &a {x: 1}\n- &b {x: 2, z: 2}\n- <<: [*a, *b]\n"), R"([{"x":1},{"x":2,"z":2},{"x":1,"z":2}])");
  EXPECT_EQ(json_of("a:\n  <<: {x: [1, {w: \"}\"}]}\n  z: 1\n"), R"({"a":{"z":1,"x":[1,{"w":"}"}]}})");
  EXPECT_EQ(json_of("a: {<<: {}}\nb: {<<: []}\n"), R"({"a":{},"b":{}})");
  EXPECT_EQ(json_of("- &a {x: 1}\n- &b\n  <<: *a\n  z: 2\n- <<: *b\n"), R"([{"x":1},{"z":2,"x":1},{"z":2,"x":1}])");
  EXPECT_EQ(json_of("a: {'<<': 1}\n"), R"({"a":{"<<":1}})") << "a quoted one is a plain key";
}

TEST(YamlToJson, AMergeKeyNeedsMappings) {
  const std::string expected = "in: line 2: a merge key (<<) needs a mapping or a list of mappings";
  EXPECT_EQ(problem_of("a:\n  <<: 1\n"), "in: line 3: a merge key (<<) needs a mapping or a list of mappings");
  EXPECT_EQ(problem_of("\n{<<: [{}, 1]}\n"), expected);
  EXPECT_EQ(problem_of("\n{<<: }\n"), expected);
}

TEST(YamlToJson, DuplicateKeysAreRefusedWithTheirLine) {
  EXPECT_EQ(problem_of("a: 1\nb: 2\na: 3\n"), "in: line 3: duplicate key \"a\"");
  EXPECT_EQ(problem_of("a: {1: x, '1': y}\n"), "in: line 1: duplicate key \"1\"");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(problem_of(many), "");
  EXPECT_EQ(problem_of(many + "k3: 1\n"), "in: line 101: duplicate key \"k3\"");
  EXPECT_EQ(problem_of(many + "k77: 1\n"), "in: line 101: duplicate key \"k77\"");
}

TEST(YamlToJson, DepthIsLimited) {
  TextLimits limits;
  limits.yaml_depth_max = 3;
  EXPECT_EQ(problem_of("a: {b: {}}\n", limits), "");
  EXPECT_EQ(problem_of("a: {b: {c: []}}\n", limits), "in: line 1: nested deeper than the limit of 3");
  EXPECT_EQ(problem_of(std::string(100'000, '[')), "in: line 1: nested deeper than the limit of 200");
  EXPECT_NE(problem_of(std::string(100'000, '{')), "");
}

TEST(YamlToJson, BillionLaughsStopsAtTheLimit) {
  std::string yaml = "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 0; k < 8; ++k) yaml += "," + last;
    yaml += "]\n";
  }
  EXPECT_NE(problem_of(yaml).find("anchors and aliases expand to more than the limit of "), std::string::npos);
  EXPECT_NE(
      problem_of(std::string(1'000'000, '#') + "\n" + yaml).find(" expand to more than the limit of 67108864 bytes"),
      std::string::npos)
      << "whatever the size of the document";
}

TEST(YamlToJson, WhatAliasesMayAddGrowsWithTheDocument) {
  const std::string text = "- &a {text: " + std::string(20'000, 'x') + "}\n";
  std::string small = text;
  for (int i = 0; i < 4; ++i) small += "- *a\n";
  EXPECT_EQ(problem_of(small), "");
  TextLimits limits;
  limits.yaml_alias_bytes_free = 1000;
  limits.yaml_alias_ratio_max = 2;
  EXPECT_NE(problem_of(small, limits).find("expand to more than the limit of "), std::string::npos);
  limits.yaml_alias_ratio_max = 6;
  EXPECT_EQ(problem_of(small, limits), "");
}

TEST(YamlToJson, AnchorsAndMergesThatAreKeptAreLimitedHoweverSmallTheyAre) {
  TextLimits limits;
  limits.yaml_alias_bytes_max = 10'000;
  std::string anchors;
  std::string merges = "a:\n";
  for (int i = 0; i < 100; ++i) {
    anchors += "- &a" + std::to_string(i) + " x\n";
    merges += "  <<: {}\n";
  }
  EXPECT_NE(problem_of(anchors, limits).find("expand to more than the limit of 10000 bytes"), std::string::npos);
  EXPECT_NE(problem_of(merges, limits).find("expand to more than the limit of 10000 bytes"), std::string::npos);
}

TEST(YamlToJson, DirectivesAreLimited) {
  std::string yaml;
  for (int i = 0; i < 64; ++i) yaml += "%TAG !" + std::to_string(i) + "! tag:x,2026:\n";
  EXPECT_EQ(problem_of(yaml + "---\na: 1\n"), "");
  EXPECT_EQ(problem_of("%FOO\n" + yaml + "---\na: 1\n---\nb: 2\n"),
            "in: line 1: more than 64 directives (%) before a document");
  EXPECT_EQ(convert("%FOO\n" + yaml + "---\na: 1\n---\nb: 2\n").json, "{\"b\":2}");
}

TEST(YamlToJson, ATemplateIsToldFromAMapping) {
  EXPECT_EQ(problem_of("name: {{ .Values.name }}\n"),
            "in: line 1: a mapping or a list cannot be a field name (a template with {{ }} has to be rendered first)");
}

TEST(YamlToJson, ManyMergesStopAtTheLimit) {
  TextLimits limits;
  limits.yaml_alias_bytes_max = 1000;
  std::string yaml = "- &a {x: 12345678901234567890}\n";
  for (int i = 0; i < 100; ++i) yaml += "- {<<: *a}\n";
  EXPECT_NE(problem_of(yaml, limits).find("expand to more than the limit of 1000 bytes"), std::string::npos);
}

TEST(YamlToJson, AnAnchoredNodeIsLimited) {
  TextLimits limits;
  limits.yaml_alias_bytes_max = 1000;
  std::string yaml = "&a\n";
  for (int i = 0; i < 1000; ++i) yaml += "- 12345\n";
  EXPECT_NE(problem_of(yaml, limits).find("a node with an anchor is larger than the limit of 1000 bytes"),
            std::string::npos);
}

TEST(YamlToJson, AScalarBeyondTheLimitIsRefused) {
  TextLimits limits;
  limits.item_bytes_max = 100'000;
  const std::string yaml = "a: \"" + std::string(1'000'000, 'x') + "\"\n---\nb: 1\n";
  const Converted out = convert(yaml, limits);
  EXPECT_EQ(out.problems, "in: line 1: scalar or comment is larger than the limit of 100000 bytes");
  EXPECT_TRUE(out.json.ends_with(R"({"b":1})")) << "the next document is read";
}

TEST(YamlToJson, TopLevelScalarsAreRefused) {
  EXPECT_EQ(problem_of("hello\n"), "in: line 1: got a lone scalar, expected a mapping or a list");
  EXPECT_EQ(problem_of("---\n---\n12\n"), "in: line 3: got a lone scalar, expected a mapping or a list");
}

TEST(YamlToJson, ValuesThatJsonCannotRepresentAreRefusedWithTheirLine) {
  EXPECT_EQ(problem_of("a: 1\nb: .nan\n"), "in: line 2: got .nan, expected a number that JSON can hold");
  EXPECT_EQ(problem_of("~: 1\n"), "in: line 1: got null as a field name, expected a string");
  EXPECT_EQ(problem_of("{a: 1}: 2\n"), "in: line 1: a mapping or a list cannot be a field name");
  EXPECT_EQ(problem_of("a: &x [1]\n*x : 2\n"), "in: line 2: alias \"x\" is not a scalar and cannot be a field name");
  EXPECT_EQ(problem_of("a: !!int x\n"), "in: line 1: got \"x\", expected a value of its tag !!int");
}

TEST(YamlToJson, AnUnreadableDocumentDoesNotAffectTheNext) {
  const Converted out = convert("a: 1\n---\nb: [1\nc: }\n---\nd: 4\n---\nd: 1\nd: 2\n---\ne: 5\n");
  EXPECT_TRUE(out.json.starts_with(R"({"a":1} )"));
  EXPECT_NE(out.json.find(R"({"d":4} )"), std::string::npos);
  EXPECT_TRUE(out.json.ends_with(R"({"e":5})"));
  EXPECT_NE(out.problems.find("in: line 4: malformed YAML: "), std::string::npos) << out.problems;
  EXPECT_NE(out.problems.find("in: line 9: duplicate key \"d\""), std::string::npos) << out.problems;
}

TEST(YamlToJson, InvalidUtf8IsRefused) {
  EXPECT_NE(problem_of("a: \x01\n").find("malformed YAML"), std::string::npos);
  EXPECT_NE(problem_of("a: \xff\xff\n").find("malformed YAML"), std::string::npos);
}

TEST(YamlToJson, TokensKeepTheirYamlLines) {
  MemoryStream input("# top\na: 1\n\nb:\n  - |\n    x\n    y\n  - z\n---\nc: 2\n");
  YamlJsonStream stream(input, "in", {});
  std::string json(1000, '\0');
  json.resize(read_fully(stream, json.data(), json.size()));
  const auto line_of = [&json](std::string_view token) {
    return 1 + std::count(json.begin(), json.begin() + static_cast<std::ptrdiff_t>(json.find(token)), '\n');
  };
  EXPECT_EQ(line_of("\"a\""), 2);
  EXPECT_EQ(line_of("\"b\""), 4);
  EXPECT_EQ(line_of("\"z\""), 8);
  EXPECT_EQ(line_of("\"c\""), 10);
}

std::vector<std::string> cut(std::string_view yaml) {
  MemoryStream input(yaml);
  YamlDocumentCutter cutter(input);
  std::vector<std::string> documents;
  char buffer[7];
  while (cutter.next_document()) {
    std::string document;
    while (const std::size_t count = cutter.read(buffer, sizeof(buffer))) document.append(buffer, count);
    documents.push_back(document);
  }
  return documents;
}

TEST(YamlDocuments, AreSplitAtMarkersAtLineStarts) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(cut("a: 1\n---\nb\n"), (Texts{"a: 1\n", "---\nb\n"}));
  EXPECT_EQ(cut("# c\n\n---\na\n---"), (Texts{"# c\n\n---\na\n", "---"}));
  EXPECT_EQ(cut("a: ---\n --- x\n----\n"), (Texts{"a: ---\n --- x\n----\n"}));
  EXPECT_EQ(cut("a\n...\n%YAML 1.1\n---\nb"), (Texts{"a\n...\n", "%YAML 1.1\n---\nb"}));
  EXPECT_EQ(cut("a: |\n  x\n--- |\n y\n"), (Texts{"a: |\n  x\n", "--- |\n y\n"}));
  EXPECT_EQ(cut(""), Texts{});
}

TEST(YamlDocuments, TogetherEqualTheTextForAnyWindow) {
  std::string yaml;
  for (int i = 0; i < 30'000; ++i) yaml += i % 3 == 0 ? "---\n" : "key: " + std::to_string(i) + "\n";
  const std::vector<std::string> documents = cut(yaml);
  EXPECT_EQ(documents.size(), 10'000U);
  std::string joined;
  for (const std::string& document : documents) joined += document;
  EXPECT_EQ(joined, yaml);
}

}  // namespace
}  // namespace berth::testing
