// SPDX-License-Identifier: Apache-2.0
// Queues of berth.h: convert, call, convert.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "host/capi/handles.h"
#include "host/capi/pod_queue.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

namespace {

/// A call on a queue that nobody else uses: call(queue).
template <class Call>
berth_status on_queue(berth_queue* handle, berth_error* error, Call call) noexcept {
  return guarded(error, [&] {
    PodQueue& queue = *callable(handle, "queue").queue;
    const PodQueue::Use use(queue);
    call(queue);
  });
}
/// The same with a pod.
template <class Call>
berth_status on_pod(berth_queue* handle, const berth_pod* pod, berth_error* error, Call call) noexcept {
  return on_queue(handle, error, [&](PodQueue& queue) { call(queue, *pod_argument(pod, *queue.cluster())); });
}
/// The same about a pod in a fork, which nobody else uses.
template <class Tell>
berth_status tell(berth_queue* handle, berth_fork* fork, const char* uid, berth_error* error, Tell tell) noexcept {
  return on_queue(handle, error, [&](PodQueue& queue) {
    const std::string of = &needed(uid, "uid");
    on(fork, [&](const State& state, const std::shared_ptr<Cluster>& cluster) {
      if (cluster != queue.cluster()) throw ApiError(BERTH_E_ARGUMENT, "fork", "is of another cluster");
      tell(queue, state, of);
      return 0;
    });
  });
}

/// Names that are separated by commas and blanks. NULL: none
berth::PluginNames plugins_argument(const char* text) {
  constexpr std::string_view kBetween = ", ";
  berth::PluginNames names;
  std::string_view rest = text != nullptr ? text : "";
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) return names;
    const std::size_t end = std::min(rest.find_first_of(kBetween), rest.size());
    names.insert(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

berth::NodePtr node_argument(PodQueue& queue, const char* text, size_t size, CallLog& log) {
  if (size == 0) return nullptr;
  return queue.cluster()->read_node(text_of(text, size, "node"), log);
}

}  // namespace

extern "C" {

berth_status berth_queue_create(berth_cluster* cluster, const berth_queue_options* options, berth_queue** queue,
                                berth_error* error) {
  return guarded(error, [&] {
    const std::shared_ptr<Cluster>& of = callable(cluster, "cluster").cluster;
    needed(queue, "queue");
    const berth_queue_options known = read_options(options);
    if (known.reserved != 0) throw ApiError(BERTH_E_ARGUMENT, "reserved", "is not 0");
    if (known.now_us < 0 || known.now_us > BERTH_QUEUE_TIME_MAX)
      throw ApiError(BERTH_E_ARGUMENT, "now_us", "is below 0 or above BERTH_QUEUE_TIME_MAX");
    auto handle = std::make_unique<berth_queue>();
    handle->queue = std::make_unique<PodQueue>(of, known.now_us);
    *queue = handle.release();
  });
}

void berth_queue_free(berth_queue** queue) { free_handle(queue); }

berth_status berth_queue_add(berth_queue* queue, const berth_pod* pod, berth_error* error) {
  return on_pod(queue, pod, error, [&](PodQueue& of, const PodHandle& /*handle*/) { of.add(*pod); });
}

berth_status berth_queue_remove(berth_queue* queue, const berth_pod* pod, berth_error* error) {
  return on_pod(queue, pod, error, [](PodQueue& of, const PodHandle& handle) { of.remove(handle); });
}

berth_status berth_queue_pop(berth_queue* queue, berth_pod** pod, berth_error* error) {
  return on_queue(queue, error, [&](PodQueue& of) {
    needed(pod, "pod");
    *pod = of.pop().release();
  });
}

berth_status berth_queue_fail(berth_queue* queue, const berth_pod* pod, const char* rejectors, const char* pending,
                              berth_error* error) {
  return on_pod(queue, pod, error, [&](PodQueue& of, const PodHandle& handle) {
    try {
      of.fail(handle, {plugins_argument(rejectors), plugins_argument(pending)});
    } catch (const std::length_error& failure) {
      throw ApiError(BERTH_E_ARGUMENT, "rejectors", failure.what());
    }
  });
}

berth_status berth_queue_done(berth_queue* queue, const berth_pod* pod, berth_error* error) {
  return on_pod(queue, pod, error, [](PodQueue& of, const PodHandle& handle) { of.done(handle); });
}

berth_status berth_queue_advance(berth_queue* queue, int64_t now_us, berth_error* error) {
  return on_queue(queue, error, [&](PodQueue& of) {
    if (now_us > BERTH_QUEUE_TIME_MAX) throw ApiError(BERTH_E_ARGUMENT, "now_us", "is above BERTH_QUEUE_TIME_MAX");
    of.advance(now_us);
  });
}

berth_status berth_queue_times(berth_queue* queue, int64_t* now_us, int64_t* next_us, berth_error* error) {
  return on_queue(queue, error, [&](PodQueue& of) {
    if (now_us != nullptr) *now_us = of.now_us();
    if (next_us != nullptr) *next_us = of.next_us();
  });
}

berth_status berth_queue_pod_came(berth_queue* queue, berth_fork* fork, const char* uid, berth_error* error) {
  return tell(queue, fork, uid, error,
              [](PodQueue& of, const State& state, const std::string& pod) { of.pod_came(state, pod); });
}

berth_status berth_queue_pod_leaves(berth_queue* queue, berth_fork* fork, const char* uid, berth_error* error) {
  return tell(queue, fork, uid, error,
              [](PodQueue& of, const State& state, const std::string& pod) { of.pod_leaves(state, pod); });
}

berth_status berth_queue_node_changed(berth_queue* queue, const char* before, size_t before_size, const char* after,
                                      size_t after_size, berth_error* error) {
  return guarded_with_log(queue, "queue", error, [&](CallLog& log) {
    PodQueue& of = *queue->queue;
    const PodQueue::Use use(of);
    const berth::NodePtr was = node_argument(of, before, before_size, log);
    const berth::NodePtr is = node_argument(of, after, after_size, log);
    if (was == nullptr && is == nullptr) throw ApiError(BERTH_E_ARGUMENT, "after", "no node is given");
    if (was != nullptr && is != nullptr && was->name != is->name)
      throw ApiError(BERTH_E_ARGUMENT, "after", "is another node than before");
    of.node_changed(was, is);
  });
}

berth_status berth_queue_size(berth_queue* queue, uint32_t place, uint64_t* count, berth_error* error) {
  return on_queue(queue, error, [&](PodQueue& of) {
    needed(count, "count");
    const berth::SchedulingQueue::Sizes sizes = of.sizes();
    const std::array<std::uint64_t, 5> counts = {sizes.active, sizes.backoff, sizes.unschedulable, sizes.gated,
                                                 of.tried_count()};
    if (place >= counts.size()) throw ApiError(BERTH_E_ARGUMENT, "place", "is none of BERTH_QUEUE_*");
    *count = counts[place];
  });
}

berth_status berth_queue_memory(const berth_queue* queue, uint64_t* bytes, berth_error* error) {
  return guarded(error, [&] {
    PodQueue& of = *callable(queue, "queue").queue;
    const PodQueue::Use use(of);
    needed(bytes, "bytes") = of.bytes();
  });
}

}  // extern "C"
