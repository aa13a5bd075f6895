// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/foreign_format.h"

#include <gtest/gtest.h>

#include "tests/unit/objects_text/text_test_support.h"

namespace berth::testing {
namespace {

struct ForeignText {
  std::string text;
  std::string description;
};

class ForeignFormats : public ::testing::TestWithParam<ForeignText> {};

TEST_P(ForeignFormats, AreNamedWithWhatWasExpected) {
  const std::string expected = GetParam().description + ", expected Kubernetes objects as JSON or YAML";
  EXPECT_EQ(describe_foreign_format(GetParam().text).substr(0, expected.size()), expected);
  const ReadResult result = read_text(GetParam().text);
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_EQ(result.problems[0].message.substr(0, expected.size()), expected);
  EXPECT_TRUE(result.items.empty());
}

std::string tar_header() {
  std::string header(512, '\0');
  header.replace(0, 10, "nodes.json");
  header.replace(257, 5, "ustar");
  return header;
}

INSTANTIATE_TEST_SUITE_P(
    All, ForeignFormats,
    ::testing::Values(
        ForeignText{"<!DOCTYPE html>\n<html><body>403 Forbidden</body></html>",
                    "is HTML or XML, such as the error page of a proxy"},
        ForeignText{"\n<HTML>", "is HTML or XML, such as the error page of a proxy"},
        ForeignText{"<?xml version=\"1.0\"?><Error/>", "is HTML or XML, such as the error page of a proxy"},
        ForeignText{"NAME   STATUS   ROLES    AGE   VERSION\nn1   Ready   <none>   1d   v1.35.4\n",
                    "is a table that kubectl prints for people"},
        ForeignText{"NAMESPACE   NAME   READY\ndefault   web   1/1\n", "is a table that kubectl prints for people"},
        ForeignText{"NAME    CPU(cores)   CPU(%)\n", "is a table that kubectl prints for people"},
        ForeignText{"NAME\nnode-1\n", "is a table that kubectl prints for people"},
        ForeignText{"Name:         web-0\nNamespace:    default\n", "is what kubectl describe prints"},
        ForeignText{"pod/web-0\npod/web-1\n", "is a list of names"},
        ForeignText{"deployment.apps/web\n", "is a list of names"},
        ForeignText{"No resources found in default namespace.\n",
                    "is the message \"No resources found in default namespace.\""},
        ForeignText{"Error from server (Forbidden): pods is forbidden\n",
                    "is an error message, \"Error from server (Forbidden): pods is forbidden\""},
        ForeignText{"error: You must be logged in to the server (Unauthorized)",
                    "is an error message, \"error: You must be logged in to the server (Unauthorized)\""},
        ForeignText{"E1122 10:03:07.123456   12345 memcache.go:265] couldn't get current server API group list\r\n",
                    "is an error message, \"E1122 10:03:07.123456   12345 memcache.go:265] couldn't get current server "
                    "API group list\""},
        ForeignText{"Warning: v1 ComponentStatus is deprecated in v1.19+\n{\"apiVersion\":\"v1\"}",
                    "begins with a warning, \"Warning: v1 ComponentStatus is deprecated in v1.19+\""},
        ForeignText{"W1122 10:03:07.123456   12345 cache.go:1] slow\n{\"apiVersion\":\"v1\"}",
                    "begins with a warning, \"W1122 10:03:07.123456   12345 cache.go:1] slow\""},
        ForeignText{"bash: kubectl: command not found\n", "is an error message, \"bash: kubectl: command not found\""},
        ForeignText{"zsh: permission denied: kubectl", "is an error message, \"zsh: permission denied: kubectl\""},
        ForeignText{"/bin/sh: 1: kubectl: Permission denied",
                    "is an error message, \"/bin/sh: 1: kubectl: Permission denied\""},
        ForeignText{"cat: nodes.json: No such file or directory",
                    "is an error message, \"cat: nodes.json: No such file or directory\""},
        ForeignText{"jq: error (at <stdin>:0): Cannot iterate over null (null)",
                    "is an error message, \"jq: error (at <stdin>:0): Cannot iterate over null (null)\""},
        ForeignText{"fatal: not a git repository", "is an error message, \"fatal: not a git repository\""},
        ForeignText{"{{- if .Values.enabled }}\napiVersion: v1\n", "is a template"},
        ForeignText{"PK\x03\x04 rest", "is a zip archive"},
        ForeignText{"\xfd"
                    "7zXZ",
                    "is an xz file (gzip and zstd are decompressed)"},
        ForeignText{"BZh91AY", "is a bzip2 file (gzip and zstd are decompressed)"},
        ForeignText{"\x7f"
                    "ELF\x02\x01",
                    "is a program"},
        ForeignText{"%PDF-1.7\n", "is a PDF"},
        ForeignText{std::string("k8s\0\n\x0c", 6), "is protobuf, as an API server stores objects"},
        ForeignText{gzip(gzip("{}")), "is gzip data within compressed data"},
        ForeignText{zstd(zstd("{}")), "is zstd data within compressed data"},
        ForeignText{tar_header(), "is a tar archive"}));

TEST(ForeignFormat, ObjectsAreNotTakenForSomethingElse) {
  for (const char* text :
       {"", "{}", "[]", "{\"kind\":\"Pod\"}", "kind: Pod\n", "---\nkind: Pod\n", "# comment\nkind: Pod", "- kind: Pod",
        "{kind: Pod}", "apiVersion: v1\nName: x\n", "NAME: x\n", "name: web\nnamespace: x\n", "a/b: c\n", "E1122: x\n",
        "%YAML 1.1\n---\nkind: Pod\n", "<<: {kind: Pod}\n", "Name: x\n"}) {
    EXPECT_EQ(describe_foreign_format(text), "") << text;
  }
}

TEST(ForeignFormat, BinaryDataIsNamedWhereverItsFirstZeroByteIs) {
  const ReadResult result = read_text(std::string("kind: Pod\nname: \"") + std::string(3, '\0') + "\"");
  EXPECT_EQ(result.problem_text(), "in: is UTF-16, UTF-32 or binary, expected UTF-8 text");
}

TEST(ForeignFormat, ALongFirstLineIsCut) {
  EXPECT_LT(describe_foreign_format("error: " + std::string(4000, 'x')).size(), 400U);
}

}  // namespace
}  // namespace berth::testing
