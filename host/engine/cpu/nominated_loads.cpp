// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/nominated_loads.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "host/objects/heap_bytes.h"

namespace berth {

bool NominatedCounts::concern(std::int32_t c, const PodClass& pod_class) {
  if (pod_class.topology == nullptr || !pod_class.topology->filters()) return false;
  const auto number = static_cast<std::size_t>(c);
  if (of_class_.size() <= number) of_class_.resize(number + 1);
  Known& known = of_class_[number];
  const std::span<const std::int32_t> changed = nominations_.changed_nodes();
  const bool is_of_generation = known.generation == nominations_.generation();
  if (is_of_generation && (known.concerned || known.changes_seen == changed.size())) return known.concerned;
  bool concerned = false;
  if (is_of_generation) {
    const auto since = changed.subspan(known.changes_seen);
    concerned = std::any_of(since.begin(), since.end(),
                            [&](std::int32_t node) { return nominations_.change_counts(pod_class, node); });
  } else {
    concerned = any_concerns(pod_class);
  }
  known = {nominations_.generation(), changed.size(), concerned};
  return concerned;
}

bool NominatedCounts::any_concerns(const PodClass& pod_class) {
  find_unlike_pods();
  return std::any_of(unlike_pods_.begin(), unlike_pods_.end(),
                     [&](const Pod* pod) { return nominations_.changes_counts(pod_class, *pod); });
}

/// Pods of one namespace with equal labels and the same affinity terms change the same counts.
void NominatedCounts::find_unlike_pods() {
  const Known now{nominations_.generation(), nominations_.changed_nodes().size(), true};
  if (found_at_.generation == now.generation && found_at_.changes_seen == now.changes_seen) return;
  unlike_pods_.clear();
  std::unordered_set<std::string> known;
  nominations_.for_each_claimed([&](const Pod& pod) {
    const bool has_terms = pod.spec->pod_affinity || pod.spec->pod_anti_affinity;
    const PodSpec* const spec = has_terms ? pod.spec.get() : nullptr;
    std::string key(reinterpret_cast<const char*>(&spec), sizeof spec);
    key.append(pod.namespace_).push_back('\0');
    key.append(pod.labels.bytes());
    if (known.insert(std::move(key)).second) unlike_pods_.push_back(&pod);
  });
  found_at_ = now;
}

std::uint64_t NominatedCounts::bytes() const { return heap_bytes(of_class_, unlike_pods_); }

}  // namespace berth
