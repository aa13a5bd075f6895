// SPDX-License-Identifier: Apache-2.0
#include "batching/reprieve_lanes.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace berth {
namespace {

constexpr std::size_t kRows = 6;
constexpr std::size_t kVictims = 64;

/// Small amounts, so that requests fit on some nodes only.
struct DrawnBlock {
  explicit DrawnBlock(std::mt19937_64& dice, std::size_t victims) {
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t s = 0; s < kListLanes; ++s) {
        free[r][s] = static_cast<double>(dice() % 60);
        allocatable[r][s] = r == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(dice() % 30);
      }
    amounts.resize(victims * kRows);
    for (std::size_t v = 0; v < victims; ++v)
      for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t s = 0; s < kListLanes; ++s)
          amounts[v * kRows + r][s] = r == 0 ? 1.0 : static_cast<double>(dice() % 9);
    for (std::size_t v = victims / 2; v < victims; ++v) amounts[v * kRows][3] = std::numeric_limits<double>::infinity();
    block = {free.data(), allocatable.data(), amounts.data(), kRows, victims};
  }
  std::array<ListLanes, kRows> free, allocatable;
  std::vector<ListLanes> amounts;
  ListBlock block;
};

LaneRequest draw_request(std::mt19937_64& dice, std::size_t size) {
  LaneRequest request;
  request.size = size;
  request.amount[0] = 1;
  for (std::size_t r = 1; r < size; ++r) {
    request.row[r] = static_cast<std::uint32_t>(1 + (dice() % (kRows - 1)));
    request.amount[r] = static_cast<double>(1 + dice() % 40);
  }
  return request;
}

/// One lane by itself. @return which victims stay
std::uint64_t reprieve_one(const DrawnBlock& drawn, const LaneRequest& request, std::size_t lane) {
  std::vector<double> left;
  for (std::size_t r = 0; r < request.size; ++r) left.push_back(drawn.free[request.row[r]][lane] - request.amount[r]);
  std::uint64_t kept = 0;
  for (std::size_t v = 0; v < drawn.block.victims; ++v) {
    bool fits = true;
    for (std::size_t r = 0; r < request.size; ++r)
      fits = fits && drawn.amounts[v * kRows + request.row[r]][lane] <= left[r];
    if (!fits) continue;
    kept |= std::uint64_t{1} << v;
    for (std::size_t r = 0; r < request.size; ++r) left[r] -= drawn.amounts[v * kRows + request.row[r]][lane];
  }
  return kept;
}

TEST(ReprieveLanes, EveryLaneIsFilteredAsIfAlone) {
  std::mt19937_64 dice(1);
  for (int i = 0; i < 300; ++i) {
    const DrawnBlock drawn(dice, 1 + dice() % kVictims);
    const LaneRequest request = draw_request(dice, 1 + dice() % LaneRequest::kRowsMax);
    LaneVerdicts verdicts;
    filter_lanes(drawn.block, request, verdicts);
    for (std::size_t s = 0; s < kListLanes; ++s) {
      bool is_short = false, is_unresolvable = false;
      for (std::size_t r = 0; r < request.size; ++r) {
        if (request.amount[r] <= drawn.free[request.row[r]][s]) continue;
        is_short = true;
        is_unresolvable = is_unresolvable || request.amount[r] > drawn.allocatable[request.row[r]][s];
      }
      EXPECT_EQ(verdicts.is_short[s], is_short ? 1u : 0u);
      EXPECT_EQ(verdicts.is_unresolvable[s], is_unresolvable ? 1u : 0u);
      EXPECT_EQ(verdicts.too_many_pods[s], drawn.free[0][s] < 1 ? 1u : 0u);
    }
  }
}

TEST(ReprieveLanes, EveryLaneIsReprievedAsIfAlone) {
  std::mt19937_64 dice(2);
  for (int i = 0; i < 300; ++i) {
    const DrawnBlock drawn(dice, 1 + dice() % kVictims);
    const LaneRequest request = draw_request(dice, 1 + dice() % LaneRequest::kRowsMax);
    LaneVerdicts verdicts;
    filter_lanes(drawn.block, request, verdicts);
    // In two parts, as lists that are longer than a word.
    const std::size_t middle = drawn.block.victims / 2;
    LaneBits first, second;
    reprieve_lanes(drawn.block, request, 0, middle, verdicts.left, first);
    reprieve_lanes(drawn.block, request, middle, drawn.block.victims, verdicts.left, second);
    for (std::size_t s = 0; s < kListLanes; ++s) {
      if (verdicts.is_short[s] != 0) continue;
      EXPECT_EQ(first[s] | second[s] << middle, reprieve_one(drawn, request, s)) << "lane " << s;
    }
  }
}

}  // namespace
}  // namespace berth
