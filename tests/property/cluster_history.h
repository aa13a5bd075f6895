// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random events of a cluster: nodes that come, change, go and return, pods that come, change and go, nominations,
// namespaces, Services and workloads. Some bring names, labels and namespaces that were never seen.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/cluster/cluster_change.h"
#include "host/cluster/engine_cluster.h"
#include "tests/property/drawn_case.h"

namespace berth::test {

/// What the cluster looks like after the events drawn so far, and the next event.
class ClusterHistory {
 public:
  /// @param objects  must outlive this, and give what the events are made of. @param cache  copied
  ClusterHistory(const ClusterObjects& objects, std::shared_ptr<const ClusterCache> cache);
  explicit ClusterHistory(const Case& drawn) : ClusterHistory(drawn.objects, drawn.cache) {}
  /// Of a fork, from the same moment on.
  ClusterHistory(const ClusterHistory& other);

  /// The engine under test answered for the pod. @param node  empty: it found none
  void answered(const PodPtr& pod, const std::string& node);
  void undone(const Pod& pod);
  /// By the engine, and not confirmed.
  bool is_placed(const Pod& pod) const { return cluster_.cache().is_assumed(pod.uid()); }
  bool is_on_a_node(const Pod& pod) const;
  /// The pods that is_placed(), by uid, and which placement of each that is: one that ended may come again.
  using Placements = std::map<std::string, int>;
  Placements placements() const;
  /// The engine rolled back to a moment when just these placements were there.
  void rolled_back(const Placements& then);

  /// 1 to `most` events, which are part of the history now.
  std::vector<ClusterChange> draw(Dice& dice, std::int64_t most);

  /// The same of the events that a fork takes. @param node_share  one of so many is of a node
  /// @param nominations  whether nominations are among them, which forks of berth.h do not take
  std::vector<ClusterChange> draw_for_fork(Dice& dice, std::int64_t most, std::int64_t node_share = 8,
                                           bool nominations = true);

  /// What an engine that is opened now has to be given, and told of.
  std::shared_ptr<ClusterCache> cache() const { return std::make_shared<ClusterCache>(cluster_.cache()); }
  /// Which follows the history.
  const ClusterCache& live_cache() const { return cluster_.cache(); }
  ClusterObjects objects() const { return cluster_.objects().listed(); }
  std::vector<ClusterChange> nominations() const;

  std::string any_node(Dice& dice) const;
  /// An event that was not drawn.
  void follow(const ClusterChange& change);

 private:
  ClusterChange draw_one(Dice& dice);
  ClusterChange draw_node(Dice& dice);
  ClusterChange draw_pod(Dice& dice);
  ClusterChange draw_nomination(Dice& dice);
  ClusterChange draw_selector(Dice& dice);
  ClusterChange draw_namespace(Dice& dice);
  ClusterChange draw_fate_of_placed(Dice& dice);
  LabelMap with_new_label(const LabelMap& labels, Dice& dice);
  static std::string any_new_namespace(Dice& dice);
  enum class Kind : std::uint8_t { kPlaced, kConfirmed };
  std::vector<PodPtr> pods_on_nodes(Kind kind) const;

  const ClusterObjects& start_;
  EngineCluster cluster_;
  std::map<std::string, NominationUpsert> nominations_;
  std::vector<NodePtr> gone_;
  Placements last_placement_;  ///< of every pod that was placed
  int placed_ = 0;             ///< placements so far
  int made_ = 0;
};

/// Places half of the case's pods in batches, with events and undone placements between them.
void place_between_events(Case& drawn, Backend& backend, ClusterHistory& history);
/// Those of the pods that do not stand on a node.
std::vector<PodToPlace> not_placed(const std::vector<PodToPlace>& pods, const ClusterHistory& history);

}  // namespace berth::test
