// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls on the queue of a world.

#include <array>
#include <cstdint>
#include <string>

#include "tests/capi/drawn_world.h"

namespace berth::test {

struct DrawnQueueCall {
  std::uint64_t what = 0;  ///< 0 to 8
  std::uint64_t flags = 0;
  std::uint64_t number = 0;
  berth_fork* fork = nullptr;      ///< null: there is none
  const berth_pod* pod = nullptr;  ///< null: there is none
  std::string node;
};

/// What the queue says of itself.
inline std::string state_of(berth_queue* queue) {
  std::string text;
  for (std::uint32_t place = BERTH_QUEUE_ACTIVE; place <= BERTH_QUEUE_TRIED; ++place) {
    std::uint64_t count = 0;
    text += said(berth_queue_size(queue, place, &count, nullptr), BERTH_ERROR_INIT) + std::to_string(count) + ' ';
  }
  std::int64_t now_us = 0;
  std::int64_t next_us = 0;
  berth_queue_times(queue, &now_us, &next_us, nullptr);
  return text + std::to_string(now_us) + ' ' + std::to_string(next_us);
}

inline std::string make_queue_call(World& world, const DrawnQueueCall& call, berth_error& error) {
  static constexpr std::array<const char*, 4> kRejectors = {"NodeResourcesFit", "NodeUnschedulable, TaintToleration",
                                                            "InterPodAffinity,PodTopologySpread,", ""};
  constexpr std::int64_t kSecondUs = 1'000'000;
  if (world.queue == nullptr) {
    berth_queue* made = nullptr;
    const berth_status status = berth_queue_create(world.cluster.get(), nullptr, &made, &error);
    world.queue.reset(made);
    return said(status, error);
  }
  berth_queue* const queue = world.queue.get();
  const std::string uid = "uid-p" + std::to_string(call.number);
  const char* const rejectors = kRejectors[call.flags % kRejectors.size()];
  std::int64_t now_us = 0;
  berth_queue_times(queue, &now_us, nullptr, nullptr);
  berth_status status = BERTH_OK;
  std::string popped;
  switch (call.what) {
    case 0:
    case 1:
      status = berth_queue_add(queue, call.pod, &error);
      break;
    case 2:
    case 3: {
      berth_pod* pod = nullptr;
      status = berth_queue_pop(queue, &pod, &error);
      berth_str of{};
      if (pod != nullptr) berth_pod_uid(pod, &of, nullptr);
      popped.assign(of.data == nullptr ? "" : of.data, of.size);
      // Mostly it fails at once: few other calls are about a pod that is tried.
      if (pod != nullptr && call.number % 4 != 0)
        status = berth_queue_fail(queue, pod, rejectors, call.flags == 0 ? rejectors : nullptr, &error);
      berth_pod_free(&pod);
      break;
    }
    case 4:
      status = berth_queue_fail(queue, call.pod, rejectors, nullptr, &error);
      break;
    case 5:
      status =
          call.flags % 2 == 0 ? berth_queue_done(queue, call.pod, &error) : berth_queue_remove(queue, call.pod, &error);
      break;
    case 6:
      status =
          berth_queue_advance(queue, now_us + (static_cast<std::int64_t>(call.number) - 1) * 3 * kSecondUs, &error);
      break;
    case 7:
      status = call.flags % 2 == 0 ? berth_queue_pod_came(queue, call.fork, uid.c_str(), &error)
                                   : berth_queue_pod_leaves(queue, call.fork, uid.c_str(), &error);
      break;
    default:
      status = call.flags == 3
                   ? berth_queue_node_changed(queue, call.node.data(), call.node.size(), nullptr, 0, &error)
                   : berth_queue_node_changed(queue, nullptr, 0, call.node.data(), call.node.size(), &error);
  }
  return said(status, error) + '\n' + popped + '\n' + state_of(queue);
}

}  // namespace berth::test
