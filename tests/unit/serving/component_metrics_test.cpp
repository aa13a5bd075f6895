// SPDX-License-Identifier: Apache-2.0
#include "host/serving/component_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "host/metrics/exposition.h"
#include "host/metrics/series.h"
#include "host/objects/loader.h"
#include "tests/unit/metrics/exposition_text.h"

namespace berth::test {
namespace {

constexpr const char* kData = BERTH_SERVING_DATA;

/// All families of this folder, each with a value.
std::vector<prometheus::MetricFamily> all_families() {
  RequestMetrics requests;
  requests.on_request("10.0.0.1:6443", "POST", 201, 0.004);
  LeaderMetrics leader;
  leader.set_leader("kube-scheduler", true);
  leader.count_slow_path("kube-scheduler");
  HealthResults health;
  health.add("ping", "livez", true);
  std::vector<prometheus::MetricFamily> families = requests.collect();
  merge(families, leader.collect());
  merge(families, process_metrics());
  merge(families, feature_metrics(FeatureGates()));
  merge(families, build_metrics({.release = Release::k1_35, .version = "0.1.0", .commit = "abc"}));
  merge(families, health_metrics(health));
  return families;
}

/// @param resources  JSON of the container's
/// @param spec       more fields of the spec, with commas before them
std::vector<PodPtr> pods_with(const std::string& resources, const std::string& spec = {}) {
  return load_cluster_from_text(
             R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"nodeName":"n1",)"
             R"("overhead":{"cpu":"250m"},"containers":[{"name":"c","resources":)" +
                 resources + "}]" + spec + "}}",
             "test")
      .objects.pods;
}

std::string resources_of_a_pod() {
  return pod_resources_text(pods_with(R"({"requests":{"cpu":"1"},"limits":{"cpu":"2"}})"));
}

TEST(ComponentMetricsTest, NamesTypesAndHelpTextsAreUpstreams) {
  std::ifstream recorded(std::string(kData) + "/upstream_families.txt");
  std::map<std::string, std::string> help;
  std::map<std::string, std::string> type;
  for (std::string line; std::getline(recorded, line);) {
    std::istringstream words(line);
    std::string hash, what, name, rest;
    words >> hash >> what >> name;
    std::getline(words >> std::ws, rest);
    (what == "HELP" ? help : type)[name] = rest;
  }
  const std::string text = metrics_text(all_families());
  std::size_t compared = 0;
  for (const auto& family : all_families()) {
    if (!help.contains(family.name)) continue;
    ++compared;
    EXPECT_EQ(family.help, help.at(family.name)) << family.name;
    EXPECT_NE(text.find("# TYPE " + family.name + " " + type.at(family.name) + "\n"), std::string::npos) << family.name;
  }
  EXPECT_GE(compared, 13u);
}

TEST(ComponentMetricsTest, TheTextIsInPrometheusFormat) {
  EXPECT_NO_THROW(parse_exposition(metrics_text(all_families())));
}

TEST(ComponentMetricsTest, RequestsAreCountedByCodeAndTimedByVerb) {
  RequestMetrics metrics;
  metrics.on_request("h", "GET", 200, 0.005);
  metrics.on_request("h", "GET", 429, 3);
  metrics.on_request("h", "GET", 0, 100);
  const ExpositionText text = parse_exposition(metrics_text(metrics.collect()));
  EXPECT_EQ(text.values.at(R"(rest_client_requests_total{code="200",host="h",method="GET"})"), 1);
  EXPECT_EQ(text.values.at(R"(rest_client_requests_total{code="<error>",host="h",method="GET"})"), 1);
  EXPECT_EQ(text.values.at(R"(rest_client_request_duration_seconds_bucket{host="h",verb="GET",le="0.005"})"), 1);
  EXPECT_EQ(text.values.at(R"(rest_client_request_duration_seconds_bucket{host="h",verb="GET",le="4"})"), 2);
  EXPECT_EQ(text.values.at(R"(rest_client_request_duration_seconds_count{host="h",verb="GET"})"), 3);
}

TEST(ComponentMetricsTest, TheProcessIsMeasured) {
  const ExpositionText text = parse_exposition(metrics_text(process_metrics()));
  EXPECT_EQ(text.values.size(), 9u);
  EXPECT_GT(text.values.at("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(text.values.at("process_virtual_memory_bytes"), text.values.at("process_resident_memory_bytes"));
  EXPECT_GE(text.values.at("process_open_fds"), 3);
  EXPECT_GT(text.values.at("process_max_fds"), text.values.at("process_open_fds"));
  EXPECT_GT(text.values.at("process_start_time_seconds"), 1.7e9);
  EXPECT_GE(text.values.at("process_network_receive_bytes_total"), 0);
  EXPECT_GE(text.values.at("process_network_transmit_bytes_total"), 0);
}

TEST(ComponentMetricsTest, LeadershipIsOneOrZero) {
  LeaderMetrics metrics;
  EXPECT_TRUE(metrics.collect().empty());
  metrics.set_leader("lease", true);
  metrics.set_leader("lease", false);
  EXPECT_EQ(
      parse_exposition(metrics_text(metrics.collect())).values.at(R"(leader_election_master_status{name="lease"})"), 0);
}

TEST(ComponentMetricsTest, GatesHaveUpstreamsStages) {
  const ExpositionText text = parse_exposition(metrics_text(feature_metrics(FeatureGates())));
  EXPECT_EQ(text.values.at(R"(kubernetes_feature_enabled{name="DynamicResourceAllocation",stage=""})"), 1);
  EXPECT_EQ(text.values.at(R"(kubernetes_feature_enabled{name="GangScheduling",stage="ALPHA"})"), 0);
  EXPECT_EQ(text.values.at(R"(kubernetes_feature_enabled{name="OpportunisticBatching",stage="BETA"})"), 1);
}

TEST(ComponentMetricsTest, TheVersionBeginsWithTheFollowedRelease) {
  const std::string text =
      metrics_text(build_metrics({.release = Release::k1_36, .version = "0.1.0", .commit = "abc"}));
  EXPECT_NE(text.find("git_version=\"v1.36.3+berth.0.1.0\""), std::string::npos) << text;
  EXPECT_NE(text.find("major=\"1\",minor=\"36\""), std::string::npos) << text;
}

TEST(ComponentMetricsTest, EveryQueryOfKubePrometheusFindsItsSeries) {
  std::set<std::string> known;
  const auto add = [&](std::string_view name, bool is_histogram) {
    for (const char* suffix : {"", "_bucket", "_count", "_sum"})
      if (is_histogram == (*suffix != '\0')) known.insert(std::string(name) + suffix);
  };
  for (const Series& series : all_series()) add(series.name, series.type == SeriesType::kHistogram);
  for (const auto& family : all_families()) add(family.name, family.type == prometheus::MetricType::Histogram);
  for (const auto& [name, type] : parse_exposition(resources_of_a_pod()).types) known.insert(name);
  std::ifstream file(std::string(kData) + "/dashboard_series.txt");
  std::size_t found = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::string name = line.substr(0, line.find(' '));
    const bool is_excused = std::count(line.begin(), line.end(), '|') == 2;
    EXPECT_NE(known.contains(name), is_excused) << line;
    ++found;
  }
  EXPECT_GE(found, 20u);
}

/// @param what  "request" or "limit"
double value_of(const ExpositionText& text, const std::string& what, const std::string& resource,
                const std::string& unit) {
  return text.values.at("kube_pod_resource_" + what +
                        R"({namespace="default",node="n1",pod="p",priority="0",resource=")" + resource +
                        R"(",scheduler="default-scheduler",unit=")" + unit + R"("})");
}

TEST(PodResourcesTest, AmountsHaveUpstreamsUnits) {
  const auto pods =
      pods_with(R"({"requests":{"cpu":"1500m","memory":"1Gi","example.com/gpu":"2","hugepages-2Mi":"4Mi"},)"
                R"("limits":{"cpu":"2","example.com/gpu":"2","hugepages-2Mi":"4Mi"}})");
  const ExpositionText text = parse_exposition(pod_resources_text(pods));
  EXPECT_EQ(value_of(text, "request", "cpu", "cores"), 1.75);  // with the overhead
  EXPECT_EQ(value_of(text, "limit", "cpu", "cores"), 2.25);
  EXPECT_EQ(value_of(text, "request", "memory", "bytes"), 1073741824);
  EXPECT_EQ(value_of(text, "request", "example.com/gpu", ""), 2);
  EXPECT_EQ(value_of(text, "request", "hugepages-2Mi", "bytes"), 4194304);
}

TEST(PodResourcesTest, LimitsOfThePodAsAWholeReplaceThoseOfItsContainers) {
  const auto pods = pods_with(R"({"limits":{"cpu":"1","example.com/gpu":"2"}})",
                              R"(,"resources":{"limits":{"cpu":"3","memory":"1Gi","example.com/gpu":"7"}})");
  const ExpositionText text = parse_exposition(pod_resources_text(pods));
  EXPECT_EQ(value_of(text, "limit", "cpu", "cores"), 3.25);
  EXPECT_EQ(value_of(text, "limit", "memory", "bytes"), 1073741824);
  EXPECT_EQ(value_of(text, "limit", "example.com/gpu", ""), 2);  // no resource of a pod as a whole
  EXPECT_EQ(value_of(text, "request", "cpu", "cores"), 1.25);    // of the container, by defaulting
}

TEST(PodResourcesTest, WithoutPodsThereIsNothing) { EXPECT_EQ(pod_resources_text({}), ""); }

}  // namespace
}  // namespace berth::test
