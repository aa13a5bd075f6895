// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

TEST(PluginNamesTest, NamesAreSortedAndKeptOnce) {
  PluginNames plugins{"NodePorts", "example.com/Mine", "NodeAffinity", "NodePorts"};
  plugins.insert("NodeAffinity");
  EXPECT_EQ(std::vector<std::string>(plugins.names().begin(), plugins.names().end()),
            (std::vector<std::string>{"NodeAffinity", "NodePorts", "example.com/Mine"}));
  EXPECT_EQ(plugins.size(), 3u);
  EXPECT_EQ(to_string(plugins), "NodeAffinity, NodePorts, example.com/Mine");
}

TEST(PluginNamesTest, ContainsWhatWasInserted) {
  PluginNames plugins;
  EXPECT_TRUE(plugins.empty());
  EXPECT_FALSE(plugins.contains("NodePorts"));
  EXPECT_EQ(to_string(plugins), "");
  plugins.insert("NodePorts");
  EXPECT_FALSE(plugins.empty());
  EXPECT_TRUE(plugins.contains("NodePorts"));
  EXPECT_FALSE(plugins.contains("NodePort"));
}

TEST(PluginNamesTest, ACopyIsIndependent) {
  PluginNames plugins{"A"};
  const PluginNames copy = plugins;
  EXPECT_EQ(copy.names().data(), plugins.names().data()) << "copies share the list";
  plugins.insert("B");
  EXPECT_EQ(copy, PluginNames{"A"});
  EXPECT_EQ(plugins, (PluginNames{"B", "A"}));
}

TEST(PluginNamesTest, ComparesByNames) {
  EXPECT_EQ(PluginNames{}, PluginNames{});
  EXPECT_NE(PluginNames{}, PluginNames{"A"});
  EXPECT_LT(PluginNames{}, PluginNames{"A"});
  EXPECT_LT((PluginNames{"A", "B"}), (PluginNames{"A", "C"}));
}

}  // namespace
}  // namespace berth
