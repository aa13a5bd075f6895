// SPDX-License-Identifier: Apache-2.0
// Worked examples of the filters: docs/behaviour/plugins-node.md 5 to 10 and 13, by their ids.

#include "tests/contract/backend_contract.h"

namespace berth::test {
namespace {

constexpr StatusCode kResolvable = StatusCode::kUnschedulable;
constexpr StatusCode kUnresolvable = StatusCode::kUnschedulableAndUnresolvable;

// NodeUnschedulable

TEST_P(BackendContract, E_NU_1_ASchedulableNodeAcceptsThePod) {
  given("node n\npod p");
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_NU_2_ACordonedNodeRejectsThePod) {
  given("node n unschedulable\npod p");
  expect_refusal("p", "n", "NodeUnschedulable", kUnresolvable, {"node(s) were unschedulable"});
}

TEST_P(BackendContract, E_NU_3_ATolerationOfEverythingToleratesACordon) {
  given("node n unschedulable\npod p tolerate=*");
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_NU_4_ATolerationOfNoExecuteDoesNotTolerateACordon) {
  given("node n unschedulable\npod p tolerate=node.kubernetes.io/unschedulable:NoExecute");
  expect_refusal("p", "n", "NodeUnschedulable", kUnresolvable, {"node(s) were unschedulable"});
}

TEST_P(BackendContract, E_NU_5_AnEqualTolerationOfTheEmptyValueToleratesACordon) {
  given("node n unschedulable\npod p tolerate=node.kubernetes.io/unschedulable=:NoSchedule");
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_NU_6_AnEqualTolerationOfAnotherValueDoesNotTolerateACordon) {
  given("node n unschedulable\npod p tolerate=node.kubernetes.io/unschedulable=true:NoSchedule");
  expect_refusal("p", "n", "NodeUnschedulable", kUnresolvable, {"node(s) were unschedulable"});
}

// NodeName

/// A pod that names its node. The queue never contains one, but explain may evaluate it.
PodPtr pod_for_node(const std::string& node_name) {
  Pod pod;
  pod.name = "p";
  PodSpec spec;
  spec.containers.emplace_back();
  pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  pod.node_name = node_name;
  return std::make_shared<const Pod>(std::move(pod));
}

TEST_P(BackendContract, E_NN_1_APodWithoutANodeNameMatchesEveryNode) {
  given("node n1\nnode n2");
  const Evaluation evaluation = ask(pod_for_node(""));
  EXPECT_TRUE(on(evaluation, "n1").feasible);
  EXPECT_TRUE(on(evaluation, "n2").feasible);
}

TEST_P(BackendContract, E_NN_2_APodMatchesTheNodeItNames) {
  given("node n1\nnode n2");
  EXPECT_TRUE(on(ask(pod_for_node("n1")), "n1").feasible);
}

TEST_P(BackendContract, E_NN_3_APodDoesNotMatchANodeItDoesNotName) {
  given("node n1\nnode n2");
  const Status status = on(ask(pod_for_node("n1")), "n2").status;
  EXPECT_EQ(status, (Status{kUnresolvable, "NodeName", {"node(s) didn't match the requested node name"}}));
}

TEST_P(BackendContract, E_NN_4_NodeNamesAreCaseSensitive) {
  given("node n1");
  EXPECT_EQ(on(ask(pod_for_node("N1")), "n1").status.plugin, "NodeName");
}

// TaintToleration

constexpr const char* kTaintReason = "node(s) had untolerated taint(s)";

TEST_P(BackendContract, E_TT_1_AnEqualTolerationMatchesKeyValueAndEffect) {
  given("node n taint=a=1:NoSchedule\npod p tolerate=a=1:NoSchedule");
  expect_pass("p", "n");
  EXPECT_EQ(raw("p", "n", "TaintToleration"), 0);
}

TEST_P(BackendContract, E_TT_2_OneUntoleratedTaintRejectsThePod) {
  given("node n taint=a=1:NoSchedule taint=b=:NoExecute\npod p tolerate=a");
  expect_refusal("p", "n", "TaintToleration", kUnresolvable, {kTaintReason});
}

TEST_P(BackendContract, E_TT_3_ANoScheduleTolerationDoesNotCoverPreferNoSchedule) {
  given("node n taint=a=1:PreferNoSchedule taint=b=2:PreferNoSchedule\npod p tolerate=a:NoSchedule");
  EXPECT_EQ(raw("p", "n", "TaintToleration"), 2);
}

TEST_P(BackendContract, E_TT_4_ATolerationWithoutEffectCoversPreferNoSchedule) {
  given("node n taint=a=1:PreferNoSchedule taint=b=2:PreferNoSchedule\npod p tolerate=b=2");
  EXPECT_EQ(raw("p", "n", "TaintToleration"), 1);
}

TEST_P(BackendContract, E_TT_5_ATolerationOfEverythingToleratesEverything) {
  given("node n taint=a=1:NoSchedule taint=c=3:PreferNoSchedule\npod p tolerate=*");
  EXPECT_EQ(raw("p", "n", "TaintToleration"), 0);
}

TEST_P(BackendContract, E_TT_6_GtToleratesOnlyWithItsGateOn) {
  given("node n taint=lvl=5:NoSchedule\npod p tolerate=lvl>3");
  expect_refusal("p", "n", "TaintToleration", kUnresolvable, {kTaintReason});
  given("config gates=TaintTolerationComparisonOperators=true\nnode n taint=lvl=5:NoSchedule\npod p tolerate=lvl>3");
  expect_pass("p", "n");
}

TEST_P(BackendContract, LtToleratesOnlySmallerTaintValues) {
  given(R"(config gates=TaintTolerationComparisonOperators=true
node low taint=lvl=-7:NoSchedule
node same taint=lvl=3:NoSchedule
node odd taint=lvl=02:NoSchedule
pod p tolerate=lvl<3
pod odd tolerate=lvl<+9)");
  expect_pass("p", "low");
  expect_refusal("p", "same", "TaintToleration", kUnresolvable, {kTaintReason});
  // Numbers with a leading zero or a plus sign are not canonical and never compare.
  expect_refusal("p", "odd", "TaintToleration", kUnresolvable, {kTaintReason});
  expect_refusal("odd", "same", "TaintToleration", kUnresolvable, {kTaintReason});
}

// NodeAffinity

constexpr const char* kTwoNodes =
    "node x label:disk=ssd label:gen=7 label:zone=a\nnode y label:disk=hdd label:gen=v7\n";
constexpr const char* kAffinityReason = "node(s) didn't match Pod's node affinity/selector";

std::string two_nodes_and(const std::string& pod_words) { return kTwoNodes + ("pod p " + pod_words); }

TEST_P(BackendContract, E_NA_1_ANodeSelectorRequiresEqualLabels) {
  given(two_nodes_and("select:disk=ssd"));
  expect_pass("p", "x");
  expect_refusal("p", "y", "NodeAffinity", kUnresolvable, {kAffinityReason});
}

TEST_P(BackendContract, E_NA_2_GtIsFalseForANonNumericLabel) {
  given(two_nodes_and("need=gen:Gt:5"));
  expect_pass("p", "x");
  expect_refusal("p", "y", "NodeAffinity", kUnresolvable, {kAffinityReason});
}

TEST_P(BackendContract, E_NA_3_NotInMatchesAnAbsentKey) {
  given(two_nodes_and("need=zone:NotIn:b"));
  expect_pass("p", "x");
  expect_pass("p", "y");
}

TEST_P(BackendContract, E_NA_4_RequirementsAreAndedAndTermsOred) {
  given(two_nodes_and("need=disk:In:ssd&zone:DoesNotExist need=disk:In:hdd"));
  expect_refusal("p", "x", "NodeAffinity", kUnresolvable, {kAffinityReason});
  expect_pass("p", "y");
}

TEST_P(BackendContract, E_NA_5_AnEmptyTermListMatchesNoNode) {
  given(two_nodes_and("need-nothing"));
  expect_refusal("p", "x", "NodeAffinity", kUnresolvable, {kAffinityReason});
  expect_refusal("p", "y", "NodeAffinity", kUnresolvable, {kAffinityReason});
}

TEST_P(BackendContract, E_NA_6_AnUnnamedNodeIsNotACandidate) {
  given(two_nodes_and("need=@metadata.name:In:y"));
  expect_refusal("p", "x", "PreFilter", kUnresolvable, {});
  expect_pass("p", "y");
}

TEST_P(BackendContract, E_NA_7_ContradictoryNodeNamesAreRejectedInPreFilter) {
  given(two_nodes_and("need=@metadata.name:In:x&@metadata.name:In:y"));
  expect_refusal("p", "x", "PreFilter", kUnresolvable, {"pod affinity terms conflict"});
  expect_refusal("p", "y", "PreFilter", kUnresolvable, {"pod affinity terms conflict"});
}

TEST_P(BackendContract, E_NA_8_AMalformedTermMatchesNothingAndOtherTermsStillCount) {
  given(two_nodes_and("need=gen:Gt:-5 need=disk:Exists"));
  expect_pass("p", "x");
  expect_pass("p", "y");
}

TEST_P(BackendContract, E_NA_9_AFieldWithTwoValuesIsMalformedButSelectsCandidates) {
  given(two_nodes_and("need=@metadata.name:In:x,y"));
  expect_refusal("p", "x", "NodeAffinity", kUnresolvable, {kAffinityReason});
  expect_refusal("p", "y", "NodeAffinity", kUnresolvable, {kAffinityReason});
}

TEST_P(BackendContract, AnEmptyTermKeepsEveryNodeACandidateAndMatchesNone) {
  given(two_nodes_and("need=@metadata.name:In:y need="));
  expect_refusal("p", "x", "NodeAffinity", kUnresolvable, {kAffinityReason});
  expect_pass("p", "y");
}

TEST_P(BackendContract, AnUnknownFieldReadsAsTheEmptyString) {
  given(two_nodes_and("need=@spec.x:NotIn:y"));
  expect_pass("p", "x");
  given(two_nodes_and("need=@spec.x:In:y"));
  expect_refusal("p", "y", "NodeAffinity", kUnresolvable, {kAffinityReason});
}

TEST_P(BackendContract, AddedAffinityIsCheckedBeforeThePodsOwn) {
  given(std::string("config added-need=disk:In:ssd\n") + kTwoNodes + "pod p select:zone=b");
  expect_refusal("p", "x", "NodeAffinity", kUnresolvable, {kAffinityReason});
  expect_refusal("p", "y", "NodeAffinity", kUnresolvable, {"node(s) didn't match scheduler-enforced node affinity"});
}

// NodePorts

constexpr const char* kPortReason = "node(s) didn't have free ports for the requested pod ports";

std::string with_ports(const std::string& used, const std::string& wanted) {
  return "node n\npod used on=n port=" + used + "\npod p " + wanted;
}

TEST_P(BackendContract, E_NP_1_APortOnTwoAddressesDoesNotConflict) {
  given(with_ports("127.0.0.1/TCP/8080", "port=127.0.0.2/TCP/8080"));
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_NP_2_AWantedWildcardConflictsWithEveryAddress) {
  given(with_ports("127.0.0.1/TCP/8080", "port=8080"));
  expect_refusal("p", "n", "NodePorts", kResolvable, {kPortReason});
}

TEST_P(BackendContract, E_NP_3_AUsedWildcardConflictsWithEveryAddress) {
  given(with_ports("0.0.0.0/TCP/8080", "port=10.0.0.1/TCP/8080"));
  expect_refusal("p", "n", "NodePorts", kResolvable, {kPortReason});
}

TEST_P(BackendContract, E_NP_4_PortsOfDifferentProtocolsDoNotConflict) {
  given(with_ports("0.0.0.0/TCP/53", "port=0.0.0.0/UDP/53"));
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_NP_5_TheUnspecifiedIPv6AddressIsNotAWildcard) {
  given(with_ports("127.0.0.1/TCP/80", "port=::/TCP/80"));
  expect_pass("p", "n");
  given(with_ports("0.0.0.0/TCP/80", "port=::/TCP/80"));
  expect_refusal("p", "n", "NodePorts", kResolvable, {kPortReason});
}

TEST_P(BackendContract, E_NP_6_PortsOfOrdinaryInitContainersAreIgnored) {
  given(with_ports("0.0.0.0/TCP/80", "init port=80"));
  expect_pass("p", "n");
  given(with_ports("0.0.0.0/TCP/80", "sidecar port=80"));
  expect_refusal("p", "n", "NodePorts", kResolvable, {kPortReason});
}

TEST_P(BackendContract, APodsOwnPortsDoNotConflict) {
  given("node n\npod p port=80 port=80 container port=80");
  expect_pass("p", "n");
  EXPECT_EQ(nodes_of(place_pending()), std::vector<std::string>{"n"});
}

// NodeResourcesFit

/// 4000m and 8Gi, of which 3500m and 6Gi are requested by 20 pods.
constexpr const char* kBusyNode = R"(node n cpu=4 memory=8Gi
pod busy on=n cpu=3500m memory=6Gi
pod idle*19 on=n cpu=0 memory=0
)";

std::string busy_node_and(const std::string& pod_words) { return kBusyNode + ("pod p " + pod_words); }

TEST_P(BackendContract, E_RF_1_AnExactFitFits) {
  given(busy_node_and("cpu=500m memory=2Gi"));
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_RF_2_AnInsufficientResourceIsNamed) {
  given(busy_node_and("cpu=600m memory=1Gi"));
  expect_refusal("p", "n", "NodeResourcesFit", kResolvable, {"Insufficient cpu"});
}

TEST_P(BackendContract, E_RF_3_EveryInsufficientResourceIsNamed) {
  given(busy_node_and("cpu=600m memory=3Gi"));
  expect_refusal("p", "n", "NodeResourcesFit", kResolvable, {"Insufficient cpu", "Insufficient memory"});
}

TEST_P(BackendContract, E_RF_4_ARequestAboveAllocatableIsUnresolvable) {
  given(busy_node_and("cpu=600m memory=9Gi"));
  expect_refusal("p", "n", "NodeResourcesFit", kUnresolvable, {"Insufficient cpu", "Insufficient memory"});
}

TEST_P(BackendContract, E_RF_5_ANodeAtItsPodLimitRejectsThePod) {
  given("node n cpu=4 memory=8Gi pods=110\npod r*110 on=n\npod p");
  expect_refusal("p", "n", "NodeResourcesFit", kResolvable, {"Too many pods"});
}

TEST_P(BackendContract, E_RF_6_AZeroRequestFitsAnOvercommittedNode) {
  given("node n cpu=4 memory=8Gi\npod r on=n cpu=4500m memory=6Gi\npod p memory=1Gi");
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_RF_7_AMissingExtendedResourceCanBeIgnoredByGroup) {
  given(busy_node_and("res:vendor.example/gpu=1"));
  expect_refusal("p", "n", "NodeResourcesFit", kUnresolvable, {"Insufficient vendor.example/gpu"});
  given("config ignored-groups=vendor.example\n" + busy_node_and("res:vendor.example/gpu=1"));
  expect_pass("p", "n");
}

TEST_P(BackendContract, OnlyExtendedResourcesCanBeIgnored) {
  given("config ignored=hugepages-2Mi,vendor.example/gpu\n" +
        busy_node_and("res:hugepages-2Mi=2Mi res:vendor.example/gpu=1 res:vendor.example/nic=1"));
  expect_refusal("p", "n", "NodeResourcesFit", kUnresolvable,
                 {"Insufficient hugepages-2Mi", "Insufficient vendor.example/nic"});
}

TEST_P(BackendContract, ReasonsComeInTheOrderOfThePlugins) {
  given("node n pods=0\npod p ephemeral=1 memory=1 cpu=1 res:b.example/x=1 res:a.example/x=1");
  expect_refusal("p", "n", "NodeResourcesFit", kUnresolvable,
                 {"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage",
                  "Insufficient a.example/x", "Insufficient b.example/x"});
}

TEST_P(BackendContract, ANodeWithoutAPodsEntryAcceptsNoPod) {
  given("node n cpu=4 pods=0\npod p");
  expect_refusal("p", "n", "NodeResourcesFit", kResolvable, {"Too many pods"});
}

TEST_P(BackendContract, InitContainersSidecarsOverheadAndPodLevelRequestsCount) {
  // E-R-2 and E-R-3: phases 300, 150, 850, 200 against a total of 600, plus 120 of overhead.
  const std::string pod =
      "pod p cpu=400m init cpu=300m sidecar cpu=150m init cpu=700m sidecar cpu=50m overhead:cpu=120m";
  given("node n cpu=970m\n" + pod);
  expect_pass("p", "n");
  given("node n cpu=969m\n" + pod);
  expect_refusal("p", "n", "NodeResourcesFit", kUnresolvable, {"Insufficient cpu"});
  given("node n cpu=1099m memory=1Gi\npod p cpu=300m container cpu=300m pod-level:cpu=1 overhead:cpu=100m");
  expect_refusal("p", "n", "NodeResourcesFit", kUnresolvable, {"Insufficient cpu"});
}

// NodeDeclaredFeatures

constexpr const char* kFeature = "RestartAllContainersOnContainerExits";

TEST_P(BackendContract, E_ND_1_NoFeatureIsRequiredWithTheGateOff) {
  given("node n\npod p restarts-all");
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_ND_2_ANodeThatDeclaresTheFeatureAcceptsThePod) {
  given(std::string("config gates=NodeDeclaredFeatures=true\nnode n feature=G feature=") + kFeature +
        "\npod p restarts-all");
  expect_pass("p", "n");
}

TEST_P(BackendContract, E_ND_3_AMissingFeatureIsNamed) {
  given("config gates=NodeDeclaredFeatures=true\nnode n\npod p restarts-all");
  const std::string reason = std::string("node declared features check failed - unsatisfied requirements: ") + kFeature;
  expect_refusal("p", "n", "NodeDeclaredFeatures", kUnresolvable, {reason});
  EXPECT_EQ(fit_error("p"), "0/1 nodes are available: 1 " + reason + ".");
}

TEST_P(BackendContract, E_ND_4_APodThatNeedsNoFeatureFitsEveryNode) {
  given("config gates=NodeDeclaredFeatures=true\nnode n\npod p");
  expect_pass("p", "n");
}

TEST_P(BackendContract, V136HasAShorterReasonForAMissingFeature) {
  given("config release=1.36\nnode n\npod p restarts-all");
  expect_refusal("p", "n", "NodeDeclaredFeatures", kUnresolvable, {"node(s) didn't match Pod's required features"});
}

}  // namespace
}  // namespace berth::test
