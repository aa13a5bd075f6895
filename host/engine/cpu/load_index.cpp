// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/load_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "batching/node_draw.h"
#include "host/engine/cpu/lone_row.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

constexpr std::int64_t kLanes = kBoxLanes;
/// Where searches begin is at most so many blocks, and one for each group.
constexpr std::int64_t kTopBlocks = 64;
/// Room for fewer pods of a 64th of an average node is little.
constexpr double kTightPods = 4;

/// Where to cut a list of leaves, so that whole subtrees stay together.
std::int64_t leaves_on_the_left(std::int64_t leaves) {
  std::int64_t subtree = 1;
  while (subtree * kLanes < leaves) subtree *= kLanes;
  return std::max(subtree, leaves / 2 / subtree * subtree);
}

/// Puts nodes side by side that are alike: halves along the coordinate that varies most.
template <class Place>
void order_by_likeness(std::span<Place> nodes) {
  const auto leaves = (static_cast<std::int64_t>(nodes.size()) + kLanes - 1) / kLanes;
  if (leaves <= 1) return;
  std::array<float, 4> low, high;
  low.fill(INFINITY);
  high.fill(-INFINITY);
  for (const Place& place : nodes)
    for (std::size_t d = 0; d < low.size(); ++d) {
      low[d] = std::min(low[d], place.position[d]);
      high[d] = std::max(high[d], place.position[d]);
    }
  std::size_t widest = 0;
  for (std::size_t d = 1; d < low.size(); ++d)
    if (high[d] - low[d] > high[widest] - low[widest]) widest = d;
  const auto cut = static_cast<std::size_t>(leaves_on_the_left(leaves) * kLanes);
  std::nth_element(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(cut), nodes.end(),
                   [widest](const Place& a, const Place& b) { return a.position[widest] < b.position[widest]; });
  order_by_likeness(nodes.first(cut));
  order_by_likeness(nodes.subspan(cut));
}

/// @param most  shares above it count as it
double share(std::int64_t used, std::int64_t offered, double most) {
  return std::min(static_cast<double>(used) / static_cast<double>(offered), most);
}

LoadBox::Room room_on_node(std::int64_t offered, std::int64_t requested) {
  const auto free = static_cast<double>(offered - requested);
  return {free, free};
}

/// @param used  share() of the resource
LoadBox::Resource resource_on_node(double used, std::int64_t offered, const LoadBox::Room& room) {
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(offered));
  return {static_cast<float>(used), inverse, inverse, static_cast<float>(room.free_max)};
}

bool has_room(const ClassOnLoads& of_class, double cpu_free, double memory_free) {
  return !NodeResourcesFit::is_short(of_class.cpu.request, cpu_free, 0.0) &&
         !NodeResourcesFit::is_short(of_class.memory.request, memory_free, 0.0);
}

}  // namespace

bool LoadIndex::serves(const CompiledProfile& profile) {
  return LoadColumns::serve(profile) && profile.filters<NodeResourcesFit>();
}

// Nodes

/// Amounts of the node, and of the pods that are nominated to it, are exact in doubles.
bool LoadIndex::holds(const Snapshot& snapshot, std::int32_t node) const {
  const Nominations::ReservedLoad reserved = nominated_.on(node);
  return holds_exactly(snapshot, node) && reserved.milli_cpu >= 0 && reserved.milli_cpu < kExactBelow &&
         reserved.memory_bytes >= 0 && reserved.memory_bytes < kExactBelow;
}

/// The node seems emptier than it is: nominated pods leave less room than these amounts. Such nodes have leaves of
/// their own, so that no box promises the room of one node and the score of another.
bool LoadIndex::is_tight(const Snapshot& snapshot, std::int32_t node, double cpu, double memory) const {
  const Nominations::ReservedLoad reserved = nominated_.on(node);
  if (reserved.pods == 0) return false;
  const LoadBox box = box_of(snapshot, node);
  return box.draw == 0 || box.cpu_room.free_max < cpu || box.memory_room.free_max < memory;
}

LoadBox LoadIndex::box_of(const Snapshot& snapshot, std::int32_t node) const {
  const DrawAmounts offered = offered_amounts(snapshot, node);
  const DrawAmounts in_use = draw_amounts(snapshot, node);
  const Nominations::ReservedLoad reserved = nominated_.on(node);
  if (NodeResourcesFit::too_many_pods(in_use.pods + reserved.pods, offered.pods)) return empty_box(packs_);
  const std::int64_t cpu = snapshot.requested(kCpuColumn, node);
  const std::int64_t memory = snapshot.requested(kMemoryColumn, node);
  const double tilt = share(cpu, offered.milli_cpu, 1.0) - share(memory, offered.memory_bytes, 1.0);
  const Draw draw = node_draws(profile_.draw, snapshot, node, offered).with(in_use).bits;
  const LoadBox::Room cpu_room = room_on_node(offered.milli_cpu, cpu + reserved.milli_cpu);
  const LoadBox::Room memory_room = room_on_node(offered.memory_bytes, memory + reserved.memory_bytes);
  const double cpu_used = share(in_use.milli_cpu, offered.milli_cpu, kShareMax);
  const double memory_used = share(in_use.memory_bytes, offered.memory_bytes, kShareMax);
  const auto cpu_weight = static_cast<double>(profile_.fit.resources[0].weight);
  const auto memory_weight = static_cast<double>(profile_.fit.resources[1].weight);
  const double mean = (cpu_used * cpu_weight + memory_used * memory_weight) / (cpu_weight + memory_weight);
  const double fit_loss = mean * profile_.weight<NodeResourcesFit>();
  const double tilt_loss = tilt / 2 * profile_.weight<NodeResourcesBalancedAllocation>();
  return {resource_on_node(cpu_used, offered.milli_cpu, cpu_room),
          resource_on_node(memory_used, offered.memory_bytes, memory_room),
          static_cast<float>(mean),
          static_cast<float>(fit_loss + tilt_loss),
          static_cast<float>(fit_loss - tilt_loss),
          static_cast<float>(fit_loss + std::abs(tilt_loss)),
          static_cast<float>(tilt),
          static_cast<float>(tilt),
          draw,
          cpu_room,
          memory_room,
          1};
}

// The trees

std::int32_t LoadIndex::add_block(std::int32_t group) {
  Block& block = blocks_.emplace_back();
  block.group = group;
  const LoadBox empty = empty_box(packs_);
  for (std::int32_t lane = 0; lane < kBoxLanes; ++lane) write_box(block.boxes, lane, empty);
  node_at_.resize(blocks_.size() * static_cast<std::size_t>(kBoxLanes), -1);
  return static_cast<std::int32_t>(blocks_.size()) - 1;
}

/// @param top_blocks  at most so many of the group may be in the top
void LoadIndex::lay_out_group(std::int32_t group, std::span<Place> nodes, std::int64_t top_blocks,
                              const Snapshot& snapshot) {
  const auto tight_end = std::partition(nodes.begin(), nodes.end(), [](const Place& place) { return place.is_tight; });
  const auto in_tight_leaves = static_cast<std::size_t>((tight_end - nodes.begin() + kLanes - 1) / kLanes * kLanes);
  order_by_likeness(nodes.first(std::min(in_tight_leaves, nodes.size())));
  order_by_likeness(nodes.subspan(std::min(in_tight_leaves, nodes.size())));
  auto first = static_cast<std::int32_t>(blocks_.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto lane = static_cast<std::int32_t>(i % static_cast<std::size_t>(kBoxLanes));
    const std::int32_t leaf = lane == 0 ? add_block(group) : static_cast<std::int32_t>(blocks_.size()) - 1;
    const std::int32_t at = leaf * kBoxLanes + lane;
    node_at_[static_cast<std::size_t>(at)] = nodes[i].node;
    position_of_[static_cast<std::size_t>(nodes[i].node)] = at;
    write_box(blocks_.back().boxes, lane, box_of(snapshot, nodes[i].node));
  }
  for (auto end = static_cast<std::int32_t>(blocks_.size()); end - first > top_blocks;
       first = end, end = static_cast<std::int32_t>(blocks_.size())) {
    for (std::int32_t child = first; child < end; ++child) {
      const std::int32_t lane = (child - first) % kBoxLanes;
      const std::int32_t parent = lane == 0 ? add_block(group) : static_cast<std::int32_t>(blocks_.size()) - 1;
      Block& of_child = blocks_[static_cast<std::size_t>(child)];
      of_child.parent = parent;
      of_child.lane = lane;
      if (lane == 0) blocks_.back().first_child = child;
      write_box(blocks_.back().boxes, lane, join(child));
    }
  }
  for (auto block = first; block < static_cast<std::int32_t>(blocks_.size()); ++block) add_to_top(block);
}

void LoadIndex::add_to_top(std::int32_t block) {
  const auto lane = static_cast<std::int32_t>(top_.blocks.size());
  if (lane % kBoxLanes == 0) {
    LoadBoxes& boxes = top_.boxes.emplace_back();
    for (std::int32_t l = 0; l < kBoxLanes; ++l) write_box(boxes, l, empty_box(packs_));
  }
  top_.blocks.push_back(block);
  top_.groups.push_back(blocks_[static_cast<std::size_t>(block)].group);
  blocks_[static_cast<std::size_t>(block)].lane = lane;
  write_box(top_.boxes.back(), lane % kBoxLanes, join(block));
}

void LoadIndex::lay_out(const Snapshot& snapshot, std::span<const std::int32_t> group_of, std::int32_t group_count) {
  is_laid_out_ = false;  // and stays so where memory runs out
  blocks_.clear();
  node_at_.clear();
  odd_.clear();
  position_of_.assign(group_of.size(), -1);
  top_.blocks.clear();
  top_.groups.clear();
  top_.boxes.clear();
  top_.first_of.assign(1, 0);
  std::vector<std::vector<Place>> nodes_of(static_cast<std::size_t>(group_count));
  double cpu_all = 0;
  double memory_all = 0;
  std::int64_t nodes = 0;
  for (std::int32_t node = 0; node < snapshot.slot_count(); ++node) {
    const std::int32_t group = group_of[static_cast<std::size_t>(node)];
    if (group < 0) continue;
    if (!holds(snapshot, node)) {
      odd_.push_back(node);
      continue;
    }
    cpu_all += static_cast<double>(snapshot.allocatable(kCpuColumn, node));
    memory_all += static_cast<double>(snapshot.allocatable(kMemoryColumn, node));
    ++nodes;
    nodes_of[static_cast<std::size_t>(group)].push_back({{}, node, false});
  }
  // How much fuller a pod of a 64th of an average node makes it is the coordinate for its size.
  const double pod_cpu = nodes == 0 ? 0.0 : cpu_all / static_cast<double>(nodes) / 64;
  const double pod_memory = nodes == 0 ? 0.0 : memory_all / static_cast<double>(nodes) / 64;
  for (std::int32_t group = 0; group < group_count; ++group) {
    std::vector<Place>& places = nodes_of[static_cast<std::size_t>(group)];
    for (Place& place : places) {
      const auto cpu = static_cast<double>(snapshot.allocatable(kCpuColumn, place.node));
      const auto memory = static_cast<double>(snapshot.allocatable(kMemoryColumn, place.node));
      const double cpu_used = static_cast<double>(snapshot.non_zero_milli_cpu(place.node)) / cpu;
      const double memory_used = static_cast<double>(snapshot.non_zero_memory_bytes(place.node)) / memory;
      place.position[0] = static_cast<float>(cpu_used + memory_used);
      place.position[1] = static_cast<float>(cpu_used - memory_used);
      place.position[2] = static_cast<float>(pod_cpu / cpu + pod_memory / memory);
      place.position[3] = static_cast<float>(static_cast<double>(snapshot.pod_count(place.node)) /
                                             static_cast<double>(snapshot.allowed_pods(place.node)));
      place.is_tight = is_tight(snapshot, place.node, kTightPods * pod_cpu, kTightPods * pod_memory);
    }
    const std::int64_t top_blocks = nodes == 0 ? 1 : kTopBlocks * static_cast<std::int64_t>(places.size()) / nodes;
    if (!places.empty()) lay_out_group(group, places, std::max<std::int64_t>(top_blocks, 1), snapshot);
    top_.first_of.push_back(static_cast<std::int32_t>(top_.blocks.size()));
  }
  changes_ = 0;
  ++layouts_;
  is_laid_out_ = true;
}

void LoadIndex::update(const Snapshot& snapshot, std::int32_t node) {
  const std::int32_t position = position_of_[static_cast<std::size_t>(node)];
  if ((position < 0) == holds(snapshot, node)) {
    is_laid_out_ = false;
    return;
  }
  if (position < 0) return;
  ++changes_;
  LoadBox box = box_of(snapshot, node);
  std::int32_t lane = position % kBoxLanes;
  for (std::int32_t at = position / kBoxLanes; at >= 0;) {
    Block& block = blocks_[static_cast<std::size_t>(at)];
    if (read_box(block.boxes, lane) == box) return;
    write_box(block.boxes, lane, box);
    box = join(at);
    lane = block.lane;
    at = block.parent;
    if (at < 0) write_box(top_.boxes[static_cast<std::size_t>(lane / kBoxLanes)], lane % kBoxLanes, box);
  }
}

void LoadIndex::follow_nominations(const Snapshot& snapshot) {
  if (nominated_.nominations == nullptr) return;
  const std::span<const std::int32_t> changed = nominated_.nominations->changed_nodes();
  if (nominations_generation_ != nominated_.nominations->generation()) {
    clear();
  } else {
    for (const std::int32_t node : changed.subspan(nominations_seen_))
      if (is_laid_out_) update(snapshot, node);
  }
  nominations_generation_ = nominated_.nominations->generation();
  nominations_seen_ = changed.size();
}

void LoadIndex::catch_up(const Snapshot& snapshot, const CommitLog& log, std::span<const std::int32_t> group_of,
                         std::int32_t group_count) {
  follow_nominations(snapshot);
  if (is_laid_out_ && log.reaches(position_))
    for (const LogEntry& entry : log.since(position_))
      if (is_laid_out_) update(snapshot, entry.node);
  const std::int64_t changes_max =
      std::max(changes_min_, static_cast<std::int64_t>(position_of_.size()) / nodes_per_change_);
  if (!is_laid_out_ || !log.reaches(position_) || changes_ > changes_max) lay_out(snapshot, group_of, group_count);
  position_ = log.position();
}

// Counting

/// Nodes with room in the box, and in the block that it is around.
std::int64_t LoadIndex::count_fitting_in(const ClassOnLoads& of_class, const LoadBoxes& boxes, std::int32_t lane,
                                         std::int32_t block, std::int64_t enough) const {
  const auto l = static_cast<std::size_t>(lane);
  if (boxes.count[l] == 0 || !has_room(of_class, boxes.cpu_room.free_max[l], boxes.memory_room.free_max[l])) return 0;
  if (has_room(of_class, boxes.cpu_room.free_min[l], boxes.memory_room.free_min[l])) return boxes.count[l];
  const Block& inner = blocks_[static_cast<std::size_t>(block)];
  std::int64_t count = 0;
  for (std::int32_t child = 0; child < kBoxLanes && count < enough; ++child)
    count += count_fitting_in(of_class, inner.boxes, child, inner.first_child < 0 ? -1 : inner.first_child + child,
                              enough - count);
  return count;
}

/// The same of nodes that the side accepts, in a block.
std::int64_t LoadIndex::count_accepted_in(const ClassOnLoads& of_class, std::int32_t at, std::int64_t enough,
                                          std::span<const std::int32_t> side) const {
  const Block& block = blocks_[static_cast<std::size_t>(at)];
  std::int64_t count = 0;
  for (std::int32_t lane = 0; lane < kBoxLanes && count < enough; ++lane) {
    if (block.first_child >= 0) {
      if (block.boxes.count[lane] > 0)
        count += count_accepted_in(of_class, block.first_child + lane, enough - count, side);
      continue;
    }
    const std::int32_t position = at * kBoxLanes + lane;
    const std::int32_t node = node_at_[static_cast<std::size_t>(position)];
    count += node >= 0 && side[static_cast<std::size_t>(node)] >= 0 && fits_at(of_class, position) ? 1 : 0;
  }
  return count;
}

std::int64_t LoadIndex::count_fitting(const ClassOnLoads& of_class, std::int32_t group, std::int64_t enough,
                                      std::span<const std::int32_t> side) const {
  const auto g = static_cast<std::size_t>(group);
  std::int64_t count = 0;
  for (std::int32_t lane = top_.first_of[g]; lane < top_.first_of[g + 1] && count < enough; ++lane) {
    const std::int32_t block = top_.blocks[static_cast<std::size_t>(lane)];
    count += side.empty() ? count_fitting_in(of_class, top_.boxes[static_cast<std::size_t>(lane / kBoxLanes)],
                                             lane % kBoxLanes, block, enough - count)
                          : count_accepted_in(of_class, block, enough - count, side);
  }
  return count;
}

bool LoadIndex::fits_at(const ClassOnLoads& of_class, std::int32_t position) const {
  const LoadBoxes& boxes = blocks_[static_cast<std::size_t>(position / kBoxLanes)].boxes;
  const auto lane = static_cast<std::size_t>(position % kBoxLanes);
  return boxes.draw[lane] != 0 && has_room(of_class, boxes.cpu_room.free_max[lane], boxes.memory_room.free_max[lane]);
}

std::uint64_t LoadIndex::bytes() const {
  return heap_bytes(blocks_, node_at_, position_of_, odd_, top_.boxes, top_.blocks, top_.groups, top_.first_of);
}

// Search

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
  std::array<std::int32_t, kBoxLanes> base;
  const std::int32_t* const nodes = index_->node_at_.data() + at * kBoxLanes;
  for (std::size_t lane = 0; lane < base.size(); ++lane) {
    const std::int32_t side = nodes[lane] < 0 ? -1 : bases_.side[static_cast<std::size_t>(nodes[lane])];
    base[lane] = side < 0 ? -1 : side + bases_.beside_side[group];
  }
  return slot_kernels().node_bounds_by_lane(on_boxes_, leaf.boxes, base.data(), least, bounds);
}

std::uint32_t LoadSearch::reaching(std::span<const std::int32_t> nodes, std::span<const std::int32_t> bases,
                                   NodeKey least) {
  std::array<std::int32_t, kBoxLanes> base;
  base.fill(-1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int32_t position = index_->position_of_[static_cast<std::size_t>(nodes[i])];
    const LoadIndex::Block& leaf = index_->blocks_[static_cast<std::size_t>(position / kBoxLanes)];
    copy_node(leaf.boxes, position % kBoxLanes, gathered_, static_cast<std::int32_t>(i));
    base[i] = bases[i];
  }
  std::array<NodeKey, kBoxLanes> bounds;
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
      if (!index_->fits_at(*of_class_, place) || (!excluded_->empty() && excluded_->contains(node))) continue;
      return {found.bound, node, index_->blocks_[static_cast<std::size_t>(place / kBoxLanes)].group};
    }
  } while (take_from_top(least));
  return {};
}

}  // namespace berth
