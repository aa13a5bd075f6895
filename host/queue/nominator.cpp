// SPDX-License-Identifier: Apache-2.0
#include "host/queue/nominator.h"

#include <utility>

namespace berth {

void Nominator::apply(Change change) {
  for (const ByUid::const_iterator at : change.removed_) {
    const auto pods = pods_on_.find(at->second.node);
    pods->second.erase(at->second.order);
    if (pods->second.empty()) pods_on_.erase(pods);
    nominations_.erase(at);
  }
  if (change.added_.empty()) return;
  change.added_.mapped().order = change.pod_.key() = next_order_++;
  const auto node = pods_on_.insert(std::move(change.node_));
  node.position->second.insert(std::move(change.pod_));
  nominations_.insert(std::move(change.added_));
}

void Nominator::add(const PodPtr& pod, const std::optional<std::string>& node) { apply(addition(pod, node)); }

void Nominator::update(const Pod& before, const PodPtr& after) { apply(update_of(before, after)); }

void Nominator::remove(const Pod& pod) { apply(removal(pod)); }

Nominator::Change Nominator::removal(const Pod& pod) const {
  Change change;
  if (nominations_.empty()) return change;
  if (const auto at = nominations_.find(pod.uid()); at != nominations_.end()) change.removed_.push_back(at);
  return change;
}

Nominator::Change Nominator::addition(const PodPtr& pod, const std::optional<std::string>& node) {
  const std::string& name = node ? *node : pod->rare().nominated_node_name;
  // Upstream keeps an entry under the empty name for every pod whose attempt failed. Nobody asks for the pods of that
  // name, and update_of() gives the same with the entry as without it.
  if (name.empty()) return removal(*pod);
  if (lister_) {
    const PodPtr known = lister_(pod->namespace_, pod->name);
    if (known == nullptr || !known->node_name.empty()) return removal(*pod);
  }
  nominations_.reserve(nominations_.size() + 1);  // before removal(), since it moves nominations
  pods_on_.reserve(pods_on_.size() + 1);
  Change change = removal(*pod);
  ByUid of_pod;
  ByNode of_node;
  PodsOfNode of_order;
  change.added_ = of_pod.extract(of_pod.emplace(pod->uid(), Nomination{name, 0}).first);
  change.node_ = of_node.extract(of_node.try_emplace(name).first);
  change.pod_ = of_order.extract(of_order.emplace(0, pod).first);
  return change;
}

Nominator::Change Nominator::update_of(const Pod& before, const PodPtr& after, bool keeps) {
  const bool status_is_silent =
      keeps && before.rare().nominated_node_name.empty() && after->rare().nominated_node_name.empty();
  const std::optional<std::string> kept = status_is_silent ? node_of(before) : std::nullopt;
  Change change = addition(after, kept);
  Change removed = removal(before);
  if (!removed.removed_.empty() && (change.removed_.empty() || change.removed_.front() != removed.removed_.front()))
    change.removed_.push_back(removed.removed_.front());
  return change;
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
