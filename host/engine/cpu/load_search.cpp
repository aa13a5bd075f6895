// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>

#include "host/engine/cpu/load_index.h"

namespace berth {

void LoadSearch::begin(const LoadIndex& index, const ClassOnLoads& of_class, const BasesOfNodes& bases,
                       const ExcludedNodes& excluded) {
  index_ = &index;
  of_class_ = &of_class;
  on_boxes_ = on_boxes(of_class);
  bases_ = bases;
  excluded_ = &excluded;
  found_.clear();
  top_left_.clear();
  is_begun_ = false;
}

/// Bounds the widest boxes. The best of them comes first, since the nodes in it say which of the others count.
void LoadSearch::open_top(NodeKey least) {
  const std::vector<std::int32_t>& blocks = index_->top_.blocks;
  std::array<std::int32_t, kBoxLanes> base;
  std::array<NodeKey, kBoxLanes> bounds;
  for (std::size_t first = 0; first < blocks.size(); first += kBoxLanes) {
    base.fill(-1);
    const std::size_t count = std::min(blocks.size() - first, base.size());
    for (std::size_t lane = 0; lane < count; ++lane)
      base[lane] = bases_.of_group[static_cast<std::size_t>(index_->top_.groups[first + lane])];
    std::uint32_t lanes = slot_kernels().bounds_by_lane(on_boxes_, index_->top_.boxes[first / kBoxLanes], base.data(),
                                                        least, bounds.data());
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
      top_left_.push_back({bounds[lane], blocks[first + lane]});
    }
  }
  is_begun_ = true;
  is_sorted_ = false;
  if (top_left_.empty()) return;
  const auto best = std::max_element(top_left_.begin(), top_left_.end());
  found_.push_back(*best);
  *best = top_left_.back();
  top_left_.pop_back();
}

/// The best box of the top that is left takes part in the search. @return false: none reaches `least`
bool LoadSearch::take_from_top(NodeKey least) {
  if (!is_begun_) {
    open_top(std::max<NodeKey>(least, 1));
    return !found_.empty();
  }
  if (!is_sorted_) {
    std::erase_if(top_left_, [least](const Found& found) { return found.bound < least; });
    std::sort(top_left_.begin(), top_left_.end());
    is_sorted_ = true;
  }
  if (top_left_.empty() || top_left_.back().bound < least) return false;
  found_.push_back(top_left_.back());
  top_left_.pop_back();
  return true;
}

/// The nodes of a leaf that reach `least`, bit by bit.
std::uint32_t LoadSearch::bound_leaf(std::int32_t at, NodeKey least, NodeKey* bounds) const {
  const LoadIndex::Block& leaf = index_->blocks_[static_cast<std::size_t>(at)];
  const auto group = static_cast<std::size_t>(leaf.group);
  if (bases_.differs.empty() || bases_.differs[group] == 0)
    return slot_kernels().node_bounds(on_boxes_, leaf.boxes, bases_.of_group[group], least, bounds);
  const std::int32_t beside_side = bases_.beside_side.empty() ? 0 : bases_.beside_side[group];
  std::array<std::int32_t, kBoxLanes> base;
  const std::int32_t* const nodes = index_->node_at_.data() + at * kBoxLanes;
  for (std::size_t lane = 0; lane < base.size(); ++lane) {
    const std::int32_t side = nodes[lane] < 0 ? -1 : bases_.side[static_cast<std::size_t>(nodes[lane])];
    base[lane] = side < 0 ? -1 : side + beside_side;
  }
  return slot_kernels().node_bounds_by_lane(on_boxes_, leaf.boxes, base.data(), least, bounds);
}

std::uint32_t LoadSearch::reaching(std::span<const std::int32_t> nodes, std::span<const std::int32_t> bases,
                                   NodeKey least, std::array<NodeKey, kBoxLanes>& bounds) {
  std::array<std::int32_t, kBoxLanes> base;
  base.fill(-1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int32_t position = index_->position_of_[static_cast<std::size_t>(nodes[i])];
    const LoadIndex::Block& leaf = index_->blocks_[static_cast<std::size_t>(position / kBoxLanes)];
    copy_node(leaf.boxes, position % kBoxLanes, gathered_, static_cast<std::int32_t>(i));
    base[i] = bases[i];
  }
  return slot_kernels().node_bounds_by_lane(on_boxes_, gathered_, base.data(), std::max<NodeKey>(least, 1),
                                            bounds.data());
}

/// The boxes of a block that reach `least`, the best one last.
void LoadSearch::open(std::int32_t at, NodeKey least) {
  const LoadIndex::Block& block = index_->blocks_[static_cast<std::size_t>(at)];
  const bool is_leaf = block.first_child < 0;
  std::array<NodeKey, kBoxLanes> bounds;
  std::uint32_t lanes = 0;
  if (is_leaf) {
    lanes = bound_leaf(at, least, bounds.data());
  } else {
    const std::int32_t base = bases_.of_group[static_cast<std::size_t>(block.group)];
    lanes = slot_kernels().bounds(on_boxes_, block.boxes, base, least, bounds.data());
  }
  ++blocks_seen;
  std::size_t best = found_.size();
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::int32_t lane = std::countr_zero(lanes);
    const NodeKey bound = bounds[static_cast<std::size_t>(lane)];
    found_.push_back({bound, is_leaf ? -1 - (at * kBoxLanes + lane) : block.first_child + lane});
    if (bound > found_[best].bound) best = found_.size() - 1;
  }
  if (best < found_.size()) std::swap(found_[best], found_.back());
}

LoadSearch::Candidate LoadSearch::next(NodeKey least) {
  do {
    while (!found_.empty()) {
      const Found found = found_.back();
      found_.pop_back();
      if (found.bound < least) continue;
      if (found.at >= 0) {
        open(found.at, std::max<NodeKey>(least, 1));
        continue;
      }
      const std::int32_t place = -1 - found.at;
      const std::int32_t node = index_->node_at_[static_cast<std::size_t>(place)];
      if (!index_->fits(*of_class_, node) || (!excluded_->empty() && excluded_->contains(node))) continue;
      return {found.bound, node, index_->blocks_[static_cast<std::size_t>(place / kBoxLanes)].group};
    }
  } while (take_from_top(least));
  return {};
}

}  // namespace berth
