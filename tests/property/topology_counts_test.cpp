// SPDX-License-Identifier: Apache-2.0
// Counters that are updated with every placement must equal a recount of all pods.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "batching/pod_class.h"
#include "host/generate/random_cluster.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

/// Pods are added, removed and changed at random; placements are kept aside or given to the cache.
class Churn {
 public:
  explicit Churn(std::uint64_t seed)
      : dice_(seed),
        objects_(draw(seed)),
        config_(default_scheduler_config(FeatureGates())),
        cache_(test::fill_cache(objects_)),
        snapshot_(*cache_),
        table_(objects_, config_, EngineConfig{}, snapshot_, *cache_) {
    for (const PodPtr& pod : objects_.pods)
      if (pod->node_name.empty()) waiting_.push_back({pod, 0, -1});
  }

  void step() {
    switch (upto(6)) {
      case 0:
      case 1:
        return place_next();
      case 2:
        return take_back_last();
      case 3:
        return give_to_cache();
      case 4:
        return remove_running();
      case 5:
        return update_running();
      default:
        return change_node();
    }
  }

  /// Empty, or the first entry that a recount contradicts.
  std::string difference() {
    const TopologyCounts expected = table_.topology().recount(placed_);
    const TopologyCounts& actual = snapshot_.topology();
    for (std::int32_t t = 0; t < actual.table_count(); ++t) {
      const DomainColumn& column = actual.column(actual.column_of(t));
      for (std::int32_t d = 0; d <= column.domain_count; ++d)
        if (expected.count(t, d) != actual.count(t, d))
          return "table " + std::to_string(t) + " of " + column.key + ", domain " + std::to_string(d) + ": " +
                 std::to_string(actual.count(t, d)) + ", counted " + std::to_string(expected.count(t, d));
      if (expected.total(t) != actual.total(t)) return "total of table " + std::to_string(t);
      if (expected.existing_domains(t) != actual.existing_domains(t)) return "domains of table " + std::to_string(t);
      if (actual.existing_domains(t) > 0 && lowest(actual, t) != actual.minimum(t))
        return "minimum of table " + std::to_string(t);
    }
    return {};
  }

 private:
  static ClusterObjects draw(std::uint64_t seed) {
    RandomClusterOptions options;
    options.max_nodes = 12;
    options.topology_percent = 100;
    return random_cluster(seed, options);
  }
  std::size_t upto(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(dice_); }

  /// Over existing domains: all of them without a mask, so that tables with a mask are checked by count only.
  static std::int64_t lowest(const TopologyCounts& counts, std::int32_t t) {
    const DomainColumn& column = counts.column(counts.column_of(t));
    if (counts.existing_domains(t) < column.domain_count) return counts.minimum(t);
    std::int64_t lowest = counts.count(t, 1);
    for (std::int32_t d = 2; d <= column.domain_count; ++d) lowest = std::min(lowest, counts.count(t, d));
    return lowest;
  }

  void place_next() {
    if (waiting_.empty() || snapshot_.node_count() == 0) return;
    PodToPlace pod = waiting_.back();
    waiting_.pop_back();
    table_.compile({&pod, 1}, placed_);
    if (pod.class_index < 0) return;
    const auto node = static_cast<std::int32_t>(upto(static_cast<std::size_t>(snapshot_.node_count()) - 1));
    snapshot_.write_topology().add_all(table_[pod.class_index].moves, node, 1);
    placed_.push_back({pod.pod.get(), node, pod.class_index});
    placed_pods_.push_back(pod.pod);
  }

  void take_back_last() {
    if (placed_.empty()) return;
    const AnsweredPod last = placed_.back();
    snapshot_.write_topology().add_all(table_.topology().moves_of(*last.pod, 0), last.node, -1);
    waiting_.push_back({placed_pods_.back(), 0, -1});
    placed_.pop_back();
    placed_pods_.pop_back();
  }

  void give_to_cache() {
    for (std::size_t i = 0; i < placed_.size(); ++i)
      cache_->assume_pod(placed_pods_[i], snapshot_.node(placed_[i].node).name);
    sync();
  }

  PodPtr any_running() {
    std::vector<PodPtr> running;
    for (const NodeInfo* info : cache_->nodes_in_order())
      for (const PodPtr& pod : info->pods)
        if (!cache_->is_assumed(pod->uid())) running.push_back(pod);
    return running.empty() ? nullptr : running[upto(running.size() - 1)];
  }

  void remove_running() {
    if (const PodPtr pod = any_running()) cache_->remove_pod(pod->uid());
    give_to_cache();
  }

  void update_running() {
    const PodPtr pod = any_running();
    if (pod == nullptr) return;
    auto changed = std::make_shared<Pod>();
    changed->name = pod->name;
    changed->namespace_ = pod->namespace_;
    changed->stored_uid = pod->stored_uid;
    changed->node_name = pod->node_name;
    changed->spec = pod->spec;
    changed->terminating = upto(1) == 0;
    const auto& other = objects_.pods[upto(objects_.pods.size() - 1)];
    changed->labels = upto(1) == 0 ? pod->labels : other->labels;
    cache_->update_pod(changed);
    give_to_cache();
  }

  void change_node() {
    if (snapshot_.node_count() == 0) return;
    const auto i = static_cast<std::int32_t>(upto(static_cast<std::size_t>(snapshot_.node_count()) - 1));
    auto node = std::make_shared<Node>(snapshot_.node(i));
    const auto j = static_cast<std::int32_t>(upto(static_cast<std::size_t>(snapshot_.node_count()) - 1));
    node->labels = snapshot_.node(j).labels;
    if (upto(3) == 0) {
      cache_->remove_node(node->name);
    } else {
      cache_->update_node(node);
    }
    give_to_cache();
  }

  void sync() {
    const Snapshot::Update update = snapshot_.update(*cache_);
    if (!update.nodes_changed) table_.topology().recount_nodes(update.touched, placed_);
    placed_.clear();
    placed_pods_.clear();
    if (update.nodes_changed) table_.recompile();
  }

  std::mt19937_64 dice_;
  ClusterObjects objects_;
  SchedulerConfig config_;
  std::unique_ptr<ClusterCache> cache_;
  Snapshot snapshot_;
  ClassTable table_;
  std::vector<PodToPlace> waiting_;
  std::vector<AnsweredPod> placed_;
  std::vector<PodPtr> placed_pods_;
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
