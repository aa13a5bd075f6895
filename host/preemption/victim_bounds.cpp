// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/victim_bounds.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "host/objects/pod_requests.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// Sums of as many victims as a node has stay far below 2^63. Upstream's sums wrap around, so that beyond this nothing
/// follows from them.
constexpr std::int64_t kExactMax = std::int64_t{1} << 46;

bool is_small(std::int64_t amount) { return amount > -kExactMax && amount < kExactMax; }

/// How much has to become free before NodeResourcesFit is not short of it.
std::int64_t shortage(std::int64_t wanted, std::int64_t room) {
  return NodeResourcesFit::is_short(wanted, room, std::int64_t{0}) ? wanted - room : 0;
}

}  // namespace

NodeRoom NodeRoom::of(const NodeInfo& node) {
  const ResourceAmounts& offered = node.node->allocatable;
  const auto used_pods = static_cast<std::int64_t>(node.pods.size());
  NodeRoom room;
  for (const std::int64_t amount : {offered.milli_cpu, offered.memory_bytes, node.requested.milli_cpu,
                                    node.requested.memory_bytes, node.node->allowed_pod_number, used_pods})
    if (!is_small(amount)) return room;
  room.milli_cpu = offered.milli_cpu - node.requested.milli_cpu;
  room.memory_bytes = offered.memory_bytes - node.requested.memory_bytes;
  room.pods = node.node->allowed_pod_number - used_pods;
  room.is_exact = true;
  return room;
}

NodeRoom NodeRoom::without(const NodeReservation& reserved) const {
  NodeRoom room = *this;
  room.is_exact = is_exact && is_small(reserved.milli_cpu) && is_small(reserved.memory_bytes);
  if (!room.is_exact) return room;
  room.milli_cpu -= reserved.milli_cpu;
  room.memory_bytes -= reserved.memory_bytes;
  room.pods -= reserved.pods;
  return room;
}

WantedRoom WantedRoom::of(const Pod& pod) {
  const ResourceAmounts requests = filter_requests(pod);
  return {requests.milli_cpu, requests.memory_bytes, 1};
}

VictimBounds::VictimBounds(std::span<const Victim> list, const VictimRanks& ranks, FootprintMemo& footprints) {
  const std::size_t count = list.size();
  std::vector<Amounts> amounts;
  amounts.reserve(count);
  is_exact_ = true;
  for (const Victim& victim : list) {
    const ResourceAmounts& requested = footprints.of(*victim.pod).requested;
    amounts.push_back({requested.milli_cpu, requested.memory_bytes});
    for (const std::int64_t amount : {requested.milli_cpu, requested.memory_bytes})
      is_exact_ = is_exact_ && amount >= 0 && is_small(amount);
  }
  is_exact_ = is_exact_ && is_small(static_cast<std::int64_t>(count));
  has_victims_ = count > 0;
  if (!is_exact_ || !has_victims_) return;

  // Lowest priority first, of each priority the latest start first.
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (ranks.priorities[a] != ranks.priorities[b]) return ranks.priorities[a] < ranks.priorities[b];
    return ranks.negated_starts_us[a] < ranks.negated_starts_us[b];
  });
  for (const std::uint32_t v : order) {
    const auto last = static_cast<std::size_t>(level_count_);
    const bool is_higher = last == 0 || levels_[last - 1].priority != ranks.priorities[v];
    if (is_higher && last < kLevels) {
      levels_[last] = last == 0 ? Level{} : levels_[last - 1];
      levels_[last].priority = ranks.priorities[v];
      levels_[last].least_negated_start_us = ranks.negated_starts_us[v];
      ++level_count_;
    }
    Level& level = levels_[static_cast<std::size_t>(level_count_) - 1];
    ++level.victims;
    level.sum.milli_cpu += amounts[v].milli_cpu;
    level.sum.memory_bytes += amounts[v].memory_bytes;
    level.least_negated_start_us = std::min(level.least_negated_start_us, ranks.negated_starts_us[v]);
    if (level_count_ == 1 && static_cast<std::size_t>(start_count_) < kLargest)
      starts_[static_cast<std::size_t>(start_count_++)] = ranks.negated_starts_us[v];
  }

  of_all_ = Largest(amounts);
  std::vector<Amounts> lowest;
  lowest.reserve(static_cast<std::size_t>(levels_.front().victims));
  for (std::int32_t v = 0; v < levels_.front().victims; ++v)
    lowest.push_back(amounts[order[static_cast<std::size_t>(v)]]);
  of_lowest_ = Largest(lowest);
}

VictimBounds::Largest::Largest(std::span<const Amounts> victims)
    : count(static_cast<std::int32_t>(std::min(victims.size(), kLargest))) {
  std::vector<std::int64_t> sorted(victims.size());
  const auto sum_up = [&](std::int64_t Amounts::* of) {
    std::transform(victims.begin(), victims.end(), sorted.begin(), [of](const Amounts& victim) { return victim.*of; });
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    std::int64_t sum = 0;
    for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) sums[n].*of = sum += sorted[n];
  };
  sum_up(&Amounts::milli_cpu);
  sum_up(&Amounts::memory_bytes);
}

std::int64_t VictimBounds::Largest::least_victims(const Amounts& wanted) const {
  const auto last = static_cast<std::size_t>(count) - 1;
  for (std::size_t n = 0; n <= last; ++n)
    if (sums[n].milli_cpu >= wanted.milli_cpu && sums[n].memory_bytes >= wanted.memory_bytes)
      return static_cast<std::int64_t>(n) + 1;
  // Each further one is at most as large as the smallest of these.
  const auto more = [&](std::int64_t Amounts::* of) {
    const std::int64_t lacking = wanted.*of - sums[last].*of;
    const std::int64_t each = sums[last].*of - (last == 0 ? 0 : sums[last - 1].*of);
    return lacking <= 0 ? 0 : each == 0 ? lacking : (lacking + each - 1) / each;
  };
  return count + std::max(more(&Amounts::milli_cpu), more(&Amounts::memory_bytes));
}

std::optional<CandidateCost> VictimBounds::least_cost(const WantedRoom& wanted, const NodeRoom& room) const {
  if (!has_victims_) return std::nullopt;
  if (!is_exact_ || !room.is_exact || !is_small(wanted.milli_cpu) || !is_small(wanted.memory_bytes))
    return CandidateCost();
  const Amounts freed{shortage(wanted.milli_cpu, room.milli_cpu), shortage(wanted.memory_bytes, room.memory_bytes)};
  const std::int64_t least_pods = shortage(wanted.pods, room.pods);
  for (std::size_t l = 0; l < static_cast<std::size_t>(level_count_); ++l) {
    if (levels_[l].sum.milli_cpu < freed.milli_cpu || levels_[l].sum.memory_bytes < freed.memory_bytes) continue;
    const std::int64_t victims = std::max((l == 0 ? of_lowest_ : of_all_).least_victims(freed), least_pods);
    if (levels_[l].victims >= victims) return cost_at(l, victims);
  }
  return std::nullopt;
}

/// Of so many victims, at least, of which one is of this level and the others of it or lower ones.
CandidateCost VictimBounds::cost_at(std::size_t level, std::int64_t victims) const {
  std::int64_t sum = CandidateCost::shifted(levels_[level].priority);
  std::int64_t counted = 1;
  for (std::size_t l = 0; counted < victims; ++l) {
    // The lowest ones, but for the one that is counted.
    const std::int64_t more = std::min<std::int64_t>(victims - 1, levels_[l].victims) - (counted - 1);
    sum += more * CandidateCost::shifted(levels_[l].priority);
    counted += more;
  }
  std::int64_t negated_start_us = levels_[level].least_negated_start_us;
  // Where all of them are of the lowest priority, the earliest start of so many counts.
  if (level == 0 && victims <= start_count_) negated_start_us = starts_[static_cast<std::size_t>(victims) - 1];
  return CandidateCost::at_least(levels_[level].priority, sum, static_cast<std::int32_t>(victims), negated_start_us);
}

}  // namespace berth
