// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/backend_choice.h"

#include <unordered_set>

#include "host/objects/pod_state.h"

namespace berth {
namespace {

std::string text_of(const WorkShape& work) {
  return std::to_string(work.nodes) + (work.nodes == 1 ? " node x " : " nodes x ") +
         std::to_string(work.kinds_of_pods) + (work.kinds_of_pods == 1 ? " kind of pods" : " kinds of pods");
}

}  // namespace

bool may_gain(const WorkShape& work, const GainThresholds& thresholds) {
  return !work.pod_by_pod && work.kinds_of_pods >= thresholds.kinds_of_pods_min &&
         work.nodes >= (thresholds.evaluations_min + work.kinds_of_pods - 1) / work.kinds_of_pods;
}

BackendChoice choose_backend(const WorkShape& work, const std::optional<DeviceFacts>& device,
                             std::string_view device_problem, const GainThresholds& thresholds) {
  if (work.pod_by_pod) return {"cpu", "a device is not asked about kube's node sampling and order of ties"};
  if (!may_gain(work, thresholds)) return {"cpu", text_of(work) + " is below the gain threshold"};
  if (!device) return {"cpu", std::string(device_problem)};
  return {"cuda", text_of(work) + " on " + device_text(*device)};
}

WorkShape work_shape(const ClusterObjects& objects, const EngineConfig& engine) {
  WorkShape work;
  work.nodes = static_cast<std::int64_t>(objects.nodes.size());
  work.pod_by_pod = engine.node_sampling == NodeSampling::kKube || engine.tie_break == TieBreak::kKube;
  std::unordered_set<const PodSpec*> specs;
  const PodSpec* last = nullptr;  // equal pods mostly stand together
  for (const PodPtr& pod : objects.pods) {
    if (pod->spec.get() == last || !is_pending(*pod)) continue;
    last = pod->spec.get();
    specs.insert(last);
  }
  work.kinds_of_pods = static_cast<std::int64_t>(specs.size());
  return work;
}

}  // namespace berth
