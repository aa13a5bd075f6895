// SPDX-License-Identifier: Apache-2.0
#include "batching/prepared_pod.h"

#include <algorithm>

#include "batching/unknown_pod.h"

namespace berth {

PreparedPod::PreparedPod(const PodToPlace& pod, const ClassTable& table, GuestSides* guests,
                         const Nominations& nominations, const Snapshot& snapshot)
    : pod_(*pod.pod), snapshot_(snapshot), guests_(guests), class_index_(pod.class_index) {
  if (class_index_ == -1 || table.is_stale(pod)) throw_not_prepared(pod_);
  if (ClassTable::is_error(class_index_)) {
    error_ = table.error(class_index_);
    return;
  }
  pod_class_ = &table[class_index_];
  profile_ = &table.profile_of(class_index_);
  row_ = table.built_node_side(class_index_);
  if (row_ == nullptr || !table.host_is_current(class_index_)) throw_not_prepared(pod_);
  pre_filter_ = table.pre_filter(class_index_, *row_);
  error_ = pre_filter_.error;
  own_node_ = nominations.node_of(pod_);
  if (own_node_ < 0) return;
  open_row_ = row_;
  if (!view(*row_, NodeSet::kNarrows).is_outside_node_set(own_node_)) return;
  open_row_ = table.built_node_side(class_index_, NodeSet::kIgnored);
  if (open_row_ == nullptr) throw_not_prepared(pod_);
}

bool PreparedPod::filter_may_fail() const {
  return !pod_class_->host.empty() || std::any_of(row_->refusals.begin(), row_->refusals.end(),
                                                  [](const Refusal& refusal) { return refusal.is_error; });
}

NodeVerdict PreparedPod::pre_filter_verdict(std::int32_t node) const {
  return is_refused() ? NodeVerdict{pre_filter_.code, pre_filter_.plugin, true} : outside_verdict(node);
}

NodeVerdict PreparedPod::outside_verdict(std::int32_t node) const {
  return {StatusCode::kUnschedulableAndUnresolvable,
          plugin_without_node(*pod_class_, *profile_, view(*row_, NodeSet::kNarrows), node, snapshot_.node(node).name),
          true};
}

std::string_view plugin_without_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                                     std::int32_t node, std::string_view node_name) {
  const NodeSideRow& of_class = row.of_class();
  const std::string_view of_row =
      row.is_outside_node_set(node) ? of_class.refusals[of_class.outside_node_set].plugin : std::string_view();
  const std::string_view of_host = pod_class.host.narrowing_plugin(*profile.profile, node_name);
  for (const EnabledPlugin& plugin : profile.profile->at(ExtensionPoint::kPreFilter))
    if (plugin.name == of_row || plugin.name == of_host) return plugin.name == of_row ? of_row : of_host;
  return of_row;
}

}  // namespace berth
