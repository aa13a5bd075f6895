// SPDX-License-Identifier: Apache-2.0
#include "host/queue/nominator.h"

#include "host/queue/queued_pod.h"

namespace berth {

void Nominator::add(const PodPtr& pod, const std::optional<std::string>& node) {
  remove(*pod);
  const std::string& name = node ? *node : pod->rare().nominated_node_name;
  if (!node && name.empty()) return;
  if (lister_) {
    const PodPtr known = lister_(pod->namespace_, pod->name);
    if (known == nullptr || !known->node_name.empty()) return;
  }
  node_of_.emplace(pod->uid(), name);
  pods_on_[name].push_back(pod);
}

void Nominator::update(const Pod& before, const PodPtr& after) {
  const bool status_is_silent = before.rare().nominated_node_name.empty() && after->rare().nominated_node_name.empty();
  const std::optional<std::string> kept = status_is_silent ? node_of(before) : std::nullopt;
  remove(before);
  add(after, kept);
}

void Nominator::remove(const Pod& pod) {
  const auto at = node_of_.find(pod.uid());
  if (at == node_of_.end()) return;
  const auto pods = pods_on_.find(at->second);
  std::erase_if(pods->second, [&pod](const PodPtr& other) { return same_uid(*other, pod); });
  if (pods->second.empty()) pods_on_.erase(pods);
  node_of_.erase(at);
}

std::optional<std::string> Nominator::node_of(const Pod& pod) const {
  const auto at = node_of_.find(pod.uid());
  return at == node_of_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<PodPtr> Nominator::pods_on(const std::string& node) const {
  const auto at = pods_on_.find(node);
  return at == pods_on_.end() ? std::vector<PodPtr>() : at->second;
}

}  // namespace berth
