// SPDX-License-Identifier: Apache-2.0
#include "batching/victims.h"

#include <algorithm>
#include <utility>

#include "batching/reprieve_lanes.h"
#include "host/objects/interruption.h"
#include "host/objects/pod_copy.h"
#include "plugins/node_ports/compile.h"
#include "plugins/rule.h"

namespace berth {
namespace {

constexpr std::size_t kMaskBits = 64;
/// What VictimMemory keeps at most: series, which differ by the priority of preemptors, and what it never gives up one
/// by one.
constexpr std::size_t kSeriesMax = 16;
constexpr std::size_t kFootprintsMax = std::size_t{1} << 18;
constexpr std::size_t kKindsMax = std::size_t{1} << 18;
/// Kinds of all classes together, of which VictimMemory knows what they change.
constexpr std::size_t kKindMovesMax = std::size_t{1} << 22;

void add_to(Footprint& sum, const Footprint& more) {
  for (const auto& [column, amount] : more.delta.requested) {
    const auto known = std::find_if(sum.delta.requested.begin(), sum.delta.requested.end(),
                                    [&, c = column](const auto& entry) { return entry.first == c; });
    if (known == sum.delta.requested.end()) {
      sum.delta.requested.emplace_back(column, amount);
    } else {
      known->second = add_wrapping(known->second, amount);
    }
  }
  sum.ports.insert(sum.ports.end(), more.ports.begin(), more.ports.end());
}

/// @param amounts  [victim x column]
bool are_exact_in_lanes(const std::vector<std::int64_t>& amounts, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    std::int64_t sum = 0;
    for (std::size_t at = c; at < amounts.size(); at += columns) {
      if (amounts[at] < 0 || !is_exact_in_lanes(amounts[at])) return false;
      sum += amounts[at];
      if (!is_exact_in_lanes(sum)) return false;
    }
  }
  return true;
}

}  // namespace

void VictimMemory::begin(const ClassTable& table, const Snapshot& snapshot) {
  ++call_;
  latest_series_ = {};
  lanes_of_call_.clear();
  of_call_.clear();
  slot_count_ = static_cast<std::size_t>(snapshot.slot_count());
  if (table.topology().epoch() != epoch_ || moves_.size() * kinds_.size() > kKindMovesMax) moves_.clear();
  epoch_ = table.topology().epoch();
  const bool is_valid = table.sweeps() == sweeps_ && snapshot.resource_count() == resource_count_;
  if (is_valid && footprints_.size() < kFootprintsMax && kinds_.size() < kKindsMax) return;
  series_.clear();
  footprint_of_spec_.clear();
  footprints_.clear();
  kind_of_key_.clear();
  kinds_.clear();
  moves_.clear();
  columns_.begin(snapshot.resource_count());
  sweeps_ = table.sweeps();
  resource_count_ = snapshot.resource_count();
}

void VictimMemory::want_lanes(const PodClass& pod_class) {
  if (!columns_.add(pod_class)) return;
  for (auto& [number, series] : series_) series.lanes.clear();
}

VictimMemory::Prepared VictimMemory::prepare(const VictimList& list, const ClassTable& table, bool with_kinds,
                                             bool with_lanes) {
  const auto [prepared, lanes, position] = place_for(list);
  if (prepared.count() == 0) fill(list, table, prepared);
  if (with_kinds && !prepared.has_kinds) {
    prepared.kinds.clear();
    for (const Victim& victim : list.victims) prepared.kinds.push_back(find_kind(*victim.pod, table));
    prepared.has_kinds = true;
  }
  if (with_lanes && !lanes.has(position, prepared.version)) {
    if (position >= lanes.size()) lanes.resize(std::max(slot_count_, 2 * position));
    lanes.put(position, list.node.value, prepared, columns_);
  }
  prepared.used_at = call_;
  return {&prepared, &lanes, position};
}

VictimMemory::Series& VictimMemory::find_or_add_series(std::uint64_t number) {
  if (latest_series_.first == number) return *latest_series_.second;
  const auto known = series_.find(number);
  if (known == series_.end() && series_.size() >= kSeriesMax) {
    const auto oldest = std::min_element(series_.begin(), series_.end(), [](const auto& a, const auto& b) {
      return a.second.used_at < b.second.used_at;
    });
    if (oldest->second.used_at < call_) series_.erase(oldest);
  }
  Series& series = known == series_.end() ? series_[number] : known->second;
  series.used_at = call_;
  latest_series_ = {number, &series};
  return series;
}

/// Where a list is, or is to be: the place of its node in its series, unless another list of this call is there.
VictimMemory::Place VictimMemory::place_for(const VictimList& list) {
  if (list.series != 0 && list.version != 0) {
    Series& series = find_or_add_series(list.series);
    // Addresses stay for the call, since no node gets a slot during it.
    if (series.of_slot.size() < slot_count_) series.of_slot.resize(slot_count_);
    const auto slot = static_cast<std::size_t>(list.node.value);
    PreparedList& here = series.of_slot[slot];
    if (here.version == list.version) return {here, series.lanes, slot};
    if (here.used_at < call_) {
      here = {};
      here.version = list.version;
      return {here, series.lanes, slot};
    }
  }
  return {of_call_.emplace_back(), lanes_of_call_, of_call_.size() - 1};
}

/// All at once: a list that memory ran out for stays empty.
void VictimMemory::fill(const VictimList& list, const ClassTable& table, PreparedList& prepared) {
  const std::size_t count = list.victims.size();
  PreparedList filled;
  filled.footprints.reserve(count);
  filled.violating.resize((count + kMaskBits - 1) / kMaskBits);
  for (std::size_t v = 0; v < count; ++v) {
    const Victim& victim = list.victims[v];
    filled.footprints.push_back(find_footprint(*victim.pod, table));
    add_to(filled.all, footprint(filled.footprints.back()));
    filled.violating[v / kMaskBits] |= std::uint64_t{victim.violates_budget} << (v % kMaskBits);
  }
  const auto& columns = filled.all.delta.requested;
  filled.amounts.reserve(count * columns.size());
  for (const std::uint32_t of_victim : filled.footprints)
    for (const auto& [column, sum] : columns) filled.amounts.push_back(footprint(of_victim).amount(column));
  prepared.is_exact_in_lanes = are_exact_in_lanes(filled.amounts, columns.size());
  prepared.amounts = std::move(filled.amounts);
  prepared.footprints = std::move(filled.footprints);
  prepared.violating = std::move(filled.violating);
  prepared.all = std::move(filled.all);
}

std::uint32_t VictimMemory::find_footprint(const Pod& pod, const ClassTable& table) {
  // Rare fields may change the requests of a running pod.
  const bool is_shared = pod.rare_fields == nullptr;
  if (is_shared)
    if (const auto known = footprint_of_spec_.find(pod.spec.get()); known != footprint_of_spec_.end())
      return known->second;
  const auto next = static_cast<std::uint32_t>(footprints_.size());
  footprints_.push_back({{table.delta_of(pod), wanted_host_ports(*pod.spec)}, is_shared ? pod.spec : nullptr});
  if (is_shared) footprint_of_spec_.emplace(pod.spec.get(), next);
  return next;
}

std::uint32_t VictimMemory::find_kind(const Pod& pod, const ClassTable& table) {
  // Without terms of its own a pod counts by its namespace and labels alone.
  const bool has_terms = pod.spec->pod_affinity || pod.spec->pod_anti_affinity;
  const KindKey asked{has_terms ? pod.spec.get() : nullptr, pod.namespace_, pod.labels.bytes()};
  if (const auto known = kind_of_key_.find(asked); known != kind_of_key_.end()) return known->second;
  const auto next = static_cast<std::uint32_t>(kinds_.size());
  std::shared_ptr<const Pod> own = copy_of(pod);
  kinds_.push_back({own, table.topology().known_owner_of(pod)});
  kind_of_key_.emplace(KindKey{has_terms ? own->spec.get() : nullptr, own->namespace_, own->labels.bytes()}, next);
  return next;
}

Victims::Victims(const DryRunRequest& request, const ClassTable& table, bool with_kinds, bool with_lanes,
                 VictimMemory& memory)
    : memory_(memory) {
  lists_.reserve(request.lists.size());
  const Interruption* const interruption = current_interruption();
  for (const VictimList& list : request.lists) {
    check_interruption(interruption);
    lists_.push_back(memory.prepare(list, table, with_kinds, with_lanes));
  }
}

}  // namespace berth
