// SPDX-License-Identifier: Apache-2.0
#include "host/objects/foreign_object.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

TEST(ForeignObject, AStatusSaysWhatTheServerAnswered) {
  EXPECT_EQ(problems_of(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":
"pods is forbidden","reason":"Forbidden","code":403})"),
            Strings{"test: is a Status object (code 403, Forbidden): \"pods is forbidden\", expected objects of a "
                    "cluster; the command that wrote it failed"});
  EXPECT_EQ(problems_of(R"({"kind":"Status","apiVersion":"v1","code":[],"reason":7})"),
            Strings{"test: is a Status object (code an array), expected objects of a cluster; the command that "
                    "wrote it failed"});
  EXPECT_LT(
      problems_of(R"({"kind":"Status","apiVersion":"v1","message":")" + std::string(100'000, 'x') + "\"}")[0].size(),
      500U);
}

TEST(ForeignObject, NamesInputThatIsOftenMistakenForADump) {
  const auto first = [](const std::string& text) { return problems_of(text).at(0).substr(6, 40); };
  EXPECT_EQ(first(R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]})"),
            "is a Table, which kubectl prints for peo");
  EXPECT_EQ(first(R"({"kind":"Config","apiVersion":"v1","users":[{"name":"secret"}]})"),
            "is a kubeconfig, which says how to reach");
  EXPECT_EQ(first(R"({"kind":"KubeSchedulerConfiguration","apiVersion":"kubescheduler.config.k8s.io/v1"})"),
            "is a KubeSchedulerConfiguration, expecte");
  EXPECT_EQ(
      first(
          R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"a"}}]})"),
      "items[0]: holds the metadata of an objec");
  EXPECT_EQ(first(R"({"type":"ADDED","object":{"kind":"Pod"}})"), "is an event of a watch, expected objects");
  EXPECT_EQ(problems_of(R"({"kind":"Scenario","apiVersion":"berth.dev/v1alpha1"})"),
            Strings{"test: is of no kind that the group berth.dev has, expected objects of a cluster; its kinds are "
                    "BerthScenario and BerthEngineConfiguration"});
  EXPECT_EQ(first(R"({"kind":"BerthScenario","apiVersion":"berth.dev/v1alpha1"})"),
            "is a BerthScenario, expected objects of ");
  EXPECT_EQ(first("{}"), "is an empty object, expected objects of ");
  EXPECT_EQ(first(R"({"kind":"List","apiVersion":"v1"})"), "is a List without an array of items, exp");
  EXPECT_EQ(first(R"({"kind":"PodList","apiVersion":"v1","items":{}})"), "is a PodList without an array of items, ");
}

TEST(ForeignObject, NullItemsAreAnEmptyList) {
  const LoadResult result = load_cluster_from_text(R"({"kind":"PodList","apiVersion":"v1","items":null})", "test", {});
  EXPECT_EQ(texts(result.problems), Strings{});
  EXPECT_EQ(result.document_count, 1);
  EXPECT_TRUE(result.objects.unknown_kinds.empty());
}

TEST(ForeignObject, NullItemsWithoutAKindAreAnEmptyListAsAnEmptyArrayIs) {
  for (const char* text : {R"({"items":null})", R"({"items":[]})", "items:\n"}) {
    const LoadResult result = load_cluster_from_text(text, "test", {});
    EXPECT_EQ(texts(result.problems), Strings{}) << text;
    EXPECT_EQ(result.document_count, 1) << text;
  }
}

TEST(ForeignObject, AStatusOfTheMetaGroupIsRecognised) {
  EXPECT_EQ(
      problems_of(R"({"kind":"Status","apiVersion":"meta.k8s.io/v1","message":"no"})"),
      Strings{"test: is a Status object: \"no\", expected objects of a cluster; the command that wrote it failed"});
}

TEST(ForeignObject, AnIntegerOfMoreThan64BitsIsNotShownAsAnotherOne) {
  EXPECT_EQ(problems_of(pod_json(R"("priority":-9223372036854775809,)")),
            Strings{"test: spec.priority (Pod default/p): got -9.223372036854776e+18, expected an integer of 32 bits"});
}

TEST(ForeignObject, OtherKindsAreOnlyUnknown) {
  const LoadResult result = load_cluster_from_text(
      R"({"kind":"Status","apiVersion":"example.com/v1","metadata":{"name":"a"}}
{"kind":"IPAllowList","apiVersion":"example.com/v1","metadata":{"name":"a"},"spec":{}})",
      "test", {});
  EXPECT_EQ(texts(result.problems), Strings{});
  EXPECT_EQ(result.objects.unknown_kinds.size(), 2U);
}

}  // namespace
}  // namespace berth
