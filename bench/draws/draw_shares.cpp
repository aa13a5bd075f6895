// SPDX-License-Identifier: Apache-2.0
// How evenly ties are drawn: the table of docs/architecture.md "Ties". Nodes are equal and empty, so that the draw
// alone decides, and the engine is not needed.
//   draw_shares [SEEDS]     20,000 when not given

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/name_hash.h"
#include "host/framework/draw_bits.h"

namespace berth {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr DrawAmounts kOffered{32000, 128 * kGi, 110};
constexpr std::uint64_t kClassHash = 0x5eed;  ///< of some pod, for draws by class
using Tenths = std::array<std::uint64_t, 10>;

struct Nodes {
  explicit Nodes(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) hashes.push_back(node_name_hash("node-" + std::to_string(i)));
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(hashes.size()); }
  Draw draw(const DrawRule& rule, std::uint32_t class_seed, std::uint32_t node, const DrawAmounts& in_use) const {
    return draw_of_class(rule.order, NodeDraws(rule, hashes[node], node, kOffered).with(in_use), class_seed);
  }
  std::vector<std::uint64_t> hashes;
};

std::uint32_t winner(const Nodes& nodes, DrawOrder order, std::uint64_t seed) {
  const DrawRule rule{order, mix_bits(seed)};
  const std::uint32_t class_seed = class_draw_seed(seed, kClassHash);
  Draw best = 0;
  std::uint32_t at = 0;
  for (std::uint32_t node = 0; node < nodes.size(); ++node)
    if (const Draw drawn = nodes.draw(rule, class_seed, node, {}); drawn > best) best = drawn, at = node;
  return at;
}

Tenths wins_by_tenth(const Nodes& nodes, DrawOrder order, std::uint64_t seeds) {
  const auto count = [&](const tbb::blocked_range<std::uint64_t>& range, Tenths wins) {
    for (std::uint64_t seed = range.begin(); seed != range.end(); ++seed)
      ++wins[std::uint64_t{winner(nodes, order, seed)} * 10 / nodes.size()];
    return wins;
  };
  const auto add = [](Tenths a, const Tenths& b) {
    for (std::size_t t = 0; t < a.size(); ++t) a[t] += b[t];
    return a;
  };
  return tbb::parallel_reduce(tbb::blocked_range<std::uint64_t>(0, seeds), Tenths{}, count, add);
}

/// On how many nodes five pods lie that are placed in a row, where totals never decide.
std::size_t nodes_of_five(const Nodes& nodes, std::uint64_t seed, const DrawAmounts& pod) {
  const DrawRule rule{DrawOrder::kEmptierFirst, mix_bits(seed)};
  std::vector<DrawAmounts> in_use(nodes.size());
  std::set<std::uint32_t> used;
  for (int replica = 0; replica < 5; ++replica) {
    Draw best = 0;
    std::uint32_t at = 0;
    for (std::uint32_t node = 0; node < nodes.size(); ++node)
      if (const Draw drawn = nodes.draw(rule, 0, node, in_use[node]); drawn > best) best = drawn, at = node;
    in_use[at].milli_cpu += pod.milli_cpu;
    in_use[at].memory_bytes += pod.memory_bytes;
    in_use[at].pods += pod.pods;
    used.insert(at);
  }
  return used.size();
}

void print_tenths(std::uint64_t seeds) {
  std::puts("| tie break | equal empty nodes | lowest tenth | highest tenth |\n|---|---|---|---|");
  for (const std::uint32_t count : {5'000u, 100'000u, 1'000'000u}) {
    const Nodes nodes(count);
    for (const auto& [name, order] :
         {std::pair("load", DrawOrder::kEmptierFirst), std::pair("random", DrawOrder::kByClass)}) {
      const Tenths wins = wins_by_tenth(nodes, order, seeds);
      const auto [fewest, most] = std::minmax_element(wins.begin(), wins.end());
      const auto percent = [&](std::uint64_t part) {
        return 100.0 * static_cast<double>(part) / static_cast<double>(seeds);
      };
      std::printf("| %s | %u | %.2f %% | %.2f %% |\n", name, count, percent(*fewest), percent(*most));
      std::fflush(stdout);
    }
  }
}

void print_replicas(std::uint64_t seeds) {
  std::puts("\n| five replicas with | nodes that they lie on, fewest | mean |\n|---|---|---|");
  const Nodes nodes(5'000);
  struct Shape {
    const char* name;
    DrawAmounts pod;
  };
  for (const Shape& shape : {Shape{"no requests", {100, 200 * kMi, 1}}, Shape{"1m and 1Mi", {1, kMi, 1}},
                             Shape{"500m and 512Mi", {500, 512 * kMi, 1}}}) {
    std::size_t fewest = 5;
    std::size_t sum = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const std::size_t used = nodes_of_five(nodes, seed, shape.pod);
      fewest = std::min(fewest, used);
      sum += used;
    }
    std::printf("| %s | %zu | %.3f |\n", shape.name, fewest, static_cast<double>(sum) / static_cast<double>(seeds));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  if (seeds == 0) return std::fputs("draw_shares: got no number of seeds above 0\n", stderr), 2;
  berth::print_tenths(seeds);
  berth::print_replicas(seeds);
}
