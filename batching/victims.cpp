// SPDX-License-Identifier: Apache-2.0
#include "batching/victims.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "host/objects/pod_copy.h"
#include "plugins/node_ports/compile.h"
#include "plugins/rule.h"

namespace berth {
namespace {

constexpr std::size_t kMaskBits = 64;
constexpr std::size_t kResourceRowsMax = 8;
/// What VictimMemory keeps at most: lists of one node, which differ by the priority of preemptors, and what it never
/// gives up one by one.
constexpr std::size_t kListsOfNodeMax = 16;
constexpr std::size_t kFootprintsMax = std::size_t{1} << 18;
constexpr std::size_t kKindsMax = std::size_t{1} << 18;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// A request, what a node offers, what it has in use, and the sum of its victims: together below 2^53.
constexpr std::int64_t kExactInLanes = std::int64_t{1} << 51;

bool is_exact_in_lanes(std::int64_t amount) { return amount > -kExactInLanes && amount < kExactInLanes; }

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

}  // namespace

void VictimMemory::begin(const ClassTable& table, const Snapshot& snapshot) {
  ++call_;
  of_call_.clear();
  const bool is_valid = table.sweeps() == sweeps_ && snapshot.resource_count() == resource_count_;
  if (is_valid && footprints_.size() < kFootprintsMax && kinds_.size() < kKindsMax) return;
  sweeps_ = table.sweeps();
  resource_count_ = snapshot.resource_count();
  of_slot_.clear();
  footprint_of_spec_.clear();
  footprints_.clear();
  kind_of_key_.clear();
  kinds_.clear();
}

const PreparedList& VictimMemory::prepare(const VictimList& list, const ClassTable& table, bool with_kinds) {
  PreparedList& prepared = find_or_add(list);
  if (prepared.count() == 0) fill(list, table, prepared);
  if (with_kinds && !prepared.has_kinds) {
    prepared.kinds.clear();
    for (const Victim& victim : list.victims) prepared.kinds.push_back(find_kind(*victim.pod, table));
    prepared.has_kinds = true;
  }
  prepared.used_at = call_;
  return prepared;
}

PreparedList& VictimMemory::find_or_add(const VictimList& list) {
  if (list.version == 0) return *of_call_.emplace_back(std::make_unique<PreparedList>());
  const auto slot = static_cast<std::size_t>(list.node.value);
  if (slot >= of_slot_.size()) of_slot_.resize(slot + 1);
  std::vector<std::unique_ptr<PreparedList>>& here = of_slot_[slot];
  const auto known =
      std::find_if(here.begin(), here.end(), [&](const auto& kept) { return kept->version == list.version; });
  if (known != here.end()) return **known;
  const auto oldest =
      std::min_element(here.begin(), here.end(), [](const auto& a, const auto& b) { return a->used_at < b->used_at; });
  if (here.size() >= kListsOfNodeMax && (*oldest)->used_at < call_) here.erase(oldest);
  here.push_back(std::make_unique<PreparedList>());
  here.back()->version = list.version;
  return *here.back();
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

Victims::Victims(const DryRunRequest& request, const ClassTable& table, bool with_kinds, VictimMemory& memory)
    : memory_(memory) {
  lists_.reserve(request.lists.size());
  for (const VictimList& list : request.lists) lists_.push_back(&memory.prepare(list, table, with_kinds));
}

VictimLanes::VictimLanes(const DryRunRequest& request, const Victims& victims, std::span<const PodClass* const> classes,
                         const Snapshot& snapshot) {
  choose_rows(classes, snapshot.resource_count());
  const std::size_t lists = classes.empty() ? 0 : request.lists.size();
  blocks_.resize((lists + kListLanes - 1) / kListLanes);
  node_rows_.resize(2 * blocks_.size() * rows_);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const std::size_t first = b * kListLanes;
    const std::size_t end = std::min(first + kListLanes, lists);
    Block& block = blocks_[b];
    block.first_amount = amounts_.size();
    for (std::size_t l = first; l < end; ++l) block.victims = std::max(block.victims, victims.list(l).count());
    amounts_.resize(amounts_.size() + block.victims * rows_);
    for (std::size_t v = 0; v < block.victims; ++v) amounts_[block.first_amount + v * rows_].fill(kInfinite);
    for (std::size_t l = first; l < end; ++l)
      fill_lane(block, l - first, request.lists[l], victims.list(l), victims, snapshot,
                node_rows_.data() + 2 * b * rows_);
  }
}

void VictimLanes::choose_rows(std::span<const PodClass* const> classes, std::int32_t column_count) {
  std::vector<std::pair<std::int32_t, std::int32_t>> asked;  // (classes, column)
  asked.reserve(static_cast<std::size_t>(column_count));
  for (std::int32_t c = 0; c < column_count; ++c) asked.emplace_back(0, c);
  for (const PodClass* const pod_class : classes)
    for (const RequestedResource& request : pod_class->requested)
      if (request.column != kNoColumn && request.amount > 0) ++asked[static_cast<std::size_t>(request.column)].first;
  const std::size_t most = std::min(kResourceRowsMax, asked.size());
  std::partial_sort(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(most), asked.end(), std::greater<>());
  row_of_column_.assign(static_cast<std::size_t>(column_count), 0);
  for (std::size_t i = 0; i < most && asked[i].first > 0; ++i) {
    columns_.push_back(asked[i].second);
    row_of_column_[static_cast<std::size_t>(asked[i].second)] = static_cast<std::int32_t>(rows_++);
  }
}

void VictimLanes::fill_lane(Block& block, std::size_t lane, const VictimList& list, const PreparedList& prepared,
                            const Victims& victims, const Snapshot& snapshot, ListLanes* node_rows) {
  const std::int32_t node = list.node.value;
  ListLanes* const free = node_rows;
  ListLanes* const allocatable = node_rows + rows_;
  const std::int64_t allowed = snapshot.allowed_pods(node);
  free[0][lane] = static_cast<double>(allowed - snapshot.pod_count(node) + static_cast<std::int64_t>(prepared.count()));
  allocatable[0][lane] = kInfinite;
  block.is_exact = block.is_exact && is_exact_in_lanes(allowed);
  ListLanes* const amounts = amounts_.data() + block.first_amount;
  for (std::size_t v = 0; v < prepared.count(); ++v) amounts[v * rows_][lane] = 1;
  for (std::size_t r = 1; r < rows_; ++r) {
    const std::int32_t column = columns_[r - 1];
    const std::int64_t offered = snapshot.allocatable(column, node);
    const std::int64_t requested = snapshot.requested(column, node);
    std::int64_t of_victims = 0;
    bool is_exact = is_exact_in_lanes(offered) && is_exact_in_lanes(requested);
    for (std::size_t v = 0; v < prepared.count(); ++v) {
      const std::int64_t amount = victims.footprint(prepared, v).amount(column);
      amounts[v * rows_ + r][lane] = static_cast<double>(amount);
      is_exact = is_exact && amount >= 0 && is_exact_in_lanes(amount);
      if (is_exact) of_victims += amount;
      is_exact = is_exact && is_exact_in_lanes(of_victims);
    }
    block.is_exact = block.is_exact && is_exact;
    if (!is_exact) continue;
    free[r][lane] = static_cast<double>(offered - requested + of_victims);
    allocatable[r][lane] = static_cast<double>(offered);
  }
}

LaneRequest VictimLanes::lanes(const PodClass& pod_class) const {
  LaneRequest lanes;
  lanes.amount[0] = 1;
  lanes.size = 1;
  for (const RequestedResource& request : pod_class.requested) {
    if (request.amount <= 0) continue;
    const std::int32_t row = request.column == kNoColumn ? 0 : row_of_column_[static_cast<std::size_t>(request.column)];
    if (row == 0 || lanes.size == LaneRequest::kRowsMax || !is_exact_in_lanes(request.amount)) return {};
    lanes.row[lanes.size] = static_cast<std::uint32_t>(row);
    lanes.amount[lanes.size++] = static_cast<double>(request.amount);
  }
  return lanes;
}

}  // namespace berth
