// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "host/metrics/exposition.h"
#include "host/simulate/scenario_reader.h"
#include "host/simulate/simulation.h"
#include "tests/unit/metrics/exposition_text.h"

namespace berth::test {
namespace {

SimulationResult run(const std::string& scenario_text, bool keeps_metrics,
                     const std::string& profile = "default-scheduler") {
  std::vector<std::string> warnings;
  const Scenario scenario = make_scenario(
      parse_scenario("apiVersion: berth.dev/v1alpha1\nkind: BerthScenario\n" + scenario_text, "f"), {}, warnings);
  SimulationOptions options;
  options.loop.config = default_scheduler_config(FeatureGates());
  options.loop.config.profiles.front().scheduler_name = profile;
  options.loop.engine.backend = "cpu";
  options.loop.engine.threads = 1;
  options.keeps_metrics = keeps_metrics;
  return simulate(scenario, options);
}

const std::string kNode =
    "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, memory: 8Gi, pods: 10}}}";

std::string pod(const std::string& name, const std::string& spec) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" + spec +
         "containers: [{name: c, resources: {requests: {cpu: 1}}}]}}";
}

TEST(SimulatedMetrics, AgreeWithTheResultOfTheSimulation) {
  const std::string scenario =
      "actions:\n- {at: 0s, create: [" + kNode + ", " + pod("low", "priority: 1, ") + "]}\n- {at: 10s, create: [" +
      pod("high", "priority: 5, ") +
      "]}\narrivals: [{at: 60s, every: 10s, count: 5, runDuration: 25s, template: " + pod("job", "priority: 3, ") +
      "}]\nuntil: 1h\n";
  const SimulationResult result = run(scenario, true);
  const ExpositionText text = parse_exposition(result.metrics_text);
  const std::string profile = "{profile=\"default-scheduler\",result=\"";
  EXPECT_EQ(result.totals.preempted, 1);
  EXPECT_EQ(text.values.at("scheduler_preemption_victims_sum"), static_cast<double>(result.totals.preempted));
  EXPECT_EQ(text.values.at("scheduler_schedule_attempts_total" + profile + "scheduled\"}"),
            static_cast<double>(result.totals.placed));
  EXPECT_EQ(text.values.at("scheduler_schedule_attempts_total" + profile + "unschedulable\"}"),
            static_cast<double>(result.totals.failed));
  EXPECT_EQ(text.values.at("scheduler_pending_pods{queue=\"unschedulable\"}"),
            static_cast<double>(result.waiting.size()));
}

TEST(SimulatedMetrics, DoNotChangeTheRunAndAreEmptyByDefault) {
  const std::string scenario =
      "actions: [{at: 0s, create: [" + kNode + "]}]\n" +
      "arrivals: [{at: 10s, every: 10s, count: 3, runDuration: 30s, template: " + pod("job", "") + "}]\n";
  const SimulationResult with = run(scenario, true);
  const SimulationResult without = run(scenario, false);
  EXPECT_EQ(without.metrics_text, "");
  EXPECT_NE(with.metrics_text, "");
  EXPECT_EQ(with.end_us, without.end_us);
  EXPECT_EQ(with.totals.failed, without.totals.failed);
  EXPECT_EQ(with.samples.size(), without.samples.size());
}

TEST(SimulatedMetrics, HostileProfileNamesAreEscaped) {
  const std::string name = "a\"b\nc\\d\\n";
  const std::string text = run("actions: [{at: 0s, create: [" + kNode + ", " +
                                   pod("p", "schedulerName: \"a\\\"b\\nc\\\\d\\\\n\", ") + "]}]\n",
                               true, name)
                               .metrics_text;
  const std::string escaped = R"(a\"b\nc\\d\\n)";
  EXPECT_EQ(unescaped(escaped), name);
  EXPECT_EQ(parse_exposition(text).values.at("scheduler_schedule_attempts_total{profile=\"" + escaped +
                                             "\",result=\"scheduled\"}"),
            1);
}

TEST(Exposition, MergedFamiliesKeepTheirLabelsApart) {
  const auto family = [](double value) {
    prometheus::ClientMetric metric;
    metric.gauge.value = value;
    return std::vector<prometheus::MetricFamily>{{"g", "help", prometheus::MetricType::Gauge, {metric}}};
  };
  std::vector<prometheus::MetricFamily> all;
  for (const double value : {1.0, 2.0}) {
    std::vector<prometheus::MetricFamily> one = family(value);
    add_label(one, "workload", "w\"" + std::to_string(static_cast<int>(value)));
    merge(all, std::move(one));
  }
  const ExpositionText text = parse_exposition(metrics_text(all));
  EXPECT_EQ(text.values.at("g{workload=\"w\\\"1\"}"), 1);
  EXPECT_EQ(text.values.at("g{workload=\"w\\\"2\"}"), 2);
}

}  // namespace
}  // namespace berth::test
