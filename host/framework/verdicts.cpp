// SPDX-License-Identifier: Apache-2.0
#include "host/framework/verdicts.h"

#include <algorithm>
#include <utility>

namespace berth {

void Verdicts::refuse(std::size_t node, StatusCode code, std::vector<std::string> reasons) {
  if (code == StatusCode::kSuccess || !passes(node)) return;
  Status refusal{code, speaker_, std::move(reasons)};
  if (!is_rejected(code)) {
    const std::string text = "running \"" + speaker_ + "\" filter plugin: " + refusal.message();
    refusal = Status{StatusCode::kError, speaker_, {text}};
  }
  refusal_of_[node] = intern(std::move(refusal));
}

std::int32_t Verdicts::intern(Status refusal) {
  // Newest first: neighbouring nodes are mostly rejected for the same reason, and there are few reasons.
  const auto found = std::find(refusals_.rbegin(), refusals_.rend(), refusal);
  if (found != refusals_.rend()) return static_cast<std::int32_t>(refusals_.rend() - found) - 1;
  refusals_.push_back(std::move(refusal));
  return static_cast<std::int32_t>(refusals_.size()) - 1;
}

Status Verdicts::status(std::size_t node) const {
  return passes(node) ? Status{} : refusals_[static_cast<std::size_t>(refusal_of_[node])];
}

std::optional<Status> Verdicts::first_error() const {
  const bool any = std::any_of(refusals_.begin(), refusals_.end(),
                               [](const Status& refusal) { return refusal.code == StatusCode::kError; });
  for (std::size_t node = 0; any && node < node_count(); ++node) {
    if (status(node).code == StatusCode::kError) return status(node);
  }
  return std::nullopt;
}

std::size_t Verdicts::passing_count() const {
  return static_cast<std::size_t>(std::count(refusal_of_.begin(), refusal_of_.end(), kPasses));
}

}  // namespace berth
