// SPDX-License-Identifier: Apache-2.0
// Values that plugins declare are kept; nothing else beyond the model is.

#include "host/objects/declared_paths.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Keys = std::vector<std::string>;

std::string refusal_of(const std::string& path) {
  try {
    parse_declared_path(path);
  } catch (const std::invalid_argument& refused) {
    return refused.what();
  }
  return "";
}

TEST(DeclaredPath, HasOneKeyForEachObject) {
  EXPECT_EQ(parse_declared_path("spec.providerID").keys, (Keys{"spec", "providerID"}));
  EXPECT_EQ(parse_declared_path("metadata.annotations['a.b/c']").keys, (Keys{"metadata", "annotations", "a.b/c"}));
  EXPECT_EQ(parse_declared_path("metadata[\"annotations\"][\"it's\"]").keys, (Keys{"metadata", "annotations", "it's"}));
  EXPECT_EQ(parse_declared_path("status.nodeInfo['x'].y").keys, (Keys{"status", "nodeInfo", "x", "y"}));
}

TEST(DeclaredPath, IsRefusedWhereItLeadsNowhere) {
  for (const char* bad : {"", ".", "spec", "spec.", "spec..a", ".spec.a", "kind.a", "['spec'].a", "spec.a[0]",
                          "spec.a['b", "spec.a['b'", "spec.a[b]", "metadata.annotations['']"})
    EXPECT_NE(refusal_of(bad), "") << bad;
}

TEST(DeclaredPaths, NumberEachPathOnce) {
  DeclaredPaths paths;
  EXPECT_EQ(paths.add_of_node("spec.a"), 0u);
  EXPECT_EQ(paths.add_of_node("spec.b"), 1u);
  EXPECT_EQ(paths.add_of_node("spec['a']"), 0u);
  EXPECT_EQ(paths.add_of_pod("spec.b"), 0u);
  EXPECT_THROW(paths.add_of_pod("status.phase"), std::invalid_argument);
  EXPECT_THROW(paths.add_of_pod("spec.nodeName"), std::invalid_argument);
  EXPECT_EQ(paths.add_of_node("status.phase"), 2u);
}

LoadOptions with_paths(const std::vector<const char*>& of_nodes, const std::vector<const char*>& of_pods) {
  auto paths = std::make_shared<DeclaredPaths>();
  for (const char* path : of_nodes) paths->add_of_node(path);
  for (const char* path : of_pods) paths->add_of_pod(path);
  LoadOptions options;
  options.declared = std::move(paths);
  return options;
}

TEST(DeclaredValues, AreReadFromNodesAndPods) {
  const ClusterObjects objects = load_good(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","annotations":{"x":"1","y":"2"}},"status":{"a":{"b":1.0}}}
{"apiVersion":"v1","kind":"Node","metadata":{"name":"m"},"status":{"a":7}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"x":"3"}},"spec":{"a":true,"containers":[{"name":"c"}]}}
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","annotations":null},"spec":{"a":null,"containers":[{"name":"c"}]}})",
      with_paths({"status.a.b", "metadata.annotations['x']"}, {"metadata.annotations['x']", "spec.a"}));
  EXPECT_EQ(objects.nodes[0]->declared, (DeclaredValues{{0, true, "1.0"}, {1, false, "1"}}));
  EXPECT_EQ(objects.nodes[1]->declared, DeclaredValues());
  EXPECT_EQ(objects.pods[0]->rare().declared, (DeclaredValues{{0, false, "3"}, {1, false, "true"}}));
  EXPECT_EQ(objects.pods[1]->rare_fields, nullptr);
  EXPECT_EQ(*find_declared(objects.nodes[0]->declared, 1), "1");
  EXPECT_EQ(find_declared(objects.nodes[0]->declared, 2), nullptr);
}

TEST(DeclaredValues, OfATemplateAreThoseOfItsPods) {
  const ClusterObjects objects = load_good(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"},"annotations":{"x":"3"}},"spec":{"containers":[{"name":"c"}]}}}})",
      with_paths({}, {"metadata.annotations['x']"}));
  ASSERT_EQ(objects.pods.size(), 2u);
  for (const PodPtr& pod : objects.pods) EXPECT_EQ(pod->rare().declared, (DeclaredValues{{0, false, "3"}}));
}

TEST(DeclaredValues, AreNoObjectsAndNoLists) {
  const LoadResult result =
      load_cluster_from_text(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"a":{"b":1}}})",
                             "test", with_paths({"spec.a"}, {}));
  EXPECT_TRUE(result.objects.nodes.empty());
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_NE(result.problems[0].to_string().find("spec.a"), std::string::npos) << result.problems[0].to_string();
  EXPECT_NE(result.problems[0].to_string().find("a plugin reads it"), std::string::npos);
}

TEST(DeclaredValues, AreNotKeptWithoutADeclaration) {
  const ClusterObjects objects =
      load_good(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","annotations":{"x":"1"}}})");
  EXPECT_TRUE(objects.nodes[0]->declared.empty());
}

}  // namespace
}  // namespace berth
