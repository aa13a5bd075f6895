// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_runner.h"

#include <gtest/gtest.h>

#include "tests/unit/perf/perf_files.h"

namespace berth {
namespace {

PerfMeasurement measured(std::int64_t pods, std::int64_t missing = 0) {
  PerfMeasurement measurement;
  measurement.pods = pods;
  measurement.elapsed_us = 1'000'000;
  measurement.missing = missing;
  return measurement;
}
PerfResult result_of(double threshold, std::vector<PerfMeasurement> measurements) {
  PerfResult result;
  result.threshold = threshold;
  result.measurements = std::move(measurements);
  return result;
}

TEST(PerfVerdict, ComparesPodsASecondWithTheThreshold) {
  EXPECT_EQ(verdict_of(measured(101), 100), PerfVerdict::kReached);
  EXPECT_EQ(verdict_of(measured(100), 100), PerfVerdict::kBelow);
  EXPECT_EQ(verdict_of(measured(1), 0), PerfVerdict::kNoThreshold);
  EXPECT_EQ(verdict_of(measured(500, 1), 100), PerfVerdict::kNotMeasured);
}

TEST(PerfVerdict, OfAWorkloadIsThatOfItsWorstMeasurement) {
  EXPECT_EQ(verdict_of(result_of(100, {measured(200), measured(50)})), PerfVerdict::kBelow);
  EXPECT_EQ(verdict_of(result_of(100, {measured(200), measured(50), measured(300, 2)})), PerfVerdict::kNotMeasured);
}

TEST(PerfTotals, CountWorkloadsThatRanWhateverTheirVerdict) {
  PerfResult skipped;
  skipped.skip_reason = "volumes";
  PerfResult failed;
  failed.error = "stuck";
  const PerfTotals totals =
      totals_of({result_of(100, {measured(50)}), result_of(100, {measured(200)}), skipped, failed, result_of(0, {})});
  EXPECT_EQ(totals.run, 3u);
  EXPECT_EQ(totals.skipped, 1u);
  EXPECT_EQ(totals.below, 1u);
  EXPECT_EQ(totals.failed, 1u);
}

TEST(PerfRunner, SchedulesTheWorkloadWithTheEngine) {
  const WorkloadPlan plan = test::small_plan(
      "  - {opcode: createNodes, count: 4, nodeTemplatePath: nodes.yaml}\n"
      "  - {opcode: createPods, count: 30, collectMetrics: true, podTemplatePath: pod.yaml}\n",
      "    threshold: 1\n");
  PerfRunOptions options;
  options.engine.backend = "cpu";
  options.engine.threads = 1;
  const PerfResult result = run_workload(plan, options);
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.measurements.size(), 1u);
  EXPECT_EQ(result.measurements[0].pods, 30);
  EXPECT_EQ(verdict_of(result), PerfVerdict::kReached);
}

TEST(PerfRunner, SaysWhatIsMissingWhenPodsFindNoNode) {
  const WorkloadPlan plan = test::small_plan(
      "  - {opcode: createNodes, count: 1, nodeTemplatePath: numbered-node.yaml}\n"
      "  - {opcode: createPods, count: 2, collectMetrics: true, podTemplatePath: pod.yaml}\n");
  PerfRunOptions options;
  options.engine.backend = "cpu";
  options.wait_limit_us = 100'000;
  const PerfResult result = run_workload(plan, options);
  EXPECT_NE(result.error.find("operation 1: "), std::string::npos);
  EXPECT_NE(result.error.find("0 of 2 pods of the namespace namespace-1 are scheduled, 2 more were tried"),
            std::string::npos)
      << result.error;
  EXPECT_EQ(verdict_of(result), PerfVerdict::kFailed);
}

TEST(PerfRunner, DoesNotRunWhatIsSkipped) {
  WorkloadPlan plan;
  plan.name = "A/B";
  plan.skip_reason = "volumes";
  const PerfResult result = run_workload(plan, {});
  EXPECT_EQ(result.skip_reason, "volumes");
  EXPECT_EQ(verdict_of(result), PerfVerdict::kSkipped);
}

}  // namespace
}  // namespace berth
