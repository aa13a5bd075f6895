// SPDX-License-Identifier: Apache-2.0
// Long lists of changes, after which an engine may open its state again in place of following them one by one: answers
// are those of the same changes in short lists.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/engine_cluster.h"
#include "host/objects/pod_copy.h"
#include "tests/contract/backend_contract.h"
#include "tests/support/due_after.h"
#include "tests/support/evaluated.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

constexpr std::size_t kLoad = 6000;  ///< more than the changes that are followed one by one
constexpr std::size_t kShort = 500;

constexpr const char* kCluster =
    "node a cpu=30000 pods=9000 zone=x host\nnode b cpu=30000 pods=9000 zone=y host\nnode c cpu=8 zone=y host\n"
    "pod old on=a cpu=2 label:app=web\n"
    "pod p cpu=1 label:app=web spread=zone match=app=web\npod q cpu=4\npod r cpu=1 pod-anti-affinity=host "
    "match=app=web";

class LoadContract : public BackendContract {
 protected:
  /// Equal pods but for their names, on nodes in turn; every tenth of them is one of those before on another node.
  std::vector<ClusterChange> load(const std::vector<std::string>& nodes) const {
    std::vector<ClusterChange> changes;
    for (std::size_t i = 0; i < kLoad; ++i) {
      auto made = copy_of(*pod("old"));
      made->name = made->stored_uid = "pod-" + std::to_string(i % 10 == 9 ? i / 2 : i);
      made->node_name = nodes[i % nodes.size()];
      if (i % 7 == 0) made->labels = LabelMap{{"app", "other"}};
      changes.emplace_back(PodUpsert{std::move(made)});
    }
    return changes;
  }
  void apply_in_parts(std::span<const ClusterChange> changes) {
    for (; !changes.empty(); changes = changes.subspan(std::min(kShort, changes.size())))
      backend_->apply(changes.first(std::min(kShort, changes.size())));
  }
  /// What the backend says of every pending pod, and where it places them.
  std::vector<std::string> answers() {
    std::vector<std::string> lines;
    const std::vector<PodToPlace> pods = prepared(scenario_.pending());
    for (const PodToPlace& asked : pods) {
      const Evaluation evaluation = evaluated(asked, *backend_);
      for (const NodeEvaluation& on : evaluation.nodes)
        lines.push_back(std::string(backend_->node_name(on.node)) + ' ' +
                        (on.feasible ? std::to_string(on.total) : on.status.message()));
      lines.push_back(evaluation.message);
    }
    const CommitMark before = backend_->mark();
    for (const std::string& name : nodes_of(place_pending())) lines.push_back(name);
    backend_->rollback(before);
    return lines;
  }
};

TEST_P(LoadContract, ALoadIsTheSameAsItsPartsOneAfterTheOther) {
  given(kCluster);
  const std::vector<ClusterChange> changes = load({"a", "b", "gone"});
  apply_in_parts(changes);
  const std::vector<std::string> expected = answers();
  given(kCluster);
  const std::vector<std::string> before = answers();
  const std::uint64_t version = backend_->change_version();
  backend_->apply(changes);
  EXPECT_GT(backend_->change_version(), version);
  EXPECT_EQ(answers(), expected);
  EXPECT_NE(expected, before);
}

TEST_P(LoadContract, NodesMayComeWithTheirPodsIntoAnEmptyCluster) {
  given(kCluster);
  std::vector<ClusterChange> changes;
  for (const NodePtr& object : scenario_.objects.nodes) changes.emplace_back(NodeUpsert(object));
  for (ClusterChange& change : load({"a", "b"})) changes.push_back(std::move(change));
  apply_in_parts(changes);
  const std::vector<std::string> expected = answers();
  given(kCluster);
  for (const NodePtr& object : scenario_.objects.nodes)
    backend_->apply(std::vector<ClusterChange>{NodeRemoval{object->name}});
  backend_->apply(std::vector<ClusterChange>{PodRemoval{pod("old")->uid()}});
  backend_->apply(changes);
  // The pod that was there before the load is not among its pods.
  backend_->apply(std::vector<ClusterChange>{PodUpsert{pod("old")}});
  EXPECT_EQ(answers(), expected);
}

TEST_P(LoadContract, PodsThatWerePreparedBeforeAndForksThatAreOpenStayInUse) {
  given(kCluster);
  const std::vector<PodToPlace> asked = prepared(scenario_.pending());
  const std::unique_ptr<Fork> fork = backend_->fork();
  const BatchResult in_fork = fork->commit_batch(asked, {});
  const NodeIndex a = backend_->find_node("a");
  backend_->apply(load({"a", "b"}));
  EXPECT_EQ(backend_->find_node("a"), a) << "nodes keep their numbers";
  const CommitMark before = backend_->mark();
  const std::vector<std::string> now = nodes_of(backend_->commit_batch(asked, {}));
  backend_->rollback(before);
  EXPECT_EQ(now, nodes_of(place_pending()));
  const std::unique_ptr<Fork> later = backend_->fork();
  EXPECT_EQ(fork->evaluate(asked[1]).nodes.size(), 3U);
  EXPECT_EQ(nodes_of(in_fork).size(), asked.size());
  EXPECT_NE(fork->node_of_pod("default/p"), "") << "the fork has what it placed";
  EXPECT_EQ(later->node_of_pod("pod-1"), "b");
  EXPECT_EQ(fork->node_of_pod("pod-1"), "") << "and nothing of the load";
}

TEST_P(LoadContract, ALoadThatIsInterruptedChangesNothing) {
  given(kCluster);
  backend_->apply(std::vector<ClusterChange>{PodUpsert{pod("old")}});
  const std::vector<std::string> expected = answers();
  const std::vector<ClusterChange> changes = load({"a", "b"});
  bool was_interrupted = false;
  for (const int times : {0, 1, 5, 11}) {
    const DueAfter due(times);
    const std::uint64_t version = backend_->change_version();
    try {
      const InterruptionScope scope(&due);
      backend_->apply(changes);
    } catch (const Interrupted&) {
      was_interrupted = true;
      EXPECT_EQ(backend_->change_version(), version);
      EXPECT_EQ(answers(), expected) << times;
      continue;
    }
    break;  // from here on it is loaded
  }
  EXPECT_EQ(was_interrupted, std::string_view(GetParam()) != "reference") << "the reference looks at nothing";
}

INSTANTIATE_TEST_SUITE_P(All, LoadContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& tested) { return name_in_tests(tested.param); });

}  // namespace
}  // namespace berth::test
