// SPDX-License-Identifier: Apache-2.0
#include "host/store/deletion.h"

#include <algorithm>

#include "host/objects/pod_state.h"

namespace berth {
namespace {

/// Seconds that a first request gives the pod.
std::int64_t first_grace_s(const Pod& pod, std::optional<std::int64_t> wanted) {
  if (!is_on_node(pod)) return 0;
  const std::int64_t grace = wanted.value_or(pod.spec->termination_grace_s);
  return grace < 0 ? 1 : grace;
}

/// A later request: it may shorten the period, counted from the first one.
DeletionPlan shorten(const RareMeta& rare, std::optional<std::int64_t> wanted, std::int64_t now_us) {
  const std::int64_t grace = *rare.deletion_grace_s;
  if (!wanted || *wanted >= grace) return {};
  GracefulDeletion mark{*wanted, rare.deletion_time_us - grace_us(grace) + grace_us(*wanted), false};
  if (mark.end_time_us < now_us) {
    mark.end_time_us = now_us;
    if (*wanted != 0) mark.grace_s = 1;  // the kubelet still has to end it
  }
  return {mark, *wanted == 0};
}

/// A request for an object that would be removed at once if it had no finalizers: markAsDeleting() of store.go.
DeletionPlan wait_for_finalizers(const RareMeta& rare, std::int64_t now_us) {
  const bool is_first = !rare.deletion_grace_s;
  const GracefulDeletion mark{0, is_first ? now_us : std::min(rare.deletion_time_us, now_us), is_first};
  const bool is_marked = !is_first && rare.deletion_grace_s == 0 && rare.deletion_time_us == mark.end_time_us;
  return {is_marked ? std::nullopt : std::optional(mark), false};
}

DeletionPlan plan_without_finalizers(const RareMeta& rare, const Pod& pod, std::optional<std::int64_t> wanted,
                                     std::int64_t now_us) {
  if (rare.deletion_grace_s) {
    if (*rare.deletion_grace_s == 0) return {std::nullopt, true};
    return shorten(rare, wanted, now_us);
  }
  const std::int64_t grace = first_grace_s(pod, wanted);
  return {GracefulDeletion{grace, now_us + grace_us(grace), true}, grace == 0};
}

}  // namespace

DeletionPlan plan_deletion(const ObjectMeta& meta, const Pod* pod, const DeleteOptions& options, std::int64_t now_us) {
  const RareMeta& rare = meta.rare();
  std::optional<std::int64_t> wanted = options.grace_period_s;
  if (wanted && *wanted < 0) wanted = 1;
  DeletionPlan plan =
      pod == nullptr ? DeletionPlan{std::nullopt, true} : plan_without_finalizers(rare, *pod, wanted, now_us);
  if (rare.finalizers.empty() || !plan.removes) return plan;
  if (plan.mark) return {plan.mark, false};
  return wait_for_finalizers(rare, now_us);
}

bool ends_with_update(const ObjectMeta& stored, const std::vector<std::string>& finalizers) {
  return finalizers.empty() && stored.rare().deletion_grace_s == 0;
}

}  // namespace berth
