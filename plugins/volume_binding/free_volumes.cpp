// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_binding/free_volumes.h"

#include <algorithm>
#include <utility>

#include "host/framework/pod_signature.h"
#include "host/objects/node_match.h"
#include "plugins/volume_binding/claim_search.h"

namespace berth {
namespace {

bool is_smaller(const PersistentVolume* a, const PersistentVolume* b) {
  if (a->capacity < b->capacity) return true;
  return !(b->capacity < a->capacity) && a->name < b->name;
}

std::string signature_of(const std::optional<std::vector<NodeSelectorTerm>>& affinity) {
  return affinity ? node_terms_signature(*affinity) : "*";
}

/// Some value of its label is needed; null: there is none.
const SelectorRequirement* needed_label(const NodeSelectorTerm& term) {
  const auto found = std::find_if(term.match_expressions.begin(), term.match_expressions.end(),
                                  [](const SelectorRequirement& one) { return one.op == SelectorOperator::kIn; });
  return found == term.match_expressions.end() ? nullptr : &*found;
}

/// Of each term; empty: some term needs none, or there is no term.
std::vector<const SelectorRequirement*> needed_labels(const std::optional<std::vector<NodeSelectorTerm>>& affinity) {
  std::vector<const SelectorRequirement*> labels;
  if (!affinity) return labels;
  for (const NodeSelectorTerm& term : *affinity) {
    labels.push_back(needed_label(term));
    if (labels.back() == nullptr) return {};
  }
  return labels;
}

/// Every claim without a selector that the one suits the other one suits, too.
bool stands_in(const PersistentVolume& other, const PersistentVolume& volume) {
  return other.is_available && !other.terminating && other.is_block == volume.is_block &&
         other.attributes_class == volume.attributes_class && other.access_modes.contains_all(volume.access_modes) &&
         !(other.capacity < volume.capacity);
}

}  // namespace

FreeVolumes::OfClass& FreeVolumes::of_class(const std::string& class_name, const ClusterStorage& storage) {
  if (const auto known = classes_.find(class_name); known != classes_.end()) return known->second;
  OfClass made;
  storage.for_each_unclaimed(class_name, [&](const PersistentVolume& volume) {
    if (!volume.claim_ref) add(volume, made);
  });
  for (Group& group : made.groups) std::sort(group.volumes.begin(), group.volumes.end(), is_smaller);
  return classes_.emplace(class_name, std::move(made)).first->second;
}

void FreeVolumes::add(const PersistentVolume& volume, OfClass& to) {
  const auto [at, is_new] = to.group_of_affinity.try_emplace(signature_of(volume.node_affinity), to.groups.size());
  if (is_new) {
    to.groups.push_back({volume.node_affinity, {}});
    const std::vector<const SelectorRequirement*> labels = needed_labels(volume.node_affinity);
    for (const SelectorRequirement* label : labels)
      for (const std::string& value : label->values) to.by_label[label->key][value].push_back(at->second);
    if (labels.empty()) to.others.push_back(at->second);
  }
  to.groups[at->second].volumes.push_back(&volume);
}

const PersistentVolume* FreeVolumes::smallest(const VolumeClaim& claim, const PodLabelSelector& selector,
                                              const Node& node, const ClusterStorage& storage,
                                              const IsTaken& is_taken) {
  const OfClass& of_class = this->of_class(claim.class_name, storage);
  const Quantity wanted = claim.request.value_or(Quantity());
  const PersistentVolume* best = nullptr;
  const auto look_at = [&](std::size_t g) {
    const Group& group = of_class.groups[g];
    if (group.volumes.empty() || !accepts_labels(group.affinity, node.labels)) return;
    auto at = std::partition_point(group.volumes.begin(), group.volumes.end(),
                                   [&](const PersistentVolume* volume) { return volume->capacity < wanted; });
    for (; at != group.volumes.end() && (best == nullptr || is_smaller(*at, best)); ++at)
      if (!is_taken(*at) && fit_of(**at, claim, selector) == VolumeFit::kFree) best = *at;
  };
  for (const auto& [key, by_value] : of_class.by_label) {
    const auto value = node.labels.find(key);
    const auto groups = value ? by_value.find(*value) : by_value.end();
    if (groups == by_value.end()) continue;
    for (const std::size_t g : groups->second) look_at(g);
  }
  for (const std::size_t g : of_class.others) look_at(g);
  return best;
}

/// A claim that waits by itself finds a volume on the same nodes as before, where another one of the affinity stands
/// in for that which is taken.
std::vector<std::string> FreeVolumes::take(const VolumeDecisions& decisions, const ClusterCache& cluster,
                                           bool with_others) {
  std::vector<std::string> nodes;
  for (const VolumeDecisions::Match& match : decisions.matches) {
    const PersistentVolume* const taken = cluster.storage().volume(match.volume);
    const auto of_class = taken != nullptr ? classes_.find(taken->class_name) : classes_.end();
    if (of_class == classes_.end()) continue;
    const auto found = of_class->second.group_of_affinity.find(signature_of(taken->node_affinity));
    if (found == of_class->second.group_of_affinity.end()) continue;
    Group& group = of_class->second.groups[found->second];
    const auto at = std::lower_bound(group.volumes.begin(), group.volumes.end(), taken, is_smaller);
    if (at == group.volumes.end() || (*at)->name != taken->name) continue;
    const auto larger = group.volumes.erase(at);
    const bool is_replaced =
        std::any_of(larger, group.volumes.end(), [&](const auto* other) { return stands_in(*other, *taken); });
    if (is_replaced && !with_others) continue;
    const std::vector<std::string> concerned = nodes_of(group, cluster);
    nodes.insert(nodes.end(), concerned.begin(), concerned.end());
  }
  return nodes;
}

std::vector<std::string> FreeVolumes::nodes_of(const Group& group, const ClusterCache& cluster) {
  std::vector<std::string> names;
  const std::vector<const SelectorRequirement*> labels = needed_labels(group.affinity);
  if (labels.empty())
    for (const NodeInfo* node : cluster.nodes())
      if (accepts_labels(group.affinity, node->node->labels)) names.push_back(node->name);
  for (const SelectorRequirement* label : labels) {
    const auto [at, is_new] = nodes_.try_emplace(label->key);
    if (is_new)
      for (const NodeInfo* node : cluster.nodes())
        if (const auto value = node->node->labels.find(label->key))
          at->second[std::string(*value)].push_back(node->name);
    for (const std::string& value : label->values)
      if (const auto nodes = at->second.find(value); nodes != at->second.end())
        names.insert(names.end(), nodes->second.begin(), nodes->second.end());
  }
  return names;
}

}  // namespace berth
