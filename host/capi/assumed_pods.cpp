// SPDX-License-Identifier: Apache-2.0
// Pods that a cluster assumes on nodes, and forgets.

#include <mutex>
#include <string>

#include "host/capi/api_error.h"
#include "host/capi/cluster.h"
#include "host/cluster/engine_cluster.h"

namespace berth::capi {

void Cluster::assume(const ReadPod& pod, const std::string& node_name) {
  if (pod.not_judged) throw ApiError(BERTH_E_UNSUPPORTED, "Pod " + pod.given->full_name(), pod.not_judged->text);
  const std::unique_lock alone(mutex_);
  if (backend_->find_node(node_name) == kNoNode)
    throw ApiError(BERTH_E_NOT_FOUND, "Node " + node_name, "there is no such node");
  if (const NodeInfo* const node = backend_->cluster().cache().node_of_pod(pod.uid))
    throw ApiError(BERTH_E_EXISTS, "Pod " + pod.given->full_name(), "stands on node " + node->name);
  backend_->place(pod.as_moved, node_name);
  ++facts_.version;
}

void Cluster::forget(const ReadPod& pod) {
  const std::unique_lock alone(mutex_);
  NominationUpsert nomination;
  if (const auto known = facts_.nominated->find(pod.uid); known != facts_.nominated->end())
    nomination = {known->second, known->second->rare().nominated_node_name};
  if (!backend_->undo(*pod.as_moved.pod, nomination.pod != nullptr ? &nomination : nullptr))
    throw ApiError(BERTH_E_NOT_FOUND, "Pod " + pod.given->full_name(), "is not assumed");
  ++facts_.version;
}

}  // namespace berth::capi
