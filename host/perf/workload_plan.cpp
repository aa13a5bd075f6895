// SPDX-License-Identifier: Apache-2.0
#include "host/perf/workload_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "host/config/unbuilt_gates.h"
#include "host/objects/errors.h"
#include "host/perf/perf_params.h"
#include "host/scheduler/unsupported_requests.h"

namespace berth {
namespace {

constexpr std::string_view kHintsGate = "SchedulerQueueingHints";
constexpr std::string_view kBatchingGate = "OpportunisticBatching";
constexpr std::string_view kThroughput = "SchedulingThroughput";

/// Why a workload cannot be run; the planner stops there.
struct Unsupported {
  std::string reason;
};

/// @return the highest limit where the product is higher
std::int32_t scaled(std::int32_t limit, std::int64_t factor) {
  constexpr std::int64_t kHighest = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min(limit * factor, kHighest));
}

class Planner {
 public:
  Planner(const PerfFile& file, const PerfTestCase& test_case, const PerfWorkload& workload, PlanDepth depth,
          PlanScale scale)
      : file_(file),
        case_(test_case),
        depth_(depth),
        scale_(scale.factor),
        params_(file.path, workload_name(test_case, workload), workload) {
    plan_.name = workload_name(test_case, workload);
    plan_.threshold = workload.threshold.of(file.topic);
  }

  WorkloadPlan make(const PerfWorkload& workload) {
    try {
      check_metric(workload);
      for (const PerfOp& op : case_.ops) std::visit([this](const auto& one) { add(one); }, op);
      params_.check_all_used();
      configure(workload);
    } catch (Unsupported& unsupported) {
      plan_.skip_reason = std::move(unsupported.reason);
      plan_.ops.clear();
    }
    return std::move(plan_);
  }

 private:
  static std::string workload_name(const PerfTestCase& test_case, const PerfWorkload& workload) {
    return test_case.name + "/" + workload.name;
  }

  void check_metric(const PerfWorkload& workload) const {
    const std::string& metric = workload.threshold_metric.empty() ? case_.threshold_metric : workload.threshold_metric;
    if (!metric.empty() && metric != kThroughput) throw Unsupported{"a threshold of the metric " + metric};
  }

  const TextTemplate& load(const std::string& path) {
    const auto at = templates_.find(path);
    return at != templates_.end() ? at->second
                                  : templates_.emplace(path, load_text_template(file_.folder + path)).first->second;
  }

  ObjectSeries series(const TextTemplate& text, std::int64_t count, const std::string& name_space = {}) const {
    SeriesResult result = make_series(text, {name_space, count, depth_ == PlanDepth::kDecision});
    if (!result.unsupported.empty()) throw Unsupported{std::move(result.unsupported)};
    return std::move(result.series);
  }

  template <class Op>
  void append(Op op, ObjectSeries objects = {}) {
    PlannedOp& planned = plan_.ops.emplace_back(PlannedOp{std::move(op), {}});
    if (!objects.empty()) planned.objects.push_back(std::move(objects));
  }

  void fill_scaled(PerfCount& count) {
    params_.fill(count);
    if (count.value > kPerfCountMax / scale_)
      throw Unsupported{fmt::format("an operation that creates {} times {} objects, more than {}", scale_, count.value,
                                    kPerfCountMax)};
    count.value *= scale_;
  }

  std::string default_namespace() const { return fmt::format("namespace-{}", plan_.ops.size()); }

  void add(CreateNodesOp op) {
    params_.fill(op.count);
    const TextTemplate base = base_node_template(fmt::format("node-{}-", plan_.ops.size()));
    ObjectSeries nodes = series(op.template_path.empty() ? base : load(op.template_path), op.count.value);
    if (scale_ > 1) nodes = larger_nodes(nodes, scale_);
    if (auto* allocatable = std::get_if<SetNodeAllocatable>(&op.strategy))
      for (CsiNode::Driver& driver : allocatable->drivers)
        if (driver.limit) driver.limit = scaled(*driver.limit, scale_);
    append(std::move(op), std::move(nodes));
  }

  void add(CreateNamespacesOp op) {
    params_.fill(op.count);
    ObjectSeries base = op.template_path.empty() ? ObjectSeries() : series(load(op.template_path), 1);
    append(std::move(op), std::move(base));
  }

  void add(CreatePodsOp op) {
    fill_scaled(op.count);
    params_.fill(op.steady_state, op.steady_state_param);
    params_.fill(op.duration_us, op.duration_param);
    if (op.steady_state && op.duration_us <= 0) params_.refuse("steadyState needs a duration above 0");
    if (op.claim_template_path.empty() != op.volume_template_path.empty())
      params_.refuse("expected persistentVolumeTemplatePath and persistentVolumeClaimTemplatePath, or neither");
    if (!op.namespace_) op.namespace_ = default_namespace();
    const std::string& path = op.template_path.empty() ? case_.pod_template_path : op.template_path;
    ObjectSeries pods = series(path.empty() ? base_pod_ : load(path), op.count.value, *op.namespace_);
    std::vector<ObjectSeries> objects{std::move(pods)};
    if (!op.claim_template_path.empty() && !objects.front().empty()) {
      objects.push_back(series(load(op.volume_template_path), 1));
      objects.push_back(series(load(op.claim_template_path), 1, *op.namespace_));
    }
    if (objects.front().empty()) objects.clear();
    plan_.ops.push_back({std::move(op), std::move(objects)});
  }

  void add(CreatePodSetsOp op) {
    params_.fill(op.count);
    for (std::int64_t i = 0; i < op.count.value; ++i) {
      CreatePodsOp pods = op.pods;
      pods.namespace_ = fmt::format("{}-{}", op.namespace_prefix, i);
      add(std::move(pods));
      if (depth_ == PlanDepth::kDecision) break;
    }
  }

  void add(ChurnOp op) {
    if (!op.namespace_) op.namespace_ = default_namespace();
    std::vector<ObjectSeries> objects;
    objects.reserve(op.template_paths.size());
    for (const std::string& path : op.template_paths) objects.push_back(series(load(path), 1, *op.namespace_));
    plan_.ops.push_back({std::move(op), std::move(objects)});
  }

  void add(CreateAnyOp op) {
    fill_scaled(op.count);
    ObjectSeries objects = series(load(op.template_path), op.count.value, op.namespace_);
    append(std::move(op), std::move(objects));
  }

  void add(UpdateAnyOp op) {
    fill_scaled(op.count);
    ObjectSeries objects = series(load(op.template_path), op.count.value, op.namespace_);
    append(std::move(op), std::move(objects));
  }

  void add(SleepOp op) {
    params_.fill(op.duration_us, op.duration_param);
    append(std::move(op));
  }

  void add(const UnsupportedOp& op) { throw Unsupported{"the operation " + op.opcode}; }
  void add(const DeletePodsOp& op) { append(op); }
  void add(const BarrierOp& op) { append(op); }
  void add(const StartCollectingOp& op) { append(op); }
  void add(const StopCollectingOp& op) { append(op); }

  /// The gates of the test case, with those of the workload in their place.
  std::map<std::string, bool> merged_gates(const PerfWorkload& workload) const {
    std::map<std::string, bool> gates = workload.gates;
    gates.insert(case_.gates.begin(), case_.gates.end());
    return gates;
  }

  void configure(const PerfWorkload& workload) {
    FeatureGates gates;
    std::string text;
    std::map<std::string, bool> wanted = merged_gates(workload);
    // setupTestCase() of upstream: where the file says nothing of it, off.
    wanted.emplace(kBatchingGate, false);
    for (const auto& [name, is_on] : wanted) {
      if (name == kHintsGate) {
        plan_.hints_on = !is_on;
        continue;
      }
      // On makes a difference only where a DeviceClass names the resource, and workloads with those are skipped.
      if (name == "DRAExtendedResource" && is_on) continue;
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, is_on);
    }
    try {
      std::vector<std::string> of_other_components;
      gates.apply(text, &of_other_components);
      refuse_unbuilt_gates(gates);
    } catch (const InputError& error) {
      throw Unsupported{error.problems().front().to_string()};
    }
    plan_.config = case_.scheduler_config_path.empty()
                       ? default_scheduler_config(gates)
                       : load_scheduler_config(file_.folder + case_.scheduler_config_path, gates, OutOfTree::kLeaveOut);
    const std::vector<std::string> refused = unsupported_requests(plan_.config);
    if (!refused.empty())
      throw Unsupported{fmt::format("what {} asks for: {}", case_.scheduler_config_path, refused.front())};
  }

  const PerfFile& file_;
  const PerfTestCase& case_;
  PlanDepth depth_;
  std::int64_t scale_;
  PerfParams params_;
  TextTemplate base_pod_ = base_pod_template();
  std::map<std::string, TextTemplate> templates_;
  WorkloadPlan plan_;
};

}  // namespace

WorkloadPlan plan_workload(const PerfFile& file, const PerfTestCase& test_case, const PerfWorkload& workload,
                           PlanDepth depth, PlanScale scale) {
  return Planner(file, test_case, workload, depth, scale).make(workload);
}

}  // namespace berth
