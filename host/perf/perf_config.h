// SPDX-License-Identifier: Apache-2.0
#pragma once

// A workload file of upstream's scheduler_perf (kubernetes test/integration/scheduler_perf, v1.35) as it is written:
// test cases, their operations, and their workloads with parameters.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/objects/volumes.h"

namespace berth {

/// A number that a file gives, or the name of the parameter that gives it.
struct PerfCount {
  std::int64_t value = 0;
  std::string param = {};  ///< without its "$"; empty: `value` counts
};

using PerfSelector = std::map<std::string, std::string>;  ///< labels that a pod must have; empty: every pod

/// What is done to the nodes of a createNodes operation once all are there.
struct LabelNodes {
  std::string key;
  std::vector<std::string> values;  ///< in turn; at least one
};
struct LabelNodesUniquely {
  std::string key;
};
/// Makes a CSINode for each node.
struct SetNodeAllocatable {
  std::vector<CsiNode::Driver> drivers;
  std::vector<std::string> migrated_plugins;
};
using NodeStrategy = std::variant<std::monostate, LabelNodes, LabelNodesUniquely, SetNodeAllocatable>;

// Operations. Paths are relative to the folder of the workload file; an empty one is absent.

struct CreateNodesOp {
  PerfCount count;
  std::string template_path;  ///< empty: 4 cores, 32Gi, 110 pods
  NodeStrategy strategy;
};

struct CreateNamespacesOp {
  std::string prefix;
  PerfCount count;
  std::string template_path;
};

struct CreatePodsOp {
  PerfCount count;
  bool steady_state = false;  ///< keep `count` pods coming for `duration_us`
  std::string steady_state_param;
  std::int64_t duration_us = 0;
  std::string duration_param;
  bool collect_metrics = false;
  std::optional<std::string> namespace_;  ///< absent: "namespace-<index of the operation>"
  std::string template_path;              ///< empty: that of the test case
  bool skip_wait = false;
  std::string volume_template_path;
  std::string claim_template_path;
};

struct CreatePodSetsOp {
  PerfCount count;
  std::string namespace_prefix;
  CreatePodsOp pods;
};

struct DeletePodsOp {
  std::string namespace_;
  PerfSelector selector;
  bool skip_wait = false;
  std::int64_t per_second = 0;  ///< 0: all at once
};

struct ChurnOp {
  bool recreates = false;   ///< deletes what it created and starts over
  std::int64_t number = 0;  ///< 0: unlimited
  std::int64_t interval_us = 500'000;
  std::optional<std::string> namespace_;
  std::vector<std::string> template_paths;
};

struct CreateAnyOp {
  std::string namespace_;  ///< empty: the kind has none
  std::string template_path;
  PerfCount count = {1};
};

struct UpdateAnyOp {
  std::string namespace_;
  std::string template_path;
  PerfCount count = {1};
  std::int64_t per_second = 0;  ///< 0: all at once
  std::vector<std::string> subresources;
};

struct BarrierOp {
  std::vector<std::string> namespaces;  ///< empty: all that have pods to wait for
  PerfSelector selector;
  bool waits_for_attempt = false;  ///< an attempt is enough; else pods must be scheduled
};

struct SleepOp {
  std::int64_t duration_us = 0;
  std::string duration_param;
};

struct StartCollectingOp {
  std::string name;
  std::vector<std::string> namespaces;
  PerfSelector selector;
};

struct StopCollectingOp {};

/// An operation of upstream that Berth does not have.
struct UnsupportedOp {
  std::string opcode;
};

using PerfOp =
    std::variant<CreateNodesOp, CreateNamespacesOp, CreatePodsOp, CreatePodSetsOp, DeletePodsOp, ChurnOp, CreateAnyOp,
                 UpdateAnyOp, BarrierOp, SleepOp, StartCollectingOp, StopCollectingOp, UnsupportedOp>;

using PerfParam = std::variant<double, bool, std::string>;

/// Pods a second that upstream expects, in general or by topic (the name of the folder of the file).
struct PerfThreshold {
  double value = 0;  ///< 0: none
  std::map<std::string, double> by_topic;
  double of(std::string_view topic) const;
};

struct PerfWorkload {
  std::string name;
  std::map<std::string, PerfParam> params;
  std::vector<std::string> labels;
  PerfThreshold threshold;
  std::string threshold_metric;  ///< empty: that of the test case
  std::map<std::string, bool> gates;
};

struct PerfTestCase {
  std::string name;
  std::map<std::string, bool> gates;
  std::vector<PerfOp> ops;
  std::vector<PerfWorkload> workloads;
  std::string scheduler_config_path;
  std::string pod_template_path;
  std::vector<std::string> labels;
  std::string threshold_metric;  ///< empty: SchedulingThroughput
};

struct PerfFile {
  std::string path;    ///< as given
  std::string folder;  ///< of the file, with a slash at its end; empty: the present one
  std::string topic;   ///< name of that folder, as upstream's programs name their topic
  std::vector<PerfTestCase> cases;
};

/// Strict: an unknown field, a value of another kind and a name that stands twice are problems. The value of
/// metricsCollectorConfig is not read: of the metrics, Berth reports SchedulingThroughput alone.
/// @throws InputError with every problem, its path and what was expected
PerfFile load_perf_file(const std::string& path);
/// The same for text in memory. @param path  of the file that the text stands for
PerfFile parse_perf_file(std::string_view text, const std::string& path);

/// As upstream selects by labels: "performance,-short" are labels that must and must not be there.
/// @param filter  divided by commas; "+" before a label means nothing; an empty one matches everything
bool matches_labels(std::string_view filter, const PerfTestCase& test_case, const PerfWorkload& workload);

}  // namespace berth
