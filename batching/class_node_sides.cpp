// SPDX-License-Identifier: Apache-2.0
// The node sides of classes: which classes share one, and how they follow node events.

#include <algorithm>
#include <utility>

#include "batching/pod_class.h"
#include "host/framework/pod_signature.h"
#include "plugins/image_locality/compile.h"

namespace berth {
namespace {

/// Node events that are kept for node sides that have not followed them: this share of the slots, and some.
constexpr std::int32_t kKeptChangesShare = 4;
constexpr std::int32_t kKeptChangesMin = 64;
/// Versions of different sides differ, since a class may get another side: the number of the side is above these bits.
constexpr int kVersionBits = 40;

}  // namespace

/// No node has any of these images, now. Classes whose images are on no node share the node sides of a spec without.
/// @param images  counted_images(spec, true)
bool ClassTable::has_unknown_images_only(const PodSpec& spec, const std::vector<std::string>& images) const {
  const auto is_unknown = [&](const std::string& name) { return snapshot_.image(name) == nullptr; };
  return spec.image_volumes.empty() && std::all_of(images.begin(), images.end(), is_unknown);
}

namespace {

std::shared_ptr<const PodSpec> without_images(const PodSpec& spec) {
  auto copy = std::make_shared<PodSpec>(spec);
  for (std::vector<Container>* containers : {&copy->containers, &copy->init_containers})
    for (Container& container : *containers) container.image.clear();
  return copy;
}

}  // namespace

/// Call when the images of a node changed, or it came. Where a class looked for one of them and no node had
/// it, classes look for their node sides again.
void ClassTable::note_images(std::int32_t slot) {
  if (unknown_images_.empty() || !snapshot_.has_node(slot)) return;
  const auto is_asked_for = [&](const NodeImage& image) {
    return std::any_of(image.names.begin(), image.names.end(),
                       [&](const std::string& name) { return unknown_images_.contains(name); });
  };
  const std::vector<NodeImage>& images = snapshot_.node(slot).images;
  if (std::none_of(images.begin(), images.end(), is_asked_for)) return;
  unknown_images_.clear();
  classes_.for_each([](std::int32_t, PodClass& pod_class) { pod_class.node_side = pod_class.open_node_side = -1; });
}

/// Images that no node has any more, and those of classes that are gone, need not be waited for.
void ClassTable::renew_unknown_images() {
  unknown_images_.clear();
  classes_.for_each([&](std::int32_t, const PodClass& pod_class) {
    for (std::string& name : counted_images(*pod_class.spec, true))
      if (snapshot_.image(name) == nullptr) unknown_images_.insert(std::move(name));
  });
}

ClassTable::NodeSide& ClassTable::find_node_side(std::int32_t c, NodeSet node_set) {
  PodClass& pod_class = classes_[c];
  const bool is_open = node_set == NodeSet::kIgnored;
  std::int32_t& index = is_open ? pod_class.open_node_side : pod_class.node_side;
  if (index < 0) {
    const PodSpec& spec = *pod_class.spec;
    std::vector<std::string> images = counted_images(spec, true);
    const bool without = has_unknown_images_only(spec, images);
    std::string signature = with_profile(node_side_signature(spec, !without), pod_class.profile, pod_class.node_name);
    if (without)
      for (std::string& name : images) unknown_images_.insert(std::move(name));
    signature.push_back(is_open ? 'o' : 'n');
    const auto [at, is_new] = node_side_of_signature_.try_emplace(std::move(signature), -1);
    if (is_new) {
      auto side = std::make_unique<NodeSide>();
      side->signature = &at->first;
      side->profile = pod_class.profile;
      side->spec = without ? without_images(spec) : pod_class.spec;
      side->version = ++node_sides_made_ << kVersionBits;
      side->node_name = pod_class.node_name;
      side->node_set = node_set;
      side->compiled = compile_node_side(side->pod(), profile_of(c), snapshot_);
      side->position = node_changes_end();
      at->second = node_sides_.add(std::move(side));
    }
    index = at->second;
  }
  NodeSide& side = *node_sides_[index];
  if (side.position != node_changes_end()) bring_up_to_date(side);
  return side;
}

const CompiledNodeSide& ClassTable::compiled_node_side(std::int32_t c) {
  return find_node_side(c, NodeSet::kNarrows).current();
}

std::int32_t ClassTable::node_side_number(std::int32_t c) {
  find_node_side(c, NodeSet::kNarrows);
  return classes_[c].node_side;
}

/// Does nothing where the row is current.
void ClassTable::build_row(NodeSide& side) const {
  if (side.row != nullptr && !side.is_outdated) return;
  NodeSideRow row = build_node_side_row(std::move(side.current()), *side.spec, profile(side.profile), snapshot_);
  if (side.row == nullptr) {
    side.row = std::make_unique<NodeSideRow>(std::move(row));
  } else {
    *side.row = std::move(row);
  }
  side.is_outdated = false;
}

const NodeSideRow& ClassTable::node_side(std::int32_t c, NodeSet node_set) {
  NodeSide& side = find_node_side(c, node_set);
  build_row(side);
  return *side.row;
}

void ClassTable::build_node_sides(std::span<const std::int32_t> classes, const ForBlocks& for_blocks) {
  std::vector<NodeSide*> different;
  for (const std::int32_t c : classes) {
    NodeSide* const side = &find_node_side(c, NodeSet::kNarrows);
    if (std::find(different.begin(), different.end(), side) == different.end()) different.push_back(side);
  }
  for_blocks(different.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) build_row(*different[i]);
  });
}

std::uint64_t ClassTable::node_side_version(std::int32_t c) { return find_node_side(c, NodeSet::kNarrows).version; }

void ClassTable::mark_outdated(NodeSide& side) {
  if (side.row == nullptr) return;
  side.is_outdated = true;
  ++node_sides_version_;
  ++side.version;
}

void ClassTable::compile_again(NodeSide& side) {
  side.current() = compile_node_side(side.pod(), profiles_[static_cast<std::size_t>(side.profile)], snapshot_);
  mark_outdated(side);
}

/// Sums up the changes from `position` on. Sides that are needed together mostly missed the same ones.
void ClassTable::note_changes_since(std::uint64_t position) {
  if (noted_from_ == position && noted_to_ == node_changes_end()) return;
  noted_from_ = position;
  noted_to_ = node_changes_end();
  nodes_came_or_went_ = false;
  changed_nodes_.clear();
  for (auto i = static_cast<std::size_t>(position - node_changes_begin_); i < node_changes_.size(); ++i) {
    changed_nodes_.push_back({node_changes_[i].slot, node_changes_[i].parts});
    nodes_came_or_went_ = nodes_came_or_went_ || node_changes_[i].event == NodeEvent::kCameOrWent;
  }
  std::sort(changed_nodes_.begin(), changed_nodes_.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  std::size_t kept = 0;
  for (const ChangedNode& changed : changed_nodes_)
    if (kept > 0 && changed_nodes_[kept - 1].slot == changed.slot) {
      changed_nodes_[kept - 1].parts.insert(changed.parts);
    } else {
      changed_nodes_[kept++] = changed;
    }
  changed_nodes_.resize(kept);
}

void ClassTable::bring_up_to_date(NodeSide& side) {
  const CompiledProfile& profile = profiles_[static_cast<std::size_t>(side.profile)];
  const std::uint64_t position = std::exchange(side.position, node_changes_end());
  if (position < node_changes_begin_) return compile_again(side);
  note_changes_since(position);
  if (!extend_node_side(side.pod(), profile, snapshot_, nodes_came_or_went_, side.current()))
    return compile_again(side);
  if (side.row == nullptr || side.is_outdated) return;
  const bool concerns_all = std::any_of(changed_nodes_.begin(), changed_nodes_.end(), [&](const ChangedNode& changed) {
    return update_node_side_row(*side.spec, profile, snapshot_, changed.slot, changed.parts, *side.row);
  });
  if (concerns_all) mark_outdated(side);
}

void ClassTable::change_node(std::int32_t slot, NodeParts parts, NodeEvent event) {
  if (snapshot_.lacks_column()) return recompile();
  if (parts.are_load()) return;
  bool is_current = true;
  for (CompiledProfile& profile : profiles_)
    is_current = extend_rules(profile, event == NodeEvent::kCameOrWent) && is_current;
  if (!is_current) return recompile();
  if (parts.contains(NodePart::kImages) || event == NodeEvent::kCameOrWent) note_images(slot);
  node_changes_.push_back({slot, parts, event});
  ++node_sides_version_;
  // Taking in more than a share of all nodes costs as much as building the row.
  const std::int32_t kept_count = snapshot_.slot_count() / kKeptChangesShare + kKeptChangesMin;
  const auto kept = static_cast<std::size_t>(kept_count);
  if (node_changes_.size() < 2 * kept) return;
  node_changes_begin_ += node_changes_.size() - kept;
  node_changes_.erase(node_changes_.begin(), node_changes_.end() - static_cast<std::ptrdiff_t>(kept));
}

const NodeSideRow* ClassTable::built_node_side(std::int32_t c, NodeSet node_set) const {
  const PodClass& pod_class = (*this)[c];
  const std::int32_t index = node_set == NodeSet::kIgnored ? pod_class.open_node_side : pod_class.node_side;
  if (index < 0) return nullptr;
  const NodeSide& side = *node_sides_[index];
  return side.is_outdated || side.position != node_changes_end() ? nullptr : side.row.get();
}

}  // namespace berth
