// SPDX-License-Identifier: Apache-2.0
#include "host/live/live_routes.h"

#include <charconv>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "host/config/config_out.h"
#include "host/live/explain_route.h"
#include "host/metrics/exposition.h"

namespace berth {
namespace {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

ServedAnswer metrics_answer(std::string text) { return {200, kMetricsType, std::move(text)}; }

std::vector<HealthCheck> lease_checks(const LiveSources& sources) {
  if (sources.lease == nullptr) return {};
  return {{"leaderElection", [lease = sources.lease] { return lease->health_problem(); }}};
}

/// Names every resource whose watch has a problem, or whose first list is not there.
std::string sync_problem(const LiveScheduler& scheduler) {
  if (scheduler.is_synced()) return {};
  std::string problem = "not all handlers have processed their first lists";
  for (const ResourceState& resource : scheduler.resources()) {
    if (resource.is_synced) continue;
    problem += ", " + resource.name + ": " + (resource.problem.empty() ? "is being listed" : resource.problem);
  }
  return problem;
}

std::vector<HealthCheck> ready_checks(const LiveSources& sources) {
  std::vector<HealthCheck> checks = lease_checks(sources);
  checks.push_back(
      {"shutdown", [is_ending = sources.is_ending] { return is_ending() ? "the process is ending" : std::string(); }});
  checks.push_back({"sched-handler-sync", [&scheduler = sources.scheduler] { return sync_problem(scheduler); }});
  return checks;
}

std::string all_metrics(const LiveSources& sources) {
  std::vector<prometheus::MetricFamily> families;
  sources.scheduler.read(
      [&](const SchedulingLoop& loop) { families = LoopCollectable(sources.metrics, loop).Collect(); });
  for (auto more : {sources.requests.collect(), sources.leaders.collect(), process_metrics(),
                    feature_metrics(sources.config.gates), build_metrics(sources.build)})
    for (prometheus::MetricFamily& family : more) families.push_back(std::move(family));
  sources.metric_filter.apply(families);
  return metrics_text(families);
}

std::string health_metrics_text(const LiveSources& sources) {
  std::vector<prometheus::MetricFamily> families = health_metrics(sources.health);
  sources.metric_filter.apply(families);
  return metrics_text(families);
}

/// How much is logged: routes.StringFlagPutHandler(logs.GlogSetter).
ServedAnswer answer_verbosity(const LiveSources& sources, const ServedRequest& request) {
  constexpr int kVerbosityMax = 100;
  if (request.method != "PUT") return {406, "text/plain", "unsupported http method"};
  int verbosity = 0;
  const char* const end = request.body.data() + request.body.size();
  const auto [stopped, error] = std::from_chars(request.body.data(), end, verbosity);
  if (error != std::errc() || stopped != end || verbosity < 0 || verbosity > kVerbosityMax)
    return {400, "text/plain", "expected a whole number from 0 to 100\n"};
  sources.set_verbosity(verbosity);
  return {200, "text/plain", "successfully set klog.logging.verbosity to " + std::to_string(verbosity)};
}

std::string resource_metrics(const LiveSources& sources) {
  if (sources.lease != nullptr && !sources.lease->is_leading()) return {};
  std::vector<PodPtr> pods;
  const StoreContents contents = sources.scheduler.contents();
  for (const StoredPtr<Pod>& pod : contents.of<Pod>()) pods.push_back(pod->object);
  return pod_resources_text(pods);
}

}  // namespace

std::vector<Route> live_routes(const LiveSources& sources, const ServingLog& log) {
  std::vector<Route> routes;
  const auto add = [&](std::vector<Route> more) {
    for (Route& route : more) routes.push_back(std::move(route));
  };
  add(health_routes("/healthz", lease_checks(sources), sources.health, log));
  add(health_routes("/livez", {}, sources.health, log));
  add(health_routes("/readyz", ready_checks(sources), sources.health, log));
  routes.push_back({"/metrics", [sources](const ServedRequest&) { return metrics_answer(all_metrics(sources)); }});
  routes.push_back(
      {"/metrics/slis", [sources](const ServedRequest&) { return metrics_answer(health_metrics_text(sources)); }});
  routes.push_back(
      {"/metrics/resources", [sources](const ServedRequest&) { return metrics_answer(resource_metrics(sources)); }});
  routes.push_back({"/configz", [text = "{\"componentconfig\":" + configz_json(sources.config) + "}"](
                                    const ServedRequest&) { return ServedAnswer{200, "application/json", text}; }});
  routes.push_back(explain_route(sources.scheduler));
  if (sources.config.enable_profiling && sources.set_verbosity)
    routes.push_back({"/debug/flags/v",
                      [sources](const ServedRequest& request) { return answer_verbosity(sources, request); }, "PUT"});
  return routes;
}

}  // namespace berth
