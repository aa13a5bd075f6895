// SPDX-License-Identifier: Apache-2.0
// The inner loops: one node against a tile of classes (axis: slots), per instruction set.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "host/engine/cpu/slot_kernel.h"

namespace berth {
namespace {

constexpr int kNodes = 512;  ///< a working set of the size of replays

/// Classes of random requests on random nodes: cpu and memory, LeastAllocated, as the default profile scores.
struct Tile {
  explicit Tile(int slots)
      : request(static_cast<std::size_t>(2 * slots)),
        ones(static_cast<std::size_t>(2 * slots), 1.0),
        weight(static_cast<std::size_t>(slots), 1.0),
        seeds(static_cast<std::size_t>(slots)),
        base(static_cast<std::size_t>(slots), 300),
        keys(static_cast<std::size_t>(4 * kNodes * slots)),
        parents(static_cast<std::size_t>(kNodes * slots)),
        feasible(static_cast<std::size_t>(slots)) {
    for (std::size_t s = 0; s < seeds.size(); ++s) {
      seeds[s] = static_cast<std::uint32_t>(s * 2654435761u);
      request[s] = 50.0 + static_cast<double>(s * 37 % 1000);
      request[seeds.size() + s] = 64.0 * 1048576 + static_cast<double>(s * 131 % 4096) * 1048576;
    }
    params = {.slot_count = slots,
              .filter_count = 2,
              .fit_count = 2,
              .balanced_count = 2,
              .strategy = ScoringStrategyType::kLeastAllocated,
              .balance_of_change = false,
              .fit_counts_always = true,
              .balanced_counts_always = true,
              .fit_weight = 1.0,
              .request = request.data(),
              .fit_request = request.data(),
              .fit_part_weight = ones.data(),
              .balanced_request = request.data(),
              .balanced_counts = ones.data(),
              .balanced_weight = weight.data(),
              .draw_seed = seeds.data(),
              .score_of_utilization = nullptr,
              .draws_by_class = false};
  }
  std::vector<double> request, ones, weight;
  std::vector<std::uint32_t> seeds;
  std::vector<std::int32_t> base;
  std::vector<NodeKey> keys, parents;
  std::vector<std::int64_t> feasible;
  SlotParams params{};
};

NodeLanes make_node(int n) {
  NodeLanes node{};
  node.balanced_allocatable[0] = 32000;
  node.balanced_allocatable[1] = 128.0 * 1073741824;
  for (int r = 0; r < 2; ++r) node.fit_allocatable[r] = LaneDivisor(node.balanced_allocatable[r]);
  node.fit_requested[0] = node.balanced_requested[0] = 100.0 * (n % 200);
  node.fit_requested[1] = node.balanced_requested[1] = 1048576.0 * (n % 60000);
  node.free[0] = node.balanced_allocatable[0] - node.fit_requested[0];
  node.free[1] = node.balanced_allocatable[1] - node.fit_requested[1];
  node.draw.bits = static_cast<Draw>(n + 1) * Draw{0x9e3779b97f4a} & kHighestDraw;
  node.room = true;
  return node;
}

const SlotKernels& kernels_of(std::int64_t which) {
#if defined(__x86_64__)
  if (which == 1) return kSlotKernelsAvx2;
  if (which == 2) return slot_kernels();
#endif
  return which == 0 ? kSlotKernelsBaseline : slot_kernels();
}

void refresh_bench(benchmark::State& state) {
  const SlotKernels& kernels = kernels_of(state.range(1));
  Tile tile(static_cast<int>(state.range(0)));
  std::vector<NodeLanes> nodes;
  for (int n = 0; n < kNodes; ++n) nodes.push_back(make_node(n));
  std::size_t n = 0;
  for (auto _ : state) {
    kernels.refresh(tile.params, nodes[n], tile.base.data(),
                    tile.keys.data() + n * static_cast<std::size_t>(tile.params.slot_count), tile.feasible.data());
    n = (n + 1) % kNodes;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetLabel(kernels.instruction_set);
}
BENCHMARK(refresh_bench)->ArgNames({"slots", "set"})->ArgsProduct({{8, 24, 64}, {0, 1, 2}});

void combine_bench(benchmark::State& state) {
  const SlotKernels& kernels = kernels_of(state.range(1));
  Tile tile(static_cast<int>(state.range(0)));
  const auto slots = static_cast<std::size_t>(tile.params.slot_count);
  for (std::size_t k = 0; k < tile.keys.size(); ++k) tile.keys[k] = static_cast<NodeKey>(k * 2654435761u % 1000003);
  std::size_t n = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernels.combine(tile.keys.data() + 4 * n * slots, tile.parents.data() + n * slots,
                                             tile.params.slot_count, kAllGroups));
    n = (n + 1) % kNodes;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetLabel(kernels.instruction_set);
}
BENCHMARK(combine_bench)->ArgNames({"slots", "set"})->ArgsProduct({{8, 24, 64}, {0, 1, 2}});

}  // namespace
}  // namespace berth
