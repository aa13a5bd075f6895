// SPDX-License-Identifier: Apache-2.0
#include "host/objects/admission.h"

#include <gtest/gtest.h>

#include <string>

#include "host/objects/dump_command.h"
#include "host/objects/pod_requests.h"
#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

std::string list_of(const Strings& items) {
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (const std::string& item : items) text += (&item == items.data() ? "" : ",") + item;
  return text + "]}";
}

std::string priority_class(const std::string& name, int value, const std::string& more = "") {
  return R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":")" + name +
         R"("},"value":)" + std::to_string(value) + more + "}";
}

const Pod& only_pod(const ClusterObjects& objects) { return *objects.pods.at(0); }

TEST(Admission, MissingRequestsAreFilledFromLimits) {
  const auto objects = load_good(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{
    "containers":[{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi","a.b/c":"3"}}}],
    "initContainers":[{"resources":{"limits":{"cpu":"5"}}}]}})");
  const PodSpec& spec = *only_pod(objects).spec;
  EXPECT_EQ(find(spec.containers[0].requests, "cpu")->value(), 1);
  EXPECT_EQ(find(spec.containers[0].requests, "memory")->value(), 1073741824);
  EXPECT_EQ(find(spec.containers[0].requests, "a.b/c")->value(), 3);
  EXPECT_EQ(find(spec.init_containers[0].requests, "cpu")->value(), 5);
}

TEST(Admission, PodLevelLimitsAreDefaultedLikeTheApiServer) {
  const auto objects = load_good(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{
    "resources":{"limits":{"cpu":"5","memory":"1Gi"}},"containers":[{"resources":{"requests":{"cpu":"300m"}}},
    {"resources":{"requests":{"cpu":"1"},"limits":{"hugepages-2Mi":"4Mi"}}}]}})");
  const ResourceAmounts amounts = filter_requests(only_pod(objects));
  EXPECT_EQ(amounts.milli_cpu, 1300);
  EXPECT_EQ(amounts.memory_bytes, 1073741824);
  EXPECT_EQ(amounts.scalar("hugepages-2Mi"), 4 * 1024 * 1024);
  EXPECT_EQ(find(only_pod(objects).spec->pod_level_limits, "hugepages-2Mi")->value(), 4 * 1024 * 1024);
  EXPECT_TRUE(only_pod(objects).spec->has_pod_level_resources);
}

TEST(Admission, PodLevelRequestsStayWithoutPodLevelLimits) {
  const auto objects = load_good(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{
    "resources":{"requests":{"cpu":"2"}},"containers":[{"resources":{"requests":{"memory":"300M"}}}]}})");
  EXPECT_EQ(only_pod(objects).spec->pod_level_requests.size(), 1u);
}

TEST(Admission, AHostNetworkPodGetsHostPorts) {
  const std::string ports = R"("initContainers":[{"ports":[{"containerPort":80},{"containerPort":81,"hostPort":9}]}],)";
  const auto on_host = load_good(pod_json(R"("hostNetwork":true,)" + ports));
  EXPECT_EQ(only_pod(on_host).spec->init_containers[0].ports[0].host_port, 80);
  EXPECT_EQ(only_pod(on_host).spec->init_containers[0].ports[1].host_port, 9);
  const auto inside = load_good(pod_json(ports));
  EXPECT_EQ(only_pod(inside).spec->init_containers[0].ports[0].host_port, 0);
}

TEST(Admission, ALaterPriorityClassGivesThePriority) {
  const auto objects = load_good(list_of(
      {pod_json(R"("priorityClassName":"high",)"), priority_class("high", 7, R"(,"preemptionPolicy":"Never")")}));
  EXPECT_EQ(only_pod(objects).priority, 7);
  EXPECT_EQ(only_pod(objects).preemption_policy, PreemptionPolicy::kNever);
}

TEST(Admission, APresentPriorityWins) {
  const auto objects = load_good(
      list_of({pod_json(R"("priorityClassName":"high","priority":3,"preemptionPolicy":"PreemptLowerPriority",)"),
               priority_class("high", 7, R"(,"preemptionPolicy":"Never")")}));
  EXPECT_EQ(only_pod(objects).priority, 3);
  EXPECT_EQ(only_pod(objects).preemption_policy, PreemptionPolicy::kPreemptLowerPriority);
}

TEST(Admission, AMissingPolicyComesFromTheClassEvenWithAPriority) {
  const auto objects = load_good(list_of({pod_json(R"("priorityClassName":"high","priority":3,)"),
                                          priority_class("high", 7, R"(,"preemptionPolicy":"Never")")}));
  EXPECT_EQ(only_pod(objects).priority, 3);
  EXPECT_EQ(only_pod(objects).preemption_policy, PreemptionPolicy::kNever);
}

TEST(Admission, PodsWithoutPriorityGetTheLowestGlobalDefault) {
  const Strings classes = {priority_class("a", 9, R"(,"globalDefault":true)"),
                           priority_class("b", 4, R"(,"globalDefault":true,"preemptionPolicy":"Never")")};
  const auto without = load_good(list_of({pod_json(""), classes[0], classes[1]}));
  EXPECT_EQ(only_pod(without).priority, 4);
  EXPECT_EQ(only_pod(without).preemption_policy, PreemptionPolicy::kNever);
  const auto with = load_good(list_of({pod_json(R"("priority":1,)"), classes[0], classes[1]}));
  EXPECT_EQ(only_pod(with).priority, 1);
  EXPECT_EQ(only_pod(with).preemption_policy, PreemptionPolicy::kPreemptLowerPriority);
}

TEST(Admission, SystemClassesAreBuiltIn) {
  EXPECT_EQ(only_pod(load_good(pod_json(R"("priorityClassName":"system-cluster-critical",)"))).priority, 2000000000);
  EXPECT_EQ(only_pod(load_good(pod_json(R"("priorityClassName":"system-node-critical",)"))).priority, 2000001000);
}

TEST(Admission, AnUnknownClassIsAnErrorOnlyWithoutAPriority) {
  EXPECT_EQ(
      problems_of(pod_json(R"("priorityClassName":"nope",)")),
      Strings{
          R"(test: Pod default/p: spec.priorityClassName: got "nope", expected a PriorityClass of the input, since spec.priority is absent. To add what is missing: kubectl get priorityclasses -A -o json, or all that Berth reads: )" +
          std::string(kDumpCommand)});
  EXPECT_EQ(only_pod(load_good(pod_json(R"("priorityClassName":"nope","priority":2,)"))).priority, 2);
}

constexpr const char* kKata =
    R"({"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"kata"},"handler":"k",
  "overhead":{"podFixed":{"cpu":"250m"}},"scheduling":{"nodeSelector":{"kata":"yes","zone":"a"},"tolerations":[{"key":"kata","operator":"Exists"}]}})";

TEST(Admission, ARuntimeClassAddsOverheadSelectorAndTolerations) {
  const auto objects =
      load_good(list_of({pod_json(R"("runtimeClassName":"kata","nodeSelector":{"disk":"ssd"},)"), kKata}));
  const PodSpec& spec = *only_pod(objects).spec;
  EXPECT_EQ(find(spec.overhead, "cpu")->milli_value(), 250);
  EXPECT_EQ(spec.node_selector, (LabelMap{{"disk", "ssd"}, {"kata", "yes"}, {"zone", "a"}}));
  EXPECT_EQ(spec.tolerations, (std::vector<Toleration>{{"kata", TolerationOperator::kExists, "", std::nullopt}}));
  EXPECT_TRUE(objects.warnings.empty());
}

TEST(Admission, PresentOverheadAndSelectorsOverrideTheRuntimeClass) {
  const auto objects =
      load_good(list_of({pod_json(R"("runtimeClassName":"kata","overhead":{"cpu":"1"},"nodeSelector":{"zone":"b"},
      "tolerations":[{"key":"kata","operator":"Exists"}],)"),
                         kKata}));
  const PodSpec& spec = *only_pod(objects).spec;
  EXPECT_EQ(find(spec.overhead, "cpu")->value(), 1);
  EXPECT_EQ(spec.node_selector.find("zone"), "b");
  EXPECT_EQ(spec.tolerations.size(), 1u);
  EXPECT_EQ(
      objects.warnings,
      Strings{R"(RuntimeClass "kata" and a pod that names it select different values of zone: the pod's is kept)"});
}

TEST(Admission, AppliesToTemplatesOfWorkloads) {
  const auto objects =
      load_good(list_of({R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"rs"},"spec":{
      "template":{"spec":{"priorityClassName":"high","runtimeClassName":"kata","containers":[]}}}})",
                         priority_class("high", 7), kKata}));
  EXPECT_EQ(only_pod(objects).priority, 7);
  EXPECT_EQ(find(only_pod(objects).spec->overhead, "cpu")->milli_value(), 250);
}

TEST(Admission, AnUnknownClassInATemplateOmitsTheWorkload) {
  EXPECT_EQ(
      problems_of(R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"rs"},"spec":{
      "template":{"spec":{"priorityClassName":"nope"}}}})"),
      Strings{
          R"(test: ReplicaSet default/rs: spec.template.spec.priorityClassName: got "nope", expected a PriorityClass of the input, since spec.priority is absent. To add what is missing: kubectl get priorityclasses -A -o json, or all that Berth reads: )" +
          std::string(kDumpCommand)});
}

}  // namespace
}  // namespace berth
