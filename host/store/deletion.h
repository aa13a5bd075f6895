// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a delete request does to one object: BeforeDelete() of apiserver's pkg/registry/rest/delete.go, Delete() of
// pkg/registry/generic/registry/store.go, and CheckGracefulDelete() of kubernetes pkg/registry/core/pod/strategy.go.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/store/store_status.h"
#include "host/store/stored_object.h"

namespace berth {

/// A grace period in microseconds. What objects ask for beyond 30,000 years is that.
constexpr std::int64_t grace_us(std::int64_t grace_s) {
  constexpr std::int64_t kMaxS = 1'000'000'000'000;
  return (grace_s < kMaxS ? grace_s : kMaxS) * 1'000'000;
}

struct DeleteOptions {
  /// Of pods; absent: terminationGracePeriodSeconds. 0 removes the pod at once, less than 0 reads as 1.
  std::optional<std::int64_t> grace_period_s = {};
  std::string uid = {};                                ///< precondition; empty: any
  std::optional<std::uint64_t> resource_version = {};  ///< precondition
};

/// The grace period and the time of its end, for metadata.
struct GracefulDeletion {
  std::int64_t grace_s = 0;
  std::int64_t end_time_us = 0;
  bool is_first = true;  ///< the generation grows with the first request only
};

struct DeletionPlan {
  /// Absent and not `removes`: the request changes nothing, because it would not shorten the grace period.
  std::optional<GracefulDeletion> mark;  ///< written before the removal
  bool removes = false;
};

/// @param pod  null for kinds that are not deleted gracefully
DeletionPlan plan_deletion(const ObjectMeta& meta, const Pod* pod, const DeleteOptions& options, std::int64_t now_us);

/// Whether an update that leaves `finalizers` removes the object: ShouldDeleteDuringUpdate() of store.go.
bool ends_with_update(const ObjectMeta& stored, const std::vector<std::string>& finalizers);

/// Writes the marks into a copy of a version.
template <class T>
void apply(const GracefulDeletion& mark, Stored<T>& stored) {
  if (mark.is_first && stored.meta.generation > 0) ++stored.meta.generation;
  change_rare(stored.meta, [&](RareMeta& rare) {
    rare.deletion_grace_s = mark.grace_s;
    rare.deletion_time_us = mark.end_time_us;
  });
}

}  // namespace berth
