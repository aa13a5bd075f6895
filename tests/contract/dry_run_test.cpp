// SPDX-License-Identifier: Apache-2.0
// Backend::dry_run(): docs/behaviour/scheduler-core.md 4.5, steps 1, 2 and 5.

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/contract/backend_contract.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

using Names = std::vector<std::string>;

class DryRunContract : public BackendContract {
 protected:
  struct Found {
    NodeVerdict without_victims;
    Names evicted;
    std::int32_t violations = 0;
    friend bool operator==(const Found&, const Found&) = default;
    friend void PrintTo(const Found& found, std::ostream* out) {
      PrintTo(found.without_victims, out);
      *out << ", evicted" << testing::PrintToString(found.evicted) << ", violations " << found.violations;
    }
  };

  /// Victims by name in reprieve order; a name that ends with "!" violates a budget.
  std::vector<Victim> victims(const Names& names) {
    std::vector<Victim> found;
    for (const std::string& name : names) {
      const bool violates = name.back() == '!';
      found.push_back({pod(violates ? name.substr(0, name.size() - 1) : name).get(), violates});
    }
    return found;
  }
  static Found found_in(const DryRunResult& result, std::size_t run, const std::vector<Victim>& of_list) {
    const DryRunAnswer& answer = result.answers[run];
    Found found{answer.without_victims, {}, answer.violations};
    for (std::size_t i = 0; i < of_list.size(); ++i)
      if (!result.keeps(answer, i)) found.evicted.push_back(of_list[i].pod->name);
    EXPECT_EQ(answer.kept_count, of_list.size() - found.evicted.size());
    return found;
  }
  Found dry_run(std::string_view preemptor, std::string_view node_name, const Names& names) {
    const std::vector<PodToPlace> pods = prepared({pod(preemptor)});
    const std::vector<Victim> of_list = victims(names);
    const std::vector<VictimList> lists{{node(node_name), of_list}};
    const std::vector<DryRun> runs{{0, 0}};
    return found_in(backend_->dry_run({pods, lists, runs}), 0, of_list);
  }
  static Found evicts(Names names, std::int32_t violations = 0) { return {{}, std::move(names), violations}; }
};

constexpr StatusCode kResolvable = StatusCode::kUnschedulable;
constexpr StatusCode kUnresolvable = StatusCode::kUnschedulableAndUnresolvable;

TEST_P(DryRunContract, VictimsReturnInOrderForAsLongAsThePodFits) {
  given("node a cpu=8\npod big on=a cpu=4\npod mid on=a cpu=2\npod low on=a cpu=1\npod p cpu=4 priority=9");
  EXPECT_EQ(dry_run("p", "a", {"big", "mid", "low"}), evicts({"mid", "low"}));
  EXPECT_EQ(dry_run("p", "a", {"low", "mid", "big"}), evicts({"big"}));
}

TEST_P(DryRunContract, OtherPodsStay) {
  given(
      "node a cpu=8\npod high on=a cpu=5 priority=99\npod low on=a cpu=3\npod p cpu=4 priority=9\npod q cpu=3 "
      "priority=9");
  EXPECT_EQ(dry_run("p", "a", {"low"}), (Found{{kResolvable, "NodeResourcesFit"}, {"low"}, 0}));
  EXPECT_EQ(dry_run("q", "a", {"low"}), evicts({"low"}));
}

TEST_P(DryRunContract, ARequestAboveAllocatableIsUnresolvable) {
  given("node a cpu=4\npod low on=a cpu=3\npod p cpu=5 priority=9");
  EXPECT_EQ(dry_run("p", "a", {"low"}), (Found{{kUnresolvable, "NodeResourcesFit"}, {"low"}, 0}));
}

TEST_P(DryRunContract, ThePodLimitCountsVictims) {
  given("node a cpu=8 pods=2\npod x on=a\npod y on=a\npod p priority=9");
  EXPECT_EQ(dry_run("p", "a", {"x", "y"}), evicts({"y"}));
}

TEST_P(DryRunContract, ViolationsAreCountedAmongTheEvicted) {
  given("node a cpu=8\npod v on=a cpu=4\npod w on=a cpu=2\npod x on=a cpu=2\npod p cpu=6 priority=9");
  EXPECT_EQ(dry_run("p", "a", {"v!", "w!", "x"}), evicts({"v", "x"}, 1));
  EXPECT_EQ(dry_run("p", "a", {"w!", "x", "v"}), evicts({"x", "v"}, 0));
}

TEST_P(DryRunContract, WithoutVictimsTheNodeIsFilteredAsItIs) {
  given("node a cpu=4\nnode b cpu=4\npod high on=b cpu=3 priority=9\npod p cpu=2");
  EXPECT_EQ(dry_run("p", "a", {}), evicts({}));
  EXPECT_EQ(dry_run("p", "b", {}), (Found{{kResolvable, "NodeResourcesFit"}, {}, 0}));
}

TEST_P(DryRunContract, MoreVictimsThanAMaskWordHas) {
  given("node a cpu=150 pods=500\npod v*150 on=a cpu=1\npod p cpu=80 priority=9");
  Names names;
  for (int i = 0; i < 150; ++i) names.push_back("v" + std::to_string(i));
  EXPECT_EQ(dry_run("p", "a", names), evicts({names.begin() + 70, names.end()}));
}

TEST_P(DryRunContract, AVictimWithAWantedPortHasToGo) {
  given("node a cpu=8\npod x on=a cpu=1 port=80\npod y on=a cpu=1 port=81\npod p port=80 priority=9");
  EXPECT_EQ(dry_run("p", "a", {"y", "x"}), evicts({"x"}));
  EXPECT_EQ(dry_run("p", "a", {"y"}), (Found{{kResolvable, "NodePorts"}, {"y"}, 0}));
}

TEST_P(DryRunContract, APodFreesItsPortsEvenWhenAnotherHasTheSame) {
  // docs/behaviour/plugins-node.md 9: used ports are a set.
  given("node a cpu=8\npod x on=a port=80\npod stays on=a port=80\npod p port=80 priority=9");
  EXPECT_EQ(dry_run("p", "a", {"x"}), evicts({"x"}));
}

TEST_P(DryRunContract, NodeSideRefusalsStay) {
  given(
      "node a cpu=8 taint=t:NoSchedule\nnode b cpu=8\npod x on=a cpu=8\npod y on=b cpu=8\n"
      "pod p cpu=4 priority=9\npod named need=@metadata.name:In:a priority=9\n"
      "pod none need=@metadata.name:In:a&@metadata.name:In:b");
  EXPECT_EQ(dry_run("p", "a", {"x"}), (Found{{kUnresolvable, "TaintToleration"}, {"x"}, 0}));
  EXPECT_EQ(dry_run("named", "b", {"y"}), (Found{{kUnresolvable, "NodeAffinity", true}, {"y"}, 0}));
  EXPECT_EQ(dry_run("none", "b", {"y"}), (Found{{kUnresolvable, "NodeAffinity", true}, {"y"}, 0}));
}

TEST_P(DryRunContract, APodThatNoBackendMayEvaluateIsAnError) {
  given("node a cpu=8\npod x on=a cpu=8\npod p resource-claim=gpu priority=9");
  EXPECT_EQ(dry_run("p", "a", {"x"}), (Found{{StatusCode::kError, ""}, {"x"}, 0}));
}

TEST_P(DryRunContract, NominatedPodsOfEqualPriorityKeepTheirRoom) {
  given(
      "node a cpu=8\npod x on=a cpu=4\npod y on=a cpu=4\npod chosen cpu=4 nominated=a priority=9\n"
      "pod equal cpu=4 priority=9\npod high cpu=4 priority=10\npod large cpu=5 priority=9");
  EXPECT_EQ(dry_run("equal", "a", {"x", "y"}), evicts({"x", "y"}));
  EXPECT_EQ(dry_run("high", "a", {"x", "y"}), evicts({"y"}));
  EXPECT_EQ(dry_run("large", "a", {"x", "y"}), (Found{{kResolvable, "NodeResourcesFit"}, {"x", "y"}, 0}));
}

TEST_P(DryRunContract, P6_ATerminatingPodIsSubtractedThoughItWasNotCounted) {
  given(
      "node a1 zone=A\nnode b1 zone=B\npod v1 on=a1 label:app=web\npod v2 on=a1 label:app=web\n"
      "pod vT on=a1 label:app=web terminating\npod w on=b1 label:app=web priority=9\n"
      "pod p label:app=web priority=9 spread=zone match=app=web");
  EXPECT_EQ(dry_run("p", "a1", {"v1", "v2", "vT"}), evicts({"vT"}));
}

TEST_P(DryRunContract, A2_RemovingTheLastMatchAllowsTheFirstPodOfASeries) {
  const std::string cluster =
      "node n1 zone=A host\nnode n2 zone=B host\nnode n3 host\npod ring on=n2 label:app=ring\n"
      "pod low on=n1\npod p label:app=ring priority=9 pod-affinity=zone match=app=ring\n"
      "pod q label:app=other priority=9 pod-affinity=zone match=app=ring";
  given(cluster);
  EXPECT_EQ(dry_run("p", "n2", {"ring"}), evicts({})) << "it fits with and without the pod";
  EXPECT_EQ(dry_run("p", "n1", {"low"}), (Found{{kUnresolvable, "InterPodAffinity"}, {"low"}, 0}));
  EXPECT_EQ(dry_run("q", "n2", {"ring"}), (Found{{kUnresolvable, "InterPodAffinity"}, {"ring"}, 0}))
      << "it does not match itself";
}

TEST_P(DryRunContract, AntiAffinityEvictsThePodsThatMatchOnTheNode) {
  given(
      "node n1 zone=A host\nnode n2 zone=A host\nnode n3 zone=B host\npod web on=n1 label:app=web\npod db on=n1 "
      "label:app=db\n"
      "pod far on=n2 label:app=db\npod near on=n3 label:app=db\n"
      "pod p priority=9 pod-anti-affinity=host match=app=db\npod q priority=9 pod-anti-affinity=zone match=app=db");
  EXPECT_EQ(dry_run("p", "n1", {"web", "db"}), evicts({"db"}));
  EXPECT_EQ(dry_run("q", "n1", {"web", "db"}), (Found{{kResolvable, "InterPodAffinity"}, {"web", "db"}, 0}))
      << "a pod of another node of the domain stays";
  EXPECT_EQ(dry_run("q", "n3", {"near"}), evicts({"near"}));
}

TEST_P(DryRunContract, TermsOfVictimsGoWithThem) {
  given(
      "node n1 zone=A host\npod shy on=n1 pod-anti-affinity=zone match=app=web pod-anti-affinity=zone match=app=web\n"
      "pod calm on=n1\npod p label:app=web priority=9");
  EXPECT_EQ(dry_run("p", "n1", {"shy", "calm"}), evicts({"shy"})) << "a term that is repeated counts as often";
}

TEST_P(DryRunContract, ASkewIsMeasuredFromTheMinimumWithoutTheVictims) {
  given(
      "node a zone=A\nnode b zone=B\nnode c zone=C\npod a*3 on=a label:app=web\npod b*2 on=b label:app=web\n"
      "pod c*2 on=c label:app=web\npod p label:app=web priority=9 spread=zone match=app=web\n"
      "pod wide label:app=web priority=9 spread=zone skew=2 match=app=web\n"
      "pod few label:app=web priority=9 spread=zone min-domains=4 skew=2 match=app=web");
  EXPECT_EQ(dry_run("p", "a", {"a0", "a1", "a2"}), evicts({"a2"}));
  EXPECT_EQ(dry_run("wide", "a", {"a0", "a1", "a2"}), evicts({}));
  EXPECT_EQ(dry_run("few", "a", {"a0", "a1", "a2"}), evicts({"a1", "a2"})) << "the minimum is 0";
}

TEST_P(DryRunContract, APluginThatSkippedInPreFilterSeesNoNominatedPod) {
  // docs/behaviour/plugins-topology.md 3.7 and A8.
  given(
      "node n1 zone=A host cpu=4\nnode n2 zone=B host cpu=4\npod x on=n1 cpu=4\n"
      "pod chosen nominated=n1 priority=10 pod-anti-affinity=zone match=app=web\n"
      "pod p label:app=web priority=5 cpu=1\n");
  EXPECT_EQ(dry_run("p", "n1", {"x"}), evicts({"x"}));
  given(
      "node n1 zone=A host cpu=4\nnode n2 zone=B host cpu=4\npod x on=n1 cpu=4\n"
      "pod shy on=n2 pod-anti-affinity=zone match=app=web\n"
      "pod chosen nominated=n1 priority=10 pod-anti-affinity=zone match=app=web\n"
      "pod p label:app=web priority=5 cpu=1\n");
  EXPECT_EQ(dry_run("p", "n1", {"x"}), (Found{{kResolvable, "InterPodAffinity"}, {"x"}, 0}));
}

TEST_P(DryRunContract, PlacedPodsAreVictimsToo) {
  given("engine ties=first\nnode a cpu=4\npod low*2 cpu=2\npod p cpu=2 priority=9");
  place({pod("low0"), pod("low1")});
  EXPECT_EQ(dry_run("p", "a", {"low0", "low1"}), evicts({"low1"}));
}

TEST_P(DryRunContract, AListOfAKnownVersionIsReadAgainWhenAResourceIsNew) {
  // No pod requests x at first, so that the engine does not count it.
  given(
      "node a cpu=8 res:a.example/x=2\npod low*2 on=a cpu=4 res:a.example/x=1\npod p cpu=4 priority=9\n"
      "pod q res:a.example/x=2 priority=9");
  const std::vector<Victim> of_list = victims({"low0", "low1"});
  const std::vector<VictimList> lists{{node("a"), of_list, next_victim_list_version(), next_victim_list_version()}};
  const std::vector<DryRun> runs{{0, 0}};
  for (const std::string_view preemptor : {"p", "q", "p"}) {
    const std::vector<PodToPlace> pods = prepared({pod(preemptor)});
    const Found found = found_in(backend_->dry_run({pods, lists, runs}), 0, of_list);
    EXPECT_EQ(found, preemptor == "p" ? evicts({"low1"}) : evicts({"low0", "low1"}));
  }
}

TEST_P(DryRunContract, ManyRunsShareListsAndChangeNothing) {
  given(
      "node a cpu=8\nnode b cpu=8\npod x*4 on=a cpu=2\npod y*2 on=b cpu=4 label:app=web\npod p cpu=3 priority=9\n"
      "pod q cpu=8 priority=9\npod r cpu=1 priority=9 label:app=web spread=host match=app=web\nnode c host=c cpu=1");
  const std::vector<PodToPlace> pods = prepared({pod("p"), pod("q"), pod("r")});
  const std::vector<Victim> on_a = victims({"x0", "x1", "x2", "x3"});
  const std::vector<Victim> on_b = victims({"y0", "y1"});
  const std::vector<VictimList> lists{{node("a"), on_a}, {node("b"), on_b}};
  const std::vector<DryRun> runs{{0, 0}, {1, 1}, {0, 1}, {1, 0}, {2, 0}, {0, 0}};
  const DryRunResult result = backend_->dry_run({pods, lists, runs});
  ASSERT_EQ(result.answers.size(), 6u);
  EXPECT_EQ(found_in(result, 0, on_a), evicts({"x2", "x3"}));
  EXPECT_EQ(found_in(result, 1, on_b), evicts({"y0", "y1"}));
  EXPECT_EQ(found_in(result, 2, on_b), evicts({"y1"}));
  EXPECT_EQ(found_in(result, 3, on_a), evicts({"x0", "x1", "x2", "x3"}));
  EXPECT_EQ(found_in(result, 4, on_a).without_victims, (NodeVerdict{kUnresolvable, "PodTopologySpread"}));
  EXPECT_EQ(found_in(result, 5, on_a), found_in(result, 0, on_a));
  const DryRunResult again = backend_->dry_run({pods, lists, runs});
  EXPECT_EQ(again.answers, result.answers);
  EXPECT_EQ(again.kept, result.kept);
  const BackendStats stats = backend_->stats();
  EXPECT_EQ(stats.dry_runs, 12);
  if (stats.device) {
    EXPECT_EQ(stats.device->dry_runs_on_host, 12);
  }
  EXPECT_TRUE(backend_->dry_run({pods, lists, {}}).answers.empty());
}

TEST_P(DryRunContract, ConstCallsRunInParallel) {
  given(
      "node a*20 cpu=8 zone=1\nnode b*20 cpu=8 zone=2\npod x*40 cpu=6 label:app=web\n"
      "pod chosen cpu=4 nominated=a3 priority=9\npod p cpu=4 priority=5 label:app=web spread=zone match=app=web");
  const std::vector<PodPtr> pending = scenario_.pending();
  place({pending.begin(), pending.begin() + 30});
  const std::vector<PodToPlace> pods = prepared({pod("p")});
  std::vector<VictimList> lists;
  std::vector<DryRun> runs;
  for (std::int32_t i = 0; i < backend_->slot_count(); ++i) {
    lists.push_back({{i}, {}});
    runs.push_back({0, static_cast<std::uint32_t>(i)});
  }
  const PodVerdicts verdicts = backend_->verdicts(pods.front());
  const DryRunResult dry = backend_->dry_run({pods, lists, runs});
  std::atomic<int> differences = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        if (backend_->verdicts(pods.front()).nodes != verdicts.nodes) ++differences;
        if (backend_->dry_run({pods, lists, runs}).answers != dry.answers) ++differences;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, 0);
}

INSTANTIATE_TEST_SUITE_P(All, DryRunContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
