// SPDX-License-Identifier: Apache-2.0
// The device backend when memory is short, when the device fails, and with any number of commit threads.
#include "host/engine/device/device_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "batching/device/device_errors.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/evaluated.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;
using Pods = std::vector<PodToPlace>;
using test::Emulation;

/// Runs, single pods, every topology rule, ports, and pods that are unplaced or end in an error.
constexpr const char* kMixed =
    "node a*10 cpu=8 memory=16Gi zone=1 host\nnode b*10 cpu=4 memory=8Gi zone=2 host taint=slow:PreferNoSchedule\n"
    "node c*5 cpu=16 memory=64Gi zone=3 host label:disk=ssd res:example.com/x=2\nnode d cpu=2 memory=1Gi\n"
    "pod run*30 cpu=500m memory=512Mi\npod spread*8 cpu=1 label:app=s spread=zone match=app=s\n"
    "pod soft*8 label:app=t soft-spread=zone match=app=t soft-spread=host match=app=t\n"
    "pod alone*6 label:app=u pod-anti-affinity=host match=app=u\npod web*6 port=80\n"
    "pod tied*5 prefer=5:disk:In:ssd cpu=2\npod near*5 label:app=v pod-affinity=zone match=app=v pod-affinity=host:9 "
    "match=app=s\n"
    "pod huge*2 cpu=99\npod device resource-claim=gpu\npod scalar*3 res:example.com/x=1 cpu=1\n";

DeviceTuning small_launches() {
  DeviceTuning tuning;
  tuning.launch_pods_max = 7;
  tuning.min_run_pods = 5;
  tuning.wave_forks_max = 3;
  return tuning;
}

struct OpenDevice {
  explicit OpenDevice(const std::string& text, const Emulation& emulation = {},
                      const DeviceTuning& tuning = small_launches(), std::uint64_t row_bytes_max = 0)
      : scenario(test::parse_scenario(text)), cache(test::fill_cache(scenario.objects)) {
    scenario.engine.device_memory_bytes_max = row_bytes_max;
    auto made = std::make_unique<test::EmulatedAccelerator>(emulation);
    accelerator = made.get();
    backend = std::make_unique<DeviceBackend>(std::move(made), cache, scenario.objects, scenario.config,
                                              scenario.engine, tuning);
    // Runs stay together; everything else is mixed.
    std::vector<PodPtr> pending = scenario.pending();
    std::shuffle(pending.begin() + static_cast<std::ptrdiff_t>(pending.size() / 4), pending.end(), std::mt19937(7));
    for (const PodPtr& pod : pending) pods.push_back({pod, 0, -1});
    backend->compile(pods);
  }

  Names text_of(const BatchResult& result) const {
    Names lines;
    for (const Outcome& outcome : result.outcomes)
      lines.push_back(outcome.kind == OutcomeKind::kPlaced
                          ? std::string(backend->node_name(outcome.node)) + " " + std::to_string(outcome.score)
                          : result.messages[static_cast<std::size_t>(outcome.message)].text);
    return lines;
  }
  Names place(std::span<const PodToPlace> batch) { return text_of(backend->commit_batch(batch, {})); }
  Names place_all() { return place(pods); }
  Names try_forks(const std::vector<std::span<const PodToPlace>>& forks) {
    Names lines;
    for (const BatchResult& result : backend->try_forks(forks, {})) {
      const Names fork = text_of(result);
      lines.insert(lines.end(), fork.begin(), fork.end());
      lines.emplace_back("-");
    }
    return lines;
  }
  /// Evaluations of some pods.
  Names state() {
    Names lines;
    for (std::size_t i = 0; i < pods.size(); i += 7) {
      const PodToPlace& pod = pods[i];
      const Evaluation evaluation = test::evaluated(pod, *backend);
      lines.push_back(evaluation.message + evaluation.error);
      for (const NodeEvaluation& node : evaluation.nodes)
        lines.back() += " " + (node.feasible ? std::to_string(node.total) : node.status.message());
    }
    return lines;
  }
  /// Six lists that overlap.
  std::vector<std::span<const PodToPlace>> forks() const {
    std::vector<std::span<const PodToPlace>> lists;
    // The pod that ends in an error would send all of them to the host.
    const auto is_sound = [](const PodToPlace& pod) { return pod.class_index >= 0; };
    if (sound.empty()) std::copy_if(pods.begin(), pods.end(), std::back_inserter(sound), is_sound);
    for (std::size_t first = 0; first < 60; first += 10) lists.push_back(std::span(sound).subspan(first, 13));
    return lists;
  }

  test::Scenario scenario;
  std::shared_ptr<ClusterCache> cache;
  test::EmulatedAccelerator* accelerator = nullptr;
  std::unique_ptr<DeviceBackend> backend;
  Pods pods;
  mutable Pods sound;
};

/// Calls of 25 pods each, retried from where a device error ended one. Before each retry `heal` repairs the device.
/// @return every result
template <class Heal>
Names place_in_calls(OpenDevice& device, int& errors, Heal heal) {
  Names answers;
  while (answers.size() < device.pods.size()) {
    const std::size_t left = device.pods.size() - answers.size();
    const auto call = std::span(device.pods).subspan(answers.size(), std::min<std::size_t>(25, left));
    const CommitMark before = device.backend->mark();
    const Names state = device.state();
    try {
      const Names placed = device.place(call);
      answers.insert(answers.end(), placed.begin(), placed.end());
    } catch (const DeviceError& error) {
      ++errors;
      heal(error);
      EXPECT_EQ(device.backend->mark().position, before.position) << "the caller has no outcome of the failed call";
      EXPECT_EQ(device.state(), state);
    }
    if (errors > 3) break;
  }
  return answers;
}

// Failure

TEST(DeviceBackendTest, AFailedCallHasNoEffect) {
  const Names expected = OpenDevice(kMixed).place_all();
  for (std::int64_t launches = 0;; ++launches) {
    OpenDevice device(kMixed, {.fails_after = launches});
    int errors = 0;
    const Names answers = place_in_calls(device, errors, [&](const DeviceError& error) {
      EXPECT_NE(dynamic_cast<const DeviceLost*>(&error), nullptr);
      device.accelerator->emulation().fails_after = -1;
    });
    ASSERT_EQ(answers, expected) << "failed after " << launches << " launches";
    if (errors == 0) {
      EXPECT_GT(launches, 15) << "so many launches failed in turn";
      return;
    }
    ASSERT_EQ(errors, 1);
    if (HasFailure()) FAIL() << "failed after " << launches << " launches";
  }
}

TEST(DeviceBackendTest, ALostDeviceFailsEveryCallWithoutEffect) {
  OpenDevice device(kMixed);
  const auto first = std::span(device.pods).first(20);
  const auto rest = std::span(device.pods).subspan(20);
  device.place(first);
  const CommitMark before = device.backend->mark();
  const Names state = device.state();
  device.accelerator->emulation().fails_after = device.accelerator->launches() + 2;
  for (int again = 0; again < 3; ++again) {
    EXPECT_THROW(device.place(rest), DeviceLost);
    EXPECT_THROW(device.try_forks(device.forks()), DeviceLost);
    EXPECT_EQ(device.backend->mark().position, before.position);
    EXPECT_EQ(device.state(), state);
  }
  device.backend->rollback({0});
  device.accelerator->emulation().fails_after = -1;
  EXPECT_EQ(device.place_all(), OpenDevice(kMixed).place_all());
}

TEST(DeviceBackendTest, FailedForksHaveNoEffect) {
  OpenDevice healthy(kMixed);
  const Names forks = healthy.try_forks(healthy.forks());
  const Names expected = healthy.place_all();
  for (std::int64_t launches = 0;; ++launches) {
    OpenDevice device(kMixed, {.fails_after = launches});
    const Names state = device.state();
    bool failed = false;
    try {
      EXPECT_EQ(device.try_forks(device.forks()), forks);
    } catch (const DeviceLost&) {
      failed = true;
    }
    device.accelerator->emulation().fails_after = -1;
    EXPECT_EQ(device.backend->mark().position, 0u);
    EXPECT_EQ(device.state(), state);
    EXPECT_EQ(device.try_forks(device.forks()), forks);
    ASSERT_EQ(device.place_all(), expected) << "failed after " << launches << " launches";
    if (!failed) {
      EXPECT_GT(launches, 2);
      return;
    }
  }
}

TEST(DeviceBackendTest, AnUncompiledPodIsALogicErrorWithoutEffect) {
  OpenDevice device(kMixed);
  Pods pods(device.pods.begin(), device.pods.begin() + 10);
  pods[5].class_index = -1;
  EXPECT_THROW(device.place(pods), std::logic_error);
  EXPECT_EQ(device.backend->mark().position, 0u);
  EXPECT_EQ(device.place_all(), OpenDevice(kMixed).place_all());
}

// Memory

TEST(DeviceBackendTest, ARefusedAllocationNamesItsSizeAndHasNoEffect) {
  const Names expected = OpenDevice(kMixed).place_all();
  for (std::int64_t allocations = 0;; ++allocations) {
    OpenDevice device(kMixed, {.refuses_after = allocations});
    int errors = 0;
    const Names answers = place_in_calls(device, errors, [&](const DeviceError& error) {
      const auto* refused = dynamic_cast<const DeviceOutOfMemory*>(&error);
      ASSERT_NE(refused, nullptr) << error.what();
      EXPECT_GT(refused->needed_bytes(), 0u);
      ASSERT_TRUE(refused->free_bytes().has_value());
      EXPECT_LT(*refused->free_bytes(), refused->needed_bytes());
      EXPECT_NE(std::string(refused->what()).find("out of memory"), std::string::npos);
      device.accelerator->emulation().refuses_after = -1;
    });
    ASSERT_EQ(answers, expected) << "refused after " << allocations << " allocations";
    if (errors == 0) {
      EXPECT_GT(allocations, 30) << "so many allocations were refused in turn";
      return;
    }
    ASSERT_EQ(errors, 1);
    if (HasFailure()) FAIL() << "refused after " << allocations << " allocations";
  }
}

TEST(DeviceBackendTest, OneRefusedAllocationSucceedsAfterDroppingRows) {
  const Names expected = OpenDevice(kMixed).place_all();
  for (std::int64_t allocations = 0; allocations < 60; ++allocations) {
    OpenDevice device(kMixed, {.refuses_after = allocations, .refusals_max = 1});
    ASSERT_EQ(device.place_all(), expected) << "refused after " << allocations << " allocations";
  }
}

TEST(DeviceBackendTest, ForksRunOneByOneWhenMemoryIsShort) {
  OpenDevice healthy(kMixed);
  const Names forks = healthy.try_forks(healthy.forks());
  const Names expected = healthy.place_all();
  for (std::int64_t allocations = 0; allocations < 80; ++allocations) {
    OpenDevice device(kMixed, {.refuses_after = allocations, .refusals_max = 1});
    ASSERT_EQ(device.try_forks(device.forks()), forks) << "refused after " << allocations << " allocations";
    EXPECT_EQ(device.backend->mark().position, 0u);
    ASSERT_EQ(device.place_all(), expected) << "refused after " << allocations << " allocations";
  }
}

TEST(DeviceBackendTest, TooLittleMemoryIsRefusedAndEnoughWorks) {
  const Names expected = OpenDevice(kMixed).place_all();
  int refused = 0;
  int served = 0;
  for (std::uint64_t memory_bytes = 64; memory_bytes < (1u << 20); memory_bytes += memory_bytes / 4) {
    OpenDevice device(kMixed, {.memory_bytes = memory_bytes});
    try {
      ASSERT_EQ(device.place_all(), expected) << memory_bytes << " bytes";
      ++served;
      EXPECT_LE(device.accelerator->allocated_bytes(), memory_bytes);
      device.backend->rollback({0});
      const Names forks = device.try_forks(device.forks());
      OpenDevice healthy(kMixed);
      ASSERT_EQ(forks, healthy.try_forks(healthy.forks())) << memory_bytes << " bytes";
    } catch (const DeviceOutOfMemory& error) {
      ++refused;
      EXPECT_GT(error.needed_bytes(), error.free_bytes().value_or(UINT64_MAX)) << error.what();
      EXPECT_EQ(device.backend->mark().position, 0u);
    }
    device.backend->rollback({0});
    device.accelerator->emulation().memory_bytes = 1u << 30;
    if (memory_bytes >= 1000) {
      // The limit of rows follows from the free memory when the backend is opened.
      try {
        ASSERT_EQ(device.place_all(), expected) << memory_bytes << " bytes at first";
      } catch (const DeviceOutOfMemory& error) {
        EXPECT_NE(std::string(error.what()).find("a row of 26 nodes"), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(served, 5);
}

TEST(DeviceBackendTest, RowsThatDoNotFitTogetherAreStreamed) {
  const Names expected = OpenDevice(kMixed).place_all();
  int streamed = 0;
  for (const std::uint64_t row_bytes_max : {700u, 1000u, 2000u, 4000u, 100000u}) {
    DeviceTuning tuning = small_launches();
    tuning.launch_pods_max = 1000;
    OpenDevice device(kMixed, {}, tuning, row_bytes_max);
    ASSERT_EQ(device.place_all(), expected) << row_bytes_max << " bytes of rows";
    const BackendStats stats = device.backend->stats();
    streamed += stats.rows_built > stats.class_count ? 1 : 0;
  }
  EXPECT_GE(streamed, 2) << "rows were dropped and built again";
}

TEST(DeviceBackendTest, ASecondBatchOfTheSameShapeAllocatesNothing) {
  OpenDevice device(
      "node n*200 cpu=32 memory=64Gi zone=1 host\npod a*200 cpu=100m label:app=x\npod b*200 cpu=200m port=80\n"
      "pod c*200 memory=128Mi label:app=x soft-spread=host match=app=x\n"
      "pod d*200 cpu=1m label:app=y spread=host skew=9 match=app=y",
      {}, DeviceTuning());
  std::shuffle(device.pods.begin(), device.pods.end(), std::mt19937(8));
  Pods batch;
  std::vector<std::int64_t> allocations;
  // 80 pods a batch, 20 of each class.
  std::stable_sort(device.pods.begin(), device.pods.end(),
                   [](const PodToPlace& a, const PodToPlace& b) { return a.class_index < b.class_index; });
  for (std::size_t call = 0; call < 10; ++call) {
    batch.clear();
    for (std::size_t i = 0; i < 20; ++i)
      for (std::size_t c = 0; c < 4; ++c) batch.push_back(device.pods[c * 200 + call * 20 + i]);
    device.place(batch);
    allocations.push_back(device.accelerator->allocations());
  }
  for (const std::int64_t so_far : allocations) EXPECT_EQ(so_far, allocations.front());
}

// Threads

TEST(DeviceBackendTest, CommitsAreTheSameForAnyNumberOfThreads) {
  // More cells than one thread selects from alone, so that the threads of a team share selections.
  const std::string wide =
      "node w*150 cpu=4 memory=8Gi zone=4 host\nnode x*20 cpu=8 memory=8Gi zone=5 host\nnode y cpu=1\n"
      "pod counted*12 cpu=1 label:app=z soft-spread=host match=app=z\npod web*3 cpu=1 port=80\npod huge cpu=99\n"
      "pod hard*8 cpu=100m label:app=y spread=host skew=2 match=app=y soft-spread=zone match=app=z\n"
      "pod drawn*8 label:app=y pod-affinity=host:7 match=app=z pod-anti-affinity=host:3 match=app=y\n"
      "pod near*4 label:app=y pod-affinity=zone match=app=y\n";
  DeviceTuning tuning = small_launches();
  tuning.launch_pods_max = 1000;
  tuning.coarse_domains_max = 8;
  const Names expected = OpenDevice(wide, {.threads = 1}, tuning).place_all();
  for (const int threads : {2, 3, 7}) {
    OpenDevice device(wide, {.threads = threads}, tuning);
    ASSERT_EQ(device.place_all(), expected) << threads << " threads";
    device.backend->rollback({20});
    const Names again = device.place(std::span(device.pods).subspan(20));
    EXPECT_EQ(again, Names(expected.begin() + 20, expected.end())) << threads << " threads, after a rollback";
  }
}

}  // namespace
}  // namespace berth
