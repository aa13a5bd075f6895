// SPDX-License-Identifier: Apache-2.0
#include "batching/reprieve_lanes.h"

#include <cstring>

#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

using Left = std::array<ListLanes, LaneRequest::kRowsMax>;

// The vector types of GCC and clang, because the loops below are no loops that they turn into lanes themselves. Of a
// length that every processor has.
constexpr std::size_t kStep = 2;
constexpr std::size_t kChains = 2;
using Doubles = double __attribute__((vector_size(kStep * sizeof(double))));
using Words = std::uint64_t __attribute__((vector_size(kStep * sizeof(std::uint64_t))));

Doubles load(const double* from) {
  Doubles lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

/// With the number of rows as a constant, what is left stays in registers.
template <std::size_t kRows>
void reprieve_rows(const ListBlock& block, const LaneRequest& request, std::size_t first, std::size_t end, Left& rows,
                   LaneBits& kept) {
  std::array<std::uint32_t, kRows> row;
  for (std::size_t r = 0; r < kRows; ++r) row[r] = request.row[r];
  for (std::size_t s = 0; s < kListLanes; s += kChains * kStep) {
    Doubles left[kRows][kChains];
    Words bits[kChains];
    for (std::size_t c = 0; c < kChains; ++c) {
      bits[c] = Words{};
      for (std::size_t r = 0; r < kRows; ++r) left[r][c] = load(rows[r].data() + s + c * kStep);
    }
    Words bit = Words{} + 1;
    const ListLanes* victim = block.amounts + first * block.rows;
    for (std::size_t v = first; v < end; ++v) {
      for (std::size_t c = 0; c < kChains; ++c) {
        Doubles then[kRows];  // left once the victim is back
        for (std::size_t r = 0; r < kRows; ++r) then[r] = left[r][c] - load(victim[row[r]].data() + s + c * kStep);
        Doubles least = then[0];
        for (std::size_t r = 1; r < kRows; ++r) least = then[r] < least ? then[r] : least;
        for (std::size_t r = 0; r < kRows; ++r) left[r][c] = least >= 0 ? then[r] : left[r][c];
        bits[c] |= least >= 0 ? bit : Words{};
      }
      bit += bit;
      victim += block.rows;
    }
    for (std::size_t c = 0; c < kChains; ++c) {
      for (std::size_t r = 0; r < kRows; ++r)
        std::memcpy(rows[r].data() + s + c * kStep, &left[r][c], sizeof(left[r][c]));
      std::memcpy(kept.data() + s + c * kStep, &bits[c], sizeof(bits[c]));
    }
  }
}

}  // namespace

void filter_lanes(const ListBlock& block, const LaneRequest& request, LaneVerdicts& verdicts) {
  verdicts.is_short.fill(0);
  verdicts.is_unresolvable.fill(0);
  for (std::size_t r = 0; r < request.size; ++r) {
    const double amount = request.amount[r];
    const ListLanes& free = block.free[request.row[r]];
    const ListLanes& allocatable = block.allocatable[request.row[r]];
    for (std::size_t s = 0; s < kListLanes; ++s) {
      const std::uint64_t is_short = NodeResourcesFit::is_short(amount, free[s], 0.0) ? 1 : 0;
      verdicts.left[r][s] = free[s] - amount;
      verdicts.is_short[s] |= is_short;
      verdicts.is_unresolvable[s] |= NodeResourcesFit::is_unresolvable(amount, allocatable[s]) ? is_short : 0;
    }
    if (r == 0) verdicts.too_many_pods = verdicts.is_short;
  }
}

void reprieve_lanes(const ListBlock& block, const LaneRequest& request, std::size_t first, std::size_t end, Left& left,
                    LaneBits& kept) {
  static_assert(LaneRequest::kRowsMax == 5);
  switch (request.size) {
    case 1:
      return reprieve_rows<1>(block, request, first, end, left, kept);
    case 2:
      return reprieve_rows<2>(block, request, first, end, left, kept);
    case 3:
      return reprieve_rows<3>(block, request, first, end, left, kept);
    case 4:
      return reprieve_rows<4>(block, request, first, end, left, kept);
    default:
      return reprieve_rows<5>(block, request, first, end, left, kept);
  }
}

}  // namespace berth
