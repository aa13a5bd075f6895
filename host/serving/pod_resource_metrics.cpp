// SPDX-License-Identifier: Apache-2.0
// /metrics/resources: pkg/scheduler/metrics/resources/resources.go. Written as text at once: metric objects of 150,000
// pods would take hundreds of megabytes.
#include <array>
#include <charconv>
#include <string_view>

#include "host/objects/pod_requests.h"
#include "host/serving/component_metrics.h"

namespace berth {
namespace {

struct ResourceFamily {
  std::string_view name;
  std::string_view help;
};
constexpr ResourceFamily kLimits = {
    "kube_pod_resource_limit",
    "[STABLE] Resources limit for workloads on the cluster, broken down by pod. This shows the resource usage the "
    "scheduler and kubelet expect per pod for resources along with the unit for the resource if any."};
constexpr ResourceFamily kRequests = {
    "kube_pod_resource_request",
    "[STABLE] Resources requested by workloads on the cluster, broken down by pod. This shows the resource usage the "
    "scheduler and kubelet expect per pod for resources along with the unit for the resource if any."};

std::string_view unit_of(std::string_view resource) {
  if (resource == kCpu) return "cores";
  if (resource == kMemory || resource == "storage" || resource == kEphemeralStorage) return "bytes";
  if (resource.starts_with("hugepages-")) return "bytes";
  if (resource.starts_with("attachable-volumes-")) return "integer";
  return "";
}

void append_label(std::string& out, std::string_view name, std::string_view value, char end) {
  out.append(name).append("=\"");
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += '"';
  out += end;
}

void append_pod(std::string& out, std::string_view metric, const Pod& pod, const ResourceList& amounts) {
  for (const auto& [resource, amount] : amounts) {
    if (amount.nano == 0) continue;
    out.append(metric) += '{';
    append_label(out, "namespace", pod.namespace_, ',');
    append_label(out, "node", pod.node_name, ',');
    append_label(out, "pod", pod.name, ',');
    append_label(out, "priority", std::to_string(pod.priority), ',');
    append_label(out, "resource", resource, ',');
    append_label(out, "scheduler", pod.spec->scheduler_name, ',');
    append_label(out, "unit", unit_of(resource), '}');
    std::array<char, 32> text{};
    const double value = static_cast<double>(amount.nano) / static_cast<double>(kNanoPerUnit);
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    out += ' ';
    out.append(text.data(), end) += '\n';
  }
}

bool has_ended(const Pod& pod) {
  return !pod.node_name.empty() && (pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed);
}

template <class Amounts>
void append_family(std::string& out, const ResourceFamily& family, std::span<const PodPtr> pods, const Amounts& of) {
  const std::size_t start = out.size();
  out.append("# HELP ").append(family.name).append(" ").append(family.help).append("\n# TYPE ");
  out.append(family.name).append(" gauge\n");
  const std::size_t head_end = out.size();
  for (const PodPtr& pod : pods)
    if (!has_ended(*pod)) append_pod(out, family.name, *pod, of(*pod));
  if (out.size() == head_end) out.resize(start);
}

}  // namespace

std::string pod_resources_text(std::span<const PodPtr> pods) {
  std::string out;
  append_family(out, kLimits, pods, [](const Pod& pod) { return exact_pod_limits(*pod.spec); });
  append_family(out, kRequests, pods, [](const Pod& pod) { return exact_pod_requests(pod, {}); });
  return out;
}

}  // namespace berth
