// SPDX-License-Identifier: Apache-2.0
// Node order in forks: it decides between nodes of equal totals and equal draws, and a node that leaves changes it.

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/framework/draw.h"
#include "tests/contract/backend_contract.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

/// Two names whose nodes draw alike while they are equal and empty: one pair in 4 billion does.
std::pair<std::string, std::string> names_of_equal_draw() {
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  const EngineConfig engine;
  const DrawRule rule = draw_rule(config.profiles.front(), engine.tie_break, engine.seed);
  std::unordered_map<Draw, std::string> known;
  for (int i = 0;; ++i) {
    std::string name = "n" + std::to_string(i);
    const NodeDraws draws(rule, node_name_hash(name), 0, {1000, 1000, 10});
    const auto [at, is_new] = known.try_emplace(draws.with({}).bits, name);
    if (!is_new) return {at->second, std::move(name)};
  }
}

class ForkOrder : public BackendContract {
 protected:
  /// In node order: first of zone a, of zone b, second of zone a. Without the first one, the last two change places.
  void given_a_node_to_leave(const std::string& pods) {
    const auto [p, q] = names_of_equal_draw();
    given("node leaves zone=a cpu=1 label:rack=r\nnode " + p + " zone=a cpu=4 label:rack=r\nnode " + q +
          " zone=b cpu=4 label:rack=r\n" + pods);
    in_zone_a_ = p;
    in_zone_b_ = q;
  }
  std::string chosen_in(Fork& fork, const std::string& name) {
    return std::string(fork.node_name(fork.commit_batch(prepared({pod(name)}), {}).outcomes.front().node));
  }
  void expect_other_order_without_a_node(const std::string& pod_name) {
    const auto as_it_is = backend_->fork();
    const auto without = backend_->fork();
    const ClusterChange change = NodeRemoval{"leaves"};
    without->apply({&change, 1});
    EXPECT_EQ(chosen_in(*as_it_is, pod_name), in_zone_b_);
    EXPECT_EQ(chosen_in(*without, pod_name), in_zone_a_);
    EXPECT_EQ(backend_->stats().forks_reopened, 0);
  }
  std::string in_zone_a_, in_zone_b_;
};

TEST_P(ForkOrder, ANodeThatLeavesChangesWhichOfTwoEqualNodesIsFirst) {
  given_a_node_to_leave("pod p cpu=2");
  expect_other_order_without_a_node("p");
}

TEST_P(ForkOrder, ANodeThatLeavesChangesTheOrderWithinAGroup) {
  given_a_node_to_leave("pod p cpu=2 pod-anti-affinity=rack match=app=x");
  expect_other_order_without_a_node("p");
}

TEST_P(ForkOrder, AnEngineAgreesWithoutTheNode) {
  given_a_node_to_leave("pod p cpu=2");
  const ClusterChange change = NodeRemoval{"leaves"};
  backend_->apply({&change, 1});
  EXPECT_EQ(nodes_of(place({pod("p")})), std::vector<std::string>{in_zone_a_});
}

INSTANTIATE_TEST_SUITE_P(All, ForkOrder, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
