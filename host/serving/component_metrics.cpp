// SPDX-License-Identifier: Apache-2.0
#include "host/serving/component_metrics.h"

#include <prometheus/client_metric.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

namespace berth {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily family(std::string name, std::string help, MetricType type) {
  return {std::move(name), std::move(help), type, {}};
}

/// @param labels  sorted by name
void add(MetricFamily& family, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;  // one of the two is read
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

/// Those without a value are left out, as Go clients do.
std::vector<MetricFamily> filled(std::vector<MetricFamily> families) {
  std::erase_if(families, [](const MetricFamily& one) { return one.metric.empty(); });
  return families;
}

/// The patch release whose source Berth was compared with.
std::string_view patch_of(Release release) { return release == Release::k1_35 ? "4" : "3"; }

}  // namespace

void RequestMetrics::on_request(std::string_view host, std::string_view method, int status, double seconds) {
  const std::string code = status == 0 ? "<error>" : std::to_string(status);
  const std::lock_guard<std::mutex> lock(mutex_);
  ++requests_[{code, std::string(host), std::string(method)}];
  Durations& durations = durations_[{std::string(host), std::string(method)}];
  const auto* const bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++durations.counts[static_cast<std::size_t>(bound - kBounds.begin())];
  durations.sum += seconds;
}

std::vector<MetricFamily> RequestMetrics::collect() const {
  MetricFamily durations =
      family("rest_client_request_duration_seconds",
             "[ALPHA] Request latency in seconds. Broken down by verb, and host.", MetricType::Histogram);
  MetricFamily requests =
      family("rest_client_requests_total",
             "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.", MetricType::Counter);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, durations_of] : durations_) {
    ClientMetric metric;
    metric.label = {{"host", key.first}, {"verb", key.second}};
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      count += durations_of.counts[i];
      metric.histogram.bucket.push_back({count, kBounds[i]});
    }
    metric.histogram.sample_count = count + durations_of.counts.back();
    metric.histogram.sample_sum = durations_of.sum;
    durations.metric.push_back(std::move(metric));
  }
  for (const auto& [key, count] : requests_) {
    const auto& [code, host, method] = key;
    add(requests, {{"code", code}, {"host", host}, {"method", method}}, static_cast<double>(count));
  }
  return filled({std::move(durations), std::move(requests)});
}

void LeaderMetrics::set_leader(const std::string& lease, bool is_leader) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_leader_[lease] = is_leader;
}

void LeaderMetrics::count_slow_path(const std::string& lease) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++slow_paths_[lease];
}

std::vector<MetricFamily> LeaderMetrics::collect() const {
  MetricFamily status =
      family("leader_election_master_status",
             "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 "
             "indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
             MetricType::Gauge);
  MetricFamily slow =
      family("leader_election_slowpath_total",
             "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is the string used to "
             "identify the lease. Please make sure to group by name.",
             MetricType::Counter);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [lease, is_leader] : is_leader_) add(status, {{"name", lease}}, is_leader ? 1 : 0);
  for (const auto& [lease, count] : slow_paths_) add(slow, {{"name", lease}}, static_cast<double>(count));
  return filled({std::move(status), std::move(slow)});
}

std::vector<MetricFamily> feature_metrics(const FeatureGates& gates) {
  MetricFamily enabled =
      family("kubernetes_feature_enabled",
             "[BETA] This metric records the data about the stage and enablement of a k8s feature.", MetricType::Gauge);
  for (const FeatureGates::Row& row : gates.table()) {
    std::string stage = row.stage == "GA" ? std::string() : row.stage;
    std::transform(stage.begin(), stage.end(), stage.begin(),
                   [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
    add(enabled, {{"name", row.name}, {"stage", std::move(stage)}}, row.enabled ? 1 : 0);
  }
  return {std::move(enabled)};
}

std::string git_version(const BuildInfo& build) {
  return "v" + std::string(to_string(build.release)) + "." + std::string(patch_of(build.release)) + "+berth." +
         build.version;
}

std::vector<MetricFamily> build_metrics(const BuildInfo& build) {
  MetricFamily info =
      family("kubernetes_build_info",
             "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree "
             "state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is "
             "running.",
             MetricType::Gauge);
  const std::string release(to_string(build.release));
  const std::size_t dot = release.find('.');
  utsname machine{};
  const bool is_known = ::uname(&machine) == 0;
  const std::string_view name = is_known ? machine.machine : "";
  const std::string platform = name == "x86_64" ? "amd64" : name == "aarch64" ? "arm64" : std::string(name);
  add(info,
      {{"build_date", ""},
       {"compiler", "g++"},
       {"git_commit", build.commit},
       {"git_tree_state", ""},
       {"git_version", git_version(build)},
       {"go_version", ""},
       {"major", release.substr(0, dot)},
       {"minor", dot == release.npos ? std::string() : release.substr(dot + 1)},
       {"platform", "linux/" + platform}},
      1);
  return {std::move(info)};
}

std::vector<MetricFamily> health_metrics(const HealthResults& results) {
  MetricFamily check = family("kubernetes_healthcheck",
                              "[STABLE] This metric records the result of a single healthcheck.", MetricType::Gauge);
  MetricFamily total = family("kubernetes_healthchecks_total",
                              "[STABLE] This metric records the results of all healthcheck.", MetricType::Counter);
  for (const auto& [key, counts] : results.all()) {
    add(check, {{"name", key.name}, {"type", key.type}}, counts.was_well ? 1 : 0);
    if (counts.errors > 0)
      add(total, {{"name", key.name}, {"status", "error"}, {"type", key.type}}, static_cast<double>(counts.errors));
    if (counts.successes > 0)
      add(total, {{"name", key.name}, {"status", "success"}, {"type", key.type}},
          static_cast<double>(counts.successes));
  }
  return filled({std::move(check), std::move(total)});
}

}  // namespace berth
