// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"

namespace berth {

/// A pod of the input that was asked for by name.
struct FoundPod {
  PodPtr pod;        ///< null for a finished pod whose name alone was kept
  std::string name;  ///< "namespace/name"
};

/// Finds the pods that a person means: by "namespace/name", or by a name alone, in `name_space` when that is not empty.
/// A full name of another namespace is an error then.
/// Of several pods of one name a pending one comes before a running one, and that before a finished one.
/// @param finished  of objects.terminal_pods, in the same order; or empty
/// @throws std::runtime_error with a line for each name that no pod or several pods have; it suggests near names
std::vector<FoundPod> find_pods(const std::vector<std::string>& names, const std::string& name_space,
                                const ClusterObjects& objects, const std::vector<PodPtr>& finished = {});

/// Up to three full names of pods that a mistyped or shortened `name` may mean, best first: the same name in
/// another namespace, names that begin with it or contain it, names of few other letters.
std::vector<std::string> near_pod_names(std::string_view name, const ClusterObjects& objects);

}  // namespace berth
