// SPDX-License-Identifier: Apache-2.0
// PreFilter and the rows of its table: docs/behaviour/scheduler-core.md 3.3.

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/unit/framework/scripted_plugins.h"

namespace berth {
namespace {

using Names = std::set<std::string>;

class PreFilter : public testing::Test {
 protected:
  void add(const std::string& name, PreFilterResult answer) {
    Script script;
    script.pre_filter = [answer = std::move(answer)](const PodClassView&, NodeInfos) { return answer; };
    scripted.add(name, {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter}, std::move(script));
  }
  PreFilterOutcome run() { return scripted.build().run_pre_filter({pod.get(), &state}, nodes.view()); }

  Calls calls;
  ScriptedProfile scripted{calls};
  CycleState state;
  PodPtr pod = plain_pod("p");
  PlainNodes nodes{3};
};

TEST_F(PreFilter, SkipDisablesThePluginAndIgnoresItsNodeSet) {
  add("A", {status_of(StatusCode::kSkip), Names{"n0"}});
  add("B", {});
  const PreFilterOutcome outcome = run();
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_FALSE(outcome.node_names.has_value());
  EXPECT_EQ(state.skipped_filters(), (CycleState::Names{"A"}));
  EXPECT_EQ(calls, (Calls{"A.pre_filter", "B.pre_filter"}));
}

TEST_F(PreFilter, UnresolvableAbortsImmediately) {
  add("A", {status_of(StatusCode::kUnschedulableAndUnresolvable, "never"), {}});
  add("B", {});
  EXPECT_EQ(run().status, (Status{StatusCode::kUnschedulableAndUnresolvable, "A", {"never"}}));
  EXPECT_EQ(calls, Calls{"A.pre_filter"});
}

TEST_F(PreFilter, TheLastUnschedulableWinsAndTheOtherPluginsStillRun) {
  add("A", {status_of(StatusCode::kUnschedulable, "first"), {}});
  add("B", {status_of(StatusCode::kUnschedulable, "second"), {}});
  add("C", {});
  EXPECT_EQ(run().status, (Status{StatusCode::kUnschedulable, "B", {"second"}}));
  EXPECT_EQ(calls.size(), 3U);
}

TEST_F(PreFilter, AnyOtherCodeAbortsAsAnError) {
  for (const StatusCode code : {StatusCode::kError, StatusCode::kWait, StatusCode::kPending}) {
    Calls own_calls;
    ScriptedProfile own(own_calls);
    Script script;
    script.pre_filter = [code](const PodClassView&, NodeInfos) {
      return PreFilterResult{status_of(code, "broken"), {}};
    };
    own.add("A", {ExtensionPoint::kPreFilter}, script).add("B", {ExtensionPoint::kPreFilter});
    const Status status = own.build().run_pre_filter({pod.get(), &state}, nodes.view()).status;
    EXPECT_EQ(status, (Status{StatusCode::kError, "A", {"running PreFilter plugin \"A\": broken"}}));
    EXPECT_EQ(own_calls, Calls{"A.pre_filter"});
  }
}

TEST_F(PreFilter, AnExceptionIsAnError) {
  Script script;
  script.pre_filter = [](const PodClassView&, NodeInfos) -> PreFilterResult { throw std::runtime_error("lost"); };
  scripted.add("A", {ExtensionPoint::kPreFilter}, script);
  EXPECT_EQ(run().status, (Status{StatusCode::kError, "A", {"running PreFilter plugin \"A\": lost"}}));
}

TEST_F(PreFilter, NodeSetsAreIntersected) {
  add("B", {{}, Names{"n0", "n1"}});
  add("A", {{}, Names{"n1", "n2"}});
  add("C", {});
  const PreFilterOutcome outcome = run();
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.node_names, Names{"n1"});
  EXPECT_EQ(outcome.narrowing_plugins, (Names{"A", "B"}));
  EXPECT_EQ(outcome.absent_node_status(),
            (Status{StatusCode::kUnschedulableAndUnresolvable, "", {"node(s) didn't satisfy plugin(s) [A B]"}}));
}

TEST_F(PreFilter, AbsentNodesHaveNoReasonWithoutANodeSet) {
  add("A", {});
  EXPECT_TRUE(run().absent_node_status().reasons.empty());
}

TEST_F(PreFilter, AnEmptySetOfOnePluginAbortsWithItsName) {
  add("A", {{}, Names{}});
  add("B", {});
  const PreFilterOutcome outcome = run();
  EXPECT_EQ(outcome.status, status_of(StatusCode::kUnschedulableAndUnresolvable, "node(s) didn't satisfy plugin A"));
  EXPECT_EQ(outcome.narrowing_plugins, Names{"A"});
  EXPECT_EQ(calls, Calls{"A.pre_filter"});
}

TEST_F(PreFilter, AnEmptyIntersectionAbortsWithAllNamesSorted) {
  add("Z", {{}, Names{"n0"}});
  add("A", {{}, Names{"n1"}});
  add("B", {});
  EXPECT_EQ(run().status, status_of(StatusCode::kUnschedulableAndUnresolvable,
                                    "node(s) didn't satisfy plugin(s) [A Z] simultaneously"));
  EXPECT_EQ(calls.size(), 2U);
}

TEST_F(PreFilter, ARejectionIsTheWholeText) {
  add("A", {status_of(StatusCode::kUnschedulable, "no licence"), {}});
  EXPECT_EQ(fit_error_text(diagnose(run(), 3)), "0/3 nodes are available: no licence.");
}

}  // namespace
}  // namespace berth
