// SPDX-License-Identifier: Apache-2.0
// A call that is interrupted, whenever it looks, changes nothing: what is asked next is answered as if it had not been.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/engine_cluster.h"
#include "tests/contract/backend_contract.h"
#include "tests/support/due_after.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

class InterruptedContract : public BackendContract {
 protected:
  /// Three zones with the same number of pods, so that one more or less is seen.
  static std::string cluster() {
    std::string text = "node spare cpu=1 zone=z0 host\n";
    for (int n = 0; n < 12; ++n) {
      const std::string name = "n" + std::to_string(n);
      text += "node " + name + " cpu=8 zone=z" + std::to_string(n % 3) + " host\n";
      text += "pod old-" + name + " on=" + name + " cpu=1 label:app=web\n";
    }
    return text +
           "pod p cpu=1 label:app=web spread=zone match=app=web\npod q cpu=1 label:app=lone pod-anti-affinity=host "
           "match=app=web\n";
  }
  template <class Where>
  std::vector<std::string> answers(Where& where, std::span<const PodToPlace> pods) {
    std::vector<std::string> answers;
    for (const PodToPlace& pod : pods) {
      std::vector<NodeIndex> nodes;
      for (int n = 0; n < 12; ++n) nodes.push_back(where.find_node("n" + std::to_string(n)));
      for (const NodeStatus& status : where.statuses_on(pod, nodes).nodes)
        answers.push_back(status.status.plugin + ": " + status.status.message());
    }
    return answers;
  }
  /// Runs call(), which may be interrupted. @return whether it was
  template <class Call>
  static bool interrupted_after(int times, Call call) {
    const DueAfter due(times);
    try {
      const InterruptionScope scope(&due);
      call();
    } catch (const Interrupted&) {
      return true;
    }
    return false;
  }
};

TEST_P(InterruptedContract, AForkThatOpensAnEngineAnswersAsBefore) {
  given(cluster());
  const std::vector<PodToPlace> pods = prepared({pod("p"), pod("q")});
  const std::vector<std::string> expected = answers(*backend_->fork(), pods);
  int times = 0;
  for (bool is_cut = true; is_cut && times < 1000; ++times) {
    const auto fork = backend_->fork();
    auto spare = std::make_shared<Node>(*backend_->cluster().cache().find_node("spare")->node);
    spare->allocatable.milli_cpu += 1000;
    const ClusterChange change = NodeUpsert(std::move(spare));
    backend_->apply({&change, 1});
    is_cut = interrupted_after(times, [&] { answers(*fork, pods); });
    EXPECT_EQ(answers(*fork, pods), expected) << times;
    fork->place(pods.front(), "n0");
    EXPECT_EQ(fork->node_of_pod(pods.front().pod->uid()), "n0");
  }
  EXPECT_LT(times, 1000);
}

TEST_P(InterruptedContract, PodsThatArePreparedAgainAreAnsweredAsBefore) {
  std::vector<std::string> expected;
  int times = 0;
  for (bool is_cut = true; is_cut && times < 1000; ++times) {
    given(cluster());
    std::vector<PodToPlace> pods = {{pod("p"), 0}, {pod("q"), 0}};
    if (expected.empty()) {
      std::vector<PodToPlace> others = pods;
      backend_->prepare(others);
      expected = answers(*backend_, others);
      continue;
    }
    is_cut = interrupted_after(times - 1, [&] { backend_->prepare(pods); });
    backend_->prepare(pods);
    EXPECT_EQ(answers(*backend_, pods), expected) << times;
    backend_->place(pods.front(), "n0");
  }
  EXPECT_LT(times, 1000);
}

TEST_P(InterruptedContract, AmongCallsThatHappenAsOneTheOthersAreAnsweredAsBefore) {
  given(cluster());
  const std::vector<PodToPlace> pods = prepared({pod("p"), pod("q")});
  const std::vector<std::string> expected = answers(*backend_->fork(), pods);
  for (int times = 0; times < 200; times += 3) {
    const auto fork = backend_->fork();
    auto spare = std::make_shared<Node>(*backend_->cluster().cache().find_node("spare")->node);
    spare->allocatable.milli_cpu += 1000;
    const ClusterChange change = NodeUpsert(std::move(spare));
    backend_->apply({&change, 1});
    fork->find_node("n0");  // which opens an engine of its own
    fork->as_one([&] { interrupted_after(times, [&] { answers(*fork, pods); }); });
    EXPECT_EQ(answers(*fork, pods), expected) << times;
  }
}

INSTANTIATE_TEST_SUITE_P(All, InterruptedContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& tested) { return name_in_tests(tested.param); });

}  // namespace
}  // namespace berth::test
