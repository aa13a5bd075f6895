// SPDX-License-Identifier: Apache-2.0
// The device backend equals the others, with kernels on host threads or, with BERTH_REQUIRE_DEVICE, on a device: with
// launches of any size, rows that do not fit together, several threads per commit, rollback, cache changes and forks.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"
#include "tests/property/paired_calls.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/evaluated.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using test::Case;
using test::Dice;
using test::expect_equal;

DeviceTuning draw_device_tuning(Dice& dice) {
  DeviceTuning tuning;
  tuning.launch_pods_max = static_cast<std::size_t>(1 + dice.upto(dice.one_in(2) ? 3 : 40));
  tuning.window_pods_max = static_cast<std::size_t>(dice.one_in(4) ? 0 : 1 + dice.upto(20));  // 0: no windows
  tuning.window_tops_max = static_cast<std::size_t>(1 + dice.upto(dice.one_in(2) ? 3 : 30));
  tuning.launch_rows_max = static_cast<std::size_t>(1 + dice.upto(8));
  tuning.rows_kept_max = static_cast<std::size_t>(dice.upto(10));
  tuning.min_run_pods = 1 + dice.upto(6);
  tuning.run_nodes_divisor = 1000;
  tuning.coarse_domains_max = static_cast<std::int32_t>(dice.upto(8));
  tuning.nodes_per_cell_min = static_cast<std::int32_t>(1 + dice.upto(3));
  tuning.refresh_entries_max = dice.upto(6);
  tuning.sweep_additions_min = static_cast<std::int32_t>(dice.upto(8));
  tuning.spare_places_share = static_cast<std::int32_t>(1 + dice.upto(8));
  tuning.spare_places_min = static_cast<std::int32_t>(dice.upto(2));
  tuning.spare_cells = static_cast<std::int32_t>(dice.upto(2));
  tuning.changed_nodes_min = static_cast<std::int32_t>(dice.one_in(4) ? dice.upto(3) : 100);
  tuning.wave_forks_max = static_cast<std::size_t>(1 + dice.upto(3));
  return tuning;
}

std::unique_ptr<DeviceBackend> open_device(Case& drawn) {
  test::Emulation emulation;
  if (drawn.dice.one_in(4)) drawn.engine.device_memory_bytes_max = 4000;  // a few rows side by side
  emulation.threads = drawn.dice.one_in(4) ? 3 : 1;
  std::unique_ptr<Accelerator> accelerator = std::make_unique<test::EmulatedAccelerator>(emulation);
  if (std::getenv("BERTH_REQUIRE_DEVICE") != nullptr) accelerator = test::open_device();
  if (accelerator == nullptr) throw std::runtime_error("BERTH_REQUIRE_DEVICE promises a device, and there is none");
  return std::make_unique<DeviceBackend>(std::move(accelerator), drawn.cache, drawn.objects, drawn.config, drawn.engine,
                                         draw_device_tuning(drawn.dice));
}

std::vector<std::string> run(Backend& backend, std::vector<PodToPlace> pods, std::size_t batch_pods) {
  std::vector<std::string> answers;
  for (std::size_t next = 0; next < pods.size();) {
    const std::span<PodToPlace> batch = std::span(pods).subspan(next, std::min(batch_pods, pods.size() - next));
    backend.compile(batch);
    const BatchResult result = backend.commit_batch(batch, {});
    for (const Outcome& outcome : result.outcomes) answers.push_back(test::describe(outcome, result, backend));
    next += result.outcomes.size();
  }
  return answers;
}

RC_GTEST_PROP(DeviceAgrees, OnEveryPodOfARun, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  const auto device = open_device(drawn);
  expect_equal(run(reference, drawn.pods, drawn.batch_pods), run(*device, drawn.pods, drawn.batch_pods), drawn.pods);
}

RC_GTEST_PROP(DeviceAgrees, OnRankedNodesAndProbes, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  const auto device = open_device(drawn);
  std::string last_node;
  for (const PodToPlace& pod : drawn.pods) {
    const test::RankedAnswer got = test::ranked_answer(*device, pod, last_node);
    RC_ASSERT(got == test::ranked_answer(cpu, pod, last_node));
    if (!got.node.empty()) last_node = got.node;
  }
}

RC_GTEST_PROP(DeviceAgrees, AfterRollingBackToAMark, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  const auto device = open_device(drawn);
  const auto half = static_cast<std::ptrdiff_t>(drawn.pods.size() / 2);
  const std::vector<PodToPlace> first(drawn.pods.begin(), drawn.pods.begin() + half);
  const std::vector<PodToPlace> second(drawn.pods.begin() + half, drawn.pods.end());
  run(cpu, first, drawn.batch_pods);
  const std::vector<std::string> expected = run(cpu, second, drawn.batch_pods);
  run(*device, first, drawn.batch_pods);
  const CommitMark mark = device->mark();
  expect_equal(expected, run(*device, second, drawn.batch_pods), second);
  device->rollback(mark);
  expect_equal(expected, run(*device, second, drawn.batch_pods), second);
}

/// An engine that was told of events equals one that is opened afterwards.
RC_GTEST_PROP(DeviceAgrees, AfterEvents, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  drawn.engine.node_sampling = NodeSampling::kAll;  // where the search begins is not part of the cluster
  const auto device = open_device(drawn);
  test::ClusterHistory history(drawn);
  test::place_between_events(drawn, *device, history);
  const std::vector<PodToPlace> rest = test::not_placed(drawn.pods, history);
  ReferenceBackend reference(history.cache(), history.objects(), drawn.config, drawn.engine);
  reference.apply(history.nominations());
  expect_equal(run(reference, rest, drawn.batch_pods), run(*device, rest, drawn.batch_pods), rest);
}

/// Events between any two calls, evaluations, marks, and lists of pods that are tried.
RC_GTEST_PROP(DeviceAgrees, BetweenAnyCalls, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(!drawn.pods.empty());
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  const auto device = open_device(drawn);
  test::PairedCalls(drawn, reference, *device).make_all();
}

RC_GTEST_PROP(DeviceAgrees, OnEvaluations, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  ReferenceBackend reference(drawn.cache, drawn.objects, drawn.config, drawn.engine);
  const auto device = open_device(drawn);
  for (std::size_t i = 0; i < drawn.pods.size(); i += 3)
    test::expect_equal(test::evaluated(drawn.pods[i], reference), test::evaluated(drawn.pods[i], *device));
}

/// Each fork is independent and has no effect afterwards.
RC_GTEST_PROP(DeviceAgrees, OnForks, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Case drawn(seed);
  CpuBackend cpu(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  const auto device = open_device(drawn);
  cpu.compile(drawn.pods);
  device->compile(drawn.pods);
  std::vector<std::span<const PodToPlace>> forks;
  for (std::size_t next = 0; next < drawn.pods.size();) {
    const std::size_t count = std::min(drawn.pods.size() - next, static_cast<std::size_t>(1 + drawn.dice.upto(5)));
    forks.push_back(std::span(drawn.pods).subspan(next, count));
    next += count;
  }
  BatchLimits limits;
  limits.stop_at_failure = drawn.dice.one_in(3);
  const std::vector<BatchResult> expected = cpu.try_forks(forks, limits);
  const std::vector<BatchResult> actual = device->try_forks(forks, limits);
  RC_ASSERT(actual.size() == expected.size());
  for (std::size_t f = 0; f < forks.size(); ++f) {
    RC_ASSERT(actual[f].stop == expected[f].stop);
    const auto described = [](const BatchResult& result, const Backend& backend) {
      std::vector<std::string> answers;
      for (const Outcome& outcome : result.outcomes) answers.push_back(test::describe(outcome, result, backend));
      return answers;
    };
    expect_equal(described(expected[f], cpu), described(actual[f], *device),
                 std::vector<PodToPlace>(forks[f].begin(), forks[f].end()));
  }
  expect_equal(run(cpu, drawn.pods, drawn.batch_pods), run(*device, drawn.pods, drawn.batch_pods), drawn.pods);
}

}  // namespace
}  // namespace berth
