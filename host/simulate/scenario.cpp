// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/scenario.h"

#include <algorithm>

#include "host/objects/expand.h"
#include "host/objects/pod_copy.h"
#include "host/objects/pod_names.h"
#include "host/objects/pod_state.h"

namespace berth {

ClusterObjects Arrivals::copy(std::int64_t k, std::vector<InputProblem>& problems) const {
  ClusterObjects objects;
  const std::string suffix = "-" + std::to_string(k);
  if (const auto* pod_model = std::get_if<PodPtr>(&model)) {
    const std::shared_ptr<Pod> pod = copy_of(**pod_model);
    pod->name += suffix;
    pod->stored_uid.clear();
    pod->creation_time_us = 0;
    objects.pods.push_back(pod);
    return objects;
  }
  std::vector<DecodedWorkload> workloads = {std::get<DecodedWorkload>(model)};
  workloads.front().workload.name += suffix;
  workloads.front().workload.uid.clear();
  workloads.front().creation_time_us = 0;
  PodNames names;
  for (InputProblem& problem :
       expand_workloads(std::move(workloads), {location}, {.pods_max = kScenarioPodsMax}, *pools, names, objects))
    problems.push_back(std::move(problem));
  return objects;
}

std::int64_t start_of(const ClusterObjects& cluster, StartRule rule) {
  std::int64_t latest_us = 0;
  std::int64_t earliest_us = INT64_MAX;
  for (const PodPtr& pod : cluster.pods) {
    latest_us = std::max({latest_us, pod->creation_time_us, pod->start_time_us});
    if (pod->creation_time_us > 0 && is_pending(*pod)) earliest_us = std::min(earliest_us, pod->creation_time_us);
  }
  if (rule == StartRule::kLatest) return latest_us > 0 ? latest_us : kDefaultStartUs;
  return earliest_us < INT64_MAX ? earliest_us : kDefaultStartUs;
}

PodPtr with_run_duration(PodPtr pod, std::int64_t run_duration_us) {
  if (pod->rare().run_duration_us) return pod;
  const std::shared_ptr<Pod> copy = copy_of(*pod);
  PodRare rare = copy->rare();
  rare.run_duration_us = run_duration_us;
  copy->rare_fields = std::make_unique<const PodRare>(std::move(rare));
  return copy;
}

}  // namespace berth
