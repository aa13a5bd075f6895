// SPDX-License-Identifier: Apache-2.0
// The PostFilter plugins of a profile together: docs/behaviour/scheduler-core.md 3.6.
#include "host/preemption/post_filter_plugins.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// A profile with plugins from outside alone, which answer what a test says.
class PluginsFromOutside : public testing::Test {
 protected:
  void add(const std::string& name, PostFilterAnswer answer) {
    profile_.plugins[static_cast<std::size_t>(ExtensionPoint::kPostFilter)].push_back({name, 0});
    answers_.emplace(name, std::move(answer));
    registry_.add(name, [name](const Profile&, const FrameworkHandle&) { return std::make_unique<Named>(name); });
  }
  PostFilterResult run() {
    const Framework framework(profile_, registry_, {}, [](std::string_view) { return false; });
    return PostFilterPlugins(profile_, &framework)
        .run(
            filtered(), [] { return PostFilterResult{"not asked", {}, false}; },
            [this](PostFilterPlugin& plugin) {
              asked.emplace_back(plugin.name());
              return answers_.at(asked.back());
            });
  }
  std::vector<std::string> asked;

 private:
  struct Named : PostFilterPlugin {
    explicit Named(std::string name) : own_name(std::move(name)) {}
    std::string_view name() const override { return own_name; }
    PostFilterAnswer post_filter(const RefusedPod&) override { return {}; }
    std::string own_name;
  };
  Profile profile_;
  PluginRegistry registry_;
  std::map<std::string, PostFilterAnswer> answers_;
};

TEST_F(PluginsFromOutside, SuccessEndsWithItsNominationAlone) {
  add("A", {{StatusCode::kUnschedulable, "", {"a"}}, "na"});
  add("B", {{}, "nb"});
  add("C", {});
  const PostFilterResult result = run();
  EXPECT_TRUE(result.is_success);
  EXPECT_EQ(result.nominated_node, "nb");
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(asked, (std::vector<std::string>{"A", "B"}));
}

TEST_F(PluginsFromOutside, UnresolvableEndsWithItsResult) {
  add("A", {{StatusCode::kUnschedulableAndUnresolvable, "", {"never"}}, ""});
  add("B", {});
  const PostFilterResult result = run();
  EXPECT_FALSE(result.is_success || result.is_error || result.keeps_nomination);
  EXPECT_EQ(result.nominated_node, "");
  EXPECT_EQ(result.text, "never");
  EXPECT_EQ(asked, std::vector<std::string>{"A"});
}

TEST_F(PluginsFromOutside, UnschedulableAndPendingAddUpAndTheLastNominationStays) {
  add("A", {{StatusCode::kUnschedulable, "", {"no new claims"}}, "na"});
  add("B", {{StatusCode::kPending, "", {"later"}}, std::nullopt});
  const PostFilterResult result = run();
  EXPECT_EQ(result.text, "no new claims, later");
  EXPECT_EQ(result.nominated_node, "na");
  EXPECT_FALSE(result.is_success || result.is_error || result.keeps_nomination);
}

TEST_F(PluginsFromOutside, AnyOtherCodeIsAnErrorAndEndsWithoutANomination) {
  add("A", {{StatusCode::kUnschedulable, "", {"a"}}, "na"});
  add("B", {{StatusCode::kSkip, "", {"odd"}}, "nb"});
  add("C", {});
  const PostFilterResult result = run();
  EXPECT_TRUE(result.is_error && result.keeps_nomination);
  EXPECT_EQ(result.text, "odd");
  EXPECT_EQ(asked.size(), 2U);
}

}  // namespace
}  // namespace berth
