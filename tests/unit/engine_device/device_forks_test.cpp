// SPDX-License-Identifier: Apache-2.0
// Batches and evaluations of forks on a device: what is sent for them, and when the host answers instead.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

constexpr const char* kCluster =
    "node a*6 cpu=8 memory=32Gi zone=x\nnode b*6 cpu=8 memory=32Gi zone=y\nnode c*3 cpu=4 memory=8Gi zone=z\n"
    "pod old*4 on=a0 cpu=1 label:app=web\n"
    "pod web*6 cpu=1 memory=1Gi label:app=web spread=zone match=app=web\n"
    "pod db*4 cpu=500m label:app=db pod-anti-affinity=host match=app=db\n"
    "pod port*3 cpu=100m port=8080\npod plain*6 cpu=2 memory=4Gi\npod huge cpu=64\n";

/// The same calls on a device backend and on a cpu backend.
class DeviceForks : public testing::Test {
 protected:
  struct Side {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Fork> fork;
    std::vector<PodToPlace> pods;  ///< prepared
  };

  void open(const std::string& text = kCluster, const DeviceTuning& tuning = {}) {
    scenario_ = test::parse_scenario(text);
    cache_ = test::fill_cache(scenario_.objects);
    auto made = std::make_unique<test::EmulatedAccelerator>();
    accelerator_ = made.get();
    device_.backend = std::make_unique<DeviceBackend>(std::move(made), cache_, scenario_.objects, scenario_.config,
                                                      scenario_.engine, tuning);
    cpu_.backend = std::make_unique<CpuBackend>(cache_, scenario_.objects, scenario_.config, scenario_.engine);
    for (Side* const side : {&device_, &cpu_}) {
      for (const PodPtr& pod : scenario_.pending()) side->pods.push_back({pod, 0, -1});
      side->backend->prepare(side->pods);
      side->fork = side->backend->fork();
    }
  }
  /// One line per outcome.
  template <class Answering>
  static std::vector<std::string> lines(const BatchResult& result, const Answering& answering) {
    std::vector<std::string> lines;
    for (const Outcome& outcome : result.outcomes)
      lines.push_back(outcome.kind == OutcomeKind::kPlaced
                          ? std::string(answering.node_name(outcome.node)) + " " + std::to_string(outcome.score)
                          : result.messages[static_cast<std::size_t>(outcome.message)].text);
    return lines;
  }
  /// Commits pods [first, end) in the forks.
  void expect_equal_batches(std::size_t first, std::size_t end, const BatchLimits& limits = {}) {
    const auto commit = [&](Side& side) {
      return lines(side.fork->commit_batch(std::span(side.pods).subspan(first, end - first), limits), *side.fork);
    };
    EXPECT_EQ(commit(device_), commit(cpu_)) << "pods " << first << " to " << end;
  }
  /// Of one pod on every node, in the forks: one line per node.
  void expect_equal_evaluations(std::size_t pod) {
    const auto evaluate = [&](Side& side) {
      std::vector<std::string> lines;
      for (const NodeEvaluation& node : side.fork->evaluate(side.pods[pod]).nodes) {
        lines.push_back(std::string(side.fork->node_name(node.node)) + " " + std::to_string(node.total) + " " +
                        node.status.message());
        for (const PluginScore& score : node.scores)
          lines.back() += " " + std::string(score.plugin) + "=" + std::to_string(score.raw) + ":" +
                          std::to_string(score.normalized);
      }
      return lines;
    };
    EXPECT_EQ(evaluate(device_), evaluate(cpu_)) << "pod " << pod;
  }
  void expect_equal_evaluations() {
    for (std::size_t i = 0; i < pod_count(); ++i) expect_equal_evaluations(i);
  }
  void commit_in_engines(std::size_t first, std::size_t end) {
    for (Side* const side : {&device_, &cpu_})
      side->backend->commit_batch(std::span(side->pods).subspan(first, end - first), {});
  }
  std::int64_t launches(std::string_view kernel) const {
    for (const DeviceStats::Kernel& known : accelerator_->stats().kernels)
      if (known.name == kernel) return known.launches;
    return 0;
  }
  std::int64_t pods_on_host() const { return device_.backend->stats().device->fork_pods_on_host; }
  std::int64_t evaluations_on_host() const { return device_.backend->stats().device->evaluations_on_host; }
  std::size_t pod_count() const { return device_.pods.size(); }

  test::Scenario scenario_;
  std::shared_ptr<ClusterCache> cache_;
  test::EmulatedAccelerator* accelerator_ = nullptr;
  Side device_, cpu_;
};

TEST_F(DeviceForks, ABatchIsOneLaunchOfItsPods) {
  open();
  expect_equal_batches(0, pod_count());
  EXPECT_EQ(launches("commit_forks"), 1);
  EXPECT_EQ(pods_on_host(), 0);
}

TEST_F(DeviceForks, PlacementsOfTheForkAndEvictionsCountInItsNextBatch) {
  open();
  expect_equal_batches(0, 5);
  for (Side* const side : {&device_, &cpu_})
    side->fork->apply(std::vector<ClusterChange>{PodRemoval{scenario_.objects.pods.front()->uid()}});
  expect_equal_batches(5, 12);
  expect_equal_batches(12, pod_count());
  EXPECT_EQ(pods_on_host(), 0);
}

TEST_F(DeviceForks, AForkOfAForkKnowsWhatItsParentDid) {
  open();
  expect_equal_batches(0, 6);
  for (Side* const side : {&device_, &cpu_}) side->fork = side->fork->fork();
  expect_equal_batches(6, pod_count());
  EXPECT_EQ(pods_on_host(), 0);
}

TEST_F(DeviceForks, WhatTheEngineDoesAfterTheOpeningDoesNotCount) {
  open();
  commit_in_engines(0, 8);
  expect_equal_batches(8, 14);
  commit_in_engines(14, 16);
  expect_equal_batches(16, pod_count());
  EXPECT_EQ(pods_on_host(), 0);
}

TEST_F(DeviceForks, TheEngineContinuesFromItsOwnState) {
  open();
  expect_equal_batches(0, 8);
  const auto commit = [&](Side& side) {
    return lines(side.backend->commit_batch(std::span(side.pods).subspan(8), {}), *side.backend);
  };
  EXPECT_EQ(commit(device_), commit(cpu_));
}

TEST_F(DeviceForks, ABatchEndsAtAPodWithoutANodeWhereItIsAsked) {
  open();
  BatchLimits limits;
  limits.stop_at_failure = true;
  expect_equal_batches(16, pod_count(), limits);
  EXPECT_EQ(pods_on_host(), 0);
}

TEST_F(DeviceForks, RowsStayReadyForBatchesOfOtherClasses) {
  open();
  expect_equal_batches(0, 6);
  expect_equal_batches(6, 10);
  const std::int64_t built = device_.backend->stats().rows_built;
  expect_equal_batches(0, 6);
  expect_equal_batches(6, 10);
  EXPECT_EQ(device_.backend->stats().rows_built, built);
}

TEST_F(DeviceForks, TheHostAnswersAForkWithNodesOfItsOwn) {
  open();
  const auto node = std::make_shared<Node>(*scenario_.objects.nodes.front());
  node->name = "guest";
  for (Side* const side : {&device_, &cpu_}) side->fork->apply(std::vector<ClusterChange>{NodeUpsert{node}});
  expect_equal_batches(0, 4);
  EXPECT_EQ(launches("commit_forks"), 0);
  EXPECT_EQ(pods_on_host(), 4);
}

TEST_F(DeviceForks, NominationsCountOnTheDevice) {
  open();
  auto nominated = test::parse_scenario("pod n cpu=6 priority=9").pending().front();
  for (Side* const side : {&device_, &cpu_}) {
    side->backend->apply(std::vector<ClusterChange>{NominationUpsert{nominated, "b0"}});
    side->fork = side->backend->fork();
  }
  expect_equal_evaluations();
  expect_equal_batches(0, 12);
  expect_equal_evaluations();
  EXPECT_EQ(pods_on_host(), 0);
  EXPECT_EQ(device_.backend->stats().device->evaluations_on_host, 0);
}

TEST_F(DeviceForks, TheHostAnswersWhenTheDeviceFails) {
  open();
  expect_equal_batches(0, 3);
  accelerator_->emulation().fails_after = accelerator_->launches();
  expect_equal_batches(3, 6);
  EXPECT_EQ(pods_on_host(), 3);
  accelerator_->emulation().fails_after = -1;
  commit_in_engines(6, 8);
  expect_equal_batches(8, 12);
  EXPECT_EQ(pods_on_host(), 3) << "the device is there again";
}

TEST_F(DeviceForks, TheHostAnswersWhenThereIsNoMemoryForACopy) {
  open();
  commit_in_engines(0, 2);
  accelerator_->emulation().refuses_after = accelerator_->allocations();
  expect_equal_batches(2, 5);
  EXPECT_GT(pods_on_host(), 0);
  accelerator_->emulation().refuses_after = -1;
  const std::int64_t before = pods_on_host();
  expect_equal_batches(5, 8);
  EXPECT_EQ(pods_on_host(), before);
}

TEST_F(DeviceForks, EvaluationsOfAForkRunOnTheDevice) {
  open();
  expect_equal_evaluations();
  expect_equal_batches(0, 5);
  for (Side* const side : {&device_, &cpu_})
    side->fork->apply(std::vector<ClusterChange>{PodRemoval{scenario_.objects.pods.front()->uid()}});
  expect_equal_evaluations();
  commit_in_engines(5, 9);
  expect_equal_evaluations();
  EXPECT_EQ(evaluations_on_host(), 0);
  EXPECT_EQ(launches("evaluate_pod"), static_cast<std::int64_t>(3 * pod_count()));
}

TEST_F(DeviceForks, TheHostEvaluatesWhereAForkHasNodesOfItsOwnAndWhereTheDeviceFails) {
  open();
  accelerator_->emulation().fails_after = accelerator_->launches();
  expect_equal_evaluations(0);
  EXPECT_EQ(evaluations_on_host(), 1);
  accelerator_->emulation().fails_after = -1;
  commit_in_engines(0, 1);
  const auto node = std::make_shared<Node>(*scenario_.objects.nodes.front());
  node->name = "guest";
  for (Side* const side : {&device_, &cpu_}) side->fork->apply(std::vector<ClusterChange>{NodeUpsert{node}});
  expect_equal_evaluations();
  EXPECT_EQ(evaluations_on_host(), 1 + static_cast<std::int64_t>(pod_count()));
}

}  // namespace
}  // namespace berth
