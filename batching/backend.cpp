// SPDX-License-Identifier: Apache-2.0
#include "batching/backend.h"

namespace berth {

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
