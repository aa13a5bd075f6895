// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host/objects/cluster_objects.h"

namespace berth {

/// Options of random_cluster. Counts are upper bounds; small and large clusters are equally likely.
struct RandomClusterOptions {
  std::int32_t max_nodes = 30;
  std::int32_t max_running_pods = 80;
  std::int32_t max_pending_pods = 40;
  bool overcommitted_nodes = true;     ///< running pods that do not fit where they are
  bool malformed_affinity = true;      ///< parse errors; in preferred terms they end a pod's cycle with an error
  bool comparison_tolerations = true;  ///< operators Gt and Lt
  bool pod_level_resources = true;
  bool status_resources = true;           ///< in-place resize figures of running pods
  bool pending_status_resources = false;  ///< the same of pending pods, of which a kubelet says nothing as a rule
  bool nominated_pods = true;             ///< status.nominatedNodeName, unknown nodes included
  bool gated_pods = true;
  bool foreign_scheduler_names = true;  ///< pods of "other-scheduler", which no default profile serves
  bool pods_on_unknown_nodes = true;
  bool volumes_and_claims = false;  ///< pods that storage and device plugins have to look at
  /// Share of the clusters, in percent, with storage objects and pods that use them.
  std::int32_t volumes_percent = 0;
  /// Share of the clusters, in percent, with fields that PodTopologySpread and InterPodAffinity read.
  std::int32_t topology_percent = 30;
  bool configuration = false;   ///< some pods name the second profile of random_configuration(seed), if it has one
  bool odd_quantities = false;  ///< requests that nobody would write: 10^-3 of a byte, 10^9 cores
};

/// Draws a cluster with a bias to edge cases: equal and missing labels, unparsable numbers under Gt and
/// Lt, zero and absent requests, requests equal to the free amount or one unit more or less, and so on
/// (docs/generate.md has the list). The same seed and options give the same cluster on every platform. Objects have the
/// form that the loader gives after admission, so writing and loading them changes nothing. Pods of equal spec share
/// it.
ClusterObjects random_cluster(std::uint64_t seed, const RandomClusterOptions& options = {});

}  // namespace berth
