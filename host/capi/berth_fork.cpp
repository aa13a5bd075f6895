// SPDX-License-Identifier: Apache-2.0
// Snapshots and forks of berth.h: convert, call, convert.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/capi/filled_arrays.h"
#include "host/capi/handles.h"
#include "host/capi/placing.h"
#include "host/capi/questions.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

namespace {

constexpr std::uint32_t kCheckFlags = BERTH_SKIP_CORDONED | BERTH_AS_MOVED;
constexpr std::uint32_t kBulkFlags = kCheckFlags | BERTH_NO_REASONS | BERTH_WITH_SCORES;
constexpr std::uint32_t kExplainFlags = BERTH_AS_MOVED | BERTH_WITH_PREEMPTION;
constexpr std::uint32_t kScheduleFlags = kCheckFlags | BERTH_STOP_AT_FAILURE | BERTH_WITH_REJECTORS;

template <class Handle>
berth_status check(Handle* where, const berth_pod* pod, uint32_t node, uint32_t flags, int32_t* fits,
                   berth_result** details, berth_error* error) noexcept {
  return guarded(error, [&] {
    needed(fits, "fits");
    check_flags(flags, kCheckFlags);
    bool does_fit = false;
    auto result = on(where, [&](const State& state, const std::shared_ptr<Cluster>& cluster) {
      return check_one(state, cluster, *pod_argument(pod, *cluster)->pod, node, flags, details != nullptr, does_fit);
    });
    if (details != nullptr) *details = as_handle(std::move(result)).release();
    *fits = does_fit ? 1 : 0;
  });
}

template <class Handle>
berth_status check_many(Handle* where, const berth_pod* const* pods, size_t pod_count,
                        const berth_check_options* options, berth_result** result, berth_error* error) noexcept {
  return guarded(error, [&] {
    needed(result, "result");
    const berth_check_options known = read_options(options);
    const StopWatch watch(known.deadline_us, known.cancel);
    check_flags(known.flags, kBulkFlags);
    Answer checked = on(where, watch, false, [&](const State& state, const std::shared_ptr<Cluster>& cluster) {
      return check_bulk(state, cluster, pod_arguments(pods, pod_count, *cluster),
                        {node_set_argument(known.nodes, *cluster), known.flags}, watch);
    });
    *result = as_handle(std::move(checked.result)).release();
    return checked.status;
  });
}
/// The same to the end.
template <class Handle>
berth_status check_all(Handle* where, const berth_pod* const* pods, size_t pod_count, const berth_node_set* nodes,
                       uint32_t flags, berth_result** result, berth_error* error) noexcept {
  berth_check_options options = BERTH_CHECK_OPTIONS_INIT;
  options.nodes = nodes;
  options.flags = flags;
  return check_many(where, pods, pod_count, &options, result, error);
}

/// @param ask  explain() or preempt()
template <class Handle, class Ask>
berth_status ask_about(Handle* where, const berth_pod* pod, const berth_ask_options* options, uint32_t allowed,
                       berth_result** result, berth_error* error, Ask ask) noexcept {
  return guarded(error, [&] {
    needed(result, "result");
    const berth_ask_options known = read_options(options);
    const StopWatch watch(known.deadline_us, known.cancel);
    check_flags(known.flags, allowed);
    Answer asked = on(where, watch, true, [&](const State& state, const std::shared_ptr<Cluster>& cluster) {
      return ask(state, cluster, *pod_argument(pod, *cluster)->pod, known.flags, watch);
    });
    *result = as_handle(std::move(asked.result)).release();
    return asked.status;
  });
}
berth_ask_options with_flags(uint32_t flags) {
  berth_ask_options options = BERTH_ASK_OPTIONS_INIT;
  options.flags = flags;
  return options;
}

void copy_nodes(const Roster& roster, uint32_t* nodes, size_t capacity, size_t* count) {
  needed(count, "count");
  if (capacity > 0) needed(nodes, "nodes");
  const std::span<const Roster::Entry> entries = roster.entries();
  for (std::size_t i = 0; i < std::min(capacity, entries.size()); ++i) nodes[i] = entries[i].number;
  *count = entries.size();
}

/// A call on a fork that nobody else uses: call(fork).
template <class Call>
berth_status on_fork(berth_fork* handle, berth_error* error, Call call) noexcept {
  return guarded(error, [&] {
    WhatIf& fork = *callable(handle, "fork").fork;
    const WhatIf::Use use(fork);
    return call(fork);
  });
}

/// Asks for the length of an answer, and for the answer where there is room.
/// @param fill  fill() writes `length` entries, or fails and writes none
template <class Fill>
void fill_array(size_t capacity, size_t length, size_t* length_out, Fill fill) {
  needed(length_out, "length");
  if (capacity > 0 && capacity < length)
    throw ApiError(BERTH_E_ARGUMENT, "capacity",
                   "is " + std::to_string(capacity) + ", and the answer has " + std::to_string(length) + " entries");
  if (capacity > 0) fill();
  *length_out = length;
}

ScheduleOptions schedule_options(const berth_schedule_options& known, const Cluster& cluster) {
  check_flags(known.flags, kScheduleFlags);
  if (known.choice > BERTH_CHOICE_ORDER) throw ApiError(BERTH_E_ARGUMENT, "choice", "is none of BERTH_CHOICE_*");
  if (known.order_count > 0) needed(known.order, "order");
  if (known.order_count > 0 && known.choice != BERTH_CHOICE_ORDER)
    throw ApiError(BERTH_E_ARGUMENT, "order", "is given, and the choice is not BERTH_CHOICE_ORDER");
  return {known.flags,
          known.choice,
          known.start,
          node_set_argument(known.nodes, cluster),
          {known.order, known.order_count}};
}

}  // namespace

extern "C" {

// Snapshots

berth_status berth_snapshot_create(berth_cluster* cluster, berth_snapshot** snapshot, berth_error* error) {
  return guarded(error, [&] {
    callable(cluster, "cluster");
    needed(snapshot, "snapshot");
    auto handle = std::make_unique<berth_snapshot>();
    handle->snapshot = std::make_shared<const Snapshot>(cluster->cluster);
    *snapshot = handle.release();
  });
}

void berth_snapshot_free(berth_snapshot** snapshot) { free_handle(snapshot); }

berth_status berth_snapshot_version(const berth_snapshot* snapshot, uint64_t* version, berth_error* error) {
  return guarded(error, [&] { needed(version, "version") = callable(snapshot, "snapshot").snapshot->facts().version; });
}

berth_status berth_snapshot_nodes(const berth_snapshot* snapshot, uint32_t* nodes, size_t capacity, size_t* count,
                                  berth_error* error) {
  return guarded(error,
                 [&] { copy_nodes(*callable(snapshot, "snapshot").snapshot->facts().roster, nodes, capacity, count); });
}

berth_status berth_snapshot_check(const berth_snapshot* snapshot, const berth_pod* pod, uint32_t node, uint32_t flags,
                                  int32_t* fits, berth_result** details, berth_error* error) {
  return check(snapshot, pod, node, flags, fits, details, error);
}

berth_status berth_snapshot_check_bulk(const berth_snapshot* snapshot, const berth_pod* const* pods, size_t pod_count,
                                       const berth_node_set* nodes, uint32_t flags, berth_result** result,
                                       berth_error* error) {
  return check_all(snapshot, pods, pod_count, nodes, flags, result, error);
}

berth_status berth_snapshot_check_bulk_until(const berth_snapshot* snapshot, const berth_pod* const* pods,
                                             size_t pod_count, const berth_check_options* options,
                                             berth_result** result, berth_error* error) {
  return check_many(snapshot, pods, pod_count, options, result, error);
}

berth_status berth_snapshot_explain(const berth_snapshot* snapshot, const berth_pod* pod, uint32_t flags,
                                    berth_result** result, berth_error* error) {
  const berth_ask_options options = with_flags(flags);
  return ask_about(snapshot, pod, &options, kExplainFlags, result, error, explain);
}

berth_status berth_snapshot_explain_until(const berth_snapshot* snapshot, const berth_pod* pod,
                                          const berth_ask_options* options, berth_result** result, berth_error* error) {
  return ask_about(snapshot, pod, options, kExplainFlags, result, error, explain);
}

berth_status berth_snapshot_preempt(const berth_snapshot* snapshot, const berth_pod* pod, uint32_t flags,
                                    berth_result** result, berth_error* error) {
  const berth_ask_options options = with_flags(flags);
  return ask_about(snapshot, pod, &options, BERTH_AS_MOVED, result, error, preempt);
}

berth_status berth_snapshot_preempt_until(const berth_snapshot* snapshot, const berth_pod* pod,
                                          const berth_ask_options* options, berth_result** result, berth_error* error) {
  return ask_about(snapshot, pod, options, BERTH_AS_MOVED, result, error, preempt);
}

berth_status berth_snapshot_fork(const berth_snapshot* snapshot, berth_fork** fork, berth_error* error) {
  return guarded(error, [&] {
    callable(snapshot, "snapshot");
    needed(fork, "fork");
    auto handle = std::make_unique<berth_fork>();
    handle->fork = std::make_shared<WhatIf>(snapshot->snapshot);
    *fork = handle.release();
  });
}

// Forks

berth_status berth_fork_fork(berth_fork* parent, berth_fork** fork, berth_error* error) {
  return on_fork(parent, error, [&](WhatIf& of) {
    needed(fork, "fork");
    auto handle = std::make_unique<berth_fork>();
    handle->fork = of.fork();
    *fork = handle.release();
    return BERTH_OK;
  });
}

void berth_fork_free(berth_fork** fork) { free_handle(fork); }

berth_status berth_fork_revert(berth_fork* fork, berth_error* error) {
  return on_fork(fork, error, [](WhatIf& of) {
    of.revert();
    return BERTH_OK;
  });
}

berth_status berth_fork_commit(berth_fork* fork, uint64_t* version, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    const std::optional<std::uint64_t> now = of.commit();
    if (now && version != nullptr) *version = *now;
    return BERTH_OK;
  });
}

berth_status berth_fork_add_node(berth_fork* fork, const char* text, size_t size, uint32_t* node, berth_error* error) {
  return guarded_with_log(fork, "fork", error, [&](CallLog& log) {
    const WhatIf::Use use(*fork->fork);
    const berth::NodePtr object = fork->fork->cluster()->read_node(text_of(text, size, "text"), log);
    const std::uint32_t number = fork->fork->add_node(object);
    if (node != nullptr) *node = number;
  });
}

berth_status berth_fork_update_node(berth_fork* fork, const char* text, size_t size, berth_error* error) {
  return guarded_with_log(fork, "fork", error, [&](CallLog& log) {
    const WhatIf::Use use(*fork->fork);
    fork->fork->update_node(fork->fork->cluster()->read_node(text_of(text, size, "text"), log));
  });
}

berth_status berth_fork_remove_node(berth_fork* fork, uint32_t node, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    of.remove_node(node);
    return BERTH_OK;
  });
}

berth_status berth_fork_add_pod(berth_fork* fork, const berth_pod* pod, uint32_t node, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    of.add_pod(pod_argument(pod, *of.cluster()), node);
    return BERTH_OK;
  });
}

berth_status berth_fork_remove_pod(berth_fork* fork, const char* uid, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    of.remove_pod(&needed(uid, "uid"));
    return BERTH_OK;
  });
}

berth_status berth_fork_unschedule(berth_fork* fork, const berth_pod* pod, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    of.remove_pod(pod_argument(pod, *of.cluster())->pod->uid);
    return BERTH_OK;
  });
}

berth_status berth_fork_node_of_pod(berth_fork* fork, const char* uid, uint32_t* node, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    needed(node, "node") = of.node_of_pod(&needed(uid, "uid"));
    return BERTH_OK;
  });
}

berth_status berth_fork_schedule(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                 const berth_schedule_options* options, berth_result** result, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    needed(result, "result");
    const berth_schedule_options given = read_options(options);
    const StopWatch watch = watch_of(of.cluster()->engine(), given);
    const std::vector<PodHandlePtr> handles = pod_arguments(pods, pod_count, *of.cluster());
    const ScheduleOptions known = schedule_options(given, *of.cluster());
    auto handle = std::make_unique<berth_result>();
    Answer scheduled = schedule(of, handles, known, watch);
    fill(*handle, std::move(scheduled.result));
    *result = handle.release();
    return scheduled.status;
  });
}

berth_status berth_fork_check(berth_fork* fork, const berth_pod* pod, uint32_t node, uint32_t flags, int32_t* fits,
                              berth_result** details, berth_error* error) {
  return check(fork, pod, node, flags, fits, details, error);
}

berth_status berth_fork_check_bulk(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                   const berth_node_set* nodes, uint32_t flags, berth_result** result,
                                   berth_error* error) {
  return check_all(fork, pods, pod_count, nodes, flags, result, error);
}

berth_status berth_fork_check_bulk_until(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                         const berth_check_options* options, berth_result** result,
                                         berth_error* error) {
  return check_many(fork, pods, pod_count, options, result, error);
}

berth_status berth_fork_explain(berth_fork* fork, const berth_pod* pod, uint32_t flags, berth_result** result,
                                berth_error* error) {
  const berth_ask_options options = with_flags(flags);
  return ask_about(fork, pod, &options, kExplainFlags, result, error, explain);
}

berth_status berth_fork_explain_until(berth_fork* fork, const berth_pod* pod, const berth_ask_options* options,
                                      berth_result** result, berth_error* error) {
  return ask_about(fork, pod, options, kExplainFlags, result, error, explain);
}

berth_status berth_fork_preempt(berth_fork* fork, const berth_pod* pod, uint32_t flags, berth_result** result,
                                berth_error* error) {
  const berth_ask_options options = with_flags(flags);
  return ask_about(fork, pod, &options, BERTH_AS_MOVED, result, error, preempt);
}

berth_status berth_fork_preempt_until(berth_fork* fork, const berth_pod* pod, const berth_ask_options* options,
                                      berth_result** result, berth_error* error) {
  return ask_about(fork, pod, options, BERTH_AS_MOVED, result, error, preempt);
}

berth_status berth_fork_mask(berth_fork* fork, const berth_pod* pod, const berth_node_set* nodes, uint32_t flags,
                             uint8_t* fits, size_t capacity, size_t* length, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    check_flags(flags, kCheckFlags);
    if (capacity > 0) needed(fits, "fits");
    const PodHandlePtr handle = pod_argument(pod, *of.cluster());
    const CheckOptions options{node_set_argument(nodes, *of.cluster()), flags};
    const std::size_t count = count_of_nodes(*of.facts().roster, options.nodes);
    fill_array(capacity, count, length, [&] { fill_mask(of, *handle->pod, options, {fits, count}); });
    return BERTH_OK;
  });
}

berth_status berth_fork_use(berth_fork* fork, const char* const* resources, size_t resource_count, int64_t* requested,
                            int64_t* allocatable, size_t capacity, size_t* length, berth_error* error) {
  return on_fork(fork, error, [&](WhatIf& of) {
    if (resource_count > 0) needed(resources, "resources");
    std::vector<std::string> names;
    names.reserve(resource_count);
    for (std::size_t r = 0; r < resource_count; ++r) names.emplace_back(&needed(resources[r], "resources[]"));
    const std::size_t count = resource_count * count_of_nodes(*of.facts().roster, nullptr);
    fill_array(capacity, count, length, [&] { fill_use(of, names, count, requested, allocatable); });
    return BERTH_OK;
  });
}

berth_status berth_fork_nodes(const berth_fork* fork, uint32_t* nodes, size_t capacity, size_t* count,
                              berth_error* error) {
  return guarded(error, [&] {
    WhatIf& of = *callable(fork, "fork").fork;
    const WhatIf::Use use(of);
    copy_nodes(*of.facts().roster, nodes, capacity, count);
  });
}

}  // extern "C"
