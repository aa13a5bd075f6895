// SPDX-License-Identifier: Apache-2.0
#include "batching/guest_sides.h"

#include <algorithm>

namespace berth {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

/// The size that the node reports for the image; nullopt: it does not have it.
std::optional<std::int64_t> reported_size(const Node& node, const std::string& image) {
  for (const NodeImage& reported : node.images)
    if (std::find(reported.names.begin(), reported.names.end(), image) != reported.names.end())
      return reported.size_bytes;
  return std::nullopt;
}

}  // namespace

// NodeSideView

NodeSideView::OfGuest NodeSideView::of_guest(std::int32_t node) const {
  const GuestSides::Side side = guests_->side(node, pod_class_, node_set_);
  return {side.row, side.node};
}

std::uint8_t NodeSideView::refusal_of(std::int32_t node) const {
  return guests_->is_guest(node) ? guests_->refusal(node, pod_class_, node_set_) : row_->refusal(node);
}

RawScores raw_maxima(const NodeSideView& view, const Snapshot& snapshot, const std::vector<std::int32_t>& nodes) {
  RawScores maxima;
  for (const std::int32_t node : nodes) maxima.raise_to(view.raws(snapshot, node));
  return maxima;
}

// GuestSides

GuestSides::Side GuestSides::side(std::int32_t slot, std::int32_t pod_class, NodeSet node_set) {
  const GuestNode* guest = snapshot_.guests().find(slot);
  if (guest == nullptr || guest->node == nullptr) return {};
  auto known = guests_.find(slot);
  if (known == guests_.end())
    known = guests_.emplace(slot, Guest{Snapshot::of_node(guest->node, snapshot_.node_count() - 1), {}, {}}).first;
  Guest& here = known->second;
  auto row = here.row_of.find({pod_class, node_set});
  if (row == here.row_of.end())
    row = here.row_of.emplace(std::pair{pod_class, node_set}, build(table_[pod_class], node_set, here)).first;
  return {&row->second, &here.node};
}

const GuestSides::Known& GuestSides::known_as(const NodePtr& node) {
  if (const auto at = known_.find(node.get()); at != known_.end()) return at->second;
  Node rest;  // what node sides read, without names and what only scores and loads read
  std::vector<std::pair<std::string, std::string>> labels;
  for (const auto& [key, value] : node->labels)
    if (key != kHostname) labels.emplace_back(key, value);
  rest.labels = LabelMap(std::move(labels));
  rest.unschedulable = node->unschedulable;
  rest.taints = node->taints;
  rest.declared_features = node->declared_features;
  const auto next = static_cast<std::uint32_t>(2 * known_.size());
  const std::uint32_t kind = kinds_.try_emplace(fingerprint_of(rest), next).first->second;
  return known_.emplace(node.get(), Known{node, next + 1, kind}).first->second;
}

/// Of nodes, or their label kubernetes.io/hostname, in Filter.
bool GuestSides::reads_names(std::int32_t pod_class) {
  const auto [at, is_new] = reads_names_.try_emplace(pod_class, true);
  if (!is_new) return at->second;
  const PodClass& known = table_[pod_class];
  const auto is_about_names = [](const NodeSelectorTerm& term) {
    return !term.match_fields.empty() || std::ranges::any_of(term.match_expressions, [](const auto& requirement) {
      return requirement.key == kHostname;
    });
  };
  const std::optional<NodeAffinity>& affinity = known.spec->node_affinity;
  at->second = !known.node_name.empty() || known.spec->node_selector.contains(kHostname) ||
               (affinity && affinity->required && std::ranges::any_of(*affinity->required, is_about_names)) ||
               table_.profile(known.profile).options<NodeAffinityRule>().added_required.has_value();
  return at->second;
}

std::uint8_t GuestSides::refusal(std::int32_t slot, std::int32_t pod_class, NodeSet node_set) {
  const GuestNode* const guest = snapshot_.guests().find(slot);
  if (guest == nullptr || guest->node == nullptr) return NodeSideRow::kNoNode;
  const Known& known = known_as(guest->node);
  const std::uint64_t number = reads_names(pod_class) ? known.own : known.kind;
  const std::uint64_t key =
      number << 33 | static_cast<std::uint64_t>(pod_class) << 1 | (node_set == NodeSet::kIgnored ? 1 : 0);
  const auto at = refusals_.find(key);
  if (at != refusals_.end()) return at->second;
  const std::uint8_t refusal = side(slot, pod_class, node_set).row->refusal(0);
  refusals_.emplace(key, refusal);
  return refusal;
}

NodeSideRow GuestSides::build(const PodClass& pod_class, NodeSet node_set, Guest& guest) const {
  const auto p = static_cast<std::size_t>(pod_class.profile);
  if (guest.rules.size() <= p) guest.rules.resize(p + 1);
  std::optional<ProfileRules<Rules>>& rules = guest.rules[p];
  if (!rules) rules = rules_over<Rules>(guest.node, gates_, table_.profile(pod_class.profile));
  note_images(pod_class, guest.node);
  const NodeSidePod pod{*pod_class.spec, pod_class.node_name, node_set};
  return build_node_side_row(compile_node_side(pod, *rules, guest.node), *pod_class.spec, *rules, guest.node);
}

// Images

/// @param known  Snapshot::image() of the image
std::optional<ImageSpread> GuestSides::spread_with_guests(const std::string& image, const ImageColumn* known) const {
  std::int64_t others = known == nullptr ? 0 : known->node_count();
  std::int64_t holders = 0;
  std::int64_t reported = 0;
  for (const GuestNode& guest : snapshot_.guests().all()) {
    if (known != nullptr && std::binary_search(known->nodes.begin(), known->nodes.end(), guest.slot)) --others;
    if (guest.node == nullptr) continue;
    const std::optional<std::int64_t> size = reported_size(*guest.node, image);
    if (!size) continue;
    ++holders;
    reported = *size;
  }
  ImageSpread spread{known == nullptr ? 0 : known->size_bytes, others + holders, snapshot_.node_count()};
  // The size is the first one reported while any node has the image. Where guests alone have it, that may be one that
  // no node reports any more; but not of a single guest.
  if (others > 0 || holders == 0) return spread;
  if (snapshot_.guests().all().size() > 1 || (known != nullptr && known->size_bytes != reported)) return std::nullopt;
  spread.size_bytes = reported;
  return spread;
}

bool GuestSides::find_change_of_image_scores(const PodClass& pod_class, const CompiledProfile& profile) const {
  if (profile.weight<ImageLocality>() == 0) return false;
  const bool with_volumes = profile.options<ImageLocality>().sum_image_volumes;
  std::vector<ImageSpread> before;
  std::vector<ImageSpread> after;
  for (const std::string& image : counted_images(*pod_class.spec, with_volumes)) {
    const ImageColumn* const known = snapshot_.image(image);
    const std::optional<ImageSpread> now = spread_with_guests(image, known);
    if (!now) return true;
    before.push_back(image_spread(known, snapshot_.node_count_of_cluster() - snapshot_.guest_count_change()));
    after.push_back(*now);
  }
  return image_scores_may_differ(*pod_class.spec, before, after);
}

bool GuestSides::change_image_scores(std::int32_t pod_class) {
  if (snapshot_.guests().empty()) return false;
  const auto [at, is_new] = image_answers_.try_emplace(pod_class, false);
  if (is_new) at->second = find_change_of_image_scores(table_[pod_class], table_.profile_of(pod_class));
  return at->second;
}

/// The node of the snapshot gets the images that the class reads.
void GuestSides::note_images(const PodClass& pod_class, Snapshot& node) const {
  for (const std::string& image : counted_images(*pod_class.spec, true)) {
    if (!reported_size(node.node(0), image)) continue;
    if (const std::optional<ImageSpread> spread = spread_with_guests(image, snapshot_.image(image)))
      node.note_image(image, spread->size_bytes, spread->nodes_with_image - 1);
  }
}

}  // namespace berth
