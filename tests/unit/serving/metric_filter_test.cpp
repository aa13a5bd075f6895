// SPDX-License-Identifier: Apache-2.0
#include "host/serving/metric_filter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "host/metrics/exposition.h"
#include "host/objects/errors.h"
#include "host/serving/component_metrics.h"
#include "tests/unit/metrics/exposition_text.h"

namespace berth::test {
namespace {

std::vector<prometheus::MetricFamily> some_families() {
  RequestMetrics metrics;
  for (const char* method : {"GET", "PUT", "PATCH"}) metrics.on_request("h", method, 200, 1);
  return metrics.collect();
}

TEST(MetricFilterTest, DisabledMetricsAreLeftOut) {
  std::vector<prometheus::MetricFamily> families = some_families();
  MetricFilter({"rest_client_requests_total", "no_such"}, {}).apply(families);
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families.front().name, "rest_client_request_duration_seconds");
}

TEST(MetricFilterTest, ValuesThatAreNotAllowedAreAddedUp) {
  std::vector<prometheus::MetricFamily> families = some_families();
  MetricFilter({}, {{"rest_client_requests_total,method", {"GET"}}, {"rest_client_request_duration_seconds,verb", {}}})
      .apply(families);
  const ExpositionText text = parse_exposition(metrics_text(families));
  EXPECT_EQ(text.values.at(R"(rest_client_requests_total{code="200",host="h",method="GET"})"), 1);
  EXPECT_EQ(text.values.at(R"(rest_client_requests_total{code="200",host="h",method="unexpected"})"), 2);
  EXPECT_EQ(text.values.at(R"(rest_client_request_duration_seconds_count{host="h",verb="unexpected"})"), 3);
  EXPECT_EQ(text.values.at(R"(rest_client_request_duration_seconds_bucket{host="h",verb="unexpected",le="1"})"), 3);
}

TEST(MetricFilterTest, AKeyNamesAMetricAndALabel) {
  for (const char* key : {"metric", ",label", "metric,", "a,b,c"})
    EXPECT_THROW(MetricFilter({}, {{key, {}}}), std::runtime_error) << key;
}

TEST(MetricFilterTest, AManifestIsAMapOfTexts) {
  const std::string path = std::filesystem::temp_directory_path() / ("berth_labels_" + std::to_string(::getpid()));
  std::ofstream(path) << "\"m,l\": a,b\n";
  EXPECT_EQ(load_allowed_labels(path), (MetricFilter::AllowedLabels{{"m,l", {"a", "b"}}}));
  std::ofstream(path) << "\"m,l\": [a]\n";
  EXPECT_THROW(load_allowed_labels(path), InputError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace berth::test
