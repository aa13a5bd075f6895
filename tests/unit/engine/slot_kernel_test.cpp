// SPDX-License-Identifier: Apache-2.0
// Every instruction set of this processor must give the same bits.
#include "host/engine/cpu/slot_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace berth {

extern const SlotKernels kSlotKernelsScalar;  // slot_kernel_scalar.cpp

namespace {

#if defined(__aarch64__)
constexpr const SlotKernels& kEveryProcessorHas = kSlotKernelsNeon;
constexpr const char* kItsInstructionSet = "neon";
#else
constexpr const SlotKernels& kEveryProcessorHas = kSlotKernelsBaseline;
constexpr const char* kItsInstructionSet = "baseline";
#endif

std::vector<const SlotKernels*> runnable_kernels() {
  std::vector<const SlotKernels*> kernels{&kEveryProcessorHas};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    kernels.push_back(&kSlotKernelsAvx2);
  if (&slot_kernels() == &kSlotKernelsAvx512) kernels.push_back(&kSlotKernelsAvx512);
#endif
  return kernels;
}

constexpr std::size_t kResources = 3;

/// Random classes and nodes. Amounts are small enough to be exact, and often equal to each other.
class RandomLanes {
 public:
  explicit RandomLanes(unsigned seed) : random_(seed) {
    slots_ = kSlotStep * (1 + upto(kMaxSlots / kSlotStep - 1));
    const auto size = static_cast<std::size_t>(slots_);
    for (std::size_t r = 0; r < kResources * size; ++r) {
      request.push_back(one_in(4) ? -std::numeric_limits<double>::infinity() : amount());
      fit_request.push_back(amount());
      balanced_request.push_back(amount());
      part_weight.push_back(one_in(4) ? 0.0 : 1.0 + upto(5));
      balanced_counts.push_back(one_in(4) ? 0.0 : 1.0);
    }
    for (std::size_t s = 0; s < size; ++s) {
      balanced_weight.push_back(one_in(5) ? 0.0 : 1.0 + upto(3));
      draw_seed.push_back(static_cast<std::uint32_t>(random_()));
      base.push_back(one_in(6) ? -1 : upto(1000));
    }
    for (double& score : score_of_utilization) score = one_in(5) ? 0.0 : upto(100);
    fill_params();
  }

  NodeLanes node() {
    NodeLanes lanes{};
    for (std::size_t r = 0; r < kResources; ++r) {
      lanes.free[r] = amount() - (one_in(5) ? 500.0 : 0.0);
      lanes.fit_allocatable[r] = LaneDivisor(one_in(6) ? 0.0 : amount() + 1);
      lanes.fit_requested[r] = amount();
      lanes.balanced_allocatable[r] = one_in(6) ? 0.0 : amount() + 1;
      lanes.balanced_requested[r] = amount();
    }
    lanes.draw = {random_() & kHighestDraw, static_cast<std::uint32_t>(random_())};
    if (params.draws_by_class) lanes.draw.bits &= 0xffff;
    lanes.room = !one_in(8);
    return lanes;
  }
  CopySteps steps() {
    CopySteps steps{};
    for (std::size_t r = 0; r < kResources; ++r) {
      steps.request[r] = one_in(4) ? -std::numeric_limits<double>::infinity() : amount();
      steps.filter_step[r] = amount();
      steps.fit_request[r] = amount();
      steps.fit_step[r] = amount();
      steps.balanced_request[r] = amount();
      steps.balanced_step[r] = amount();
    }
    return steps;
  }
  int upto(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most + 1)); }
  bool one_in(int n) { return upto(n - 1) == 0; }
  NodeKey key() { return one_in(4) ? 0 : make_node_key(upto(5), Draw{1} + static_cast<Draw>(upto(3))); }

  SlotParams params{};
  std::vector<double> request, fit_request, balanced_request, part_weight, balanced_counts, balanced_weight;
  std::vector<std::uint32_t> draw_seed;
  std::vector<std::int32_t> base;
  std::array<double, 101> score_of_utilization{};

 private:
  double amount() {
    if (one_in(8)) return 0.0;
    return one_in(3) ? 1024.0 * upto(50) : static_cast<double>(random_() % (std::uint64_t{1} << (10 + upto(32))));
  }
  void fill_params() {
    const bool usual = one_in(2);
    params.slot_count = slots_;
    params.filter_count = upto(kResources);
    params.fit_count = usual ? 2 : upto(kResources);
    params.balanced_count = usual ? 2 : upto(kResources);
    params.strategy = static_cast<ScoringStrategyType>(upto(2));
    params.balance_of_change = one_in(4);
    params.fit_counts_always = params.balanced_counts_always = usual;
    if (usual) {
      for (std::size_t i = 0; i < part_weight.size(); ++i) {
        const std::size_t part = i / static_cast<std::size_t>(slots_);
        part_weight[i] = 1.0 + static_cast<double>(part);
      }
      for (double& counts : balanced_counts) counts = 1.0;
    }
    params.fit_weight = one_in(5) ? 0.0 : 1.0 + upto(4);
    params.request = request.data();
    params.fit_request = fit_request.data();
    params.fit_part_weight = part_weight.data();
    params.balanced_request = balanced_request.data();
    params.balanced_counts = balanced_counts.data();
    params.balanced_weight = balanced_weight.data();
    params.draw_seed = draw_seed.data();
    params.score_of_utilization = score_of_utilization.data();
    params.draws_by_class = one_in(2);
  }

  std::mt19937_64 random_;
  int slots_ = 0;
};

TEST(SlotKernelTest, TheSelectedKernelsAreSupported) {
  const auto runnable = runnable_kernels();
  EXPECT_EQ(&slot_kernels(), runnable.back());
  EXPECT_STREQ(kEveryProcessorHas.instruction_set, kItsInstructionSet);
}

TEST(SlotKernelTest, RefreshGivesTheSameBitsOnEveryInstructionSet) {
  const auto runnable = runnable_kernels();
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomLanes lanes(seed);
    const auto slots = static_cast<std::size_t>(lanes.params.slot_count);
    std::vector<NodeKey> before(slots);
    for (NodeKey& key : before) key = lanes.key();
    for (int n = 0; n < 5; ++n) {
      const NodeLanes node = lanes.node();
      std::vector<NodeKey> expected = before;
      std::vector<std::int64_t> expected_count(slots, 5);
      const bool expected_changed =
          kSlotKernelsScalar.refresh(lanes.params, node, lanes.base.data(), expected.data(), expected_count.data());
      for (const SlotKernels* kernels : runnable) {
        std::vector<NodeKey> keys = before;
        std::vector<std::int64_t> count(slots, 5);
        const bool changed = kernels->refresh(lanes.params, node, lanes.base.data(), keys.data(), count.data());
        ASSERT_EQ(keys, expected) << kernels->instruction_set << ", seed " << seed;
        ASSERT_EQ(count, expected_count) << kernels->instruction_set << ", seed " << seed;
        ASSERT_EQ(changed, expected_changed) << kernels->instruction_set << ", seed " << seed;
      }
      before = expected;
    }
  }
}

TEST(SlotKernelTest, RefreshCountsNewlyFeasibleNodes) {
  for (unsigned seed = 2; seed < 60; ++seed) {
    RandomLanes drawn(seed);
    std::vector<NodeKey> keys(static_cast<std::size_t>(drawn.params.slot_count));
    for (NodeKey& key : keys) key = drawn.key();
    const std::vector<NodeKey> before = keys;
    std::vector<std::int64_t> count(keys.size(), 0);
    const bool changed =
        slot_kernels().refresh(drawn.params, drawn.node(), drawn.base.data(), keys.data(), count.data());
    bool any = false;
    for (std::size_t s = 0; s < keys.size(); ++s) {
      EXPECT_EQ(count[s], (keys[s] > 0 ? 1 : 0) - (before[s] > 0 ? 1 : 0));
      any = any || count[s] != 0;
      EXPECT_TRUE(drawn.base[s] >= 0 || keys[s] == 0);
    }
    EXPECT_EQ(changed, any);
  }
}

/// A class in the one lane of refresh() that it is told of, and the same class for nodes().
struct OneClass {
  explicit OneClass(RandomLanes& lanes) {
    SlotParams& params = lanes.params;
    params.filter_count = params.fit_count = params.balanced_count = 2;
    params.fit_counts_always = params.balanced_counts_always = true;
    params.balance_of_change = params.draws_by_class = false;
    params.strategy = lanes.one_in(2) ? ScoringStrategyType::kLeastAllocated : ScoringStrategyType::kMostAllocated;
    const auto slots = static_cast<std::size_t>(params.slot_count);
    for (std::size_t i = 0; i < lanes.part_weight.size(); ++i) {
      const std::size_t part = i / slots;
      lanes.part_weight[i] = 1.0 + static_cast<double>(part);
      lanes.balanced_counts[i] = 1.0;
    }
    slot = static_cast<std::size_t>(lanes.upto(params.slot_count - 1));
    const auto resource = [&](std::size_t r) {
      const std::size_t at = r * slots + slot;
      return ClassOnLoads::Resource{lanes.request[at], lanes.fit_request[at], lanes.part_weight[at],
                                    lanes.balanced_request[at]};
    };
    on_loads = {resource(0),      resource(1), params.strategy, params.fit_weight, lanes.balanced_weight[slot],
                lanes.upto(3) - 1};
  }
  std::size_t slot = 0;
  ClassOnLoads on_loads{};
};

/// Nodes for nodes(), one by one.
struct DrawnLoads {
  struct Resource {
    std::vector<double> offered, reciprocal, in_use, requested;
    void add(double all, double used, double asked) {
      offered.push_back(LaneDivisor(all).value);
      reciprocal.push_back(LaneDivisor(all).reciprocal);
      in_use.push_back(used);
      requested.push_back(asked);
    }
    NodeLoads::Resource view() const { return {offered.data(), reciprocal.data(), in_use.data(), requested.data()}; }
  };
  Resource cpu, memory;
  std::vector<Draw> draw;
  std::vector<double> refused;
  NodeLoads view() const { return {cpu.view(), memory.view(), draw.data(), refused.data()}; }
};

TEST(SlotKernelTest, NodesOfOneClassGetTheKeysThatRefreshGivesThem) {
  constexpr int kNodes = 5 * kSlotStep;
  const auto runnable = runnable_kernels();
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomLanes lanes(seed);
    const OneClass one(lanes);
    DrawnLoads drawn;
    std::vector<std::int32_t> base;
    std::vector<NodeKey> expected;
    LoadKeys expected_all;
    for (int n = 0; n < kNodes; ++n) {
      NodeLanes node = lanes.node();
      for (std::size_t r = 0; r < 2; ++r) {
        const double all = 1.0 + 1000.0 * lanes.upto(100);
        node.fit_allocatable[r] = LaneDivisor(all);
        node.balanced_allocatable[r] = all;
        node.free[r] = all - node.balanced_requested[r];
        (r == 0 ? drawn.cpu : drawn.memory).add(all, node.fit_requested[r], node.balanced_requested[r]);
      }
      drawn.draw.push_back(node.draw.bits);
      drawn.refused.push_back(node.room ? 0.0 : 1.0);
      const std::int32_t total = lanes.one_in(6) ? -1 : 1 + lanes.upto(1000);
      base.push_back(total);
      std::fill(lanes.base.begin(), lanes.base.end(), total < 0 ? -1 : total + one.on_loads.base_shift);
      std::vector<NodeKey> keys(lanes.base.size(), 0);
      std::vector<std::int64_t> count(lanes.base.size(), 0);
      kSlotKernelsScalar.refresh(lanes.params, node, lanes.base.data(), keys.data(), count.data());
      expected.push_back(keys[one.slot]);
      expected_all.feasible += keys[one.slot] > 0 ? 1 : 0;
      expected_all.best = std::max(expected_all.best, keys[one.slot]);
    }
    for (const SlotKernels* kernels : runnable) {
      std::vector<NodeKey> keys(expected.size(), 1);
      const LoadKeys all = kernels->nodes(one.on_loads, drawn.view(), base.data(), kNodes, keys.data());
      ASSERT_EQ(keys, expected) << kernels->instruction_set << ", seed " << seed;
      ASSERT_EQ(all.feasible, expected_all.feasible) << kernels->instruction_set << ", seed " << seed;
      ASSERT_EQ(all.best, expected_all.best) << kernels->instruction_set << ", seed " << seed;
    }
  }
}

TEST(SlotKernelTest, CombineSelectsTheHighestOfFourChildren) {
  const auto runnable = runnable_kernels();
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomLanes lanes(seed);
    const auto slots = static_cast<std::size_t>(lanes.params.slot_count);
    std::vector<NodeKey> children(4 * slots);
    for (NodeKey& key : children) key = lanes.key();
    std::vector<NodeKey> before(slots);
    for (NodeKey& key : before) key = lanes.key();
    const std::uint32_t groups = seed % 3 == 0 ? kAllGroups : static_cast<std::uint32_t>(lanes.upto(255));
    std::vector<NodeKey> expected = before;
    std::uint32_t moved = 0;
    for (std::size_t s = 0; s < slots; ++s) {
      const std::uint32_t bit = 1u << (s / kSlotStep);
      if ((groups & bit) == 0) continue;
      for (std::size_t c = 0; c < 4; ++c)
        expected[s] = c == 0 ? children[s] : std::max(expected[s], children[c * slots + s]);
      if (expected[s] != before[s]) moved |= bit;
    }
    for (const SlotKernels* kernels : runnable) {
      std::vector<NodeKey> parent = before;
      EXPECT_EQ(kernels->combine(children.data(), parent.data(), lanes.params.slot_count, groups), moved)
          << kernels->instruction_set;
      EXPECT_EQ(parent, expected) << kernels->instruction_set;
    }
  }
}

TEST(SlotKernelTest, CopiesGiveTheSameBitsOnEveryInstructionSet) {
  const auto runnable = runnable_kernels();
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomLanes lanes(seed);
    const NodeLanes node = lanes.node();
    const CopySteps steps = lanes.steps();
    const int slot = lanes.upto(lanes.params.slot_count - 1);
    const int first = lanes.upto(20);
    const int count = 1 + lanes.upto(kMaxSlots - 1);
    const auto run = [&](const SlotKernels& kernels) {
      std::array<double, kMaxSlots> totals{};
      std::array<std::uint8_t, kMaxSlots> fits{};
      kernels.copies(lanes.params, slot, node, steps, first, count, totals.data(), fits.data());
      return std::pair(std::vector<double>(totals.begin(), totals.begin() + count),
                       std::vector<std::uint8_t>(fits.begin(), fits.begin() + count));
    };
    const auto expected = run(kSlotKernelsScalar);
    for (const SlotKernels* kernels : runnable) ASSERT_EQ(run(*kernels), expected) << kernels->instruction_set << seed;
  }
}

TEST(SlotKernelTest, CopiesDoNotDependOnTheSplit) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    RandomLanes lanes(seed);
    const NodeLanes node = lanes.node();
    const CopySteps steps = lanes.steps();
    std::array<double, kMaxSlots> whole{};
    std::array<std::uint8_t, kMaxSlots> whole_fits{};
    slot_kernels().copies(lanes.params, 0, node, steps, 0, kMaxSlots, whole.data(), whole_fits.data());
    for (int first = 0; first < kMaxSlots; first += 13) {
      std::array<double, kMaxSlots> part{};
      std::array<std::uint8_t, kMaxSlots> part_fits{};
      slot_kernels().copies(lanes.params, 0, node, steps, first, 5, part.data(), part_fits.data());
      for (int k = 0; k < 5 && first + k < kMaxSlots; ++k) {
        ASSERT_EQ(part[static_cast<std::size_t>(k)], whole[static_cast<std::size_t>(first + k)]);
        ASSERT_EQ(part_fits[static_cast<std::size_t>(k)], whole_fits[static_cast<std::size_t>(first + k)]);
      }
    }
  }
}

}  // namespace
}  // namespace berth
