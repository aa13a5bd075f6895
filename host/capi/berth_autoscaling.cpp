// SPDX-License-Identifier: Apache-2.0
// Questions of autoscalers in berth.h: convert, call, convert.

#include <utility>

#include "host/capi/drain.h"
#include "host/capi/handles.h"
#include "host/capi/node_shape.h"
#include "host/capi/placing.h"
#include "host/capi/questions.h"
#include "host/capi/replace.h"
#include "host/capi/scale_up.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

namespace {

constexpr std::uint32_t kScaleUpFlags = BERTH_EXISTING_FIRST | BERTH_DECREASING | BERTH_SKIP_CORDONED | BERTH_AS_MOVED;

/// Runs ask(State, cluster, options, watch, log), which gives an Answer, on a snapshot or on a fork, which it leaves as
/// it is. It must not ask the state when the watch is over.
template <class Handle, class Options, class Ask>
berth_status answer(Handle* where, const Options* options, berth_result** result, berth_error* error,
                    Ask ask) noexcept {
  return guarded_with_log(where, argument_name(where), error, [&](CallLog& log) {
    needed(result, "result");
    const Options known = read_options(options);
    const StopWatch watch = watch_of(engine_of(*where), known);
    auto answered = std::make_unique<berth_result>();
    Answer got = on(where, watch, true, [&](const State& state, const std::shared_ptr<Cluster>& cluster) {
      return ask(state, cluster, known, watch, log);
    });
    fill(*answered, std::move(got.result));
    *result = answered.release();
    return got.status;
  });
}

/// @param ask  given all elements of the call, or none where the watch was over before
template <class Element, class Ask>
Answer once_open(const State& state, const StopWatch& watch, std::span<const Element> elements, Ask ask) {
  if (open_engine(state, watch, true)) return ask(elements);
  Answer nothing = ask(std::span<const Element>());
  nothing.status = watch.stop();
  return nothing;
}

template <class Handle>
berth_status scale_up_of(Handle* where, const berth_pod* const* pods, size_t pod_count,
                         const berth_shape* const* shapes, size_t shape_count, const berth_scale_up_options* options,
                         berth_result** result, berth_error* error) noexcept {
  const auto ask = [&](const State& state, const std::shared_ptr<Cluster>& cluster, const berth_scale_up_options& known,
                       const StopWatch& watch, CallLog& log) {
    check_flags(known.flags, kScaleUpFlags);
    if (known.nodes != nullptr && (known.flags & BERTH_EXISTING_FIRST) == 0)
      throw ApiError(BERTH_E_ARGUMENT, "nodes", "are given, and existing nodes are not asked");
    const ScaleUpOptions read{known.flags, node_set_argument(known.nodes, *cluster)};
    const std::vector<PodHandlePtr> handles = pod_arguments(pods, pod_count, *cluster);
    refuse_twice(handles);
    if (shape_count > 0) needed(shapes, "shapes");
    return once_open(state, watch, std::span(shapes, shape_count), [&](std::span<const berth_shape* const> asked) {
      if (!asked.empty() && (known.flags & BERTH_AS_MOVED) == 0) refuse_standing(state.fork, handles);
      return scale_up(state, cluster, handles, read_shapes(state, asked.data(), asked.size(), log), read, watch);
    });
  };
  return answer(where, options, result, error, ask);
}

constexpr std::uint32_t kDrainFlags =
    BERTH_DRAIN_TOGETHER | BERTH_DRAIN_KEEP | BERTH_DRAIN_BY_SCORE | BERTH_SKIP_CORDONED;

std::span<const std::uint32_t> drained_argument(const uint32_t* drained, size_t count) {
  if (count > 0) needed(drained, "drained");
  return {drained, count};
}

DrainOptions drain_options(const berth_drain_options& known, const Cluster& cluster) {
  check_flags(known.flags, kDrainFlags);
  if ((known.flags & BERTH_DRAIN_KEEP) != 0 && (known.flags & BERTH_DRAIN_TOGETHER) == 0)
    throw ApiError(BERTH_E_ARGUMENT, "flags", "what is drained by itself is not kept");
  return {known.flags, drain_policy(known.preset, known.rules_on, known.rules_off, known.min_replicas),
          node_set_argument(known.nodes, cluster)};
}

void check_can_keep(const berth_fork& /*of*/, const DrainOptions& /*options*/) {}
void check_can_keep(const berth_snapshot& /*of*/, const DrainOptions& options) {
  if ((options.flags & BERTH_DRAIN_KEEP) != 0)
    throw ApiError(BERTH_E_ARGUMENT, "flags", "nothing is kept in a snapshot");
}

/// The what-if in which nodes are drained together.
std::shared_ptr<WhatIf> place_to_drain(const berth_snapshot& of, const DrainOptions& /*options*/) {
  return std::make_shared<WhatIf>(of.snapshot);
}
std::shared_ptr<WhatIf> place_to_drain(berth_fork& of, const DrainOptions& options) {
  return (options.flags & BERTH_DRAIN_KEEP) != 0 ? of.fork : of.fork->fork();
}

template <class Handle>
berth_status drain_of(Handle* where, const uint32_t* drained, size_t count, const berth_drain_options* options,
                      berth_result** result, berth_error* error) noexcept {
  const auto ask = [&](const State& state, const std::shared_ptr<Cluster>& cluster, const berth_drain_options& given,
                       const StopWatch& watch, CallLog& /*log*/) {
    const DrainOptions known = drain_options(given, *cluster);
    check_can_keep(*where, known);
    return once_open(state, watch, drained_argument(drained, count), [&](std::span<const std::uint32_t> nodes) {
      if (nodes.empty() || (known.flags & BERTH_DRAIN_TOGETHER) == 0)
        return drain_alone(state, cluster, nodes, known, watch);
      return drain_together(*place_to_drain(*where, known), nodes, known, watch);
    });
  };
  return answer(where, options, result, error, ask);
}

template <class Handle>
berth_status replace_of(Handle* where, const uint32_t* drained, size_t count, const berth_drain_options* options,
                        const berth_shape* const* shapes, size_t shape_count, uint32_t max_nodes, berth_result** result,
                        berth_error* error) noexcept {
  const auto ask = [&](const State& state, const std::shared_ptr<Cluster>& cluster, const berth_drain_options& given,
                       const StopWatch& watch, CallLog& log) {
    const DrainOptions known = drain_options(given, *cluster);
    if ((known.flags & BERTH_DRAIN_KEEP) != 0) throw ApiError(BERTH_E_ARGUMENT, "flags", "a replacement is not kept");
    if (max_nodes == 0) throw ApiError(BERTH_E_ARGUMENT, "max_nodes", "is 0");
    return once_open(state, watch, drained_argument(drained, count), [&](std::span<const std::uint32_t> nodes) {
      if (!watch.is_over())  // reading shapes asks the state
        return replace(state, cluster, nodes, known, read_shapes(state, shapes, shape_count, log), max_nodes, watch);
      DrainOptions none = known;
      none.flags &= ~std::uint32_t{BERTH_DRAIN_TOGETHER};  // with which there is one replacement
      return replace(state, cluster, nodes, none, {}, max_nodes, watch);
    });
  };
  return answer(where, options, result, error, ask);
}

}  // namespace

extern "C" {

berth_status berth_snapshot_scale_up(const berth_snapshot* snapshot, const berth_pod* const* pods, size_t pod_count,
                                     const berth_shape* const* shapes, size_t shape_count,
                                     const berth_scale_up_options* options, berth_result** result, berth_error* error) {
  return scale_up_of(snapshot, pods, pod_count, shapes, shape_count, options, result, error);
}

berth_status berth_fork_scale_up(berth_fork* fork, const berth_pod* const* pods, size_t pod_count,
                                 const berth_shape* const* shapes, size_t shape_count,
                                 const berth_scale_up_options* options, berth_result** result, berth_error* error) {
  return scale_up_of(fork, pods, pod_count, shapes, shape_count, options, result, error);
}

berth_status berth_snapshot_drain(const berth_snapshot* snapshot, const uint32_t* drained, size_t count,
                                  const berth_drain_options* options, berth_result** result, berth_error* error) {
  return drain_of(snapshot, drained, count, options, result, error);
}

berth_status berth_fork_drain(berth_fork* fork, const uint32_t* drained, size_t count,
                              const berth_drain_options* options, berth_result** result, berth_error* error) {
  return drain_of(fork, drained, count, options, result, error);
}

berth_status berth_snapshot_replace(const berth_snapshot* snapshot, const uint32_t* drained, size_t count,
                                    const berth_drain_options* options, const berth_shape* const* shapes,
                                    size_t shape_count, uint32_t max_nodes, berth_result** result, berth_error* error) {
  return replace_of(snapshot, drained, count, options, shapes, shape_count, max_nodes, result, error);
}

berth_status berth_fork_replace(berth_fork* fork, const uint32_t* drained, size_t count,
                                const berth_drain_options* options, const berth_shape* const* shapes,
                                size_t shape_count, uint32_t max_nodes, berth_result** result, berth_error* error) {
  return replace_of(fork, drained, count, options, shapes, shape_count, max_nodes, result, error);
}

}  // extern "C"
