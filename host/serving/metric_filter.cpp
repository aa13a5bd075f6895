// SPDX-License-Identifier: Apache-2.0
#include "host/serving/metric_filter.h"

#include <prometheus/client_metric.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "host/config/config_reader.h"
#include "host/serving/foreign_text.h"

namespace berth {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

constexpr const char* kUnexpected = "unexpected";  // metrics.LabelManager

bool same_labels(const ClientMetric& a, const ClientMetric& b) {
  return std::equal(a.label.begin(), a.label.end(), b.label.begin(), b.label.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name && x.value == y.value; });
}

void add(ClientMetric& sum, const ClientMetric& more) {
  sum.counter.value += more.counter.value;
  sum.gauge.value += more.gauge.value;
  sum.histogram.sample_count += more.histogram.sample_count;
  sum.histogram.sample_sum += more.histogram.sample_sum;
  for (std::size_t i = 0; i < std::min(sum.histogram.bucket.size(), more.histogram.bucket.size()); ++i)
    sum.histogram.bucket[i].cumulative_count += more.histogram.bucket[i].cumulative_count;
}

void merge_alike(MetricFamily& family) {
  std::vector<ClientMetric> merged;
  for (ClientMetric& metric : family.metric) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const ClientMetric& other) { return same_labels(other, metric); });
    if (same == merged.end()) {
      merged.push_back(std::move(metric));
    } else {
      add(*same, metric);
    }
  }
  family.metric = std::move(merged);
}

}  // namespace

MetricFilter::MetricFilter(const std::vector<std::string>& disabled, const AllowedLabels& allowed)
    : disabled_(disabled.begin(), disabled.end()) {
  for (const auto& [key, values] : allowed) {
    const std::size_t comma = key.find(',');
    if (comma == 0 || comma == key.npos || comma + 1 == key.size() || key.find(',', comma + 1) != key.npos)
      throw std::runtime_error("--allow-metric-labels: got " + foreign_text(key) + ", expected METRIC,LABEL");
    allowed_[key.substr(0, comma)][key.substr(comma + 1)].insert(values.begin(), values.end());
  }
}

void MetricFilter::apply(std::vector<MetricFamily>& families) const {
  std::erase_if(families, [&](const MetricFamily& family) { return disabled_.contains(family.name); });
  if (allowed_.empty()) return;
  for (MetricFamily& family : families) {
    const auto labels = allowed_.find(family.name);
    if (labels == allowed_.end()) continue;
    for (ClientMetric& metric : family.metric) {
      for (ClientMetric::Label& label : metric.label) {
        const auto values = labels->second.find(label.name);
        if (values != labels->second.end() && !values->second.contains(label.value)) label.value = kUnexpected;
      }
    }
    merge_alike(family);
  }
}

MetricFilter::AllowedLabels load_allowed_labels(const std::string& path) {
  MetricFilter::AllowedLabels allowed;
  const JsonDocument document = config_document_from_file(path);
  ProblemSink sink(path);
  decode_config(document, path, sink, [&](const JsonValue& root) {
    root.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
      std::string values;
      if (!value.read(values)) return true;
      std::vector<std::string>& list = allowed[std::string(key)];
      for (std::size_t at = 0; at <= values.size();) {
        const std::size_t end = std::min(values.find(',', at), values.size());
        list.push_back(values.substr(at, end - at));
        at = end + 1;
      }
      return true;
    });
  });
  return allowed;
}

}  // namespace berth
