// SPDX-License-Identifier: Apache-2.0
// How a framework is built, and PreEnqueue.

#include "host/framework/framework.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "host/objects/errors.h"
#include "tests/unit/framework/scripted_plugins.h"

namespace berth {
namespace {

class OnlyPostBind : public PostBindPlugin {
 public:
  std::string_view name() const override { return "OnlyPostBind"; }
  void post_bind(const PodOnNode&) noexcept override {}
};

class FrameworkBuild : public testing::Test {
 protected:
  void enable(ExtensionPoint point, const std::string& name) {
    scripted.profile().plugins[static_cast<std::size_t>(point)].push_back({name, 1});
  }
  std::vector<std::string> problems() {
    try {
      scripted.build();
    } catch (const InputError& error) {
      std::vector<std::string> messages;
      for (const InputProblem& problem : error.problems()) messages.push_back(problem.message);
      return messages;
    }
    return {};
  }

  Calls calls;
  ScriptedProfile scripted{calls};
};

TEST_F(FrameworkBuild, APluginOfSeveralPointsIsCreatedOnce) {
  int made = 0;
  scripted.registry().add("A", [&](const Profile&, const FrameworkHandle&) {
    ++made;
    return std::make_unique<ScriptedPlugin>("A", Script{}, calls);
  });
  enable(ExtensionPoint::kPermit, "A");
  enable(ExtensionPoint::kReserve, "A");
  const Framework framework = scripted.build();
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(framework.has_plugins(ExtensionPoint::kPermit));
  EXPECT_TRUE(framework.has_plugins(ExtensionPoint::kReserve));
  EXPECT_FALSE(framework.has_plugins(ExtensionPoint::kBind));
}

TEST_F(FrameworkBuild, PluginsThatRunInBackendsAreSkipped) {
  enable(ExtensionPoint::kReserve, "Elsewhere");
  enable(ExtensionPoint::kBind, "Elsewhere");
  EXPECT_FALSE(scripted.build().has_plugins(ExtensionPoint::kReserve));
}

TEST_F(FrameworkBuild, EveryMissingPluginIsNamedOnce) {
  enable(ExtensionPoint::kPostFilter, "Ghost");
  enable(ExtensionPoint::kReserve, "Ghost");
  enable(ExtensionPoint::kPermit, "Spirit");
  EXPECT_EQ(problems(),
            (std::vector<std::string>{"plugin \"Ghost\" is not registered", "plugin \"Spirit\" is not registered"}));
}

TEST_F(FrameworkBuild, APluginThatDoesNotImplementItsPointIsRefused) {
  scripted.registry().add("OnlyPostBind",
                          [](const Profile&, const FrameworkHandle&) { return std::make_unique<OnlyPostBind>(); });
  enable(ExtensionPoint::kPostBind, "OnlyPostBind");
  EXPECT_TRUE(problems().empty());
  enable(ExtensionPoint::kReserve, "OnlyPostBind");
  ASSERT_EQ(problems().size(), 1U);
  EXPECT_EQ(problems()[0].rfind("plugin \"OnlyPostBind\" does not implement ", 0), 0U);
}

TEST_F(FrameworkBuild, AFactoryThatReturnsAnotherPluginIsRefused) {
  scripted.registry().add("A", [](const Profile&, const FrameworkHandle&) { return std::make_unique<OnlyPostBind>(); });
  scripted.registry().add("B", [](const Profile&, const FrameworkHandle&) { return std::unique_ptr<Plugin>(); });
  enable(ExtensionPoint::kPostBind, "A");
  enable(ExtensionPoint::kPostBind, "B");
  EXPECT_EQ(problems().size(), 2U);
}

TEST(PluginRegistry, ADuplicateNameIsRefused) {
  PluginRegistry registry;
  registry.add("A", nullptr);
  EXPECT_THROW(registry.add("A", nullptr), std::invalid_argument);
  EXPECT_NE(registry.find("A"), nullptr);
  EXPECT_EQ(registry.find("B"), nullptr);
}

class PreEnqueue : public FrameworkBuild {
 protected:
  void add(const std::string& name, const Status& status) {
    Script script;
    script.pre_enqueue = [status](const Pod&) { return status; };
    scripted.add(name, {ExtensionPoint::kPreEnqueue}, script);
  }
  PodPtr pod = plain_pod("p");
};

TEST_F(PreEnqueue, APodPassesWhenAllPluginsSucceed) {
  add("A", {});
  add("B", {});
  EXPECT_TRUE(scripted.build().run_pre_enqueue(*pod).ok());
  EXPECT_EQ(calls.size(), 2U);
}

TEST_F(PreEnqueue, TheFirstNonSuccessGatesThePod) {
  for (const StatusCode code : {StatusCode::kError, StatusCode::kUnschedulableAndUnresolvable, StatusCode::kSkip}) {
    ScriptedProfile own(calls);
    Script script;
    script.pre_enqueue = [code](const Pod&) { return status_of(code, "no"); };
    own.add("A", {ExtensionPoint::kPreEnqueue}, script).add("B", {ExtensionPoint::kPreEnqueue});
    calls.clear();
    EXPECT_EQ(own.build().run_pre_enqueue(*pod), (Status{code, "A", {"no"}}));
    EXPECT_EQ(calls, Calls{"A.pre_enqueue"});
  }
}

TEST_F(PreEnqueue, TheLastGatingPluginRunsFirst) {
  add("A", {});
  add("B", status_of(StatusCode::kUnschedulableAndUnresolvable, "no"));
  EXPECT_EQ(scripted.build().run_pre_enqueue(*pod, "B").plugin, "B");
  EXPECT_EQ(calls, Calls{"B.pre_enqueue"});
}

}  // namespace
}  // namespace berth
