// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "host/objects/pod.h"
#include "host/objects/resources.h"

namespace berth {

/// The figures that the resource plugins read of one pod: the table "The callers" of
/// docs/behaviour/plugins-node.md 1.3.
struct RequestOptions {
  bool non_zero_defaults = false;  ///< 100m cpu and 200Mi memory for containers that name none
  bool pod_level = true;
  bool status_resources = false;               ///< in-place resize; of pods on a node, with few exceptions
  bool status_resources_by_aggregate = false;  ///< v1.36 line: maximum over pod aggregates, init containers included
};

ResourceAmounts pod_requests(const Pod& pod, const RequestOptions& options);
/// The same, exact and with every name, also those that no plugin accounts. Without non_zero_defaults.
ResourceList exact_pod_requests(const Pod& pod, const RequestOptions& options);
/// The limits of a pod, exact and with every name; overhead is added to a limit that is not 0. As PodLimits() of
/// k8s.io/component-helpers/resource gives them without options.
ResourceList exact_pod_limits(const PodSpec& spec);

/// Steps 3 to 5 of docs/behaviour/plugins-node.md 1.3 over the containers' requests, or over their limits: exact, names
/// kept.
ResourceList container_requests_total(const PodSpec& spec);
ResourceList container_limits_total(const PodSpec& spec);
/// cpu, memory and hugepages-*: what spec.resources may name.
bool is_pod_level_resource(std::string_view name);

/// The pod has resources in its status, or a condition that concerns them.
bool has_status_resources(const Pod& pod);

/// NodeResourcesFit Filter, incoming pod.
ResourceAmounts filter_requests(const Pod& pod);
/// NodeResourcesBalancedAllocation, incoming pod.
ResourceAmounts balanced_requests(const Pod& pod);
/// NodeResourcesFit Score, incoming pod: container defaults, pod-level requests ignored (a quirk that v1.35 has).
ResourceAmounts score_requests(const Pod& pod);
/// What the pod adds to Requested of its node.
ResourceAmounts requested_on_node(const Pod& pod);
/// What the pod adds to NonZeroRequested of its node; only cpu and memory are meant.
ResourceAmounts non_zero_requested_on_node(const Pod& pod);
/// The same with the status rule of another release; `options.non_zero_defaults` has to be set.
ResourceAmounts non_zero_requested_on_node(const Pod& pod, const RequestOptions& options);

}  // namespace berth
