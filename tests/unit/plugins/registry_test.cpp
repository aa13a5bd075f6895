// SPDX-License-Identifier: Apache-2.0
#include "plugins/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "host/config/plugin_catalog.h"
#include "plugins/rules.h"

namespace berth {
namespace {

TEST(RegistryTest, APluginThatIsNotListedIsUnsupported) {
  EXPECT_EQ(plugin_support("NodeResourcesFit").support, Support::kExact);
  EXPECT_EQ(plugin_support("DefaultPreemption").support, Support::kPartial);
  EXPECT_EQ(plugin_support("NoSuchPlugin").support, Support::kUnsupported);
  EXPECT_EQ(plugin_support("").support, Support::kUnsupported);
}

TEST(RegistryTest, OnlyPartialPluginsNameWhatIsMissing) {
  for (const BuiltPlugin& plugin : built_plugins())
    EXPECT_EQ(plugin.support == Support::kPartial, !plugin.missing.empty()) << plugin.name;
}

TEST(RegistryTest, EveryRuleOfTheListIsBuiltOnce) {
  for (const RuleDescriptor& rule : Rules::descriptors) {
    const auto built = built_plugins();
    EXPECT_EQ(std::count_if(built.begin(), built.end(), [&](const BuiltPlugin& p) { return p.name == rule.name; }), 1)
        << rule.name;
  }
}

TEST(RegistryTest, EveryRuleJoinsTheExtensionPointsThatTheCatalogNames) {
  for (const RuleDescriptor& rule : Rules::descriptors) {
    const CatalogPlugin* plugin = find_catalog_plugin(rule.name);
    ASSERT_NE(plugin, nullptr) << rule.name;
    EXPECT_EQ(rule.filters, plugin->implements(ExtensionPoint::kFilter)) << rule.name;
    EXPECT_EQ(rule.scores, plugin->implements(ExtensionPoint::kScore)) << rule.name;
    EXPECT_EQ(rule.filter_gate, plugin->gate) << rule.name;
  }
}

TEST(RuleListTest, PartsFollowFromWhatPlacementsChange) {
  EXPECT_TRUE(NodeSideRules<Rules>::contains<TaintToleration>);
  EXPECT_FALSE(NodeSideRules<Rules>::contains<NodePorts>);
  EXPECT_TRUE((RulesOfPart<Rules, RowPart::kLoad>::contains<NodePorts>));
  EXPECT_FALSE((ScoringRulesOfPart<Rules, RowPart::kLoad>::contains<NodePorts>));
  EXPECT_TRUE((ScoringRulesOfPart<Rules, RowPart::kTopology>::contains<PodTopologySpread>));
  EXPECT_EQ(NormalizedRules<Rules>::size, 2u) << "TaintToleration and NodeAffinity";
  EXPECT_EQ(Rules::descriptors[Rules::index_of<NodeResourcesFit>].name, "NodeResourcesFit");
}

}  // namespace
}  // namespace berth
