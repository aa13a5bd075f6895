// SPDX-License-Identifier: Apache-2.0
#include "batching/victim_lanes.h"

#include <algorithm>
#include <limits>

namespace berth {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

// Columns

void LaneColumns::begin(std::int32_t column_count) {
  row_of_column_.assign(static_cast<std::size_t>(column_count), 0);
  columns_.clear();
}

bool LaneColumns::add(const PodClass& pod_class) {
  const std::size_t before = rows();
  for (const RequestedResource& request : pod_class.requested) {
    if (request.column == kNoColumn || request.amount <= 0 || row_of(request.column) != 0 || rows() == kRowsMax)
      continue;
    columns_.push_back(request.column);
    row_of_column_[static_cast<std::size_t>(request.column)] = columns_.size();
  }
  return rows() != before;
}

LaneRequest LaneColumns::request(const PodClass& pod_class) const {
  LaneRequest lanes;
  lanes.amount[0] = 1;
  lanes.size = 1;
  for (const RequestedResource& request : pod_class.requested) {
    if (request.amount <= 0) continue;
    const std::size_t row = request.column == kNoColumn ? 0 : row_of(request.column);
    if (row == 0 || lanes.size == LaneRequest::kRowsMax || !is_exact_in_lanes(request.amount)) return {};
    lanes.row[lanes.size] = static_cast<std::uint32_t>(row);
    lanes.amount[lanes.size++] = static_cast<double>(request.amount);
  }
  return lanes;
}

// Lists

void LaneTable::put(std::size_t position, std::int32_t node, const PreparedList& list, const LaneColumns& columns) {
  Block& block = blocks_[block_of(position)];
  const std::size_t lane = lane_of(position);
  const std::size_t rows = columns.rows();
  block.nodes[lane] = -1;
  block.sums.resize(rows);
  if (list.count() > block.victims) {
    block.amounts.resize(list.count() * rows);
    for (std::size_t v = block.victims; v < list.count(); ++v) block.amounts[v * rows].fill(kInfinite);
    block.victims = list.count();
  }
  for (std::size_t v = 0; v < block.victims; ++v) block.amounts[v * rows][lane] = v < list.count() ? 1 : kInfinite;
  block.sums[0][lane] = static_cast<double>(list.count());
  block.is_exact[lane] = list.is_exact_in_lanes;
  const auto& sums = list.all.delta.requested;
  for (std::size_t r = 1; r < rows && list.is_exact_in_lanes; ++r) {
    const std::size_t of_victim = list.index_of(columns.column(r));
    const bool is_requested = of_victim != PreparedList::kNoVictimRequests;
    block.sums[r][lane] = is_requested ? static_cast<double>(sums[of_victim].second) : 0;
    for (std::size_t v = 0; v < list.count(); ++v)
      block.amounts[v * rows + r][lane] =
          is_requested ? static_cast<double>(list.amounts[v * sums.size() + of_victim]) : 0;
  }
  block.versions[lane] = list.version;
  block.nodes[lane] = node;
}

void LaneTable::read_node(std::size_t position, const LaneColumns& columns, const Snapshot& snapshot, std::size_t lane,
                          LaneNodes& nodes) const {
  const Block& block = blocks_[block_of(position)];
  const std::size_t from = lane_of(position);
  const std::int32_t node = block.nodes[from];
  nodes.is_exact[lane] = node >= 0 && block.is_exact[from] && is_exact_in_lanes(snapshot.allowed_pods(node));
  if (!nodes.is_exact[lane]) return;
  nodes.free[0][lane] =
      static_cast<double>(snapshot.allowed_pods(node) - snapshot.pod_count(node)) + block.sums[0][from];
  nodes.allocatable[0][lane] = kInfinite;
  for (std::size_t r = 1; r < columns.rows(); ++r) {
    const std::int64_t offered = snapshot.allocatable(columns.column(r), node);
    const std::int64_t requested = snapshot.requested(columns.column(r), node);
    nodes.is_exact[lane] = nodes.is_exact[lane] && is_exact_in_lanes(offered) && is_exact_in_lanes(requested);
    nodes.free[r][lane] = static_cast<double>(offered - requested) + block.sums[r][from];
    nodes.allocatable[r][lane] = static_cast<double>(offered);
  }
}

void LaneTable::gather(std::span<const std::size_t> positions, const LaneColumns& columns, GatheredLanes& into) const {
  const std::size_t rows = columns.rows();
  into.victims = 0;
  for (const std::size_t position : positions) {
    const Block& block = blocks_[block_of(position)];
    into.victims = std::max(into.victims, static_cast<std::size_t>(block.sums[0][lane_of(position)]));
  }
  into.amounts.resize(into.victims * rows);
  for (std::size_t lane = 0; lane < positions.size(); ++lane) {
    const Block& block = blocks_[block_of(positions[lane])];
    const std::size_t from = lane_of(positions[lane]);
    const std::size_t there = std::min(into.victims, block.victims);
    for (std::size_t at = 0; at < there * rows; ++at) into.amounts[at][lane] = block.amounts[at][from];
    for (std::size_t v = there; v < into.victims; ++v) into.amounts[v * rows][lane] = kInfinite;
  }
}

bool crowd_lane(const Pod& pod, std::int32_t node, std::size_t lane, const Nominations& nominations,
                const LaneColumns& columns, LaneNodes& nodes) {
  std::array<std::int64_t, LaneColumns::kRowsMax> taken{};
  bool is_exact = true;
  nominations.for_each_against(pod, node, [&](const Nominations::Nominated& nominated) {
    ++taken[0];
    for (const auto& [column, amount] : nominated.delta.requested) {
      const std::size_t row = columns.row_of(column);
      if (row == 0) continue;
      is_exact = is_exact && amount >= 0 && is_exact_in_lanes(amount) && is_exact_in_lanes(taken[row] + amount);
      if (is_exact) taken[row] += amount;
    }
  });
  if (!is_exact) return false;
  for (std::size_t r = 0; r < columns.rows(); ++r) nodes.free[r][lane] -= static_cast<double>(taken[r]);
  return true;
}

}  // namespace berth
