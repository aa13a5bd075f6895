// SPDX-License-Identifier: Apache-2.0
#include "host/cli/find_pods.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/unit/report/cluster_builder.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

PodPtr in_namespace(const std::string& name, const std::string& name_space, const std::string& node = "") {
  Pod pod;
  pod.name = name;
  pod.namespace_ = name_space;
  pod.node_name = node;
  pod.spec = std::make_shared<const PodSpec>();
  return std::make_shared<const Pod>(std::move(pod));
}

/// Names of the found pods, or the error.
Names found(const Names& names, const std::string& name_space, const ClusterObjects& objects) {
  Names result;
  try {
    for (const FoundPod& pod : find_pods(names, name_space, objects)) result.push_back(pod.name);
  } catch (const std::runtime_error& error) {
    return {error.what()};
  }
  return result;
}

ClusterObjects three_pods() {
  ClusterObjects objects;
  objects.pods = {in_namespace("a", "x"), in_namespace("b", "x"), in_namespace("a", "y")};
  objects.terminal_pods = {"x/done"};
  return objects;
}

TEST(FindPods, TakesFullNamesAndNamesThatOnlyOneHas) {
  EXPECT_EQ(found({"y/a", "b", "x/done"}, "", three_pods()), (Names{"y/a", "x/b", "x/done"}));
  EXPECT_EQ(found({"a"}, "", three_pods()),
            Names{"2 pods are named \"a\": say which with its namespace, as x/a or y/a"});
}

TEST(FindPods, LooksForBareNamesInTheGivenNamespaceOnly) {
  EXPECT_EQ(found({"a", "y/a"}, "y", three_pods()), (Names{"y/a", "y/a"}));
  EXPECT_EQ(found({"a", "x/b"}, "y", three_pods()), Names{"\"x/b\" names another namespace than -n \"y\""});
  EXPECT_EQ(found({"b"}, "y", three_pods()), Names{"no pod \"b\" in namespace \"y\" of the input; did you mean x/b?"});
}

TEST(FindPods, PrefersPendingPodsThenRunningOnes) {
  ClusterObjects objects;
  objects.pods = {in_namespace("a", "x", "n1"), in_namespace("a", "y"), in_namespace("b", "z", "n1")};
  objects.terminal_pods = {"x/b", "y/c"};
  EXPECT_EQ(found({"a", "b", "c"}, "", objects), (Names{"y/a", "z/b", "y/c"}));
}

TEST(FindPods, NamesEveryPodThatIsNotThere) {
  EXPECT_EQ(found({"x/nobody", "b", "nothing"}, "", three_pods()),
            Names{"no pod \"x/nobody\" in the input; no pod \"nothing\" in the input"});
}

TEST(NearPodNames, SuggestsPodsOfAWorkloadAndMistypedNames) {
  ClusterObjects objects;
  for (const char* name : {"web-7c9d-x1", "web-7c9d-x2", "api-server-0", "my-web", "db"})
    objects.pods.push_back(in_namespace(name, "shop"));
  EXPECT_EQ(near_pod_names("web", objects), (Names{"shop/web-7c9d-x1", "shop/web-7c9d-x2", "shop/my-web"}));
  EXPECT_EQ(near_pod_names("shop/api-sevrer-0", objects), Names{"shop/api-server-0"});
  EXPECT_EQ(near_pod_names("other/db", objects), Names{"shop/db"});
  EXPECT_EQ(near_pod_names("unrelated", objects), Names{});
  EXPECT_EQ(near_pod_names("", objects), Names{});
}

}  // namespace
}  // namespace berth
