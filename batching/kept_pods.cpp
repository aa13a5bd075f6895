// SPDX-License-Identifier: Apache-2.0
#include "batching/kept_pods.h"

namespace berth {

void KeptPods::keep(PodToPlace& pod) {
  if (find(pod) != nullptr) return;
  if (free_handles_.empty()) {
    // Room for every handle is reserved here, so that releasing a pod allocates nothing.
    if (free_handles_.capacity() <= pods_.size()) free_handles_.reserve(2 * pods_.size() + 16);
    pods_.emplace_back();
    pod.handle = static_cast<std::uint32_t>(pods_.size());
  } else {
    pod.handle = free_handles_.back();
    free_handles_.pop_back();
  }
  pods_[pod.handle - 1].pod = pod.pod;
  pods_[pod.handle - 1].kept_in = call_;
  ++kept_in_call_;
}

void KeptPods::release(PodToPlace& pod) noexcept {
  if (pod.handle == 0) return;
  KeptPod& kept = pods_[pod.handle - 1];
  forget_prepared(kept);
  kept = {};
  free_handles_.push_back(pod.handle);
  pod.handle = 0;
  pod.class_index = -1;
}

void KeptPods::begin_call() noexcept {
  ++call_;
  kept_in_call_ = 0;
}

void KeptPods::take_back_call() noexcept {
  for (std::size_t k = 0; kept_in_call_ > 0 && k < pods_.size(); ++k) {
    if (pods_[k].pod == nullptr || pods_[k].kept_in != call_) continue;
    PodToPlace pod;
    pod.handle = static_cast<std::uint32_t>(k + 1);
    release(pod);
    --kept_in_call_;
  }
}

void KeptPods::forget_handles(std::span<PodToPlace> pods) const noexcept {
  for (PodToPlace& pod : pods)
    if (pod.handle > 0 && find(pod) == nullptr) {
      pod.handle = 0;
      pod.class_index = -1;
    }
}

void KeptPods::note_prepared(const PodToPlace& pod) {
  KeptPod& kept = pods_[pod.handle - 1];
  forget_prepared(kept);
  if (pod.class_index < 0) return;
  const auto c = static_cast<std::size_t>(pod.class_index);
  if (c >= prepared_pods_of_class_.size()) prepared_pods_of_class_.resize(c + 1);
  ++prepared_pods_of_class_[c];
  kept.prepared_class = pod.class_index;
}

void KeptPods::forget_prepared(KeptPod& kept) {
  if (kept.prepared_class < 0) return;
  --prepared_pods_of_class_[static_cast<std::size_t>(kept.prepared_class)];
  kept.prepared_class = -1;
}

std::vector<std::int32_t> KeptPods::prepared_classes() const {
  std::vector<std::int32_t> classes;
  for (std::size_t c = 0; c < prepared_pods_of_class_.size(); ++c)
    if (prepared_pods_of_class_[c] > 0) classes.push_back(static_cast<std::int32_t>(c));
  return classes;
}

void KeptPods::forget_classes() noexcept {
  prepared_pods_of_class_.clear();
  for (KeptPod& kept : pods_) {
    kept.kind = TopologyIndex::kNoKind;
    kept.class_index = kept.prepared_class = -1;
    kept.compiled_at = 0;
    kept.reads_open_side = false;
  }
}

}  // namespace berth
