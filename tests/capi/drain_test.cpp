// SPDX-License-Identifier: Apache-2.0
// Which nodes can be removed: each rule where it holds and where not, and budgets that nodes share.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/capi/drained.h"

namespace berth::test {
namespace {

/// A pod on node n0, as JSON that is added to metadata and spec.
struct Given {
  std::string metadata = {};
  std::string spec = {};
  std::string name_space = "default";
  std::string more = {};  ///< other objects
};
const char* const kOfReplicaSet =
    R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"u","controller":true}],)";
const char* const kOfDaemonSet =
    R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"ds","uid":"u","controller":true}],)";

std::string annotation(const std::string& name, const std::string& value) {
  return kOfReplicaSet + (R"("annotations":{")" + name + R"(":")" + value + "\"},");
}
std::string budget(const std::string& name, int allowed,
                   const std::string& selector = R"({"matchLabels":{"app":"x0"}})",
                   const std::string& name_space = "default") {
  return R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":")" + name +
         R"(","namespace":")" + name_space + R"("},"spec":{"selector":)" + selector +
         R"(},"status":{"disruptionsAllowed":)" + std::to_string(allowed) + "}}";
}

std::string running(const PodShape& shape, const Given& given) {
  std::string text = pod_json(shape);
  const std::string name_space = R"("namespace":"default",)";
  text.replace(text.find(name_space), name_space.size(),
               R"("namespace":")" + given.name_space + "\"," + given.metadata);
  text.insert(text.find(R"("spec":{)") + 8, given.spec);
  return text;
}

struct RuleCase {
  const char* name;
  std::uint32_t preset;
  std::uint32_t rule;
  Given given;
  int outcome;    ///< where the rule holds
  int otherwise;  ///< where it is off
  int min_replicas = 0;
};

std::vector<RuleCase> rule_cases() {
  const std::string safe = "cluster-autoscaler.kubernetes.io/safe-to-evict";
  const std::string empty_dir = R"("volumes":[{"name":"v","emptyDir":{}}],)";
  const std::string replica_set =
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"rs","namespace":"default"},"spec":{"replicas":2,)"
      R"("selector":{"matchLabels":{"app":"x0"}},"template":{"metadata":{"labels":{"app":"x0"}},)"
      R"("spec":{"containers":[{"name":"c"}]}}}})";
  constexpr std::uint32_t kKubectl = BERTH_DRAIN_KUBECTL;
  constexpr std::uint32_t kAutoscaler = BERTH_DRAIN_CLUSTER_AUTOSCALER;
  constexpr std::uint32_t kKarpenter = BERTH_DRAIN_KARPENTER;
  const int moves = BERTH_POD_MOVES, stays = BERTH_POD_STAYS, ends = BERTH_POD_ENDS, blocks = BERTH_POD_BLOCKS;
  return {
      {"static",
       kKarpenter,
       BERTH_RULE_MIRROR,
       {kOfReplicaSet + std::string(R"("annotations":{"kubernetes.io/config.mirror":"h"},)")},
       stays,
       moves},
      {"static by its owner",
       kAutoscaler,
       BERTH_RULE_MIRROR,
       {R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n0","uid":"u","controller":true}],)"},
       stays,
       moves},
      {"DaemonSet", kKubectl, BERTH_RULE_DAEMON_SET, {kOfDaemonSet}, blocks, stays},
      {"no controller, kubectl", kKubectl, BERTH_RULE_NO_CONTROLLER, {}, blocks, moves},
      {"no controller, cluster-autoscaler", kAutoscaler, BERTH_RULE_NO_CONTROLLER, {}, blocks, moves},
      {"emptyDir", kKubectl, BERTH_RULE_EMPTY_DIR, {kOfReplicaSet, empty_dir}, blocks, moves},
      {"emptyDir in memory",
       kKubectl,
       BERTH_RULE_EMPTY_DIR,
       {kOfReplicaSet, R"("volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}],)"},
       blocks,
       moves},
      {"local storage", kAutoscaler, BERTH_RULE_LOCAL_STORAGE, {kOfReplicaSet, empty_dir}, blocks, moves},
      {"hostPath",
       kAutoscaler,
       BERTH_RULE_LOCAL_STORAGE,
       {kOfReplicaSet, R"("volumes":[{"name":"v","hostPath":{"path":"/"}}],)"},
       blocks,
       moves},
      {"one of two volumes is safe",
       kAutoscaler,
       BERTH_RULE_LOCAL_STORAGE,
       {annotation(safe + "-local-volumes", "w"),
        R"("volumes":[{"name":"v","emptyDir":{}},{"name":"w","emptyDir":{}}],)"},
       blocks,
       moves},
      {"kube-system", kAutoscaler, BERTH_RULE_KUBE_SYSTEM, {kOfReplicaSet, "", "kube-system"}, blocks, moves},
      {"budget", kKubectl, BERTH_RULE_BUDGET, {kOfReplicaSet, "", "default", budget("b", 0)}, blocks, moves},
      {"budget of everything",
       kKarpenter,
       BERTH_RULE_BUDGET,
       {kOfReplicaSet, "", "default", budget("b", 0, "{}")},
       blocks,
       moves},
      {"several budgets",
       kKubectl,
       BERTH_RULE_MANY_BUDGETS,
       {kOfReplicaSet, "", "default", budget("b", 5) + "\n" + budget("c", 5)},
       blocks,
       moves},
      {"safe to evict",
       kAutoscaler,
       BERTH_RULE_SAFE_TO_EVICT,
       {R"("annotations":{")" + safe + R"(":"true"},)", empty_dir, "kube-system"},
       moves,
       blocks},
      {"not safe to evict", kAutoscaler, BERTH_RULE_NOT_SAFE_TO_EVICT, {annotation(safe, "false")}, blocks, moves},
      {"on completion", kAutoscaler, BERTH_RULE_ON_COMPLETION, {annotation(safe, "on-completion")}, stays, moves},
      {"do not disrupt",
       kKarpenter,
       BERTH_RULE_DO_NOT_DISRUPT,
       {annotation("karpenter.sh/do-not-disrupt", "true")},
       blocks,
       moves},
      {"too few replicas",
       kAutoscaler,
       BERTH_RULE_MIN_REPLICAS,
       {kOfReplicaSet, "", "default", replica_set},
       blocks,
       moves,
       3},
      {"an unknown ReplicaSet", kAutoscaler, BERTH_RULE_MIN_REPLICAS, {kOfReplicaSet}, blocks, moves, 1},
      {"terminating",
       kKarpenter,
       BERTH_RULE_TERMINATING,
       {kOfReplicaSet + std::string(R"("deletionTimestamp":"2026-01-01T00:00:00Z",)")},
       ends,
       moves},
      {"tolerates the taint",
       kKarpenter,
       BERTH_RULE_TOLERATES_TAINT,
       {kOfReplicaSet, R"("tolerations":[{"operator":"Exists"}],)"},
       stays,
       moves},
  };
}

class Drain : public testing::TestWithParam<const char*> {};

TEST_P(Drain, EachRuleHoldsAndDoesNot) {
  for (const RuleCase& rule : rule_cases()) {
    SCOPED_TRACE(rule.name);
    const OwnedCluster cluster = make_cluster(GetParam(), 1);
    for (const char* name : {"n0", "n1"}) upsert(cluster.get(), node_json({.name = name}));
    upsert(cluster.get(), running({.name = "p", .node = "n0"}, rule.given));
    if (!rule.given.more.empty()) upsert(cluster.get(), rule.given.more);
    const OwnedSnapshot snapshot = snapshot_of(cluster.get());
    for (const bool holds : {true, false}) {
      berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
      options.preset = rule.preset;
      options.min_replicas = rule.min_replicas;
      options.rules_off = holds ? 0 : bit(rule.rule);
      const std::vector<Drained> nodes = drain(snapshot.get(), {node_number(cluster.get(), "n0")}, options);
      ASSERT_EQ(nodes.size(), 1u);
      ASSERT_EQ(nodes[0].pods.size(), 1u);
      const int expected = holds ? rule.outcome : rule.otherwise;
      EXPECT_EQ(nodes[0].pods.at("uid-p").first, expected) << (holds ? "holds" : "does not hold");
      EXPECT_EQ(nodes[0].is_removable, expected != BERTH_POD_BLOCKS);
      EXPECT_EQ(nodes[0].blocking, expected == BERTH_POD_BLOCKS ? "uid-p" : "");
      if (holds) {
        EXPECT_EQ(nodes[0].rule, expected == BERTH_POD_BLOCKS ? static_cast<int>(rule.rule) : BERTH_RULE_NONE);
      }
      EXPECT_EQ(nodes[0].pods.at("uid-p").second,
                expected == BERTH_POD_MOVES ? node_number(cluster.get(), "n1") : BERTH_NO_NODE);
    }
    // A rule of another preset may be added.
    berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
    options.preset = rule.preset;
    options.min_replicas = rule.min_replicas;
    options.rules_off = kAllRules & ~bit(rule.rule);
    options.rules_on = bit(rule.rule);
    if (rule.outcome == BERTH_POD_BLOCKS) {
      EXPECT_FALSE(drain(snapshot.get(), {node_number(cluster.get(), "n0")}, options)[0].is_removable);
    }
  }
}

TEST_P(Drain, WhatIsSafeIsNotHeldBack) {
  const std::string safe = "cluster-autoscaler.kubernetes.io/safe-to-evict";
  const std::vector<Given> givens = {
      {annotation(safe + "-local-volumes", "v,w"),
       R"("volumes":[{"name":"w","emptyDir":{}},{"name":"v","hostPath":{"path":"/"}}],)"},
      {kOfReplicaSet, R"("volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}],)"},
      {kOfReplicaSet, "", "kube-system", budget("b", 1, R"({"matchLabels":{"app":"x0"}})", "kube-system")},
  };
  for (const Given& given : givens) {
    const OwnedCluster cluster = make_cluster(GetParam(), 1);
    for (const char* name : {"n0", "n1"}) upsert(cluster.get(), node_json({.name = name}));
    upsert(cluster.get(), running({.name = "p", .node = "n0"}, given));
    if (!given.more.empty()) upsert(cluster.get(), given.more);
    berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
    options.preset = BERTH_DRAIN_CLUSTER_AUTOSCALER;
    const OwnedSnapshot snapshot = snapshot_of(cluster.get());
    EXPECT_TRUE(drain(snapshot.get(), {node_number(cluster.get(), "n0")}, options)[0].is_removable) << given.metadata;
  }
}

TEST_P(Drain, NodesOfASetShareBudgets) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  std::vector<std::uint32_t> drained;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "n" + std::to_string(i);
    upsert(cluster.get(), node_json({.name = name}));
    if (i == 3) continue;
    upsert(cluster.get(), running({.name = "p" + std::to_string(i), .node = name}, {kOfReplicaSet}));
    drained.push_back(node_number(cluster.get(), name));
  }
  upsert(cluster.get(), budget("b", 2));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  for (const std::uint32_t preset : {BERTH_DRAIN_KUBECTL, BERTH_DRAIN_KARPENTER}) {
    options.preset = preset;
    options.flags = 0;
    for (const Drained& node : drain(snapshot.get(), drained, options)) EXPECT_TRUE(node.is_removable);
    options.flags = BERTH_DRAIN_TOGETHER;
    const std::vector<Drained> together = drain(snapshot.get(), drained, options);
    EXPECT_TRUE(together[0].is_removable);
    EXPECT_TRUE(together[1].is_removable);
    EXPECT_FALSE(together[2].is_removable);
    EXPECT_EQ(together[2].rule, BERTH_RULE_BUDGET);
  }
}

TEST_P(Drain, IsKeptInAForkIfThatIsAsked) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  for (const char* name : {"n0", "n1"}) upsert(cluster.get(), node_json({.name = name}));
  upsert(cluster.get(), running({.name = "p", .node = "n0"}, {kOfReplicaSet}));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const OwnedFork fork = fork_of(snapshot.get());
  const std::uint32_t from = node_number(cluster.get(), "n0");
  for (const std::uint32_t by_score : {0U, std::uint32_t{BERTH_DRAIN_BY_SCORE}})
    for (const bool keeps : {false, true}) {
      const OwnedFork child = [&] {
        berth_fork* opened = nullptr;
        EXPECT_EQ(berth_fork_fork(fork.get(), &opened, nullptr), BERTH_OK);
        return OwnedFork(opened);
      }();
      berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
      options.flags = BERTH_DRAIN_TOGETHER | by_score;
      if (keeps) options.flags |= BERTH_DRAIN_KEEP;
      berth_result* result = nullptr;
      ASSERT_EQ(berth_fork_drain(child.get(), &from, 1, &options, &result, nullptr), BERTH_OK);
      berth_result_free(&result);
      std::uint32_t node = BERTH_NO_NODE;
      EXPECT_EQ(berth_fork_node_of_pod(child.get(), "uid-p", &node, nullptr), BERTH_OK);
      EXPECT_EQ(node, keeps ? node_number(cluster.get(), "n1") : from);
      const OwnedPod pod = pod_of(cluster.get(), pod_json({.name = "q"}));
      std::int32_t fits = 0;
      EXPECT_EQ(berth_fork_check(child.get(), pod.get(), from, 0, &fits, nullptr, nullptr), BERTH_OK);
      EXPECT_EQ(fits, keeps ? 0 : 1);
      if (!keeps) continue;
      EXPECT_EQ(berth_fork_commit(child.get(), nullptr, nullptr), BERTH_OK);
      EXPECT_EQ(berth_fork_node_of_pod(fork.get(), "uid-p", &node, nullptr), BERTH_OK);
      EXPECT_EQ(node, node_number(cluster.get(), "n1"));
      EXPECT_EQ(berth_fork_revert(fork.get(), nullptr), BERTH_OK);
    }
}

/// Such a pod's object names no node until an upsert confirms it.
TEST_P(Drain, MovesPodsThatWerePlacedInAFork) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  upsert(cluster.get(), node_json({.name = "n0", .cpu = 4}));
  const std::uint32_t from = node_number(cluster.get(), "n0");
  const OwnedSnapshot alone = snapshot_of(cluster.get());
  const OwnedFork fork = fork_of(alone.get());
  const OwnedPod small = pod_of(cluster.get(), pod_json({.name = "small", .milli_cpu = 500, .priority = 1}));
  const OwnedPod large = pod_of(cluster.get(), pod_json({.name = "large", .milli_cpu = 3000}));
  const std::vector<const berth_pod*> pods = {small.get(), large.get()};
  berth_result* result = nullptr;
  ASSERT_EQ(berth_fork_schedule(fork.get(), pods.data(), pods.size(), nullptr, &result, nullptr), BERTH_OK);
  EXPECT_EQ(values_of<std::uint32_t>(*OwnedResult(result), BERTH_COLUMN_NODE), std::vector<std::uint32_t>(2, from));
  const std::string other = node_json({.name = "n1", .cpu = 2});
  std::uint32_t to = BERTH_NO_NODE;
  ASSERT_EQ(berth_fork_add_node(fork.get(), other.data(), other.size(), &to, nullptr), BERTH_OK);
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.rules_off = kAllRules;
  for (const std::uint32_t flags : {0U, std::uint32_t{BERTH_DRAIN_TOGETHER}, std::uint32_t{BERTH_DRAIN_BY_SCORE}}) {
    options.flags = flags;
    ASSERT_EQ(berth_fork_drain(fork.get(), &from, 1, &options, &result, nullptr), BERTH_OK) << flags;
    const std::vector<Drained> drained = read(*OwnedResult(result));
    EXPECT_EQ(drained[0].pods.at("uid-small"), (std::pair<int, std::uint32_t>(BERTH_POD_MOVES, to)));
    EXPECT_EQ(drained[0].pods.at("uid-large").first, BERTH_POD_NO_PLACE);
    EXPECT_FALSE(drained[0].is_removable);
  }
  ASSERT_EQ(berth_fork_commit(fork.get(), nullptr, nullptr), BERTH_OK);
  options.flags = 0;
  const OwnedSnapshot committed = snapshot_of(cluster.get());
  EXPECT_EQ(drain(committed.get(), {from}, options)[0].pods.at("uid-small").second, to);
}

TEST_P(Drain, CountsNodesThatPreFilterDoesNotName) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  for (const char* const name : {"n0", "n1", "n2"}) upsert(cluster.get(), node_json({.name = name}));
  upsert(cluster.get(),
         R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","uid":"uid-p"},)"
         R"("spec":{"nodeName":"n0","containers":[{"name":"c"}],"affinity":{"nodeAffinity":{)"
         R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[)"
         R"({"key":"metadata.name","operator":"In","values":["n0"]}]}]}}}}})");
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.rules_off = kAllRules;
  for (const std::uint32_t flags : {0U, std::uint32_t{BERTH_DRAIN_BY_SCORE}}) {
    options.flags = flags;
    EXPECT_EQ(drain(snapshot.get(), {node_number(cluster.get(), "n0")}, options)[0].messages.at("uid-p"),
              "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].");
  }
}

TEST_P(Drain, RefusesWhatMakesNoSense) {
  const OwnedCluster cluster = make_cluster(GetParam(), 1);
  upsert(cluster.get(), node_json({.name = "n0"}));
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const auto ask = [&](std::vector<std::uint32_t> nodes, const berth_drain_options& options) {
    berth_result* result = nullptr;
    const berth_status status =
        berth_snapshot_drain(snapshot.get(), nodes.data(), nodes.size(), &options, &result, nullptr);
    EXPECT_EQ(result == nullptr, status < 0);
    berth_result_free(&result);
    return status;
  };
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  EXPECT_EQ(ask({}, options), BERTH_OK);
  EXPECT_EQ(ask({0}, options), BERTH_OK);
  EXPECT_EQ(ask({7}, options), BERTH_E_NOT_FOUND);
  EXPECT_EQ(ask({0, 0}, options), BERTH_E_ARGUMENT);
  options.preset = 3;
  EXPECT_EQ(ask({0}, options), BERTH_E_ARGUMENT);
  options.preset = 0;
  options.flags = BERTH_DRAIN_KEEP | BERTH_DRAIN_TOGETHER;
  EXPECT_EQ(ask({0}, options), BERTH_E_ARGUMENT);
  options.flags = BERTH_AS_MOVED;
  EXPECT_EQ(ask({0}, options), BERTH_E_ARGUMENT);
  options.flags = 0;
  options.rules_on = options.rules_off = bit(BERTH_RULE_BUDGET);
  EXPECT_EQ(ask({0}, options), BERTH_E_ARGUMENT);
  options.rules_on = 1;
  EXPECT_EQ(ask({0}, options), BERTH_E_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(All, Drain, testing::Values("cpu", "reference"));

/// Snapshots of an older cluster go on with an engine of their own, whose nodes have other indices.
TEST(DrainByScore, OfASnapshotIsTheSameAfterTheClusterMovedOn) {
  const OwnedCluster cluster = make_cluster("cpu", 1);
  // Added against the order in which an engine lists them: zone by zone in turn.
  for (const auto& [name, zone] :
       std::vector<std::pair<const char*, int>>{{"n0", 0}, {"n1", 0}, {"n2", 1}, {"n3", 1}, {"n4", 2}})
    upsert(cluster.get(), node_json({.name = name, .cpu = 4, .zone = zone}));
  upsert(cluster.get(), pod_json({.name = "p", .node = "n1", .wants_zone = 1}));
  const std::uint32_t drained = node_number(cluster.get(), "n1");
  const std::uint32_t only = node_number(cluster.get(), "n3");
  berth_node_set* set = nullptr;
  ASSERT_EQ(berth_node_set_create(cluster.get(), &only, 1, &set, nullptr), BERTH_OK);
  const OwnedNodeSet owned(set);
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.flags = BERTH_DRAIN_BY_SCORE;
  options.rules_off = bit(BERTH_RULE_NO_CONTROLLER);
  options.nodes = set;
  const std::vector<Drained> before = drain(snapshot.get(), {drained}, options);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].pods.at("uid-p").second, only);
  upsert(cluster.get(), node_json({.name = "n4", .cpu = 8, .zone = 0}));
  EXPECT_EQ(drain(snapshot.get(), {drained}, options), before);
  EXPECT_EQ(drain(snapshot.get(), {drained}, options), before);
}

}  // namespace
}  // namespace berth::test
