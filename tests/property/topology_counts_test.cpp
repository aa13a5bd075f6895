// SPDX-License-Identifier: Apache-2.0
// Counters that are updated with every placement and every event must equal a recount of all pods.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "batching/commit_state.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"

namespace berth {
namespace {

using test::Case;

/// Pods are placed on random nodes, taken back and undone, between events of the cluster.
class Churn {
 public:
  explicit Churn(std::uint64_t seed)
      : drawn_(seed),
        history_(drawn_),
        state_(drawn_.cache, drawn_.objects, drawn_.config, drawn_.engine, "test"),
        waiting_(drawn_.pods) {
    state_.result = &result_;
    state_.table.sweep_after(static_cast<std::int32_t>(drawn_.dice.upto(10)), kSweepShare);
  }

  void step() {
    switch (drawn_.dice.upto(5)) {
      case 0:
      case 1:
        return place_next();
      case 2:
        return state_.rollback({std::max<std::uint64_t>(settled_at_, last_mark())});
      case 3:
        state_.settle();
        settled_at_ = state_.mark().position;
        return;
      case 4:
        if (!drawn_.pods.empty()) state_.undo(*drawn_.dice.pick(drawn_.pods).pod);
        return;
      default:
        state_.apply(history_.draw(drawn_.dice, 3));
    }
  }

  /// Empty, or the first entry that a recount contradicts.
  std::string difference() {
    const TopologyCounts expected = state_.table.topology().recount(state_.not_folded());
    const TopologyCounts& actual = state_.snapshot.topology();
    for (std::int32_t t = 0; t < actual.table_count(); ++t) {
      const DomainColumn& column = actual.column(actual.column_of(t));
      for (std::int32_t d = 0; d <= column.domain_count; ++d)
        if (expected.count(t, d) != actual.count(t, d))
          return "table " + std::to_string(t) + " of " + column.key + ", domain " + std::to_string(d) + ": " +
                 std::to_string(actual.count(t, d)) + ", counted " + std::to_string(expected.count(t, d));
      if (expected.total(t) != actual.total(t)) return "total of table " + std::to_string(t);
      if (!actual.tracks_minimum(t)) continue;
      if (expected.existing_domains(t) != actual.existing_domains(t)) return "domains of table " + std::to_string(t);
      if (lowest(actual, t) != actual.minimum(t)) return "minimum of table " + std::to_string(t);
    }
    return {};
  }

 private:
  /// Over existing domains.
  static std::int64_t lowest(const TopologyCounts& counts, std::int32_t t) {
    const auto nodes = TopologyCounts::nodes_that_count(counts.column(counts.column_of(t)), counts.mask_of(t));
    std::int64_t lowest = INT32_MAX;
    for (std::size_t d = 1; d < nodes.size(); ++d)
      if (nodes[d] > 0) lowest = std::min(lowest, counts.count(t, static_cast<std::int32_t>(d)));
    return lowest;
  }

  std::uint64_t last_mark() const {
    const std::uint64_t now = state_.mark().position;
    return now == 0 ? 0 : now - 1;
  }

  void place_next() {
    if (waiting_.empty() || state_.snapshot.node_count() == 0) return;
    PodToPlace pod = waiting_.back();
    waiting_.pop_back();
    state_.compile({&pod, 1});
    std::int32_t node = 0;
    do {
      node = static_cast<std::int32_t>(drawn_.dice.upto(state_.snapshot.slot_count() - 1));
    } while (!state_.snapshot.has_node(node));
    if (pod.class_index >= 0 && state_.cluster.cache().get_pod(pod.pod->uid()) == nullptr) state_.place(pod, node, 0);
  }

  Case drawn_;
  test::ClusterHistory history_;
  CommitState state_;
  BatchResult result_;
  std::vector<PodToPlace> waiting_;
  std::uint64_t settled_at_ = 0;
};

RC_GTEST_PROP(TopologyCounts, HoldWhatARecountGivesAfterEveryMove, ()) {
  Churn churn(*rc::gen::arbitrary<std::uint64_t>());
  for (int step = 0; step < 40; ++step) {
    churn.step();
    const std::string difference = churn.difference();
    if (!difference.empty()) RC_FAIL("after step " + std::to_string(step) + ": " + difference);
  }
}

}  // namespace
}  // namespace berth
