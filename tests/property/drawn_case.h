// SPDX-License-Identifier: Apache-2.0
#pragma once

// One random case of the tests that compare backends: cluster, configuration, engine settings and tuning, all from one
// seed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/engine/cpu/tuning.h"
#include "host/objects/cluster_objects.h"
#include "tests/property/dice.h"
#include "tests/support/host_plugins.h"

namespace berth::test {

EngineConfig draw_engine(Dice& dice);

CpuTuning draw_tuning(Dice& dice);

/// Pending pods in runs: each is repeated up to a dozen times under other names.
ClusterObjects draw_cluster(Dice& dice, std::uint64_t seed, bool nominated_pods = true);

/// Pods that a run would place, in the order of `objects`, each for a random one of `profiles`.
std::vector<PodToPlace> pending_pods(Dice& dice, const ClusterObjects& objects, std::size_t profiles);

struct Case {
  explicit Case(std::uint64_t seed, bool nominated_pods = true, bool host_plugins = false);

  Dice dice;
  ClusterObjects objects;
  SchedulerConfig config;
  EngineConfig engine;
  CpuTuning tuning;
  std::shared_ptr<ClusterCache> cache;
  std::vector<PodToPlace> pods;
  std::size_t batch_pods;
  /// Of the plugins of test::make_host_plugins(); null where there are none.
  std::shared_ptr<HostPluginState> host_state;
};

/// A node's name with the total, or the text and the rejectors of an unplaced pod.
std::string describe(const Outcome& outcome, const BatchResult& batch, std::string_view node_name);
inline std::string describe(const Outcome& outcome, const BatchResult& batch, const Backend& backend) {
  return describe(outcome, batch, backend.node_name(outcome.node));
}

/// Fails the property at the first pod whose results differ.
void expect_equal(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                  const std::vector<PodToPlace>& pods);

/// Fails the property when verdicts, totals, best nodes, texts or rejectors differ. Both list the nodes in node order,
/// whatever slots they have.
void expect_equal(const Evaluation& expected, const Evaluation& actual);

/// A pod placed alone, by names: what Backend::probe() says of it before, and the nodes that it leaves over.
struct RankedAnswer {
  NodeProbe probe;
  std::string outcome;
  std::string node;  ///< empty: none
  std::vector<std::string> others;
  friend bool operator==(const RankedAnswer&, const RankedAnswer&) = default;
};
/// @param probed  name of a node; may be empty
RankedAnswer ranked_answer(Backend& backend, PodToPlace pod, std::string_view probed);

}  // namespace berth::test
