// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/opportunistic_batch.h"

#include <algorithm>
#include <utility>

namespace berth {

std::string_view to_string(BatchFlush reason) {
  switch (reason) {
    case BatchFlush::kPodSkipped:
      return "pod_skipped";
    case BatchFlush::kPodIncompatible:
      return "pod_incompatible";
    case BatchFlush::kExpired:
      return "expired";
    case BatchFlush::kNodeMissing:
      return "node_missing";
    case BatchFlush::kNodeNotFull:
      return "node_not_full";
    case BatchFlush::kEmptyList:
      return "empty_list";
    case BatchFlush::kPodNotBatchable:
      break;
  }
  return "pod_not_batchable";
}

std::string_view to_string(BatchAttempt attempt) {
  switch (attempt) {
    case BatchAttempt::kNoHint:
      return "no_hint";
    case BatchAttempt::kHintUsed:
      return "hint_used";
    case BatchAttempt::kHintNotUsed:
      break;
  }
  return "hint_not_used";
}

/// What is kept stays: the next store() replaces it. Upstream has a reason for an attempt that failed, "pod_failed",
/// which none can have: such attempts store nothing, so that the next one comes from a later cycle.
std::optional<BatchFlush> OpportunisticBatch::reason_against(const Asked& asked) const {
  if (asked.cycle != last_cycle_ + 1) return BatchFlush::kPodSkipped;
  if (asked.signature != kept_->signature) return BatchFlush::kPodIncompatible;
  if (clock_.now_us() - kept_->since_us > kAgeMaxUs) return BatchFlush::kExpired;
  if (!asked.last_node_exists) return BatchFlush::kNodeMissing;
  if (!asked.last_node_refuses) return BatchFlush::kNodeNotFull;
  return std::nullopt;
}

std::string OpportunisticBatch::hint(const Asked& asked) {
  const bool has_nodes = kept_ && !kept_->nodes.empty();
  const std::optional<BatchFlush> reason = has_nodes ? reason_against(asked) : std::nullopt;
  if (reason) flush(*reason);
  if (!has_nodes || reason) {
    if (meter_ != nullptr) meter_->on_batch_attempt(profile_, BatchAttempt::kNoHint);
    return {};
  }
  std::string best = std::move(kept_->nodes.back());
  kept_->nodes.pop_back();
  return best;
}

void OpportunisticBatch::store(const Asked& asked, std::string_view hinted, std::string_view chosen,
                               std::vector<std::string> others) {
  last_cycle_ = asked.cycle;
  last_node_ = chosen;
  if (hinted == chosen) {
    if (meter_ != nullptr) meter_->on_batch_attempt(profile_, BatchAttempt::kHintUsed);
    return;
  }
  if (!hinted.empty() && meter_ != nullptr) meter_->on_batch_attempt(profile_, BatchAttempt::kHintNotUsed);
  kept_.reset();
  if (others.empty()) return flush(BatchFlush::kEmptyList);
  if (!asked.signature) return flush(BatchFlush::kPodNotBatchable);
  std::reverse(others.begin(), others.end());
  kept_ = Kept{*asked.signature, std::move(others), clock_.now_us()};
}

void OpportunisticBatch::flush(BatchFlush reason) const {
  if (meter_ != nullptr) meter_->on_batch_flush(profile_, reason);
}

}  // namespace berth
