// SPDX-License-Identifier: Apache-2.0
#include "batching/backend.h"

#include "batching/engine_fork.h"

namespace berth {

Backend::Backend() : as_parent_(std::make_shared<ForkParent>()) { as_parent_->engine = this; }

Backend::~Backend() { as_parent_->engine = nullptr; }

void Backend::note_change() { ++as_parent_->version; }

std::vector<BatchResult> Backend::try_forks(std::span<const std::span<const PodToPlace>> forks,
                                            const BatchLimits& limits) {
  std::vector<BatchResult> results;
  const CommitMark before = mark();
  for (const std::span<const PodToPlace> pods : forks) {
    results.push_back(commit_batch(pods, limits));
    rollback(before);
  }
  return results;
}

}  // namespace berth
