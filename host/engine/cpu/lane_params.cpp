// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/lane_params.h"

#include <algorithm>
#include <limits>

#include "batching/node_draw.h"

namespace berth {
namespace {

constexpr double kNoRequest = -std::numeric_limits<double>::infinity();

/// Amounts of one resource of a node.
struct LaneAmounts {
  double allocatable = 0;
  double requested = 0;
};

/// Converts amounts to lanes and notes whether all of them fit.
class LaneReader {
 public:
  double read(std::int64_t amount) {
    all_ |= static_cast<std::uint64_t>(amount);
    return static_cast<double>(amount);
  }
  LaneAmounts read(std::int64_t allocatable, std::int64_t requested) { return {read(allocatable), read(requested)}; }
  /// None is too large for a lane, and no sum wrapped to below 0.
  bool exact() const { return all_ < static_cast<std::uint64_t>(kExactBelow); }

 private:
  static_assert((kExactBelow & (kExactBelow - 1)) == 0, "bits of the amounts are gathered");
  std::uint64_t all_ = 0;
};

}  // namespace

LaneParams::LaneParams(std::span<const std::int32_t> classes, const ClassTable& table, int slot_count)
    : table_(table), classes_(classes.begin(), classes.end()) {
  for (const std::int32_t c : classes_) needs_integers_ = needs_integers_ || table_[c].needs_int64;
  const CompiledProfile& profile = this->profile();
  checks_fit_ = profile.filters<NodeResourcesFit>();
  draw_rule_ = profile.draw;
  choose_columns();
  params_.slot_count = slot_count;
  params_.filter_count = static_cast<int>(filter_columns_.size());
  params_.fit_count = static_cast<int>(fit_columns_.size());
  params_.balanced_count = static_cast<int>(balanced_columns_.size());
  params_.strategy = profile.fit.type;
  params_.balance_of_change = profile.release != Release::k1_35;
  params_.fit_weight = profile.weight<NodeResourcesFit>();
  params_.draws_by_class = profile.draw.order == DrawOrder::kByClass;
  for (std::size_t p = 0; p < score_of_utilization_.size(); ++p)
    score_of_utilization_[p] = profile.fit.score_of_utilization[p];
  const std::size_t lists = filter_columns_.size() + 2 * fit_columns_.size() + 2 * balanced_columns_.size() + 1;
  doubles_.assign(lists * static_cast<std::size_t>(slot_count), 0.0);
  draw_seeds_.assign(static_cast<std::size_t>(slot_count), 0);
  fill_filter_params();
  fill_score_params();
}

void LaneParams::choose_columns() {
  const CompiledProfile& profile = this->profile();
  for (const std::int32_t c : classes_) {
    if (!checks_fit()) break;
    for (const RequestedResource& request : table_[c].requested)
      if (std::find(filter_columns_.begin(), filter_columns_.end(), request.column) == filter_columns_.end())
        filter_columns_.push_back(request.column);
  }
  if (profile.weight<NodeResourcesFit>() != 0)
    for (const ScoredResource& resource : profile.fit.resources) fit_columns_.push_back(resource.column);
  if (profile.weight<NodeResourcesBalancedAllocation>() != 0)
    for (const ScoredResource& resource : profile.balanced_resources) balanced_columns_.push_back(resource.column);
  const auto too_many = [](const std::vector<std::int32_t>& columns) { return columns.size() > kMaxKernelResources; };
  needs_integers_ =
      needs_integers_ || too_many(filter_columns_) || too_many(fit_columns_) || too_many(balanced_columns_);
  if (needs_integers_) filter_columns_.clear(), fit_columns_.clear(), balanced_columns_.clear();
}

void LaneParams::fill_filter_params() {
  const auto slots = static_cast<std::size_t>(params_.slot_count);
  double* request = doubles_.data();
  std::fill_n(request, filter_columns_.size() * slots, kNoRequest);
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    draw_seeds_[s] = class_of(s).draw_seed;
    for (const RequestedResource& wanted : class_of(s).requested)
      for (std::size_t r = 0; r < filter_columns_.size(); ++r)
        // Resources that no node offers share one column of zeroes; the largest request decides.
        if (filter_columns_[r] == wanted.column)
          request[r * slots + s] = std::max(request[r * slots + s], static_cast<double>(wanted.amount));
  }
  params_.request = request;
  params_.draw_seed = draw_seeds_.data();
}

void LaneParams::fill_score_params() {
  const CompiledProfile& profile = this->profile();
  const auto slots = static_cast<std::size_t>(params_.slot_count);
  double* fit_request = doubles_.data() + filter_columns_.size() * slots;
  double* fit_weight = fit_request + fit_columns_.size() * slots;
  double* balanced_request = fit_weight + fit_columns_.size() * slots;
  double* balanced_counts = balanced_request + balanced_columns_.size() * slots;
  double* balanced_weight = balanced_counts + balanced_columns_.size() * slots;
  params_.fit_counts_always = params_.balanced_counts_always = true;
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    const PodClass& pod_class = class_of(s);
    for (std::size_t r = 0; r < fit_columns_.size(); ++r) {
      const ScoredRequest& wanted = pod_class.fit_requests[r];
      fit_request[r * slots + s] = static_cast<double>(wanted.amount);
      fit_weight[r * slots + s] = wanted.counts ? static_cast<double>(profile.fit.resources[r].weight) : 0.0;
      params_.fit_counts_always = params_.fit_counts_always && wanted.counts;
    }
    for (std::size_t r = 0; r < balanced_columns_.size(); ++r) {
      const ScoredRequest& wanted = pod_class.balanced_requests[r];
      balanced_request[r * slots + s] = static_cast<double>(wanted.amount);
      balanced_counts[r * slots + s] = wanted.counts ? 1.0 : 0.0;
      params_.balanced_counts_always = params_.balanced_counts_always && wanted.counts;
    }
    balanced_weight[s] = pod_class.balanced_skips ? 0.0 : profile.weight<NodeResourcesBalancedAllocation>();
  }
  params_.fit_request = fit_request;
  params_.fit_part_weight = fit_weight;
  params_.balanced_request = balanced_request;
  params_.balanced_counts = balanced_counts;
  params_.balanced_weight = balanced_weight;
  params_.score_of_utilization = score_of_utilization_.data();
}

bool LaneParams::fill_node(const Snapshot& snapshot, std::int32_t node, NodeLanes& lanes) const {
  LaneReader reader;
  // Read once, for filter, scores, room and draw.
  const DrawAmounts offered = offered_amounts(snapshot, node);
  const DrawAmounts in_use = draw_amounts(snapshot, node);
  const LaneAmounts cpu = reader.read(offered.milli_cpu, snapshot.requested(kCpuColumn, node));
  const LaneAmounts memory = reader.read(offered.memory_bytes, snapshot.requested(kMemoryColumn, node));
  const auto amounts = [&](std::int32_t column) {
    if (column == kCpuColumn) return cpu;
    if (column == kMemoryColumn) return memory;
    if (column == kNoColumn) return LaneAmounts();
    return reader.read(snapshot.allocatable(column, node), snapshot.requested(column, node));
  };
  for (std::size_t r = 0; r < filter_columns_.size(); ++r) {
    const LaneAmounts of_node = amounts(filter_columns_[r]);
    lanes.free[r] = of_node.allocatable - of_node.requested;
  }
  for (std::size_t r = 0; r < fit_columns_.size(); ++r) {
    const std::int32_t column = fit_columns_[r];
    const LaneAmounts of_node = amounts(column);
    lanes.fit_allocatable[r] = LaneDivisor(of_node.allocatable);
    lanes.fit_requested[r] = column == kCpuColumn      ? reader.read(in_use.milli_cpu)
                             : column == kMemoryColumn ? reader.read(in_use.memory_bytes)
                                                       : of_node.requested;
  }
  for (std::size_t r = 0; r < balanced_columns_.size(); ++r) {
    const LaneAmounts of_node = amounts(balanced_columns_[r]);
    lanes.balanced_allocatable[r] = of_node.allocatable;
    lanes.balanced_requested[r] = of_node.requested;
  }
  lanes.draw = node_draws(draw_rule_, snapshot, node, offered).with(in_use);
  lanes.room = !checks_fit_ || !NodeResourcesFit::too_many_pods(in_use.pods, offered.pods);
  return reader.exact();
}

CopySteps LaneParams::copy_steps(int slot) const {
  const PodClass& pod_class = class_of(static_cast<std::size_t>(slot));
  const auto slots = static_cast<std::size_t>(params_.slot_count);
  const auto step_of = [&](std::int32_t column) {
    for (const auto& [r, amount] : pod_class.delta.requested)
      if (r == column) return static_cast<double>(amount);
    return 0.0;
  };
  CopySteps steps{};
  for (std::size_t r = 0; r < filter_columns_.size(); ++r) {
    steps.request[r] = params_.request[r * slots + static_cast<std::size_t>(slot)];
    steps.filter_step[r] = step_of(filter_columns_[r]);
  }
  for (std::size_t r = 0; r < fit_columns_.size(); ++r) {
    const std::int32_t column = fit_columns_[r];
    steps.fit_request[r] = params_.fit_request[r * slots + static_cast<std::size_t>(slot)];
    steps.fit_step[r] = column == kCpuColumn      ? static_cast<double>(pod_class.delta.non_zero_milli_cpu)
                        : column == kMemoryColumn ? static_cast<double>(pod_class.delta.non_zero_memory_bytes)
                                                  : step_of(column);
  }
  for (std::size_t r = 0; r < balanced_columns_.size(); ++r) {
    steps.balanced_request[r] = params_.balanced_request[r * slots + static_cast<std::size_t>(slot)];
    steps.balanced_step[r] = step_of(balanced_columns_[r]);
  }
  return steps;
}

}  // namespace berth
