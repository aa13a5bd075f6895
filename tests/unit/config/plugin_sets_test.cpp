// SPDX-License-Identifier: Apache-2.0
// The plugin lists of profiles: defaults, merging, multiPoint. docs/behaviour/scheduler-core.md 3.13 and 7.3.

#include "host/config/plugin_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "host/config/plugin_catalog.h"
#include "tests/unit/config/config_test_support.h"

namespace berth {
namespace {

using enum ExtensionPoint;

SchedulerConfig with_plugins(const std::string& plugins, const FeatureGates& gates = FeatureGates()) {
  return parse(profile_json(R"("plugins": {)" + plugins + "}"), gates);
}

Lines plugin_problems(const std::string& plugins, const FeatureGates& gates = FeatureGates()) {
  return problems_of(profile_json(R"("plugins": {)" + plugins + "}"), gates);
}

TEST(DefaultPlugins, V135RunsTheDefaultListInOrderAtEachPoint) {
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  EXPECT_EQ(names_at(config, kPreEnqueue), (Lines{"SchedulingGates", "DynamicResources", "DefaultPreemption"}));
  EXPECT_EQ(names_at(config, kQueueSort), Lines{"PrioritySort"});
  EXPECT_EQ(names_at(config, kPreFilter),
            (Lines{"NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
                   "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources"}));
  EXPECT_EQ(names_at(config, kFilter),
            (Lines{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
                   "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
                   "InterPodAffinity", "DynamicResources"}));
  EXPECT_EQ(names_at(config, kPostFilter), (Lines{"DynamicResources", "DefaultPreemption"}));
  EXPECT_EQ(names_at(config, kPreScore),
            (Lines{"TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread",
                   "InterPodAffinity", "NodeResourcesBalancedAllocation"}));
  EXPECT_EQ(
      names_at(config, kScore),
      (Lines{"TaintToleration=3", "NodeAffinity=2", "NodeResourcesFit=1", "VolumeBinding=1", "PodTopologySpread=2",
             "InterPodAffinity=2", "DynamicResources=2", "NodeResourcesBalancedAllocation=1", "ImageLocality=1"}));
  EXPECT_EQ(names_at(config, kReserve), (Lines{"VolumeBinding", "DynamicResources"}));
  EXPECT_EQ(names_at(config, kPermit), Lines{});
  EXPECT_EQ(names_at(config, kPreBind), (Lines{"VolumeBinding", "DynamicResources"}));
  EXPECT_EQ(names_at(config, kBind), Lines{"DefaultBinder"});
  EXPECT_EQ(names_at(config, kPostBind), Lines{});
}

TEST(DefaultPlugins, V136RunsNodeDeclaredFeaturesLast) {
  const SchedulerConfig config = default_scheduler_config(FeatureGates(Release::k1_36));
  EXPECT_EQ(names_at(config, kFilter).back(), "NodeDeclaredFeatures");
  EXPECT_EQ(names_at(config, kPreFilter).back(), "NodeDeclaredFeatures");
}

TEST(DefaultPlugins, GangSchedulingJoinsWithItsGateOn) {
  const SchedulerConfig config = default_scheduler_config(gates_with("GangScheduling=true,GenericWorkload=true"));
  EXPECT_EQ(names_at(config, kPermit), Lines{"GangScheduling"});
  EXPECT_EQ(names_at(config, kPreEnqueue).back(), "GangScheduling");
}

TEST(DefaultPlugins, V136PlacementPluginsAreKnownWithoutAPoint) {
  const SchedulerConfig config =
      default_scheduler_config(gates_with("GenericWorkload=true,TopologyAwareWorkloadScheduling=true", Release::k1_36));
  EXPECT_EQ(config.profiles[0].placement_plugins, (Lines{"TopologyPlacementGenerator", "PodGroupPodsCount"}));
  EXPECT_EQ(config.profiles[0].plugin_names().back(), "PodGroupPodsCount");
}

TEST(DefaultPlugins, AProfileListsEachPluginOnce) {
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  EXPECT_EQ(config.profiles[0].plugin_names().size(), 19u);
  EXPECT_TRUE(config.profiles[0].enables(kFilter, "NodePorts"));
  EXPECT_FALSE(config.profiles[0].enables(kScore, "NodePorts"));
}

TEST(NamedPlugins, AProfileRecordsExplicitlyEnabledPlugins) {
  const SchedulerConfig config = with_plugins(
      R"("multiPoint": {"enabled": [{"name": "NodePorts"}, {"name": "ImageLocality"}]},
         "score": {"enabled": [{"name": "ImageLocality"}], "disabled": [{"name": "NodeAffinity"}]})");
  const std::vector<NamedPlugin>& named = config.profiles[0].named_plugins;
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].name, "ImageLocality");
  EXPECT_NE(named[0].path.find("profiles[0].plugins.score.enabled[0]"), std::string::npos) << named[0].path;
  EXPECT_EQ(named[1].name, "NodePorts");
  EXPECT_TRUE(default_scheduler_config(FeatureGates()).profiles[0].named_plugins.empty());
}

TEST(PluginCatalog, EveryPluginIsFoundByItsName) {
  for (const CatalogPlugin& plugin : plugin_catalog()) EXPECT_EQ(find_catalog_plugin(plugin.name), &plugin);
  EXPECT_EQ(find_catalog_plugin("Nonsense"), nullptr);
  EXPECT_EQ(plugin_catalog().size(), 23u);
}

TEST(PluginMerge, RelistingADefaultInMultiPointChangesItsWeightNotItsPlace) {
  const SchedulerConfig config = with_plugins(R"("multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}]})");
  EXPECT_EQ(names_at(config, kScore)[1], "NodeAffinity=7");
}

TEST(PluginMerge, DisablingAndEnablingInMultiPointMovesAPluginToTheEnd) {
  const SchedulerConfig config = with_plugins(
      R"("multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}], "disabled": [{"name": "NodeAffinity"}]})");
  EXPECT_EQ(names_at(config, kScore).back(), "NodeAffinity=7");
  EXPECT_EQ(names_at(config, kFilter).back(), "NodeAffinity");
}

TEST(PluginMerge, AWeightOfZeroInMultiPointCountsAsOne) {
  const SchedulerConfig config = with_plugins(R"("multiPoint": {"enabled": [{"name": "TaintToleration"}]})");
  EXPECT_EQ(names_at(config, kScore)[0], "TaintToleration=1");
}

TEST(PluginMerge, AStarInMultiPointDropsAllDefaults) {
  const SchedulerConfig config = with_plugins(
      R"("multiPoint": {"disabled": [{"name": "*"}],
         "enabled": [{"name": "PrioritySort"}, {"name": "NodeName"}, {"name": "DefaultBinder"}]})");
  EXPECT_EQ(config.profiles[0].plugin_names(), (Lines{"PrioritySort", "NodeName", "DefaultBinder"}));
}

TEST(PluginExpansion, ADisabledStarStopsMultiPointAtThatPointOnly) {
  const SchedulerConfig config = with_plugins(R"("filter": {"disabled": [{"name": "*"}]})");
  EXPECT_EQ(names_at(config, kFilter), Lines{});
  EXPECT_EQ(names_at(config, kPreFilter).size(), 10u);
}

TEST(PluginExpansion, ADisabledStarKeepsThePointsOwnList) {
  const SchedulerConfig config = with_plugins(
      R"("score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 4}, {"name": "NodeAffinity"}]})");
  EXPECT_EQ(names_at(config, kScore), (Lines{"ImageLocality=4", "NodeAffinity=1"}));
}

TEST(PluginExpansion, APluginDisabledByNameLeavesOnlyThatPoint) {
  const SchedulerConfig config = with_plugins(R"("score": {"disabled": [{"name": "NodeAffinity"}]})");
  EXPECT_FALSE(config.profiles[0].enables(kScore, "NodeAffinity"));
  EXPECT_TRUE(config.profiles[0].enables(kFilter, "NodeAffinity"));
}

TEST(PluginExpansion, AScoreEntryOverridesTheWeightAndComesFirst) {
  const SchedulerConfig config = with_plugins(R"("score": {"enabled": [{"name": "ImageLocality", "weight": 5}]})");
  const Lines names = names_at(config, kScore);
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(names[0], "ImageLocality=5");
  EXPECT_EQ(names[1], "TaintToleration=3");
}

TEST(PluginExpansion, AScoreEntryWithoutWeightOverridesMultiPointWithOne) {
  const SchedulerConfig config = with_plugins(R"("score": {"enabled": [{"name": "TaintToleration"}]})");
  EXPECT_EQ(names_at(config, kScore)[0], "TaintToleration=1");
}

// The example of docs/behaviour/scheduler-core.md 3.13 with A = NodeName, B = NodePorts, C = NodeAffinity, X =
// TaintToleration.
TEST(PluginExpansion, OverridesComeFirstThenTheExpansionThenTheRest) {
  const SchedulerConfig config = with_plugins(
      R"("multiPoint": {"disabled": [{"name": "*"}],
           "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}, {"name": "NodeName"}, {"name": "NodePorts"},
                       {"name": "NodeAffinity"}]},
         "filter": {"enabled": [{"name": "NodeAffinity"}, {"name": "TaintToleration"}],
                    "disabled": [{"name": "NodePorts"}]})");
  EXPECT_EQ(names_at(config, kFilter), (Lines{"NodeAffinity", "NodeName", "TaintToleration"}));
  EXPECT_EQ(names_at(config, kPreFilter), (Lines{"NodePorts", "NodeAffinity"}));
}

TEST(PluginExpansion, APluginDisabledAtAPointMayBeEnabledThere) {
  const SchedulerConfig config =
      with_plugins(R"("filter": {"disabled": [{"name": "NodeName"}], "enabled": [{"name": "NodeName"}]})");
  EXPECT_EQ(names_at(config, kFilter).back(), "NodeName");
}

TEST(PluginLists, AnUnknownPluginIsReportedWithItsPath) {
  EXPECT_EQ(plugin_problems(R"("filter": {"enabled": [{"name": "NodeName"}, {"name": "Coscheduling"}]})"),
            Lines{"profiles[0].plugins.filter.enabled[1]: unknown plugin \"Coscheduling\", expected one of "
                  "kube-scheduler's in-tree plugins"});
  EXPECT_EQ(plugin_problems(R"("multiPoint": {"enabled": [{"name": ""}]})").size(), 1u);
}

TEST(PluginLists, ADisabledUnknownPluginIsAccepted) {
  EXPECT_EQ(plugin_problems(R"("filter": {"disabled": [{"name": "Coscheduling"}]})"), Lines{});
}

TEST(PluginLists, ARemovedPluginIsReported) {
  for (const char* name : {"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"}) {
    EXPECT_EQ(plugin_problems(R"("filter": {"enabled": [{"name": ")" + std::string(name) + R"("}]})"),
              Lines{"profiles[0].plugins.filter.enabled[0]: plugin \"" + std::string(name) +
                    "\" was removed from kube-scheduler: use NodeVolumeLimits"});
  }
}

TEST(PluginLists, APluginThatWentWithAnOldVersionNamesItsReplacement) {
  EXPECT_EQ(
      plugin_problems(R"("score": {"enabled": [{"name": "SelectorSpread"}]})"),
      Lines{"profiles[0].plugins.score.enabled[0]: plugin \"SelectorSpread\" was removed from kube-scheduler: use "
            "PodTopologySpread"});
}

SchedulerConfig without_out_of_tree(const std::string& text) {
  return parse_scheduler_config(text, "config.yaml", FeatureGates(), OutOfTree::kLeaveOut);
}

TEST(OutOfTreePlugins, AreLeftOutAndListedOnRequest) {
  const SchedulerConfig config = without_out_of_tree(profile_json(
      R"("plugins": {"score": {"enabled": [{"name": "NodeAffinity"}, {"name": "Trimaran", "weight": 7}]}},
         "pluginConfig": [{"name": "Trimaran", "args": {"anything": [1]}}])"));
  const Profile& profile = config.profiles[0];
  ASSERT_EQ(profile.out_of_tree.size(), 2u);
  EXPECT_EQ(profile.out_of_tree[0].name, "Trimaran");
  EXPECT_EQ(profile.out_of_tree[0].point, "score");
  EXPECT_EQ(profile.out_of_tree[0].weight, 7);
  EXPECT_EQ(profile.out_of_tree[0].path, "line 1, profiles[0].plugins.score.enabled[1]");
  EXPECT_EQ(profile.out_of_tree[1].point, "pluginConfig");
  EXPECT_TRUE(profile.stand_ins.empty());
  const std::vector<std::string> names = profile.plugin_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "Trimaran"), 0);
}

TEST(OutOfTreePlugins, AreReplacedByTheDefaultsWhereAPointWouldBeEmpty) {
  const SchedulerConfig config = without_out_of_tree(profile_json(
      R"("plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]},
                     "bind": {"enabled": [{"name": "MyBinder"}], "disabled": [{"name": "*"}]}})"));
  EXPECT_EQ(names_at(config, ExtensionPoint::kQueueSort), Lines{"PrioritySort"});
  EXPECT_EQ(names_at(config, ExtensionPoint::kBind), Lines{"DefaultBinder"});
  EXPECT_EQ(config.profiles[0].stand_ins, (Lines{"PrioritySort", "DefaultBinder"}));
}

TEST(OutOfTreePlugins, DoNotHideRemovedPluginsAndEmptyNames) {
  for (const char* name : {"EBSLimits", ""}) {
    const std::string text =
        profile_json(R"("plugins": {"filter": {"enabled": [{"name": ")" + std::string(name) + R"("}]}})");
    EXPECT_THROW(without_out_of_tree(text), InputError) << name;
  }
}

TEST(PluginLists, APluginWithItsGateOffIsReportedWithTheGate) {
  const std::string plugins = R"("filter": {"enabled": [{"name": "NodeDeclaredFeatures"}]})";
  EXPECT_EQ(plugin_problems(plugins),
            Lines{"profiles[0].plugins.filter.enabled[0]: plugin \"NodeDeclaredFeatures\" needs the feature gate "
                  "NodeDeclaredFeatures, which is off"});
  EXPECT_EQ(plugin_problems(plugins, gates_with("NodeDeclaredFeatures=true")), Lines{});
}

TEST(PluginLists, APluginMustImplementThePointItIsEnabledAt) {
  EXPECT_EQ(plugin_problems(R"("score": {"enabled": [{"name": "NodeName"}]})"),
            Lines{"profiles[0].plugins.score.enabled[0]: plugin \"NodeName\" has no extension point score"});
}

TEST(PluginLists, ADuplicatePluginAtAPointIsRefused) {
  EXPECT_EQ(
      plugin_problems(R"("filter": {"enabled": [{"name": "NodeName"}, {"name": "NodeName"}]})"),
      Lines{"profiles[0].plugins.filter.enabled[1]: plugin \"NodeName\" is enabled twice at this extension point"});
}

TEST(PluginLists, ADuplicatePluginInMultiPointIsRefused) {
  EXPECT_EQ(plugin_problems(R"("multiPoint": {"enabled": [{"name": "NodePorts"}, {"name": "NodePorts"}]})"),
            Lines{"profiles[0].plugins.multiPoint.enabled[0]: plugin \"NodePorts\" is enabled twice in multiPoint"});
}

TEST(PluginLists, ANegativeWeightIsRefused) {
  EXPECT_EQ(plugin_problems(R"("score": {"enabled": [{"name": "ImageLocality", "weight": -1}]})"),
            Lines{"profiles[0].plugins.score.enabled[0].weight: got -1, expected an integer of at least 0"});
}

TEST(PluginLists, UnknownAndRepeatedFieldsAreRefusedAtEveryLevel) {
  EXPECT_EQ(
      plugin_problems(
          R"("score": {"enabled": [{"name": "ImageLocality", "wait": 1}], "on": [], "on": []}, "Score": {})"),
      (Lines{"profiles[0].plugins.score.enabled[0].wait: unknown field", "profiles[0].plugins.score.on: unknown field",
             "profiles[0].plugins.score.on: duplicate field", "profiles[0].plugins.Score: unknown field"}));
}

TEST(PluginLists, ValuesOfTheWrongTypeAreRefused) {
  EXPECT_EQ(plugin_problems(R"("score": {"enabled": {}}, "filter": [], "bind": {"enabled": [{"name": 3}]})").front(),
            "profiles[0].plugins.score.enabled: got an object, expected an array");
}

TEST(PluginLists, V136PlacementPointsAreNotSupported) {
  const std::string plugins = R"("placementScore": {"enabled": []})";
  EXPECT_EQ(plugin_problems(plugins), Lines{"profiles[0].plugins.placementScore: unknown field"});
  EXPECT_EQ(plugin_problems(plugins, FeatureGates(Release::k1_36)),
            Lines{"profiles[0].plugins.placementScore: extension point placementScore is not supported"});
}

TEST(QueueSort, ExactlyOneQueueSortPluginIsRequired) {
  EXPECT_EQ(plugin_problems(R"("queueSort": {"disabled": [{"name": "*"}]})"),
            Lines{"profiles[0].plugins.queueSort: got 0 plugins, expected exactly one queue sort plugin"});
  EXPECT_EQ(plugin_problems(R"("queueSort": {"enabled": [{"name": "PrioritySort"}, {"name": "PrioritySort"}]})").size(),
            2u);
}

TEST(QueueSort, AllProfilesNeedTheSameQueueSort) {
  const std::string sorted = R"("plugins": {"queueSort": {"enabled": [{"name": "PrioritySort"}]}})";
  EXPECT_EQ(
      problems_of(config_json(R"("profiles": [{"schedulerName": "a", )" + sorted + R"(}, {"schedulerName": "b"}])")),
      Lines{"profiles[1].plugins.queueSort: differs from the first profile's, expected the same in all profiles"});
  EXPECT_EQ(problems_of(config_json(R"("profiles": [{"schedulerName": "a", )" + sorted +
                                    R"(}, {"schedulerName": "b", )" + sorted + "}]")),
            Lines{});
}

TEST(Bind, AtLeastOneBindPluginIsRequired) {
  EXPECT_EQ(plugin_problems(R"("bind": {"disabled": [{"name": "DefaultBinder"}]})"),
            Lines{"profiles[0].plugins.bind: got no plugin, expected at least one bind plugin"});
}

/// Of a profile, with plugin "Own" loaded, which joins Filter and Score.
SchedulerConfig with_own(const std::string& fields) {
  const OutsidePlugin own{
      "Own", static_cast<std::uint16_t>(1u << static_cast<unsigned>(kFilter) | 1u << static_cast<unsigned>(kScore))};
  return parse_scheduler_config(profile_json(fields), "config.yaml", FeatureGates(), OutOfTree::kLeaveOut, {&own, 1});
}

TEST(LoadedPlugins, RunAtTheirPointsInTheOrderOfTheFile) {
  const SchedulerConfig config = with_own(
      R"("plugins":{"multiPoint":{"enabled":[{"name":"Own","weight":4}]}},"pluginConfig":[{"name":"Own","args":{"a": [1]}}])");
  EXPECT_EQ(names_at(config, kFilter).back(), "Own");
  EXPECT_EQ(names_at(config, kScore).back(), "Own=4");
  EXPECT_FALSE(config.profiles[0].enables(kPreFilter, "Own"));
  ASSERT_EQ(config.profiles[0].outside_args.size(), 1u);
  EXPECT_EQ(config.profiles[0].outside_args[0].json, R"({"a":[1]})");
  EXPECT_TRUE(config.profiles[0].out_of_tree.empty());
  EXPECT_TRUE(config.profiles[0].named_plugins.empty());
}

TEST(LoadedPlugins, AreRefusedAtPointsThatTheyDoNotJoin) {
  EXPECT_THROW(with_own(R"("plugins":{"reserve":{"enabled":[{"name":"Own"}]}})"), InputError);
  EXPECT_EQ(with_own(R"("plugins":{"filter":{"enabled":[{"name":"Other"}]}})").profiles[0].out_of_tree.size(), 1u);
}

}  // namespace
}  // namespace berth
