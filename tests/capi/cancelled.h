// SPDX-License-Identifier: Apache-2.0
#pragma once

// A cluster on which calls take a while, and tokens that are triggered while they run.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/support/sanitized.h"

namespace berth::test {

// A sanitizer makes a call long enough with less.
inline constexpr int kNodes = kIsSanitized ? 60 : 120;
inline constexpr int kPodsOnNode = 6;
inline constexpr int kWaiting = kIsSanitized ? 600 : 1000;

/// Nodes with pods of many classes, and pods that wait. Nothing changes it.
struct Loaded {
  Loaded() : cluster(make_cluster("cpu", 1)) {
    std::string nodes = R"({"apiVersion":"v1","kind":"List","items":[)";
    std::string running = nodes;
    for (int n = 0; n < kNodes; ++n) {
      const std::string name = "n" + std::to_string(n);
      nodes += (n > 0 ? "," : "") + node_json({.name = name, .cpu = 32, .zone = n % 3, .pods = 40});
      for (int p = 0; p < kPodsOnNode; ++p)
        running += (n + p > 0 ? "," : "") + pod_json({.name = name + "-" + std::to_string(p),
                                                      .milli_cpu = 100 + 10 * ((n + p) % 40),
                                                      .app = (7 * n + p) % 20,
                                                      .node = name,
                                                      .spreads = p == 0});
    }
    upsert(cluster.get(), nodes + "]}");
    upsert(cluster.get(), running + "]}");
    for (int i = 0; i < kWaiting; ++i)
      pods.push_back(pod_of(cluster.get(), pod_json({.name = "w" + std::to_string(i),
                                                     .milli_cpu = 100 + i % 300,
                                                     .app = i % 50,
                                                     .spreads = i % 3 == 0,
                                                     .alone = i % 7 == 1 && i % 3 != 0})));
    for (int i = 0; i < 12; ++i)
      shapes.push_back(pod_of(cluster.get(), pod_json({.name = "s" + std::to_string(i),
                                                       .milli_cpu = 500 + i,
                                                       .app = 100 + i,
                                                       .spreads = true,
                                                       .spreads_hosts = true})));
    for (const OwnedPod& pod : pods) waiting.push_back(pod.get());
    for (const OwnedPod& shape : shapes) placed_shapes.push_back(shape.get());
    for (int i = 0; i < 30; ++i)
      node_texts.push_back(node_json({.name = "t" + std::to_string(i), .cpu = 8 + i, .zone = 1, .pods = 40}));
    for (const std::string& text : node_texts) {
      new_nodes.push_back(BERTH_SHAPE_INIT);
      new_nodes.back().node = text.data();
      new_nodes.back().node_size = text.size();
      new_nodes.back().price = 1;
    }
    for (const berth_shape& shape : new_nodes) new_node_list.push_back(&shape);
    for (int n = 0; n < kNodes; ++n) numbers.push_back(node_number(cluster.get(), "n" + std::to_string(n)));
    snapshot = snapshot_of(cluster.get());
  }

  OwnedCluster cluster;
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> waiting;
  std::vector<OwnedPod> shapes;
  std::vector<const berth_pod*> placed_shapes;  ///< copies of which are counted by placing them
  std::vector<std::string> node_texts;
  std::vector<berth_shape> new_nodes;
  std::vector<const berth_shape*> new_node_list;
  std::vector<std::uint32_t> numbers;
  OwnedSnapshot snapshot;
};

struct Stop {
  std::uint64_t deadline_us = 0;
  const berth_cancel* cancel = nullptr;
};
template <class Options>
Options with(const Stop& stop, Options options) {
  options.deadline_us = stop.deadline_us;
  options.cancel = stop.cancel;
  return options;
}

/// Triggers a token from another thread, a while after `call` has begun; the while grows until the call is done before.
/// On a busy machine the other thread may long miss the call each time, so that this is tried for a minute.
/// @param call(token)  @return whether it was done, and whether it was cut somewhere behind its begin
template <class Call>
bool is_cut_somewhere(Call call) {
  bool is_cut = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_cut && !testing::Test::HasFailure() && std::chrono::steady_clock::now() < end)
    for (std::int64_t wait_us = 50; wait_us < 100'000'000; wait_us += kIsSanitized ? wait_us : wait_us / 3) {
      const OwnedCancel cancel = make_cancel();
      std::atomic<bool> begins = false;
      std::thread other([&] {
        while (!begins) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
        berth_cancel_trigger(cancel.get());
      });
      begins = true;
      const auto [is_done, was_cut] = call(cancel.get());
      other.join();
      is_cut = is_cut || was_cut;
      if (is_done || testing::Test::HasFailure()) break;
    }
  return is_cut;
}

inline const Loaded& loaded() {
  static const Loaded the_one;
  return the_one;
}

}  // namespace berth::test
