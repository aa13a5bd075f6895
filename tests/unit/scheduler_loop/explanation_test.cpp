// SPDX-License-Identifier: Apache-2.0
// SchedulingLoop::explain(): what a pod means to every node while the scheduler runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "host/scheduler/loop/scheduling_loop.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

using Lines = LoopFixture::Lines;

class ExplanationTest : public testing::Test, public LoopFixture {
 protected:
  /// "Pending", then a line for each node: "a: 123" or "a: Insufficient cpu"; then victims: "evict v on a".
  Lines explained(const std::string& name) {
    const SchedulingLoop& loop = scheduler->loop();
    const PodPtr pod = loop.find_pod("default", name);
    if (pod == nullptr) return {"unknown"};
    Lines lines;
    loop.explain(pod, ExplainDepth::kRecord, [&](const Explanation& said, const NodeNames& names) {
      lines.push_back(std::string(to_string(said.standing.state)) +
                      (said.standing.message.empty() ? "" : ": " + said.standing.message));
      for (const NodeEvaluation& node : said.evaluation.nodes)
        lines.push_back(std::string(names(node.node)) + ": " + (node.feasible ? "fits" : node.status.message()));
      std::sort(lines.begin() + 1, lines.end());
      if (!said.evaluation.error.empty()) lines.push_back("error: " + said.evaluation.error);
      if (said.preemption)
        for (const PreemptionCandidate& candidate : said.preemption->candidates)
          lines.push_back("evict " + candidate.victims.front()->name + " on " + std::string(names(candidate.node)));
    });
    return lines;
  }
};

TEST_F(ExplanationTest, APendingPodHasTheReasonOfEachNode) {
  add_nodes("a cpu=1");
  add_nodes("b cpu=8 taint=k:NoSchedule");
  add_pods("p cpu=2");
  open();
  settle();
  EXPECT_EQ(explained("p"), (Lines{"Pending", "a: Insufficient cpu", "b: node(s) had untolerated taint(s)"}));
  EXPECT_EQ(explained("q"), Lines{"unknown"});
}

TEST_F(ExplanationTest, APodOnANodeIsTakenOffItFirst) {
  add_nodes("a cpu=1");
  add_nodes("b cpu=1");
  add_pods("p cpu=1");
  open();
  settle();
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(explained("p"), (Lines{"Running", "a: fits", "b: fits"}));
  add_pods("q cpu=1");
  add_pods("r cpu=1");
  settle();
  EXPECT_EQ(bound.size(), 2U) << "what was asked gave no room away";
  EXPECT_EQ(explained("r"), (Lines{"Pending", "a: Insufficient cpu", "b: Insufficient cpu"}));
  EXPECT_EQ(attempts.back(), "r unschedulable");
}

TEST_F(ExplanationTest, WhomAPodWouldEvictIsNamedAndNobodyIsEvicted) {
  add_nodes("a cpu=1");
  add_pods("low cpu=1");
  add_pods("waits cpu=1 gate=g priority=5");
  open();
  settle();
  EXPECT_EQ(explained("waits"),
            (Lines{"Gated: waiting for scheduling gates: [g]", "a: Insufficient cpu", "evict low on a"}));
  advance_s(10);
  EXPECT_TRUE(preempted.empty());
  EXPECT_EQ(node_of("low"), "a");
}

TEST_F(ExplanationTest, AHeldPodHasTheError) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1 resource-claim=gpu");
  open();
  settle();
  EXPECT_EQ(explained("p"), (Lines{"Pending",
                                   "error: plugin \"DynamicResources\" is not supported yet: the pod uses the "
                                   "resource claim \"gpu\""}));
  EXPECT_EQ(queue().sizes().held, 1U);
}

TEST_F(ExplanationTest, AReportHasTheVerdictsOfTopologyWhereAnotherPluginRefusesFirst) {
  add_nodes("a cpu=1 zone=A");
  add_nodes("b cpu=1 zone=B");
  add_pods("p cpu=1 label:app=x select:topology.kubernetes.io/zone=A");
  add_pods("q cpu=2 pod-anti-affinity=zone match=app=x");
  open();
  settle();
  ASSERT_EQ(node_of("p"), "a");
  EXPECT_EQ(explained("q"), (Lines{"Pending", "a: Insufficient cpu", "b: Insufficient cpu"}));
  const SchedulingLoop& loop = scheduler->loop();
  const auto topology_of = [&](const std::string& name, ExplainDepth depth) {
    Lines lines;
    loop.explain(loop.find_pod("default", name), depth, [&](const Explanation& said, const NodeNames& names) {
      for (const NodeEvaluation& node : said.topology.nodes)
        lines.push_back(std::string(names(node.node)) + ": " + (node.feasible ? "fits" : node.status.plugin));
    });
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  EXPECT_EQ(topology_of("q", ExplainDepth::kReport), (Lines{"a: InterPodAffinity", "b: fits"}));
  EXPECT_EQ(topology_of("q", ExplainDepth::kRecord), Lines());
  EXPECT_EQ(topology_of("p", ExplainDepth::kReport), (Lines{"a: fits", "b: fits"})) << "taken off its node";
}

TEST_F(ExplanationTest, AReportHasWhatBecomesOfEachClaim) {
  add_nodes("a cpu=1");
  VolumeClaim claim;
  claim.namespace_ = "default";
  claim.name = "data";
  store.create<VolumeClaim>(std::make_shared<const VolumeClaim>(claim));
  add_pods("p cpu=1 claim=data");
  open();
  settle();
  const SchedulingLoop& loop = scheduler->loop();
  std::size_t verdicts = 0;
  loop.explain(loop.find_pod("default", "p"), ExplainDepth::kReport,
               [&](const Explanation& said, const NodeNames&) { verdicts = said.claims.size(); });
  EXPECT_EQ(verdicts, 1U);
}

TEST_F(ExplanationTest, APodOfAnotherSchedulerOnANodeIsNotEvaluated) {
  add_nodes("a cpu=1");
  const std::shared_ptr<Pod> pod = copy_of(*make_pods({"pod", "p", "cpu=1"}).front());
  PodSpec spec = *pod->spec;
  spec.scheduler_name = "other";
  pod->spec = std::make_shared<const PodSpec>(spec);
  pod->node_name = "a";
  store.create<Pod>(pod);
  open();
  settle();
  EXPECT_EQ(explained("p"), Lines{"Running: no profile is named \"other\""});
}

}  // namespace
}  // namespace berth::test
