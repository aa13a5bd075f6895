// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"
#include "host/cli/input_options.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// `berth explain`: what one pod, or each pending pod alone, means to every node of the cluster as loaded.
struct ExplainCommand {
  InputOptions input;
  ConfigOptions config;
  std::string pod;  ///< "namespace/name", or a name that one pending pod has; empty with `all`
  bool all = false;
  std::string format = "table";  ///< table, json
};

/// @throws InputError, UsageError, OutputError, std::runtime_error
ExitCode run(const ExplainCommand& command);

/// Finds the pod that a person means.
/// @param pending  pods that can be explained
/// @throws std::runtime_error saying what there is instead: a pod that is on a node, several of that name, none
PodPtr find_pod(std::string_view name, std::span<const PodPtr> pending, const ClusterObjects& objects);

}  // namespace berth
