// SPDX-License-Identifier: Apache-2.0
#pragma once

// What dashboards and alerts read of any Kubernetes component, beyond scheduler_*: names, labels, buckets and help
// texts are those of k8s.io/component-base v0.35.4 and of Prometheus' Go client.

#include <prometheus/metric_family.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "host/config/feature_gates.h"
#include "host/kube/http/http_meter.h"
#include "host/objects/pod.h"
#include "host/serving/health.h"

namespace berth {

/// rest_client_requests_total, rest_client_request_duration_seconds. Any thread may call.
class RequestMetrics : public HttpMeter {
 public:
  void on_request(std::string_view host, std::string_view method, int status, double seconds) override;
  std::vector<prometheus::MetricFamily> collect() const;

 private:
  static constexpr std::array kBounds = {0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0};
  struct Durations {
    std::array<std::uint64_t, kBounds.size() + 1> counts{};  ///< [bound], not summed; then those above all
    double sum = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> requests_;  ///< [code, host, method]
  std::map<std::pair<std::string, std::string>, Durations> durations_;                   ///< [host, verb]
};

/// leader_election_master_status, leader_election_slowpath_total. Any thread may call.
class LeaderMetrics {
 public:
  void set_leader(const std::string& lease, bool is_leader);
  /// A renewal that had to read the lease first.
  void count_slow_path(const std::string& lease);
  std::vector<prometheus::MetricFamily> collect() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, bool> is_leader_;
  std::map<std::string, std::uint64_t> slow_paths_;
};

/// process_*, of this process, from /proc/self. What cannot be read there is left out, as the Go client does.
std::vector<prometheus::MetricFamily> process_metrics();

/// kubernetes_feature_enabled
std::vector<prometheus::MetricFamily> feature_metrics(const FeatureGates& gates);

struct BuildInfo {
  Release release = Release::k1_35;  ///< that it follows
  std::string version;               ///< Berth's: "0.1.0"
  std::string commit;
};
/// "v1.35.4+berth.0.1.0"
std::string git_version(const BuildInfo& build);
/// kubernetes_build_info: git_version begins with the followed release, which is what alerts compare.
std::vector<prometheus::MetricFamily> build_metrics(const BuildInfo& build);

/// kubernetes_healthcheck, kubernetes_healthchecks_total: /metrics/slis
std::vector<prometheus::MetricFamily> health_metrics(const HealthResults& results);

/// kube_pod_resource_request and kube_pod_resource_limit as text, for /metrics/resources. A pod that has ended on its
/// node is left out, as zero amounts are. Cost: 0.19 s and 87 MB of text for 150,000 pods of two resources.
std::string pod_resources_text(std::span<const PodPtr> pods);

}  // namespace berth
