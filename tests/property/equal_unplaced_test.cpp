// SPDX-License-Identifier: Apache-2.0
// A million equal pods without an owner that find no node: the time is linear, as for pods that are placed. Tests
// assert no times: a quadratic one is ended by ctest (TIMEOUT in CMakeLists.txt).

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "host/objects/pod_copy.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth::test {
namespace {

constexpr std::size_t kPods = 1'000'000;

/// Pending pods of the scenario.
constexpr std::size_t kLarge = 0;
constexpr std::size_t kLarger = 1;
constexpr std::size_t kSmall = 2;

class EqualUnplacedTest : public testing::TestWithParam<const char*> {
 protected:
  EqualUnplacedTest()
      : backend_(open_backend(GetParam(), cache_, scenario_.objects, scenario_.config, scenario_.engine)) {}

  /// Adds `count` copies of a pending pod of the scenario to the batch.
  void add(std::size_t which, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto pod = copy_of(*pending_[which]);
      pod->name += "-" + std::to_string(pods_.size());
      pods_.push_back({std::move(pod), 0, -1});
    }
  }

  /// Answers the batch, of which only the first `placed` pods find a node.
  void expect_placed(std::size_t placed) {
    backend_->compile(pods_);
    const BatchResult result = backend_->commit_batch(pods_, {});
    ASSERT_EQ(result.outcomes.size(), pods_.size());
    for (std::size_t i = 0; i < pods_.size(); ++i)
      ASSERT_EQ(result.outcomes[i].kind, i < placed ? OutcomeKind::kPlaced : OutcomeKind::kUnschedulable) << i;
  }

  Scenario scenario_ = parse_scenario(
      "node n*20 cpu=4 memory=4Gi pods=2000\npod large cpu=5\npod larger cpu=6\npod small cpu=1m memory=1Mi\n");
  std::vector<PodPtr> pending_ = scenario_.pending();
  std::shared_ptr<ClusterCache> cache_ = fill_cache(scenario_.objects);
  std::unique_ptr<Backend> backend_;
  std::vector<PodToPlace> pods_;
};

TEST_P(EqualUnplacedTest, AMillionEqualPodsTakeLinearTime) {
  add(kLarge, kPods);
  expect_placed(0);
}

TEST_P(EqualUnplacedTest, TwoClassesInTurnTakeLinearTime) {
  for (std::size_t i = 0; i < kPods; i += 2) {
    add(kLarge, 1);
    add(kLarger, 1);
  }
  expect_placed(0);
}

TEST_P(EqualUnplacedTest, PodsBehindAPlacedRunTakeLinearTime) {
  add(kSmall, 5'000);
  add(kLarge, kPods);
  expect_placed(5'000);
}

// Not the reference, which evaluates every pod on every node.
INSTANTIATE_TEST_SUITE_P(FastBackends, EqualUnplacedTest, testing::Values("cpu", "cuda-emulated"),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
