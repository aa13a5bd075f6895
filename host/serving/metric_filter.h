// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace berth {

/// --disabled-metrics and --allow-metric-labels, as k8s.io/component-base/metrics has them.
class MetricFilter {
 public:
  /// Values that are shown. ["metric,label"]
  using AllowedLabels = std::map<std::string, std::vector<std::string>>;

  MetricFilter() = default;
  /// @throws std::runtime_error for a key that is not "metric,label"
  MetricFilter(const std::vector<std::string>& disabled, const AllowedLabels& allowed);

  /// Leaves out what is disabled. Values that are not allowed become "unexpected", and metrics that are alike then are
  /// added up.
  void apply(std::vector<prometheus::MetricFamily>& families) const;

 private:
  std::set<std::string, std::less<>> disabled_;
  std::map<std::string, std::map<std::string, std::set<std::string>>, std::less<>> allowed_;  ///< [metric][label]
};

/// The map of --allow-metric-labels-manifest: YAML or JSON.
/// @throws InputError naming the file and what is wrong in it
MetricFilter::AllowedLabels load_allowed_labels(const std::string& path);

}  // namespace berth
