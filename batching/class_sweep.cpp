// SPDX-License-Identifier: Apache-2.0
// A sweep of the class table: classes, node sides, tables and resources that nobody uses are given up.

#include <algorithm>
#include <set>

#include "batching/pod_class.h"

namespace berth {

bool ClassTable::is_sweep_due() const {
  const std::int32_t kept = classes_.size() + topology_.all_size();
  return all_added() - swept_at_ > static_cast<std::uint64_t>(std::max(sweep_min_, kept / sweep_share_));
}

std::vector<std::int32_t> ClassTable::sweep(const InUse& in_use) {
  std::vector<std::int32_t> kinds;
  topology_.keep_only(in_use.topology, kinds);
  for (const std::int32_t kind : kinds)
    if (static_cast<std::size_t>(kind) < class_of_kind_.size()) class_of_kind_[static_cast<std::size_t>(kind)] = {};
  renew_classes_of_kinds();
  const std::vector<std::int32_t> dropped = drop_classes(in_use.classes);
  drop_node_sides();
  renew_unknown_images();
  hosts_.drop_unused();
  drop_resources();
  // The pods of errors are stale, and bring them again.
  errors_.clear();
  error_of_text_.clear();
  ++sweeps_;
  swept_at_ = all_added();
  return dropped;
}

/// Kinds whose program or moves refer to what is gone get the classes of those that they have now.
void ClassTable::renew_classes_of_kinds() {
  for (std::size_t k = 0; k < class_of_kind_.size(); ++k) {
    Found& found = class_of_kind_[k];
    if (found.revision == 0) continue;
    const auto kind = static_cast<std::int32_t>(k);
    const std::uint32_t revision = topology_.revision(kind);
    if (is_error(found.pod_class)) {
      found = {};
    } else if (found.revision != revision) {
      const PodClass before = classes_[found.pod_class];
      found = {find_or_add(before.spec, before.node_name, before.profile, kind,
                           {before.host_pod, before.host_signature}, before.status_pod),
               revision};
      take_over_node_sides(before, classes_[found.pod_class]);
    }
  }
}

/// A class that was there before may have them already.
void ClassTable::take_over_node_sides(const PodClass& before, PodClass& now) {
  if (now.node_side < 0) now.node_side = before.node_side;
  if (now.open_node_side < 0) now.open_node_side = before.open_node_side;
}

void ClassTable::take_over_node_sides(std::int32_t before, std::int32_t now) {
  if (before == now || before < 0 || now < 0 || before >= classes_.end() || !classes_.has(before)) return;
  const PodClass& of_before = classes_[before];
  PodClass& of_now = classes_[now];
  // Both are of one pod, unless the number was given again.
  if (of_before.spec == of_now.spec && of_before.profile == of_now.profile && of_before.node_name == of_now.node_name)
    take_over_node_sides(of_before, of_now);
}

std::vector<std::int32_t> ClassTable::drop_classes(const std::vector<std::int32_t>& in_use) {
  LiveNumbers live(classes_.end());
  for (const std::int32_t c : in_use)
    if (c >= 0) live.insert(c);
  for (const Found& found : class_of_kind_)
    if (found.revision != 0) live.insert(found.pod_class);
  for (auto& by_spec : class_of_spec_) {
    for (auto& [spec, found] : by_spec) found.by_host.clear();
    std::erase_if(by_spec, [&](const auto& entry) {
      const FoundForSpec& found = entry.second;
      if (!found.pod_class || is_error(*found.pod_class) || !was_found_lately(found.found_at)) return true;
      live.insert(*found.pod_class);
      return false;
    });
  }
  std::vector<std::int32_t> dropped;
  classes_.for_each([&](std::int32_t c, const PodClass& pod_class) {
    const bool is_found = pod_class.signature != nullptr && was_found_lately(pod_class.found_at);
    if (!is_found && !live.contains(c)) dropped.push_back(c);
  });
  for (const std::int32_t c : dropped) {
    if (const std::string* signature = classes_[c].signature) class_of_signature_.erase(std::string(*signature));
    classes_.remove(c);
  }
  return dropped;
}

void ClassTable::drop_node_sides() {
  LiveNumbers live(node_sides_.end());
  classes_.for_each([&](std::int32_t, const PodClass& pod_class) {
    for (const std::int32_t side : {pod_class.node_side, pod_class.open_node_side})
      if (side >= 0) live.insert(side);
  });
  for (std::int32_t s = 0; s < node_sides_.end(); ++s) {
    if (!node_sides_.has(s) || live.contains(s)) continue;
    node_side_of_signature_.erase(std::string(*node_sides_[s]->signature));
    node_sides_.remove(s);
  }
}

void ClassTable::drop_resources() {
  std::set<std::string, std::less<>> names;
  for (const CompiledProfile& profile : profiles_)
    for (const auto* resources : {&profile.fit.resources, &profile.balanced_resources})
      for (const ScoredResource& resource : *resources) names.insert(resource.name);
  classes_.for_each([&](std::int32_t, const PodClass& pod_class) {
    for (const RequestedResource& resource : pod_class.requested) names.insert(resource.name);
  });
  snapshot_.keep_resources(names);
}

}  // namespace berth
