// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/perf/workload_plan.h"

namespace berth::test {

/// A folder with a few template files of our own (nodes.yaml, numbered-node.yaml, pod.yaml, numbered-pod.yaml,
/// claim-pod.yaml, volume.yaml, service.yaml, extender.yaml and out-of-tree.yaml for schedulers), removed at the end of
/// the process. With a slash at its end.
const std::string& template_folder();

/// The test case "Case" with the workload "Small", in a file of that folder.
/// @param ops       the entries of workloadTemplate, indented by two spaces
/// @param workload  further fields of the workload, indented by four spaces
PerfFile small_file(const std::string& ops, const std::string& workload = "");

/// The plan of the only workload of small_file().
WorkloadPlan small_plan(const std::string& ops, const std::string& workload = "", PlanScale scale = {});

}  // namespace berth::test
