// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/lone_row.h"

#include <algorithm>
#include <limits>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "batching/usual_load.h"
#include "batching/usual_profile.h"
#include "host/engine/cpu/other_loads.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

constexpr double kAsksNothing = -std::numeric_limits<double>::infinity();

bool count_always(const std::vector<ScoredRequest>& requests) {
  return std::all_of(requests.begin(), requests.end(), [](const ScoredRequest& request) { return request.counts; });
}

}  // namespace

// The load of nodes

bool LoadColumns::serve(const CompiledProfile& profile) {
  return profile.has_keys && profile.release == Release::k1_35 && profile.draw.order != DrawOrder::kByClass &&
         scores_usual_load(profile);
}

void LoadColumns::Resource::resize(std::size_t nodes) {
  offered.assign(nodes, 1);
  reciprocal.assign(nodes, 1);
  in_use.assign(nodes, 0);
  requested.assign(nodes, 0);
}

void LoadColumns::catch_up(const Snapshot& snapshot, const CommitLog& log) {
  if (position_ == UINT64_MAX || slot_count_ != snapshot.slot_count() || !log.reaches(position_)) {
    slot_count_ = snapshot.slot_count();
    const std::size_t padded = (static_cast<std::size_t>(slot_count_) + kSlotStep - 1) / kSlotStep * kSlotStep;
    cpu_.resize(padded);
    memory_.resize(padded);
    is_full_.assign(padded, 1);
    draw_.assign(padded, 1);
    left_out_.assign(padded, 0);
    for (std::int32_t i = 0; i < slot_count_; ++i) fill(snapshot, i);
  } else {
    for (const LogEntry& entry : log.since(position_)) fill(snapshot, entry.node);
  }
  position_ = log.position();
}

bool holds_exactly(const Snapshot& snapshot, std::int32_t node) {
  const DrawAmounts offered = offered_amounts(snapshot, node);
  const DrawAmounts in_use = draw_amounts(snapshot, node);
  return offered.milli_cpu != 0 && offered.memory_bytes != 0 && is_exact_amount(offered.milli_cpu) &&
         is_exact_amount(offered.memory_bytes) && is_exact_amount(in_use.milli_cpu) &&
         is_exact_amount(in_use.memory_bytes) && is_exact_amount(snapshot.requested(kCpuColumn, node)) &&
         is_exact_amount(snapshot.requested(kMemoryColumn, node));
}

void LoadColumns::fill(const Snapshot& snapshot, std::int32_t node) {
  const DrawAmounts offered = offered_amounts(snapshot, node);
  const DrawAmounts in_use = draw_amounts(snapshot, node);
  const std::int64_t cpu = snapshot.requested(kCpuColumn, node);
  const std::int64_t memory = snapshot.requested(kMemoryColumn, node);
  const auto i = static_cast<std::size_t>(node);
  const bool holds = holds_exactly(snapshot, node);
  left_out_[i] = holds ? 0 : 1;
  is_full_[i] = 1;
  if (!holds) return;
  const auto fill_one = [i](Resource& resource, std::int64_t all, std::int64_t used, std::int64_t asked) {
    const LaneDivisor divisor(static_cast<double>(all));
    resource.offered[i] = divisor.value;
    resource.reciprocal[i] = divisor.reciprocal;
    resource.in_use[i] = static_cast<double>(used);
    resource.requested[i] = static_cast<double>(asked);
  };
  fill_one(cpu_, offered.milli_cpu, in_use.milli_cpu, cpu);
  fill_one(memory_, offered.memory_bytes, in_use.memory_bytes, memory);
  const bool has_room =
      !profile_.filters<NodeResourcesFit>() || !NodeResourcesFit::too_many_pods(in_use.pods, offered.pods);
  is_full_[i] = has_room ? 0 : 1;
  draw_[i] = node_draws(profile_.draw, snapshot, node, offered).with(in_use).bits;
}

NodeLoads LoadColumns::loads() const { return {cpu_.view(), memory_.view(), draw_.data(), is_full_.data()}; }

std::uint64_t LoadColumns::bytes() const { return draw_.size() * (9 * sizeof(double) + sizeof(Draw) + 1); }

// One class

std::optional<ClassOnLoads> describe_on_loads(const PodClass& pod_class, const CompiledProfile& profile) {
  if (pod_class.needs_int64 || !LoadColumns::serve(profile) || !count_always(pod_class.fit_requests) ||
      !count_always(pod_class.balanced_requests))
    return std::nullopt;
  const auto resource = [&](std::size_t r) {
    ClassOnLoads::Resource found{kAsksNothing, static_cast<double>(pod_class.fit_requests[r].amount),
                                 static_cast<double>(profile.fit.resources[r].weight),
                                 static_cast<double>(pod_class.balanced_requests[r].amount)};
    if (!profile.filters<NodeResourcesFit>()) return found;
    for (const RequestedResource& request : pod_class.requested)
      if (request.column == profile.fit.resources[r].column)
        found.request = std::max(found.request, static_cast<double>(request.amount));
    return found;
  };
  return ClassOnLoads{
      resource(0),
      resource(1),
      profile.fit.type,
      static_cast<double>(profile.weight<NodeResourcesFit>()),
      pod_class.balanced_skips ? 0.0 : static_cast<double>(profile.weight<NodeResourcesBalancedAllocation>()),
      0};
}

/// Node-side totals as RowTile has them: of a class with a topology program without what is normalised.
/// @param shift  to be added to each; null: the totals depend on which nodes are feasible
const std::int32_t* LoneRow::base_of(const NodeSideRow& row, bool has_topology, const Snapshot& snapshot,
                                     int padded_count, std::int32_t& shift) {
  shift = 0;
  if (row.raws_vary && !has_topology) return nullptr;
  base_.assign(static_cast<std::size_t>(padded_count), -1);
  if (!row.raws_vary) {
    std::copy(row.total_of.begin(), row.total_of.end(), base_.begin());
    if (!has_topology) return base_.data();
    // Accepted nodes have the same raw scores, so that what is normalised is the same on all of them.
    const auto accepted = std::find_if(base_.begin(), base_.end(), [](std::int32_t total) { return total >= 0; });
    if (accepted == base_.end()) return base_.data();
    shift = static_cast<std::int32_t>(row.fixed_total(snapshot, static_cast<std::int32_t>(accepted - base_.begin()))) -
            *accepted;
    return base_.data();
  }
  for (std::size_t i = 0; i < row.total_of.size(); ++i)
    if (row.total_of[i] >= 0)
      base_[i] = static_cast<std::int32_t>(row.fixed_total(snapshot, static_cast<std::int32_t>(i)));
  return base_.data();
}

/// [node] other than 0: full, short of a resource other than cpu and memory, or with a port taken.
const double* LoneRow::refused_by(const PodClass& pod_class, const CompiledProfile& profile, const LoadColumns& columns,
                                  const Snapshot& snapshot) {
  if (!asks_for_other_loads(pod_class, profile)) return columns.is_full().data();
  refused_.assign(columns.is_full().begin(), columns.is_full().end());
  mark_refusing_other_loads(pod_class, profile, snapshot, refused_);
  return refused_.data();
}

/// Evaluates the nodes that the columns leave out. @return whether some key changed
bool LoneRow::correct(const PodClass& pod_class, const CompiledProfile& profile, const LoadColumns& columns,
                      const Snapshot& snapshot, const std::int32_t* base, std::int32_t shift) {
  bool changed = false;
  const std::span<const std::uint8_t> left_out = columns.left_out();
  for (std::int32_t i = 0; i < node_count_; ++i) {
    const auto n = static_cast<std::size_t>(i);
    if (left_out[n] == 0 || base[n] < 0 || !load_accepts(pod_class, profile, snapshot, i)) continue;
    const Draw draw = node_draw(profile.draw, snapshot, i).bits;
    keys_[n] = make_node_key(base[n] + shift + load_total(pod_class, profile, snapshot, i), draw);
    changed = true;
  }
  return changed;
}

bool LoneRow::evaluate(std::int32_t c, ClassTable& table, const Snapshot& snapshot, const CommitLog& log) {
  const PodClass& pod_class = table[c];
  const CompiledProfile& profile = table.profile_of(c);
  std::optional<ClassOnLoads> of_class = describe_on_loads(pod_class, profile);
  if (!of_class) return false;
  columns_.resize(static_cast<std::size_t>(table.profile_count()));
  std::unique_ptr<LoadColumns>& columns = columns_[static_cast<std::size_t>(pod_class.profile)];
  if (columns == nullptr) columns = std::make_unique<LoadColumns>(profile);
  columns->catch_up(snapshot, log);
  node_count_ = snapshot.slot_count();
  const std::int32_t* const base = base_of(table.node_side(c), pod_class.topology != nullptr, snapshot,
                                           columns->padded_count(), of_class->base_shift);
  if (base == nullptr) return false;
  NodeLoads loads = columns->loads();
  loads.refused = refused_by(pod_class, profile, *columns, snapshot);
  keys_.resize(static_cast<std::size_t>(columns->padded_count()));
  all_ = slot_kernels().nodes(*of_class, loads, base, columns->padded_count(), keys_.data());
  if (correct(pod_class, profile, *columns, snapshot, base, of_class->base_shift)) {
    all_ = {};
    for (const NodeKey key : keys_) {
      all_.feasible += key > 0 ? 1 : 0;
      all_.best = std::max(all_.best, key);
    }
  }
  evaluations_ += snapshot.node_count();
  ++rows_built_;
  return true;
}

std::int32_t LoneRow::best_node(NodeOrder order) const {
  auto first = std::find(keys_.begin(), keys_.end(), all_.best);
  const auto slot_of = [&](auto at) { return static_cast<std::int32_t>(at - keys_.begin()); };
  for (auto at = first; at != keys_.end(); at = std::find(at + 1, keys_.end(), all_.best))
    if (order.is_before(slot_of(at), slot_of(first))) first = at;
  return slot_of(first);
}

std::uint64_t LoneRow::bytes() const {
  std::uint64_t bytes = heap_bytes(base_, refused_, keys_);
  for (const auto& columns : columns_)
    if (columns != nullptr) bytes += columns->bytes();
  return bytes;
}

}  // namespace berth
