// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

TEST(Explain, WritesOneJsonLinePerPendingPod) {
  const ProgramRun run = run_berth({"explain", "--all", "-f", "-", "-o", "json"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::istringstream lines(run.out);
  std::vector<std::string> pods;
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line);
    EXPECT_TRUE(matches_schema(record, "explain-record")) << line;
    pods.push_back(record["pod"]);
  }
  EXPECT_EQ(pods, (std::vector<std::string>{"default/fits", "default/too-big", "default/gated"}));
}

TEST(Explain, GivesVerdictsAndScoresOfEveryNode) {
  const Json record = Json::parse(run_berth({"explain", "fits", "-f", "-", "-o", "json"}, small_cluster()).out);
  ASSERT_EQ(record["nodes"].size(), 3u);
  EXPECT_EQ(record["best"], Json::parse(R"(["a"])"));
  EXPECT_FALSE(record.contains("message"));
  for (const Json& node : record["nodes"]) {
    if (node["node"] == "a") {
      EXPECT_EQ(node["feasible"], true);
      EXPECT_FALSE(node["scores"].empty()) << "scores are given for a single feasible node too";
    } else {
      EXPECT_EQ(node["plugin"], node["node"] == "b" ? "TaintToleration" : "NodeUnschedulable") << node;
      EXPECT_EQ(node["total"], 0);
    }
  }
}

TEST(Explain, PrintsTheSmallestChangeThatHelps) {
  const ProgramRun run = run_berth({"explain", "default/too-big", "-f", "-"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("fits 0 of 3 nodes"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("TaintToleration: node(s) had untolerated taint(s)"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("node a: 500m cpu more"), std::string::npos) << run.out;
}

/// The record of one pod, checked against the schema.
Json record_of(const std::string& pod, const std::string& cluster) {
  const ProgramRun run = run_berth({"explain", pod, "-f", "-", "-o", "json"}, cluster);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  Json record = Json::parse(run.out);
  EXPECT_TRUE(matches_schema(record, "explain-record")) << run.out;
  return record;
}

/// "full" runs a pod that may go, "guarded" one whose budget is used up, "never" is a preemptor that may not.
constexpr const char* kClusterToPreempt = R"(
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: full}, status: {allocatable: {cpu: "1", pods: "9"}}}
- {apiVersion: v1, kind: Node, metadata: {name: guarded}, status: {allocatable: {cpu: "1", pods: "9"}}}
- {apiVersion: v1, kind: Pod, metadata: {name: low, labels: {a: b}}, spec: {nodeName: full, priority: 1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: kept, labels: {c: d}}, spec: {nodeName: guarded, priority: 1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: guard, namespace: default}, spec: {selector: {matchLabels: {c: d}}}, status: {disruptionsAllowed: 0}}
- {apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priority: 5, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: never}, spec: {priority: 5, preemptionPolicy: Never, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
)";

TEST(Explain, NamesTheVictimsOfAPodThatFitsNowhere) {
  const Json preemption = record_of("default/high", kClusterToPreempt)["preemption"];
  EXPECT_EQ(preemption["eligible"], true);
  EXPECT_EQ(preemption["candidates"], Json::parse(R"([{"node": "full", "victims": ["default/low"], "violations": 0},
                            {"node": "guarded", "victims": ["default/kept"], "violations": 1,
                             "notChosen": {"criterion": "violations", "value": 1, "best": 0}}])"));
  EXPECT_EQ(preemption["best"], Json::parse(R"(["full"])"));
  const ProgramRun table = run_berth({"explain", "default/high", "-f", "-"}, kClusterToPreempt);
  EXPECT_NE(table.out.find("Preemption"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("default/low"), std::string::npos) << table.out;
}

/// A node of so many cores with pods of one core each, "priority@hour" of their start, or "priority" without a start.
std::string node_with_victims(const std::string& name, const std::vector<std::string>& victims) {
  std::string text = "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name +
                     "}\nstatus: {allocatable: {cpu: " + std::to_string(victims.size()) + ", pods: 9}}\n";
  for (std::size_t v = 0; v < victims.size(); ++v) {
    const std::size_t at = victims[v].find('@');
    text += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + std::to_string(v) +
            "}\nspec: {nodeName: " + name + ", priority: " + victims[v].substr(0, at) +
            ", containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n";
    if (at != std::string::npos)
      text += "status: {startTime: \"2026-01-01T0" + victims[v].substr(at + 1) + ":00:00Z\"}\n";
  }
  return text;
}

/// A pod that needs whole nodes of so many cores.
std::string preemptor_of_cores(int cores) {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: high}\nspec: {priority: 500, containers: [{name: c, "
         "resources: {requests: {cpu: " +
         std::to_string(cores) + "}}}]}\n";
}

Json candidate_named(const Json& record, const std::string& node) {
  for (const Json& candidate : record["preemption"]["candidates"])
    if (candidate["node"] == node) return candidate;
  return {};
}

TEST(Explain, SaysWhyACandidateWasNotChosen) {
  const std::string cluster = node_with_victims("best", {"50@3", "7@1"}) + node_with_victims("higher", {"100", "7"}) +
                              node_with_victims("more", {"50@3", "8@1"}) + node_with_victims("older", {"50@1", "7@1"}) +
                              preemptor_of_cores(2);
  const Json record = record_of("default/high", cluster);
  EXPECT_EQ(record["preemption"]["best"], Json::parse(R"(["best"])"));
  EXPECT_FALSE(candidate_named(record, "best").contains("notChosen"));
  EXPECT_EQ(candidate_named(record, "higher")["notChosen"],
            Json::parse(R"({"criterion": "highestPriority", "value": 100, "best": 50})"));
  EXPECT_EQ(candidate_named(record, "more")["notChosen"],
            Json::parse(R"({"criterion": "prioritySum", "value": 4294967354, "best": 4294967353})"));
  EXPECT_EQ(candidate_named(record, "older")["notChosen"],
            Json::parse(R"({"criterion": "earliestStart", "value": "2026-01-01T01:00:00Z",
                            "best": "2026-01-01T03:00:00Z"})"));
  const std::string table = run_berth({"explain", "default/high", "-f", "-"}, cluster).out;
  EXPECT_NE(table.find("no: highest victim priority 100 > 50"), std::string::npos) << table;
  EXPECT_NE(table.find("no: sum of victim priorities, each + 2^31, 4,294,967,354 > 4,294,967,353"), std::string::npos)
      << table;
  EXPECT_NE(
      table.find("no: earliest start of the highest-priority victims 2026-01-01T01:00:00Z < 2026-01-01T03:00:00Z"),
      std::string::npos)
      << table;
}

TEST(Explain, OfEqualCandidatesTheFirstIsNamed) {
  const std::string cluster =
      node_with_victims("first", {"5"}) + node_with_victims("second", {"5"}) + preemptor_of_cores(1);
  const Json record = record_of("default/high", cluster);
  EXPECT_EQ(record["preemption"]["best"], Json::parse(R"(["first", "second"])"));
  EXPECT_FALSE(candidate_named(record, "second").contains("notChosen"));
  const std::string table = run_berth({"explain", "default/high", "-f", "-"}, cluster).out;
  EXPECT_NE(table.find("by chance; Berth takes the first, first"), std::string::npos) << table;
}

TEST(Explain, SaysWhyAPodMayNotPreempt) {
  const Json preemption = record_of("default/never", kClusterToPreempt)["preemption"];
  EXPECT_EQ(preemption["eligible"], false);
  EXPECT_EQ(preemption["message"], "not eligible due to preemptionPolicy=Never.");
  const ProgramRun table = run_berth({"explain", "default/never", "-f", "-"}, kClusterToPreempt);
  EXPECT_NE(table.out.find("preemptionPolicy=Never"), std::string::npos) << table.out;
}

std::vector<std::string> feasible_nodes(const Json& record) {
  std::vector<std::string> names;
  for (const Json& node : record["nodes"])
    if (node["feasible"] == true) names.push_back(node["node"]);
  return names;
}

TEST(Explain, SaysTheGatesOfAGatedPodBeforeAnyFit) {
  const ProgramRun run = run_berth({"explain", "gated", "-f", "-"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(
      run.out.rfind("default/gated (profile default-scheduler): is gated, waiting for scheduling gates: [wait]\n", 0),
      0u)
      << run.out;
  EXPECT_NE(run.out.find("fits 1 of 3 nodes"), std::string::npos) << run.out;
  const Json record = record_of("gated", small_cluster());
  EXPECT_EQ(record["state"], "Gated");
  EXPECT_EQ(record["stateMessage"], "waiting for scheduling gates: [wait]");
}

TEST(Explain, TakesARunningPodOutOfItsNodeFirst) {
  // Full with the pod, so that it fits its own node only when it is not counted there.
  const std::string cluster = R"(apiVersion: v1
kind: Node
metadata: {name: full}
status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: empty}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {nodeName: full, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}
status: {phase: Running}
)";
  const Json record = record_of("big", cluster);
  EXPECT_EQ(record["state"], "Running");
  EXPECT_EQ(record["node"], "full");
  EXPECT_EQ(feasible_nodes(record).size(), 2u) << record;
  EXPECT_EQ(record["best"], Json::parse(R"(["empty"])"));
  const ProgramRun run = run_berth({"explain", "big", "-f", "-"}, cluster);
  EXPECT_NE(run.out.find("runs on node full\n"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("taken out of its node: fits 2 of 2 nodes, best empty"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("its node full fits with a total of "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("1 node has more"), std::string::npos) << run.out;
}

TEST(Explain, SaysOfARunningPodOfAnotherSchedulerWhereItRunsAlone) {
  const std::string foreign = R"(---
apiVersion: v1
kind: Pod
metadata: {name: foreign}
spec: {nodeName: a, schedulerName: volcano, containers: [{name: c, image: i}]}
status: {phase: Running}
)";
  const ProgramRun run = run_berth({"explain", "foreign", "-f", "-"}, small_cluster() + foreign);
  EXPECT_EQ(run.out, "default/foreign (profile volcano): runs on node a (no profile is named \"volcano\")\n")
      << run.err;
  EXPECT_EQ(record_of("foreign", small_cluster() + foreign)["nodes"], Json::array());
}

TEST(Explain, SaysThatTheNodeOfARunningPodIsNotThere) {
  const std::string lost = R"(---
apiVersion: v1
kind: Pod
metadata: {name: lost}
spec: {nodeName: gone, containers: [{name: c, image: i}]}
status: {phase: Running}
)";
  const Json record = record_of("lost", small_cluster() + lost);
  EXPECT_EQ(record["node"], "gone");
  EXPECT_EQ(record["stateMessage"], "its node is not in the input");
}

TEST(Explain, SaysOfAFinishedPodWhereItRanAndWhereElseItFits) {
  const std::string done = R"(---
apiVersion: v1
kind: Pod
metadata: {name: done}
spec: {nodeName: a, containers: [{name: c, image: i}]}
status: {phase: Succeeded}
---
apiVersion: v1
kind: Pod
metadata: {name: never-placed}
spec: {containers: [{name: c, image: i}]}
status: {phase: Failed}
)";
  const std::string cluster = small_cluster() + done;
  const ProgramRun run = run_berth({"explain", "done", "-f", "-"}, cluster);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("default/done (profile default-scheduler): has finished on node a (phase Succeeded) and takes "
                         "no part in scheduling\n"),
            std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("if it were pending: fits 1 of 3 nodes"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("its node a fits with a total of"), std::string::npos) << run.out;
  const Json record = record_of("done", cluster);
  EXPECT_EQ(record["state"], "Finished");
  EXPECT_EQ(record["stateMessage"], "phase Succeeded");
  EXPECT_EQ(record["node"], "a");
  EXPECT_EQ(record["nodes"].size(), 3U);
  const Json never = record_of("never-placed", cluster);
  EXPECT_EQ(never["stateMessage"], "phase Failed");
  EXPECT_FALSE(never.contains("node"));
  EXPECT_EQ(never["nodes"], record["nodes"]) << "neither counts for anything itself";
}

TEST(Explain, SaysThatAPodIsBeingDeletedOrIsLeftToAnotherScheduler) {
  const std::string more = R"(---
apiVersion: v1
kind: Pod
metadata: {name: going, deletionTimestamp: "2026-01-01T00:00:00Z"}
spec: {containers: [{name: c, image: i}]}
)";
  const std::string cluster = small_cluster() + more;
  const ProgramRun run = run_berth({"explain", "going", "other", "-f", "-"}, cluster);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("is being deleted"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("default/other: no profile is named \"other\""), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("fits"), std::string::npos) << run.out;
  EXPECT_EQ(record_of("going", cluster)["state"], "Deleting");
  EXPECT_EQ(record_of("other", cluster)["state"], "OtherScheduler");
}

TEST(Explain, DoesNotSayThatAPodWithAnErrorFitsNoNode) {
  const std::string claiming = R"(---
apiVersion: v1
kind: Pod
metadata: {name: claiming}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
)";
  const ProgramRun run = run_berth({"explain", "claiming", "-f", "-"}, small_cluster() + claiming);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out.find("0 of 0"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("its scheduling cycle ends with an error"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("error: "), std::string::npos) << run.out;
  EXPECT_NE(record_of("claiming", small_cluster() + claiming)["error"], "");
}

TEST(Explain, ShowsRefusalsOfAPodThatFitsToo) {
  const ProgramRun run = run_berth({"explain", "fits", "-f", "-"}, small_cluster());
  EXPECT_NE(run.out.find("TaintToleration"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("NodeUnschedulable"), std::string::npos) << run.out;
}

/// Two nodes, a local volume on the first, and a class that makes volumes.
std::string cluster_with_claims() {
  const auto claim = [](const std::string& name, const std::string& class_name, const std::string& more = "") {
    return "\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name +
           "}\nspec: {accessModes: [ReadWriteOnce], storageClassName: " + class_name + more +
           ", resources: {requests: {storage: 1Gi}}}";
  };
  const auto pod = [](const std::string& name, const std::string& volumes) {
    return "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec: {containers: [{name: c}], volumes: [" + volumes + "]}";
  };
  const std::string use_data = "{name: a, persistentVolumeClaim: {claimName: data}}";
  const std::string use_logs = "{name: b, persistentVolumeClaim: {claimName: logs}}";
  std::string text;
  for (const char* name : {"n1", "n2"})
    text += std::string("---\napiVersion: v1\nkind: Node\nmetadata: {name: ") + name +
            ", labels: {kubernetes.io/hostname: " + name + "}}\nstatus: {allocatable: {cpu: 4, pods: 10}}\n";
  text +=
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local}\n"
      "provisioner: kubernetes.io/no-provisioner\nvolumeBindingMode: WaitForFirstConsumer\n"
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n"
      "provisioner: csi.example.com\nvolumeBindingMode: WaitForFirstConsumer\n"
      "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: now}\nprovisioner: csi.example.com\n"
      "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv1}\nspec: {capacity: {storage: 10Gi}, "
      "accessModes: [ReadWriteOnce], storageClassName: local, local: {path: /x}, nodeAffinity: {required: "
      "{nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}}\n"
      "status: {phase: Available}";
  text += claim("data", "local") + claim("logs", "fast") + claim("early", "now");
  text += pod("web", use_data + ", " + use_logs);
  text += pod("waits", "{name: e, persistentVolumeClaim: {claimName: early}}, " + use_logs);
  return text + pod("lost", "{name: g, persistentVolumeClaim: {claimName: gone}}");
}

TEST(Explain, SaysWhatBecomesOfEachClaimOnWhichNodes) {
  const std::string out = run_berth({"explain", "web", "-q", "-f", "-"}, cluster_with_claims()).out;
  const auto has_row = [&](const std::string& claim, const std::string& verdict, const std::string& node) {
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("  " + claim) && line.find(verdict) != std::string::npos && line.ends_with(node))
        return true;
    return false;
  };
  EXPECT_NE(out.find("Volume claims"), std::string::npos) << out;
  EXPECT_TRUE(has_row("data", "takes the volume pv1", "n1")) << out;
  EXPECT_TRUE(has_row("data", "node(s) didn't find available persistent volumes to bind", "n2")) << out;
  EXPECT_TRUE(has_row("logs", "has a volume made by the class fast", "n1")) << out;
  const Json record = record_of("web", cluster_with_claims());
  for (const Json& node : record["nodes"])
    if (node["node"] == "n2") {
      EXPECT_EQ(node["plugin"], "VolumeBinding");
      EXPECT_EQ(node["code"], "UnschedulableAndUnresolvable");
      EXPECT_EQ(node["reasons"], Json::array({"node(s) didn't find available persistent volumes to bind"}));
    }
}

TEST(Explain, NamesTheClaimThatShouldBeBound) {
  const std::string out = run_berth({"explain", "waits", "-q", "-f", "-"}, cluster_with_claims()).out;
  EXPECT_NE(out.find("is unbound; class now does not wait for pods, or is not there"), std::string::npos) << out;
  EXPECT_NE(out.find("not looked at: another claim ended the search"), std::string::npos) << out;
}

TEST(Explain, NamesAClaimThatIsNotThereWithTheCommandThatBringsIt) {
  const ProgramRun run = run_berth({"explain", "lost", "-f", "-"}, cluster_with_claims());
  EXPECT_EQ(run.out.find("Volume claims"), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("no PersistentVolumeClaim \"default/gone\""), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("kubectl get persistentvolumes,persistentvolumeclaims"), std::string::npos) << run.err;
}

TEST(Explain, TakesSeveralPodsAndANamespace) {
  const std::string twin = R"(---
apiVersion: v1
kind: Pod
metadata: {name: fits, namespace: team}
spec: {containers: [{name: c, image: i}]}
)";
  const std::string cluster = small_cluster() + twin;
  const ProgramRun two = run_berth({"explain", "default/fits", "too-big", "-f", "-"}, cluster);
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_LT(two.out.find("default/fits"), two.out.find("default/too-big")) << two.out;
  const ProgramRun in_team = run_berth({"explain", "fits", "-n", "team", "-f", "-"}, cluster);
  EXPECT_NE(in_team.out.find("team/fits (profile"), std::string::npos) << in_team.out << in_team.err;
  const ProgramRun ambiguous = run_berth({"explain", "fits", "-f", "-"}, cluster);
  EXPECT_EQ(ambiguous.exit_code, 1);
  EXPECT_NE(ambiguous.err.find("default/fits or team/fits"), std::string::npos) << ambiguous.err;
  const ProgramRun all = run_berth({"explain", "--all", "--namespace", "team", "-f", "-"}, cluster);
  EXPECT_NE(all.out.find("team/fits"), std::string::npos) << all.out;
  EXPECT_EQ(all.out.find("default/"), std::string::npos) << all.out;
  const ProgramRun none = run_berth({"explain", "--all", "--namespace", "nobody", "-f", "-"}, cluster);
  EXPECT_NE(none.err.find("no pod of namespace \"nobody\" is pending"), std::string::npos) << none.err;
}

TEST(Explain, SuggestsNearNamesOfAPodThatIsNotThere) {
  const ProgramRun run = run_berth({"explain", "to-big", "-f", "-"}, small_cluster());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("no pod \"to-big\" in the input; did you mean default/too-big?"), std::string::npos)
      << run.err;
}

TEST(Explain, RequiresEitherPodsOrAll) {
  EXPECT_EQ(run_berth({"explain", "-f", "-"}, small_cluster()).exit_code, 2);
  EXPECT_EQ(run_berth({"explain", "fits", "--all", "-f", "-"}, small_cluster()).exit_code, 2);
}

TEST(Explain, TheSchemaRejectsAFeasibleNodeWithReasons) {
  Json record = Json::parse(run_berth({"explain", "fits", "-f", "-", "-o", "json"}, small_cluster()).out);
  for (Json& node : record["nodes"]) node["reasons"] = {"because"};
  EXPECT_FALSE(matches_schema(record, "explain-record"));
}

TEST(Explain, TheSchemaRejectsStatesWithoutTheirFields) {
  const Json record = Json::parse(run_berth({"explain", "fits", "-f", "-", "-o", "json"}, small_cluster()).out);
  for (const char* state : {"Running", "Gated", "Finished", "Deleting", "Asleep"}) {
    Json changed = record;
    changed["state"] = state;
    EXPECT_FALSE(matches_schema(changed, "explain-record")) << state;
  }
}

}  // namespace
}  // namespace berth::test
