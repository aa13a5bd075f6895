// SPDX-License-Identifier: Apache-2.0
#include "batching/pods_in_order.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "host/objects/heap_bytes.h"
#include "host/objects/pod_state.h"

namespace berth {

void PodsInOrder::follow(std::span<const ForkStep> steps, const AsOpened& as_opened) {
  for (; followed_ < steps.size(); ++followed_) {
    if (const auto* placement = std::get_if<ForkPlacement>(&steps[followed_])) {
      if (!placement->node_name.empty()) stand(placement->pod.pod, placement->node_name, as_opened);
      continue;
    }
    for (const ClusterChange& change : std::get<std::vector<ClusterChange>>(steps[followed_]))
      if (const auto* upsert = std::get_if<PodUpsert>(&change)) {
        leave(upsert->pod->uid(), as_opened);
        if (is_on_node(*upsert->pod)) stand(upsert->pod, upsert->pod->node_name, as_opened);
      } else if (const auto* removal = std::get_if<PodRemoval>(&change)) {
        leave(removal->uid, as_opened);
      }
  }
}

std::uint64_t PodsInOrder::bytes() const {
  constexpr std::uint64_t kNode = 2 * sizeof(void*);  // of a hash map: a link and a hash
  std::uint64_t bytes = heap_block_bytes(sizeof(PodsInOrder));
  for (const auto& [name, pods] : pods_)
    bytes += heap_block_bytes(kNode + sizeof(std::string) + sizeof(std::vector<PodPtr>)) + heap_bytes(name) +
             heap_bytes(pods);
  for (const auto& [uid, name] : node_of_)
    bytes += heap_block_bytes(kNode + 2 * sizeof(std::string)) + heap_bytes(uid, name);
  return bytes + heap_block_bytes(pods_.bucket_count() * sizeof(void*)) +
         heap_block_bytes(node_of_.bucket_count() * sizeof(void*));
}

std::vector<PodPtr>& PodsInOrder::pods_of(const std::string& node_name, const AsOpened& as_opened) {
  const auto known = pods_.find(node_name);
  return known != pods_.end() ? known->second : pods_.emplace(node_name, as_opened.pods_on(node_name)).first->second;
}

void PodsInOrder::leave(const std::string& uid, const AsOpened& as_opened) {
  const auto known = node_of_.find(uid);
  const std::string node_name = known != node_of_.end() ? known->second : as_opened.node_of_pod(uid);
  if (node_name.empty()) return;
  std::vector<PodPtr>& pods = pods_of(node_name, as_opened);
  const auto at = std::ranges::find_if(pods, [&](const PodPtr& pod) { return pod->uid() == uid; });
  if (at != pods.end()) {
    *at = std::move(pods.back());
    pods.pop_back();
  }
  node_of_[uid].clear();
}

void PodsInOrder::stand(const PodPtr& pod, const std::string& node_name, const AsOpened& as_opened) {
  pods_of(node_name, as_opened).push_back(pod);
  node_of_[pod->uid()] = node_name;
}

}  // namespace berth
