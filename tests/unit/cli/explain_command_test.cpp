// SPDX-License-Identifier: Apache-2.0
#include "host/cli/explain_command.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/unit/cli/cluster_builder.h"

namespace berth {
namespace {

PodPtr in_namespace(const std::string& name, const std::string& name_space) {
  Pod pod;
  pod.name = name;
  pod.namespace_ = name_space;
  pod.spec = std::make_shared<const PodSpec>();
  return std::make_shared<const Pod>(std::move(pod));
}

std::string refusal(std::string_view name, const std::vector<PodPtr>& pending, const ClusterObjects& objects) {
  try {
    find_pod(name, pending, objects);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "found";
}

TEST(FindPod, AcceptsTheFullNameOrAUniqueName) {
  const std::vector<PodPtr> pending = {in_namespace("a", "x"), in_namespace("b", "x"), in_namespace("a", "y")};
  const ClusterObjects objects;
  EXPECT_EQ(find_pod("y/a", pending, objects), pending[2]);
  EXPECT_EQ(find_pod("b", pending, objects), pending[1]);
  EXPECT_EQ(refusal("a", pending, objects), "2 pending pods are named a: say which, as x/a or y/a");
}

TEST(FindPod, ReportsARunningPod) {
  ClusterObjects objects;
  objects.pods = {make_pod("a", 1, "n1")};
  EXPECT_EQ(refusal("default/a", {}, objects), "pod default/a is on node n1 already; explain judges pending pods");
}

TEST(FindPod, ReportsWhyAPendingPodIsNotScheduledHere) {
  ClusterObjects objects;
  objects.pods = {make_pod("a", 1, "", [](PodSpec& spec) { spec.scheduler_name = "other"; })};
  EXPECT_EQ(refusal("a", {}, objects),
            "pod default/a is pending but not scheduled here: no profile has the name other");
}

TEST(FindPod, ReportsAnUnknownPod) { EXPECT_EQ(refusal("x/y", {}, {}), "no pod x/y in the input"); }

}  // namespace
}  // namespace berth
