// SPDX-License-Identifier: Apache-2.0
// Which pods share a class while queries are added, and the counts of their matches.
#include "batching/topology_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

constexpr const char* kNodes = "node a zone=z0 host\nnode b zone=z1 host\n";

struct Index {
  explicit Index(const std::string& text) : cluster(kNodes + text) {}

  std::uint64_t epoch() { return cluster.table.topology().epoch(); }
  /// Compiles the pods from `first` on, as a later batch.
  std::vector<std::int32_t> compile(std::size_t first, std::size_t count) {
    cluster.table.compile(std::span(pods()).subspan(first, count));
    std::vector<std::int32_t> classes;
    for (std::size_t i = first; i < first + count; ++i) classes.push_back(pods()[i].class_index);
    return classes;
  }
  std::int32_t class_index(std::size_t pod) { return pods()[pod].class_index; }
  std::vector<PodToPlace>& pods() { return cluster.pods; }
  std::int64_t total(std::int32_t table) { return cluster.snapshot.topology().total(table); }

  test::CompiledCluster cluster;
};

/// A pod that is not compiled yet. It has a query for app=web.
PodPtr asking_pod() {
  static const test::Scenario scenario =
      test::parse_scenario(std::string(kNodes) + "pod asks cpu=1 label:app=ask spread=zone match=app=web\n");
  return scenario.pending().front();
}

TEST(TopologyIndexTest, LabelsDoNotSplitClassesWithoutAQuery) {
  Index index("pod p cpu=1 label:app=web\npod q cpu=1 label:app=db\n");
  EXPECT_EQ(index.class_index(0), index.class_index(1));
  EXPECT_FALSE(index.cluster.table.topology().has_terms());
  EXPECT_EQ(index.epoch(), 0u);
}

TEST(TopologyIndexTest, AQuerySplitsTheClassOfPodsThatMatchDifferently) {
  Index index("pod p cpu=1 label:app=web\npod q cpu=1 label:app=db\npod r cpu=1 label:app=ask\n");
  ASSERT_EQ(index.class_index(0), index.class_index(1));
  std::vector<PodToPlace> asking{{asking_pod(), 0, -1}};
  index.cluster.table.compile(asking);
  EXPECT_TRUE(index.cluster.table.is_stale(index.pods()[0]));
  const std::vector<std::int32_t> classes = index.compile(0, 3);
  EXPECT_NE(classes[0], classes[1]);
  EXPECT_EQ(classes[1], classes[2]) << "both answer no";
  EXPECT_FALSE(index.cluster.table.is_stale(index.pods()[0]));
}

TEST(TopologyIndexTest, ATermOfAnotherPodSplitsTheClassOfPodsThatMatchDifferently) {
  Index index(
      "pod old on=a label:app=db pod-anti-affinity=zone match=app=web\n"
      "pod p cpu=1 label:app=web\npod q cpu=1 label:app=ask\npod r cpu=1 label:app=web namespace=other\n");
  EXPECT_NE(index.class_index(0), index.class_index(1));
  EXPECT_EQ(index.class_index(1), index.class_index(2)) << "the term means its own namespace";
  const PodClass& met = index.cluster.class_of(0);
  ASSERT_NE(met.topology, nullptr);
  EXPECT_EQ(met.topology->existing_anti.size(), 1u);
  EXPECT_EQ(index.total(met.topology->existing_anti.front()), 1) << "the running pod brings it";
}

TEST(TopologyIndexTest, PodsWithEqualQueriesAndMatchesShareAClassDespiteOtherLabels) {
  Index index(
      "pod p label:app=web label:rev=1 spread=zone match=app=web\n"
      "pod q label:app=web label:rev=2 spread=zone match=app=web\n"
      "pod r label:app=web spread=zone skew=2 match=app=web\n"
      "pod s label:app=web spread=host match=app=web\n"
      "pod t label:app=db spread=zone match=app=web\n");
  EXPECT_EQ(index.class_index(0), index.class_index(1));
  for (std::size_t other = 2; other < 5; ++other) EXPECT_NE(index.class_index(0), index.class_index(other)) << other;
}

TEST(TopologyIndexTest, ReplicasWithLabelsOfTheirOwnShareWhatTheyAreCompiledTo) {
  Index index(
      "pod p label:app=web label:name=p spread=zone match=app=web\n"
      "pod q label:app=web label:name=q spread=zone match=app=web\n"
      "pod r label:app=db label:name=r spread=zone match=app=web\n");
  const std::span<const std::int32_t> kinds = index.cluster.table.kinds();
  ASSERT_NE(kinds[0], kinds[1]);
  TopologyIndex& topology = index.cluster.table.topology();
  EXPECT_EQ(&topology.compile(kinds[0]), &topology.compile(kinds[1]));
  EXPECT_NE(&topology.compile(kinds[0]), &topology.compile(kinds[2])) << "it does not match its own constraint";
}

TEST(TopologyIndexTest, ANewQueryOrKeyAdvancesTheEpoch) {
  Index index(
      "pod p label:app=web spread=zone match=app=web\n"
      "pod q label:app=web cpu=1 spread=zone match=app=web\n");
  const std::uint64_t before = index.epoch();
  index.compile(0, 2);
  EXPECT_EQ(index.epoch(), before) << "nothing new was asked";
  const auto compile_one = [&](const std::string& words) {
    test::Scenario scenario = test::parse_scenario(kNodes + words);
    std::vector<PodToPlace> pods{{scenario.pending().front(), 0, -1}};
    index.cluster.table.compile(pods);
  };
  compile_one("pod r label:app=web spread=host match=app=web\n");
  const std::uint64_t with_key = index.epoch();
  EXPECT_GT(with_key, before);
  compile_one("pod s label:app=web spread=zone match=app=db\n");
  EXPECT_GT(index.epoch(), with_key);
}

TEST(TopologyIndexTest, ANewQueryCountsRunningPodsAndUncachedPods) {
  Index index("pod old*3 on=a label:app=web\npod p cpu=1 label:app=web\npod q cpu=1 label:app=db\n");
  std::vector<AnsweredPod> placed{{index.pods()[0].pod.get(), 1, index.class_index(0)},
                                  {index.pods()[1].pod.get(), 0, index.class_index(1)},
                                  {index.pods()[0].pod.get(), -1, index.class_index(0)}};
  std::vector<PodToPlace> asking{{asking_pod(), 0, -1}};
  index.cluster.table.compile(asking, placed);
  const std::int32_t table = index.cluster.table[asking[0].class_index].topology->hard.front().table;
  const TopologyCounts& counts = index.cluster.snapshot.topology();
  EXPECT_EQ(counts.count_at(table, index.cluster.snapshot.find_node("a")), 3);
  EXPECT_EQ(counts.count_at(table, index.cluster.snapshot.find_node("b")), 1);
}

TEST(TopologyIndexTest, APodMovesTheTablesOfMatchingQueriesAndItsOwnTerms) {
  Index index(
      "pod p label:app=web spread=zone match=app=web pod-anti-affinity=host match=app=db\n"
      "pod q label:app=db\npod r label:app=ask\n");
  // p matches its own constraint and adds its term; q matches p's term; r matches nothing.
  EXPECT_EQ(index.cluster.class_of(0).moves.size(), 2u);
  EXPECT_EQ(index.cluster.class_of(1).moves.size(), 1u);
  EXPECT_TRUE(index.cluster.class_of(2).moves.empty());
  EXPECT_EQ(index.cluster.class_of(2).topology, nullptr);
}

TEST(TopologyIndexTest, ATermOfANominatedPodIsCountedOnANodeUpdateBeforeAnyCompile) {
  Index index("pod old*2 on=a label:app=db pod-affinity=zone match=app=db\npod p label:app=db\n");
  TopologyIndex& topology = index.cluster.table.topology();
  // The same term as that of a nominated pod: no pod has had it as required anti-affinity before.
  const test::Scenario waiting =
      test::parse_scenario(std::string(kNodes) + "pod n label:app=db pod-anti-affinity=zone match=app=db\n");
  const PodPtr nominated = waiting.pending().front();
  topology.note_terms(*nominated);
  const std::int32_t slot = 1;
  index.cluster.cluster.assume(nominated, index.cluster.snapshot.node(slot).name, nullptr);
  topology.change_pod(slot, nullptr, nominated);
  const TopologyCounts expected = topology.recount({});
  ASSERT_GT(expected.table_count(), 0);
  for (std::int32_t t = 0; t < expected.table_count(); ++t) EXPECT_EQ(index.total(t), expected.total(t)) << t;
}

// Which pods are to be compiled again

/// Pods as they are compiled when this is made.
class Compiled {
 public:
  explicit Compiled(Index& index) : index_(index) {
    const TopologyIndex& topology = index.cluster.table.topology();
    for (const std::int32_t kind : index.cluster.table.kinds())
      pods_.push_back({kind, 0, topology.version_of_kind(kind), topology.epoch()});
  }
  /// Names of the pods that would be compiled to something else now.
  std::vector<std::string> outdated() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < pods_.size(); ++i)
      if (!index_.cluster.table.topology().is_current(*index_.pods()[i].pod, pods_[i]))
        names.push_back(index_.pods()[i].pod->name);
    return names;
  }
  std::vector<std::string> outdated_after(const ClusterChange& change) const {
    const ClusterEffect effect = index_.cluster.cluster.apply(change);
    TopologyIndex& topology = index_.cluster.table.topology();
    if (effect.selectors_changed) topology.change_selectors(effect.selectors);
    if (effect.namespaces_changed) topology.change_namespace(effect.name_space);
    return outdated();
  }

 private:
  Index& index_;
  std::vector<TopologyIndex::CompiledPod> pods_;
};

using Names = std::vector<std::string>;
using Labels = LabelMap;

TEST(TopologyIndexTest, ANewQueryConcernsThePodsThatItMatches) {
  Index index("pod p cpu=1 label:app=web spread=zone match=app=db\npod q cpu=1 label:app=db\n");
  const Compiled compiled(index);
  std::vector<PodToPlace> asking{{asking_pod(), 0, -1}};
  index.cluster.table.compile(asking);
  EXPECT_EQ(compiled.outdated(), Names{"p"});
}

TEST(TopologyIndexTest, AServiceConcernsThePodsThatItSelectsOrSelected) {
  Index index("pod p label:app=web\npod q label:app=db\npod r label:app=cache\npod s label:app=web namespace=other\n");
  const auto service = [](const std::string& name, LabelMap selector) {
    return ServiceUpsert{{name, "default", std::move(selector)}};
  };
  EXPECT_EQ(Compiled(index).outdated_after(service("first", Labels{{"app", "none"}})).size(), 4u)
      << "no selector was there before";
  index.compile(0, 4);
  const Compiled compiled(index);
  EXPECT_TRUE(compiled.outdated_after(service("first", Labels{{"app", "none"}})).empty()) << "as before";
  EXPECT_TRUE(compiled.outdated_after(service("second", {})).empty()) << "it selects nothing";
  EXPECT_EQ(compiled.outdated_after(service("first", Labels{{"app", "web"}})), Names{"p"});
  EXPECT_EQ(compiled.outdated_after(service("first", Labels{{"app", "db"}})), (Names{"p", "q"}));
  index.compile(0, 4);
  EXPECT_EQ(Compiled(index).outdated_after(ServiceRemoval{"default", "first"}), Names{"q"});
}

TEST(TopologyIndexTest, AWorkloadConcernsThePodsThatItControls) {
  Index index("pod p label:app=web owner=ReplicaSet/mine\npod q label:app=web owner=ReplicaSet/other\npod r\n");
  const auto workload = [](const std::string& kind, const std::string& app) {
    Workload object;
    object.kind = kind;
    object.name = "mine";
    object.namespace_ = "default";
    object.selector = LabelSelector();
    object.selector->match_labels = Labels{{"app", app}};
    return WorkloadUpsert{std::move(object)};
  };
  Compiled(index).outdated_after(ServiceUpsert{{"any", "default", Labels{{"app", "none"}}}});
  index.compile(0, 3);
  const Compiled compiled(index);
  EXPECT_TRUE(compiled.outdated_after(workload("Deployment", "web")).empty()) << "default spreading reads none";
  EXPECT_EQ(compiled.outdated_after(workload("ReplicaSet", "web")), Names{"p"});
  index.compile(0, 3);
  EXPECT_TRUE(Compiled(index).outdated_after(workload("ReplicaSet", "web")).empty()) << "as before";
}

TEST(TopologyIndexTest, ANamespaceConcernsThePodsThatMatchOtherTermsThen) {
  Index index(
      "namespace one label:team=x\nnamespace two label:team=y\n"
      "pod old on=a pod-anti-affinity=zone match=app=web namespace-match=team=x\n"
      "pod p label:app=web namespace=one\npod q label:app=db namespace=one\npod r label:app=web namespace=two\n");
  const Compiled compiled(index);
  EXPECT_TRUE(compiled.outdated_after(NamespaceUpsert{{"three", Labels{{"team", "x"}}}}).empty());
  EXPECT_EQ(compiled.outdated_after(NamespaceUpsert{{"two", Labels{{"team", "x"}}}}), Names{"r"});
  EXPECT_EQ(compiled.outdated_after(NamespaceRemoval{"one"}), (Names{"p", "r"}));
}

TEST(TopologySignatureTest, ListsOfDifferentLengthsHaveDifferentSignatures) {
  TopologyProgram program;
  program.affinity = {1, 2};
  TopologyProgram other;
  other.affinity = {1};
  other.existing_anti = {2};
  EXPECT_NE(signature_of(program, {}), signature_of(other, {}));
  EXPECT_NE(signature_of(program, {{3, 1}}), signature_of(program, {{3, 2}}));
  EXPECT_EQ(signature_of(program, {{3, 1}}), signature_of(program, {{3, 1}}));
}

}  // namespace
}  // namespace berth
