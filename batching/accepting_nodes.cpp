// SPDX-License-Identifier: Apache-2.0
#include "batching/accepting_nodes.h"

#include <algorithm>
#include <utility>

#include "host/objects/heap_bytes.h"

namespace berth {

void KeptNodes::write(std::span<const NodeIndex> nodes, std::span<std::uint8_t> out) const {
  if (!nodes.empty() && are_consecutive(nodes)) {
    std::copy_n(accepts.begin() + nodes.front().value, nodes.size(), out.begin());
  } else {
    std::ranges::transform(nodes, out.begin(),
                           [&](NodeIndex node) { return accepts[static_cast<std::size_t>(node.value)]; });
  }
}

bool are_consecutive(std::span<const NodeIndex> nodes) {
  std::int32_t difference = 0;  // in bits that are gathered without a way out, so that the loop becomes lanes
  for (std::size_t i = 0; i < nodes.size(); ++i)
    difference |= nodes[i].value - nodes.front().value - static_cast<std::int32_t>(i);
  return difference == 0;
}

std::uint64_t AcceptingNodes::key_of(const PodToPlace& pod) {
  const auto priority = static_cast<std::uint32_t>(pod.pod->priority);
  return (std::uint64_t{static_cast<std::uint32_t>(pod.class_index)} << 32) | priority;
}

KeptNodes* AcceptingNodes::find(const PodToPlace& pod) {
  const auto at = kept_.find(key_of(pod));
  if (at == kept_.end()) return nullptr;
  at->second.last_used = ++clock_;
  return &at->second;
}

KeptNodes& AcceptingNodes::keep(const PodToPlace& pod, KeptNodes kept) {
  const std::size_t bytes_each = std::max<std::size_t>(kept.accepts.size(), 1);
  const std::uint64_t key = key_of(pod);
  if (!kept_.contains(key))
    while (!kept_.empty() && (kept_.size() + 1) * bytes_each > kBytesMax) drop_oldest();
  kept.last_used = ++clock_;
  return kept_.insert_or_assign(key, std::move(kept)).first->second;
}

void AcceptingNodes::drop_oldest() {
  kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                               [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
}

std::uint64_t AcceptingNodes::bytes() const {
  constexpr std::uint64_t kNode = 2 * sizeof(void*);  // of a hash map: a link and a hash
  std::uint64_t bytes = heap_block_bytes(kept_.bucket_count() * sizeof(void*));
  for (const auto& [key, kept] : kept_)
    bytes += heap_block_bytes(kNode + sizeof(key) + sizeof(kept)) + heap_bytes(kept.accepts);
  return bytes;
}

}  // namespace berth
