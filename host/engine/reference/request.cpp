// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/request.h"

#include <algorithm>

#include "host/engine/reference/node_state.h"
#include "host/objects/pod_requests.h"

namespace berth::reference {
namespace {

std::vector<std::string> features_needed(const PodSpec& spec) {
  const auto restarts = [](const Container& container) { return container.restarts_all_containers; };
  if (std::any_of(spec.containers.begin(), spec.containers.end(), restarts) ||
      std::any_of(spec.init_containers.begin(), spec.init_containers.end(), restarts)) {
    return {"RestartAllContainersOnContainerExits"};
  }
  return {};
}

}  // namespace

Request make_request(const Pod& pod, const Profile& profile, const FeatureGates& gates, const ClusterView& cluster) {
  Request request{&pod,
                  &profile,
                  &gates,
                  &cluster,
                  filter_requests(pod),
                  score_requests(pod),
                  balanced_requests(pod),
                  host_ports_of(*pod.spec),
                  {},
                  false};
  if (gates.enabled("NodeDeclaredFeatures")) request.needed_features = features_needed(*pod.spec);
  request.compares_taints = gates.enabled("TaintTolerationComparisonOperators");
  return request;
}

}  // namespace berth::reference
