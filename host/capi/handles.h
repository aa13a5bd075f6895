// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the opaque structs of berth.h are, and how arguments become them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/capi/api_error.h"
#include "host/capi/cluster.h"
#include "host/capi/engine.h"
#include "host/capi/guard.h"
#include "host/capi/node_table.h"
#include "host/capi/pod_queue.h"
#include "host/capi/result.h"
#include "host/capi/stop_watch.h"
#include "host/capi/what_if.h"
#include "include/berth/berth.h"

struct berth_engine {
  std::shared_ptr<const berth::capi::Engine> engine;
};
struct berth_cluster {
  std::shared_ptr<berth::capi::Cluster> cluster;
};
struct berth_snapshot {
  std::shared_ptr<const berth::capi::Snapshot> snapshot;
};
struct berth_fork {
  std::shared_ptr<berth::capi::WhatIf> fork;
};
struct berth_pod {
  berth::capi::PodHandlePtr pod;
  std::atomic<std::uint64_t> owners = 1;
};
struct berth_queue {
  std::unique_ptr<berth::capi::PodQueue> queue;
};
struct berth_node_set {
  std::shared_ptr<const berth::capi::Cluster> cluster;
  berth::capi::NodeNumbers numbers;
  berth::capi::MemoryShare share;

  berth_node_set(std::shared_ptr<const berth::capi::Cluster> of, berth::capi::NodeNumbers nodes)
      : cluster(std::move(of)), numbers(std::move(nodes)), share(cluster->engine().memory) {}
};
struct berth_result {
  /// Made with the handle, so that a call that has changed something needs no memory to give its result.
  std::shared_ptr<std::unique_ptr<const berth::capi::Result>> owner =
      std::make_shared<std::unique_ptr<const berth::capi::Result>>();
  std::shared_ptr<const berth::capi::Result> result;  ///< of `owner`
};

namespace berth::capi {

inline const Engine& engine_of(const berth_engine& handle) { return *handle.engine; }
inline const Engine& engine_of(const berth_cluster& handle) { return handle.cluster->engine(); }
inline const Engine& engine_of(const berth_snapshot& handle) { return handle.snapshot->cluster()->engine(); }
inline const Engine& engine_of(const berth_fork& handle) { return handle.fork->cluster()->engine(); }
inline const Engine& engine_of(const berth_queue& handle) { return handle.queue->cluster()->engine(); }
inline const Engine& engine_of(const berth_pod& handle) { return handle.pod->cluster->engine(); }
inline const Engine& engine_of(const berth_node_set& handle) { return handle.cluster->engine(); }
inline const Engine& engine_of(const berth_result& handle) { return handle.result->cluster().engine(); }

/// The handle, of an engine that may be called. @throws ApiError
template <class Handle>
Handle& callable(Handle* handle, const char* argument) {
  needed(handle, argument);
  check_callable(engine_of(*handle));
  return *handle;
}

/// The watch of a call on a handle of the engine. @param options  with a deadline, a token and a progress callback
template <class Options>
StopWatch watch_of(const Engine& engine, const Options& options) {
  return StopWatch(options.deadline_us, options.cancel, {options.progress, options.progress_user_data, &engine.log});
}

/// What arguments with a state are called.
constexpr const char* argument_name(const berth_snapshot* /*handle*/) { return "snapshot"; }
constexpr const char* argument_name(const berth_fork* /*handle*/) { return "fork"; }

/// Runs call(State, cluster) on a snapshot.
template <class Call>
auto on(const berth_snapshot* handle, Call call) {
  const Snapshot& snapshot = *callable(handle, argument_name(handle)).snapshot;
  return snapshot.read([&](const State& state) { return call(state, snapshot.cluster()); });
}
/// The same on a fork, which nobody else uses meanwhile.
template <class Call>
auto on(berth_fork* handle, Call call) {
  WhatIf& fork = *callable(handle, argument_name(handle)).fork;
  const WhatIf::Use use(fork);
  return call(fork.state(), fork.cluster());
}
/// Of a call with a watch, which must not ask the state when that is over.
/// @param heeds_deadline  of StopWatch
template <class Call>
auto on(const berth_snapshot* handle, const StopWatch& watch, bool heeds_deadline, Call call) {
  const Snapshot& snapshot = *callable(handle, argument_name(handle)).snapshot;
  return snapshot.read(watch, heeds_deadline, [&](const State& state) { return call(state, snapshot.cluster()); });
}
template <class Call>
auto on(berth_fork* handle, const StopWatch& /*watch*/, bool /*heeds_deadline*/, Call call) {
  return on(handle, call);  // the call opens what it needs
}

/// Frees the handle and clears the pointer. In a child of the process that made it nothing is freed: other threads may
/// have been in the middle of anything.
template <class Handle>
void free_handle(Handle** handle) noexcept {
  if (handle == nullptr || *handle == nullptr) return;
  if (engine_of(**handle).process.is_here()) delete *handle;
  *handle = nullptr;
}

/// Runs `body(log)`, with what it notes logged afterwards.
template <class Handle, class Body>
berth_status guarded_with_log(const Handle* handle, const char* argument, berth_error* error, Body body) noexcept {
  return guarded(error, [&] {
    const Engine& engine = engine_of(callable(handle, argument));
    CallLog log(engine.log);
    if constexpr (std::is_void_v<std::invoke_result_t<Body, CallLog&>>) {
      body(log);
      log.say_all(engine.log);
      return BERTH_OK;
    } else {
      const berth_status status = body(log);
      log.say_all(engine.log);
      return status;
    }
  });
}

/// Runs work(), which returns a status or nothing, until the watch of the options is over: a call that has changed
/// nothing then. @param options  null: to the end
template <class Work>
berth_status until(const berth_load_options* options, Work work) {
  const berth_load_options known = read_options(options);
  if (known.reserved != 0) throw ApiError(BERTH_E_ARGUMENT, "reserved", "is not 0");
  const StopWatch watch(known.deadline_us, known.cancel);
  if (watch.is_over()) return watch.stop();
  const std::optional<berth_status> status = unless_interrupted(watch, true, [&]() -> berth_status {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return BERTH_OK;
    } else {
      return work();
    }
  });
  return status ? *status : watch.stop();
}

/// The pod of a call on `cluster`.
PodHandlePtr pod_argument(const berth_pod* pod, const Cluster& cluster);
std::vector<PodHandlePtr> pod_arguments(const berth_pod* const* pods, std::size_t count, const Cluster& cluster);
/// null: all nodes
const NodeNumbers* node_set_argument(const berth_node_set* set, const Cluster& cluster);

/// The handle of a result that is filled.
std::unique_ptr<berth_result> as_handle(std::unique_ptr<Result> result);
/// The same of a handle that was made before.
void fill(berth_result& handle, std::unique_ptr<Result> result) noexcept;

inline berth_str str_of(const std::string& text) { return {text.c_str(), text.size()}; }

}  // namespace berth::capi
