// SPDX-License-Identifier: Apache-2.0
#include "host/store/pod_update.h"

#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

constexpr const char* kForbidden =
    "Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

PodSpec spec_of_one_container() {
  PodSpec spec;
  spec.containers.emplace_back();
  spec.containers.back().name = "c";
  return spec;
}

SelectorRequirement exists(const std::string& key) { return {key, SelectorOperator::kExists, {}}; }

class PodUpdate : public testing::Test {
 protected:
  /// What the API server says of a change of the spec.
  std::string change(const std::function<void(PodSpec&)>& change) {
    const StoreResult<Pod> result = test_.update("p", [&](Pod& pod) { StoreFixture::set_spec(pod, change); });
    return result.status.message;
  }
  StoreFixture test_;
};

TEST_F(PodUpdate, TheImageMayChangeAndRaisesTheGeneration) {
  test_.create(test_.make_pod("p", spec_of_one_container()));
  EXPECT_EQ(change([](PodSpec& spec) { spec.containers[0].image = "new"; }), "");
  EXPECT_EQ(test_.pod("p")->meta.generation, 2);
  EXPECT_EQ(test_.pod("p")->object->spec->containers[0].image, "new");
}

TEST_F(PodUpdate, ContainersMayNotBeAdded) {
  test_.create(test_.make_pod("p", spec_of_one_container()));
  EXPECT_EQ(change([](PodSpec& spec) { spec.containers.emplace_back(); }),
            "Pod \"p\" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers");
}

TEST_F(PodUpdate, TolerationsMayBeAddedButNotChanged) {
  PodSpec spec;
  spec.tolerations = {{.key = "a", .value = "", .effect = {}}};
  test_.create(test_.make_pod("p", spec));
  EXPECT_EQ(change([](PodSpec& changed) {
              changed.tolerations.push_back({.key = "b", .value = "", .effect = {}});
              changed.tolerations_hash = 7;  // as a decoder has it
            }),
            "");
  EXPECT_EQ(change([](PodSpec& changed) { changed.tolerations[0].key = "c"; }),
            "Pod \"p\" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except its "
            "tolerationSeconds");
}

TEST_F(PodUpdate, TheRestOfTheSpecIsImmutable) {
  test_.create(test_.make_pod("p"));
  EXPECT_EQ(change([](PodSpec& spec) { spec.host_network = true; }), kForbidden);
  EXPECT_EQ(change([](PodSpec& spec) { spec.node_selector = {{"a", "b"}}; }), kForbidden);
  EXPECT_EQ(test_.update("p", [](Pod& pod) { pod.priority = 3; }).status.message, kForbidden);
  EXPECT_EQ(test_.update("p", [](Pod& pod) { pod.node_name = "n"; }).status.message, kForbidden);
  EXPECT_EQ(test_.store.resource_version(), 1U);
}

TEST_F(PodUpdate, GatesMayBeRemovedButNotAdded) {
  test_.create(test_.make_gated_pod("p"));
  const auto set_gates = [&](const std::vector<std::string>& gates) {
    return test_.update("p", [&](Pod& pod) {
      PodRare rare = pod.rare();
      rare.scheduling_gates = gates;
      pod.rare_fields = std::make_unique<const PodRare>(rare);
    });
  };
  EXPECT_TRUE(set_gates({"b"}).is_success());
  EXPECT_EQ(set_gates({"b", "c"}).status.message,
            "Pod \"p\" is invalid: spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new "
            "scheduling gate 'c'");
  EXPECT_TRUE(set_gates({}).is_success());
  EXPECT_EQ(test_.pod("p")->meta.generation, 3);
}

TEST_F(PodUpdate, TheNodeSelectorOfAGatedPodMayGrow) {
  PodSpec spec;
  spec.node_selector = {{"a", "1"}};
  test_.create(test_.make_gated_pod("p", spec));
  EXPECT_EQ(change([](PodSpec& changed) { changed.node_selector = {{"a", "1"}, {"b", "2"}}; }), "");
  EXPECT_EQ(change([](PodSpec& changed) { changed.node_selector = {{"b", "2"}}; }),
            "Pod \"p\" is invalid: spec.nodeSelector: Invalid value: only additions to spec.nodeSelector are allowed "
            "(no mutations or deletions)");
}

TEST_F(PodUpdate, RequiredNodeAffinityOfAGatedPodMayNarrow) {
  PodSpec spec;
  spec.node_affinity = NodeAffinity{};
  spec.node_affinity->required = {{{exists("a")}, {}}};
  test_.create(test_.make_gated_pod("p", spec));
  const std::string path =
      "Pod \"p\" is invalid: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
      "nodeSelectorTerms";
  const auto set_terms = [&](const std::vector<NodeSelectorTerm>& terms) {
    return change([&](PodSpec& changed) { changed.node_affinity->required = terms; });
  };
  EXPECT_EQ(set_terms({{{exists("a"), exists("b")}, {}}}), "");
  EXPECT_EQ(set_terms({{{exists("b")}, {}}}),
            path + "[0]: Invalid value: only additions are allowed (no mutations or deletions)");
  EXPECT_EQ(set_terms({}),
            path + ": Invalid value: no additions/deletions to non-empty NodeSelectorTerms list are allowed");
  EXPECT_EQ(change([](PodSpec& changed) { changed.node_affinity->preferred.push_back({1, {{exists("x")}, {}}}); }), "");
}

TEST_F(PodUpdate, AnUpdateDoesNotTouchTheStatus) {
  test_.create(test_.make_pod("p"));
  test_.store.update_status(test_.key("p"), {.phase = PodPhase::kRunning, .nominated_node_name = "n2"});
  const StoreResult<Pod> result = test_.update("p", [](Pod& pod) {
    pod.phase = PodPhase::kFailed;
    pod.rare_fields = nullptr;
    pod.labels = {{"a", "b"}};
  });
  EXPECT_EQ(result.stored->object->phase, PodPhase::kRunning);
  EXPECT_EQ(result.stored->object->rare().nominated_node_name, "n2");
  EXPECT_EQ(result.stored->object->labels.find("a"), "b");
}

}  // namespace
}  // namespace berth::test
