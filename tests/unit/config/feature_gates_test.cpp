// SPDX-License-Identifier: Apache-2.0
#include "host/config/feature_gates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/unit/config/config_test_support.h"

namespace berth {
namespace {

Lines problems_of_flag(std::string_view flag, Release release = Release::k1_35) {
  return problems_in([&] { gates_with(flag, release); });
}

TEST(FeatureGates, V135DefaultsMatchTheSpecification) {
  const FeatureGates gates;
  for (const char* on : {"SchedulerQueueingHints", "SchedulerPopFromBackoffQ", "SchedulerAsyncPreemption",
                         "OpportunisticBatching", "NominatedNodeNameForExpectation", "DynamicResourceAllocation",
                         "ClearingNominatedNodeNameAfterBinding", "DRASchedulerFilterTimeout", "PodLevelResources",
                         "InPlacePodVerticalScaling", "SidecarContainers", "MatchLabelKeysInPodTopologySpread",
                         "VolumeAttributesClass", "DRAAdminAccess", "DRAPrioritizedList", "WatchListClient"}) {
    EXPECT_TRUE(gates.enabled(on)) << on;
  }
  for (const char* off : {"SchedulerAsyncAPICalls", "GenericWorkload", "GangScheduling", "NodeDeclaredFeatures",
                          "DRAExtendedResource", "DRADeviceBindingConditions", "DRADeviceTaints", "DRADeviceTaintRules",
                          "StorageCapacityScoring", "TaintTolerationComparisonOperators", "CoordinatedLeaderElection",
                          "InPlacePodLevelResourcesVerticalScaling", "VolumeLimitScaling"}) {
    EXPECT_FALSE(gates.enabled(off)) << off;
  }
}

TEST(FeatureGates, V136DefaultsDifferAsSpecified) {
  const FeatureGates gates(Release::k1_36);
  for (const char* on :
       {"NodeDeclaredFeatures", "DRAExtendedResource", "DRADeviceBindingConditions", "DRADeviceTaints",
        "DRAPartitionableDevices", "DRAConsumableCapacity", "InPlacePodLevelResourcesVerticalScaling"}) {
    EXPECT_TRUE(gates.enabled(on)) << on;
  }
  for (const char* off : {"TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption", "GangScheduling",
                          "StorageCapacityScoring", "TaintTolerationComparisonOperators"}) {
    EXPECT_FALSE(gates.enabled(off)) << off;
  }
}

TEST(FeatureGates, AFlagChangesTheGatesItNames) {
  const FeatureGates gates = gates_with(" NodeDeclaredFeatures = T , OpportunisticBatching=0,,");
  EXPECT_TRUE(gates.enabled("NodeDeclaredFeatures"));
  EXPECT_FALSE(gates.enabled("OpportunisticBatching"));
}

TEST(FeatureGates, AllAlphaSetsUnnamedAlphaGates) {
  const FeatureGates gates = gates_with("StorageCapacityScoring=false,AllAlpha=true");
  EXPECT_TRUE(gates.enabled("NodeDeclaredFeatures"));
  EXPECT_TRUE(gates.enabled("GangScheduling"));
  EXPECT_FALSE(gates.enabled("StorageCapacityScoring"));
  EXPECT_FALSE(gates.enabled("SchedulerAsyncAPICalls"));           // a beta gate
  EXPECT_FALSE(gates.enabled("TopologyAwareWorkloadScheduling"));  // not in 1.35
}

TEST(FeatureGates, ANamedGateOverridesAllAlphaInAnyOrder) {
  EXPECT_FALSE(gates_with("AllAlpha=true,StorageCapacityScoring=false").enabled("StorageCapacityScoring"));
  FeatureGates gates = gates_with("StorageCapacityScoring=false");
  gates.apply("AllAlpha=true");
  EXPECT_FALSE(gates.enabled("StorageCapacityScoring"));
}

TEST(FeatureGates, AllBetaSkipsLockedGates) {
  const FeatureGates gates = gates_with("AllBeta=false");
  EXPECT_FALSE(gates.enabled("OpportunisticBatching"));
  EXPECT_TRUE(gates.enabled("SchedulerQueueingHints"));
}

TEST(FeatureGates, AnUnknownGateIsReported) {
  EXPECT_EQ(problems_of_flag("Nonsense=true"), Lines{"Nonsense: no feature gate of the scheduler has this name"});
}

TEST(FeatureGates, AGateOfALaterReleaseIsRefused) {
  EXPECT_EQ(problems_of_flag("TopologyAwareWorkloadScheduling=true"),
            Lines{"TopologyAwareWorkloadScheduling: Kubernetes 1.35 does not have this feature gate"});
}

TEST(FeatureGates, ANonBooleanValueIsRefused) {
  EXPECT_EQ(problems_of_flag("NodeDeclaredFeatures=yes,OpportunisticBatching"),
            (Lines{"NodeDeclaredFeatures: got \"yes\", expected true or false",
                   "OpportunisticBatching: got \"\", expected true or false"}));
}

TEST(FeatureGates, ALockedGateAcceptsOnlyItsValue) {
  EXPECT_EQ(problems_of_flag("SchedulerQueueingHints=true"), Lines{});
  EXPECT_EQ(problems_of_flag("SchedulerQueueingHints=false"),
            Lines{"SchedulerQueueingHints: is locked to true in Kubernetes 1.35"});
  EXPECT_EQ(problems_of_flag("DRAAdminAccess=false"), Lines{});
  EXPECT_EQ(problems_of_flag("DRAAdminAccess=false", Release::k1_36),
            Lines{"DRAAdminAccess: is locked to true in Kubernetes 1.36"});
}

TEST(FeatureGates, AGateNeedsItsDependencies) {
  EXPECT_EQ(problems_of_flag("GangScheduling=true"),
            Lines{"GangScheduling: is on, but it needs GenericWorkload, which is off"});
  EXPECT_EQ(problems_of_flag("GangScheduling=true,GenericWorkload=true"), Lines{});
}

TEST(FeatureGates, AFailedFlagChangesNothing) {
  FeatureGates gates;
  EXPECT_THROW(gates.apply("NodeDeclaredFeatures=true,Nonsense=true"), InputError);
  EXPECT_FALSE(gates.enabled("NodeDeclaredFeatures"));
}

TEST(FeatureGates, ReadingAnUnknownGateIsALogicError) {
  EXPECT_THROW(static_cast<void>(FeatureGates().enabled("Nonsense")), std::out_of_range);
}

TEST(FeatureGates, TheTableIsSortedAndCompleteForTheRelease) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  const auto old_rows = FeatureGates(Release::k1_35).table();
  const auto new_rows = FeatureGates(Release::k1_36).table();
  EXPECT_TRUE(std::is_sorted(old_rows.begin(), old_rows.end(), by_name));
  EXPECT_GT(new_rows.size(), old_rows.size());
  const auto row =
      std::find_if(old_rows.begin(), old_rows.end(), [](const auto& r) { return r.name == "GangScheduling"; });
  ASSERT_NE(row, old_rows.end());
  EXPECT_EQ(row->stage, "Alpha");
  EXPECT_FALSE(row->default_enabled);
  EXPECT_FALSE(row->locked);
}

std::string documented(const std::vector<FeatureGates::Row>& rows, const std::string& name) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == name; });
  if (row == rows.end()) return "-";
  return std::string(row->default_enabled ? "on" : "off") + " (" + row->stage + (row->locked ? ", locked)" : ")");
}

TEST(FeatureGates, TheDocumentedTableMatchesTheCode) {
  std::ifstream page("docs/configuration.md");
  if (!page) GTEST_SKIP() << "docs/configuration.md is not below the working directory";
  const std::string text((std::istreambuf_iterator<char>(page)), std::istreambuf_iterator<char>());
  const auto old_rows = FeatureGates(Release::k1_35).table();
  const auto new_rows = FeatureGates(Release::k1_36).table();
  for (const FeatureGates::Row& row : new_rows) {
    const std::string line =
        "| " + row.name + " | " + documented(old_rows, row.name) + " | " + documented(new_rows, row.name) + " |\n";
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(Release, OnlyTheKnownReleasesAreAccepted) {
  EXPECT_EQ(parse_release("1.35"), Release::k1_35);
  EXPECT_EQ(parse_release("v1.36"), Release::k1_36);
  EXPECT_EQ(to_string(Release::k1_36), "1.36");
  EXPECT_EQ(problems_in([] { parse_release("1.34"); }), Lines{": got \"1.34\", expected \"1.35\" or \"1.36\""});
}

TEST(FeatureGates, GatesOfOtherComponentsCanBeLeftOutByName) {
  FeatureGates gates;
  std::vector<std::string> left_out;
  gates.apply("KubeletInUserNamespace=true,StorageCapacityScoring=true,PodReadyToStartContainersCondition=false",
              &left_out);
  EXPECT_EQ(left_out, (Lines{"KubeletInUserNamespace", "PodReadyToStartContainersCondition"}));
  EXPECT_TRUE(gates.enabled("StorageCapacityScoring"));
  EXPECT_EQ(problems_of_flag("KubeletInUserNamespace=true").size(), 1u);
}

TEST(FeatureGates, LeavingOutDoesNotHideValuesThatAreNoBooleansOrGatesOfALaterRelease) {
  for (const char* text : {"KubeletInUserNamespace=maybe", "WorkloadWithJob=true", "=true"}) {
    FeatureGates gates;
    std::vector<std::string> left_out;
    EXPECT_THROW(gates.apply(text, &left_out), InputError) << text;
  }
}

}  // namespace
}  // namespace berth
