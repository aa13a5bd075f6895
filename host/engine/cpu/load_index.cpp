// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/load_index.h"

#include <algorithm>
#include <array>
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
/// Where searches open more blocks than this on average, leaves of nodes in one state are worth their cost.
constexpr std::int64_t kBlocksMany = 256;
/// Searches after which that is looked at.
constexpr std::int64_t kSearchesSeen = 256;

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

void LoadIndex::write_room(std::int32_t node, const LoadBox& box) {
  const bool is_full = box.draw == 0;
  RoomOnNode& room = room_on_[static_cast<std::size_t>(node)];
  full_nodes_ += (is_full ? 1 : 0) - (room.cpu == RoomOnNode::kFull ? 1 : 0);
  room = {is_full ? RoomOnNode::kFull : box.cpu_room.free_max, is_full ? RoomOnNode::kFull : box.memory_room.free_max};
}

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
  add_tree(group, nodes, top_blocks, snapshot);
}

/// Leaves of the nodes as they are ordered, and the blocks above them up to the top.
void LoadIndex::add_tree(std::int32_t group, std::span<const Place> nodes, std::int64_t top_blocks,
                         const Snapshot& snapshot) {
  auto first = static_cast<std::int32_t>(blocks_.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto lane = static_cast<std::int32_t>(i % static_cast<std::size_t>(kBoxLanes));
    const std::int32_t leaf = lane == 0 ? add_block(group) : static_cast<std::int32_t>(blocks_.size()) - 1;
    const std::int32_t at = leaf * kBoxLanes + lane;
    node_at_[static_cast<std::size_t>(at)] = nodes[i].node;
    position_of_[static_cast<std::size_t>(nodes[i].node)] = at;
    const LoadBox box = box_of(snapshot, nodes[i].node);
    write_box(blocks_.back().boxes, lane, box);
    write_room(nodes[i].node, box);
  }
  for (auto end = static_cast<std::int32_t>(blocks_.size()); end - first > top_blocks;
       first = end, end = static_cast<std::int32_t>(blocks_.size())) {
    for (std::int32_t child = first; child < end; ++child) {
      const std::int32_t lane = (child - first) % kBoxLanes;
      const std::int32_t parent = lane == 0 ? add_block(group) : static_cast<std::int32_t>(blocks_.size()) - 1;
      if (lane == 0) blocks_.back().first_child = child;
      put_under(child, parent, lane);
    }
  }
  for (auto block = first; block < static_cast<std::int32_t>(blocks_.size()); ++block) add_to_top(block);
}

void LoadIndex::put_under(std::int32_t child, std::int32_t parent, std::int32_t lane) {
  Block& of_child = blocks_[static_cast<std::size_t>(child)];
  of_child.parent = parent;
  of_child.lane = lane;
  write_box(blocks_[static_cast<std::size_t>(parent)].boxes, lane, join(child));
}

// Nodes that changed, where groups are large

/// A block with empty leaves, for nodes that leave theirs.
void LoadIndex::add_loose_leaves(std::int32_t group) {
  const auto first = static_cast<std::int32_t>(blocks_.size());
  for (std::int32_t lane = 0; lane < kBoxLanes; ++lane) add_block(group);
  const std::int32_t parent = add_block(group);
  blocks_.back().first_child = first;
  for (std::int32_t lane = 0; lane < kBoxLanes; ++lane) put_under(first + lane, parent, lane);
  add_to_top(parent);
  loose_.push_back({first, 0});
}

/// A changed node leaves its leaf, whose other nodes may still be alike.
void LoadIndex::move(std::int32_t node, const LoadBox& box, const Snapshot& snapshot) {
  const std::int32_t position = position_of_[static_cast<std::size_t>(node)];
  const std::int32_t group = blocks_[static_cast<std::size_t>(position / kBoxLanes)].group;
  if (loose_[static_cast<std::size_t>(group)].count == kBoxLanes * kBoxLanes) settle(group, snapshot);
  Loose& loose = loose_[static_cast<std::size_t>(group)];
  const std::int32_t to = loose.first_leaf * kBoxLanes + loose.count++;
  node_at_[static_cast<std::size_t>(position)] = -1;
  node_at_[static_cast<std::size_t>(to)] = node;
  position_of_[static_cast<std::size_t>(node)] = to;
  put(position, empty_box(packs_));
  put(to, box);
}

/// The nodes of full loose leaves become a tree of their own.
void LoadIndex::settle(std::int32_t group, const Snapshot& snapshot) {
  is_laid_out_ = false;  // and stays so where memory runs out
  const std::int32_t first = loose_[static_cast<std::size_t>(group)].first_leaf;
  std::vector<Place> places;
  for (std::int32_t at = first * kBoxLanes; at < (first + kBoxLanes) * kBoxLanes; ++at) {
    places.push_back({{}, node_at_[static_cast<std::size_t>(at)], false});
    fill_place(snapshot, places.back());
    node_at_[static_cast<std::size_t>(at)] = -1;
    write_box(blocks_[static_cast<std::size_t>(at / kBoxLanes)].boxes, at % kBoxLanes, empty_box(packs_));
  }
  for (std::int32_t leaf = first; leaf < first + kBoxLanes; ++leaf)
    put_under(leaf, blocks_[static_cast<std::size_t>(leaf)].parent, blocks_[static_cast<std::size_t>(leaf)].lane);
  const std::int32_t parent = blocks_[static_cast<std::size_t>(first)].parent;
  write_in_top(blocks_[static_cast<std::size_t>(parent)].lane, join(parent));
  loose_[static_cast<std::size_t>(group)].count = 0;
  lay_out_group(group, places, 1, snapshot);
  is_laid_out_ = true;
}

void LoadIndex::fill_place(const Snapshot& snapshot, Place& place) const {
  const auto cpu = static_cast<double>(snapshot.allocatable(kCpuColumn, place.node));
  const auto memory = static_cast<double>(snapshot.allocatable(kMemoryColumn, place.node));
  const double cpu_used = static_cast<double>(snapshot.non_zero_milli_cpu(place.node)) / cpu;
  const double memory_used = static_cast<double>(snapshot.non_zero_memory_bytes(place.node)) / memory;
  place.position[0] = static_cast<float>(cpu_used + memory_used);
  place.position[1] = static_cast<float>(cpu_used - memory_used);
  place.position[2] = static_cast<float>(pod_cpu_ / cpu + pod_memory_ / memory);
  place.position[3] = static_cast<float>(static_cast<double>(snapshot.pod_count(place.node)) /
                                         static_cast<double>(snapshot.allowed_pods(place.node)));
  place.is_tight = is_tight(snapshot, place.node, kTightPods * pod_cpu_, kTightPods * pod_memory_);
}

void LoadIndex::add_to_top(std::int32_t block) {
  const auto lane = static_cast<std::int32_t>(top_.blocks.size());
  if (lane % kBoxLanes == 0) {
    LoadBoxes& boxes = top_.boxes.emplace_back();
    for (std::int32_t l = 0; l < kBoxLanes; ++l) write_box(boxes, l, empty_box(packs_));
  }
  top_.blocks.push_back(block);
  const std::int32_t group = blocks_[static_cast<std::size_t>(block)].group;
  top_.groups.push_back(group);
  top_.lanes_of[static_cast<std::size_t>(group)].push_back(lane);
  blocks_[static_cast<std::size_t>(block)].lane = lane;
  write_box(top_.boxes.back(), lane % kBoxLanes, join(block));
}

void LoadIndex::lay_out(const Snapshot& snapshot, std::span<const std::int32_t> group_of, std::int32_t group_count) {
  is_laid_out_ = false;  // and stays so where memory runs out
  blocks_.clear();
  node_at_.clear();
  odd_.clear();
  position_of_.assign(group_of.size(), -1);
  room_on_.assign(group_of.size(), {});
  full_nodes_ = 0;
  top_.blocks.clear();
  top_.groups.clear();
  top_.boxes.clear();
  top_.lanes_of.assign(static_cast<std::size_t>(group_count), {});
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
  pod_cpu_ = nodes == 0 ? 0.0 : cpu_all / static_cast<double>(nodes) / 64;
  pod_memory_ = nodes == 0 ? 0.0 : memory_all / static_cast<double>(nodes) / 64;
  for (std::int32_t group = 0; group < group_count; ++group) {
    std::vector<Place>& places = nodes_of[static_cast<std::size_t>(group)];
    for (Place& place : places) fill_place(snapshot, place);
    const std::int64_t top_blocks = nodes == 0 ? 1 : kTopBlocks * static_cast<std::int64_t>(places.size()) / nodes;
    if (!places.empty()) lay_out_group(group, places, std::max<std::int64_t>(top_blocks, 1), snapshot);
  }
  home_end_ = static_cast<std::int32_t>(blocks_.size());
  loose_.clear();
  may_move_ = nodes >= moving_nodes_min_ * group_count;
  if (moves_ && may_move_)
    for (std::int32_t group = 0; group < group_count; ++group) add_loose_leaves(group);
  changes_ = 0;
  ++layouts_;
  is_laid_out_ = true;
}

void LoadIndex::write_in_top(std::int32_t lane, const LoadBox& box) {
  write_box(top_.boxes[static_cast<std::size_t>(lane / kBoxLanes)], lane % kBoxLanes, box);
}

/// Writes the box of a node, and those of the blocks that it is in.
void LoadIndex::put(std::int32_t position, LoadBox box) {
  std::int32_t lane = position % kBoxLanes;
  for (std::int32_t at = position / kBoxLanes; at >= 0;) {
    Block& block = blocks_[static_cast<std::size_t>(at)];
    if (read_box(block.boxes, lane) == box) return;
    write_box(block.boxes, lane, box);
    box = join(at);
    lane = block.lane;
    at = block.parent;
    if (at < 0) write_in_top(lane, box);
  }
}

void LoadIndex::update(const Snapshot& snapshot, std::int32_t node) {
  const std::int32_t position = position_of_[static_cast<std::size_t>(node)];
  if ((position < 0) == holds(snapshot, node)) {
    is_laid_out_ = false;
    return;
  }
  if (position < 0) return;
  ++changes_;
  const LoadBox box = box_of(snapshot, node);
  write_room(node, box);
  const bool moves = !loose_.empty() && position / kBoxLanes < home_end_ && box.draw != 0;
  if (moves) {
    move(node, box, snapshot);
  } else {
    put(position, box);
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

void LoadIndex::note_searches(std::int64_t searches, std::int64_t blocks) {
  searches_ += searches;
  blocks_opened_ += blocks;
  if (searches_ < kSearchesSeen) return;
  if (!moves_ && may_move_ && blocks_opened_ > kBlocksMany * searches_) {
    moves_ = true;
    clear();
  }
  searches_ = blocks_opened_ = 0;
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

std::uint64_t LoadIndex::bytes() const {
  return heap_bytes(blocks_, node_at_, position_of_, room_on_, odd_, top_.boxes, top_.blocks, top_.groups, loose_);
}

}  // namespace berth
