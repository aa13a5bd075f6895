// SPDX-License-Identifier: Apache-2.0
#include "host/perf/text_template.h"

#include <gtest/gtest.h>

#include "host/objects/errors.h"

namespace berth {
namespace {

std::string error_of(const std::string& text) {
  try {
    return TextTemplate(text, "t.yaml").render(3, 0);
  } catch (const InputError& error) {
    return error.problems().front().to_string();
  }
}

TEST(TextTemplate, FillsIndexAndCount) {
  const TextTemplate text("a-{{.Index}} of {{ .Count }}", "t.yaml");
  EXPECT_TRUE(text.has_directives());
  EXPECT_EQ(text.render(7, 12), "a-7 of 12");
}

TEST(TextTemplate, DividesAsGoDoes) {
  const TextTemplate text("{{div .Index 10}} {{ mod .Index 12 }} {{ div 30000 .Count }}Mi {{div -7 2}}", "t.yaml");
  EXPECT_EQ(text.render(25, 1000), "2 1 30Mi -3");
}

TEST(TextTemplate, IsTheSameForEveryIndexWithoutDirectives) {
  const TextTemplate text("labels: {a: b}", "t.yaml");
  EXPECT_FALSE(text.has_directives());
  EXPECT_EQ(text.render(0, 1), "labels: {a: b}");
}

TEST(TextTemplate, NamesWhatItDoesNotSupport) {
  EXPECT_EQ(error_of("a\nb: {{ if .Index }}"),
            "t.yaml: line 2: the template directive \" if .Index \" is not supported, expected .Index, .Count, div A B "
            "or mod A B");
  EXPECT_EQ(
      error_of("{{.Name}}"),
      "t.yaml: line 1: the template directive \".Name\" is not supported, expected .Index, .Count, div A B or mod "
      "A B");
  EXPECT_EQ(error_of("{{.Index"), "t.yaml: line 1: \"{{\" without \"}}\"");
  EXPECT_EQ(error_of("{{div 5 .Count}}"), "t.yaml: line 1: division by 0");
}

}  // namespace
}  // namespace berth
