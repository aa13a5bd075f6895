// SPDX-License-Identifier: Apache-2.0
// The PostFilter plugins of a profile together: docs/behaviour/scheduler-core.md 3.6.
#include "host/preemption/post_filter_plugins.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace berth {
namespace {

const std::string kNoVictims = "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.";

PostFilterPlugins plugins_of(const std::string& config) {
  const std::string text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + config;
  return PostFilterPlugins(parse_scheduler_config(text, "f", FeatureGates()).profiles.front());
}

PostFilterPlugins default_plugins() { return plugins_of(""); }

Message filtered(std::int64_t resolvable_nodes = 2) {
  Message message;
  message.resolvable_nodes = resolvable_nodes;
  return message;
}

Message refused_by_pre_filter(std::string_view plugin) {
  Message message;
  message.is_of_pre_filter = true;
  message.rejectors.insert(plugin);
  return message;
}

TEST(PostFilterPluginsTest, DynamicResourcesSpeaksBeforeDefaultPreemption) {
  EXPECT_EQ(default_plugins().text_without_victims(2, filtered()), "no new claims to deallocate, " + kNoVictims);
}

TEST(PostFilterPluginsTest, TheOrderIsThatOfTheProfile) {
  const PostFilterPlugins reversed = plugins_of(
      "profiles: [{plugins: {postFilter: {disabled: [{name: '*'}], enabled: [{name: DefaultPreemption}, "
      "{name: DynamicResources}]}}}]\n");
  EXPECT_EQ(reversed.text_without_victims(2, filtered()), kNoVictims + ", no new claims to deallocate");
}

TEST(PostFilterPluginsTest, WithoutDefaultPreemptionAPodKeepsItsNomination) {
  const PostFilterPlugins plugins =
      plugins_of("profiles: [{plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}}]\n");
  EXPECT_FALSE(plugins.preempts());
  const PostFilterResult result = plugins.run(filtered(), [] { return PostFilterResult{"not asked", {}, false}; });
  EXPECT_EQ(result.text, "no new claims to deallocate");
  EXPECT_TRUE(result.keeps_nomination);
  const PostFilterPlugins none = plugins_of("profiles: [{plugins: {postFilter: {disabled: [{name: '*'}]}}}]\n");
  EXPECT_EQ(none.text_without_victims(2, filtered()), "");
}

TEST(PostFilterPluginsTest, APreFilterPluginThatEndsPreFilterEndsPostFilterWithAnError) {
  // DynamicResources has no state to read; in the default order it comes behind InterPodAffinity.
  const PostFilterResult result = default_plugins().run(refused_by_pre_filter("InterPodAffinity"),
                                                        [] { return PostFilterResult{"not asked", {}, false}; });
  EXPECT_EQ(result.text, "not found");
  EXPECT_TRUE(result.is_error);
  EXPECT_TRUE(result.keeps_nomination);
  const PostFilterPlugins first = plugins_of(
      "profiles: [{plugins: {preFilter: {disabled: [{name: '*'}], enabled: [{name: DynamicResources}, "
      "{name: InterPodAffinity}]}}}]\n");
  EXPECT_EQ(first.text_without_victims(2, refused_by_pre_filter("InterPodAffinity")).substr(0, 27),
            "no new claims to deallocate");
}

TEST(PostFilterPluginsTest, ACandidateHasNoTextAndAnErrorOnlyItsOwn) {
  PostFilterResult chosen{{}, PreemptionCandidate{NodeIndex{1}, {}, 0}, false};
  const PostFilterResult candidate = default_plugins().run(filtered(), [&] { return chosen; });
  EXPECT_EQ(candidate.text, "");
  ASSERT_TRUE(candidate.candidate);
  EXPECT_EQ(candidate.candidate->node, NodeIndex{1});
  const PostFilterResult error =
      default_plugins().run(filtered(), [] { return PostFilterResult{"preemption: broken", {}, true, true}; });
  EXPECT_EQ(error.text, "preemption: broken");
}

}  // namespace
}  // namespace berth
