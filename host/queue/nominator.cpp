// SPDX-License-Identifier: Apache-2.0
#include "host/queue/nominator.h"

namespace berth {

void Nominator::add(const PodPtr& pod, const std::optional<std::string>& node) {
  remove(*pod);
  const std::string& name = node ? *node : pod->rare().nominated_node_name;
  // Upstream keeps an entry under the empty name for every pod whose attempt failed. Nobody asks for the pods of that
  // name, and update() gives the same with the entry as without it.
  if (name.empty()) return;
  if (lister_) {
    const PodPtr known = lister_(pod->namespace_, pod->name);
    if (known == nullptr || !known->node_name.empty()) return;
  }
  nominations_.emplace(pod->uid(), Nomination{name, next_order_});
  pods_on_[name].emplace(next_order_++, pod);
}

void Nominator::update(const Pod& before, const PodPtr& after) {
  const bool status_is_silent = before.rare().nominated_node_name.empty() && after->rare().nominated_node_name.empty();
  const std::optional<std::string> kept = status_is_silent ? node_of(before) : std::nullopt;
  remove(before);
  add(after, kept);
}

void Nominator::remove(const Pod& pod) {
  if (nominations_.empty()) return;
  const auto at = nominations_.find(pod.uid());
  if (at == nominations_.end()) return;
  const auto pods = pods_on_.find(at->second.node);
  pods->second.erase(at->second.order);
  if (pods->second.empty()) pods_on_.erase(pods);
  nominations_.erase(at);
}

std::optional<std::string> Nominator::node_of(const Pod& pod) const {
  if (nominations_.empty()) return std::nullopt;
  const auto at = nominations_.find(pod.uid());
  return at == nominations_.end() ? std::nullopt : std::optional(at->second.node);
}

std::vector<PodPtr> Nominator::pods_on(const std::string& node) const {
  std::vector<PodPtr> pods;
  if (const auto at = pods_on_.find(node); at != pods_on_.end())
    for (const auto& [order, pod] : at->second) pods.push_back(pod);
  return pods;
}

}  // namespace berth
