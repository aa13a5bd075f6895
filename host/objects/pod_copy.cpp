// SPDX-License-Identifier: Apache-2.0
#include "host/objects/pod_copy.h"

namespace berth {

std::shared_ptr<Pod> copy_of(const Pod& pod) {
  auto copy = std::make_shared<Pod>();
  copy->name = pod.name;
  copy->namespace_ = pod.namespace_;
  copy->stored_uid = pod.stored_uid;
  copy->labels = pod.labels;
  copy->spec = pod.spec;
  copy->node_name = pod.node_name;
  copy->owners = pod.owners;
  if (pod.rare_fields != nullptr) copy->rare_fields = std::make_unique<const PodRare>(*pod.rare_fields);
  copy->creation_time_us = pod.creation_time_us;
  copy->start_time_us = pod.start_time_us;
  copy->priority = pod.priority;
  copy->preemption_policy = pod.preemption_policy;
  copy->phase = pod.phase;
  copy->terminating = pod.terminating;
  return copy;
}

std::shared_ptr<Pod> pending_copy_of(const Pod& pod) {
  auto copy = copy_of(pod);
  copy->node_name.clear();
  copy->start_time_us = 0;
  copy->phase = PodPhase::kPending;
  copy->terminating = false;
  if (pod.rare_fields != nullptr) {
    PodRare rare = *pod.rare_fields;
    rare.nominated_node_name.clear();
    rare.status_resources.clear();
    rare.resize_infeasible = false;
    rare.preempted = false;
    copy->rare_fields = std::make_unique<const PodRare>(std::move(rare));
  }
  return copy;
}

}  // namespace berth
