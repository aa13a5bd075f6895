// SPDX-License-Identifier: Apache-2.0
#include "batching/copy_interplay.h"

#include <algorithm>
#include <utility>

#include "batching/node_topology.h"

namespace berth {
namespace {

using Kind = CopyInterplay::Kind;

/// The kinds of terms that read a table of the program.
struct Readers {
  const HardSpread* spread = nullptr;
  bool affinity = false;
  bool anti = false;
  bool any() const { return spread != nullptr || affinity || anti; }
};

Readers readers_of(std::int32_t table, const TopologyProgram& program) {
  Readers readers;
  for (const HardSpread& hard : program.hard)
    if (hard.table == table) readers.spread = &hard;
  readers.affinity = std::ranges::find(program.affinity, table) != program.affinity.end();
  readers.anti = std::ranges::find(program.anti, table, &OwnAntiTerm::table) != program.anti.end() ||
                 std::ranges::find(program.existing_anti, table) != program.existing_anti.end();
  return readers;
}

/// The placed copies of a domain, up to `room` of them, until the skew from `minimum` is exceeded.
std::int64_t copies_from(const HardSpread& spread, std::int64_t amount, std::int64_t count, std::int64_t room,
                         std::int64_t minimum) {
  const auto accepts = [&](std::int64_t placed) {
    return !PodTopologySpread::exceeds_skew(count + placed * amount, spread.self, minimum, spread.max_skew);
  };
  std::int64_t accepted = 0, refused = room;  // copies that find place; the next one may not
  while (accepted < refused) {
    const std::int64_t middle = accepted + (refused - accepted) / 2;
    if (accepts(middle)) {
      accepted = middle + 1;
    } else {
      refused = middle;
    }
  }
  return accepted;
}

}  // namespace

CopyInterplay interplay_of(const TopologyProgram& program, std::span<const CountMove> moves,
                           const TopologyCounts& counts) {
  CopyInterplay interplay;
  bool affinity = false, anti = false;
  for (const CountMove& move : moves) {
    const Readers readers = readers_of(move.table, program);
    if (!readers.any()) continue;
    if (move.amount <= 0) return {Kind::kAny};
    affinity = affinity || readers.affinity;
    if (readers.spread != nullptr) {
      if (program.hard.size() > 1) return {Kind::kAny};
      interplay.spread = readers.spread;
      interplay.spread_amount = move.amount;
    }
    if (!readers.anti) continue;
    anti = true;
    const std::int32_t column = counts.column_of(move.table);
    if (interplay.apart_column >= 0 && interplay.apart_column != column) return {Kind::kAny};
    interplay.apart_column = column;
  }
  if (affinity) {
    if (anti || interplay.spread != nullptr) return {Kind::kAny};
    // Where pods match already, copies come to domains that have one, and open no others.
    return {no_pod_matches_affinity(program, counts) ? Kind::kAfterFirst : Kind::kNone};
  }
  if (interplay.spread != nullptr) {
    // A copy closes its own node alone, so that a domain takes as many as it has nodes left.
    if (anti && !counts.column(interplay.apart_column).one_node_each) return {Kind::kAny};
    interplay.kind = Kind::kSpread;
  } else if (anti) {
    interplay.kind = Kind::kApart;
  }
  return interplay;
}

std::int64_t copies_under_skew(const HardSpread& spread, std::int64_t amount, std::span<std::int64_t> room,
                               const TopologyCounts& counts) {
  struct Domain {
    std::int64_t count;
    std::int64_t room;
    std::int64_t& placed;
  };
  std::vector<Domain> open;                 // that copies can come to
  std::int64_t closed_minimum = INT32_MAX;  // of the others that exist: their counts stay
  for (std::int32_t d = 1; d < static_cast<std::int32_t>(room.size()); ++d) {
    std::int64_t& of_domain = room[static_cast<std::size_t>(d)];
    const std::int64_t count = counts.count(spread.table, d);
    if (of_domain > 0) {
      open.push_back({count, std::exchange(of_domain, 0), of_domain});
    } else if (counts.exists(spread.table, d)) {
      closed_minimum = std::min(closed_minimum, count);
    }
  }
  // While a domain at the minimum accepts a copy, the minimum rises up to what the first full domain holds.
  std::int64_t highest_minimum = closed_minimum;
  for (const Domain& domain : open) highest_minimum = std::min(highest_minimum, domain.count + amount * domain.room);
  const auto accepts_at = [&](std::int64_t minimum) {
    return !PodTopologySpread::exceeds_skew(minimum, spread.self, minimum, spread.max_skew);
  };
  std::int64_t placed = 0;
  while (true) {
    const std::int64_t minimum = global_minimum(counts.existing_domains(spread.table), spread.min_domains, [&] {
      std::int64_t lowest = closed_minimum;
      for (const Domain& domain : open) lowest = std::min(lowest, domain.count);
      return amount == 1 && accepts_at(lowest) ? highest_minimum : lowest;
    });
    const std::int64_t before = placed;
    for (Domain& domain : open) {
      const std::int64_t copies = copies_from(spread, amount, domain.count, domain.room, minimum);
      placed += copies;
      domain.placed += copies;
      domain.count += copies * amount;
      domain.room -= copies;
    }
    if (placed == before) return placed;
  }
}

}  // namespace berth
