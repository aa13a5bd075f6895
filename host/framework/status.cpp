// SPDX-License-Identifier: Apache-2.0
#include "host/framework/status.h"

#include <algorithm>

namespace berth {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += ", ";
    joined += part;
  }
  return joined;
}

}  // namespace

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kSuccess:
      return "Success";
    case StatusCode::kError:
      return "Error";
    case StatusCode::kUnschedulable:
      return "Unschedulable";
    case StatusCode::kUnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
    case StatusCode::kWait:
      return "Wait";
    case StatusCode::kSkip:
      return "Skip";
    case StatusCode::kPending:
      return "Pending";
  }
  return "unknown";
}

std::string Status::message() const { return join(reasons); }

std::string node_set_text(const PluginNames& plugins) {
  std::string text;
  for (const std::string& name : plugins.names()) text += (text.empty() ? "" : " ") + name;
  return "node(s) didn't satisfy plugin(s) [" + text + "]";
}

std::string fit_error_text(const Diagnosis& diagnosis) {
  std::string text = "0/" + std::to_string(diagnosis.node_count) + " nodes are available:";
  if (!diagnosis.pre_filter_message.empty()) return text + " " + diagnosis.pre_filter_message + ".";
  std::vector<std::string> parts;
  parts.reserve(diagnosis.reason_counts.size());
  for (const auto& [reason, count] : diagnosis.reason_counts) parts.push_back(std::to_string(count) + " " + reason);
  std::sort(parts.begin(), parts.end());
  if (!parts.empty()) text += " " + join(parts) + ".";
  return text;
}

}  // namespace berth
