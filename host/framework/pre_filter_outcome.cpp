// SPDX-License-Identifier: Apache-2.0
#include "host/framework/pre_filter_outcome.h"

#include <utility>

namespace berth {
namespace {

/// "[A B]"
std::string bracketed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return "[" + text + "]";
}

Status nothing_left(const std::set<std::string>& plugins) {
  const std::string text = plugins.size() == 1
                               ? "node(s) didn't satisfy plugin " + *plugins.begin()
                               : "node(s) didn't satisfy plugin(s) " + bracketed(plugins) + " simultaneously";
  return {StatusCode::kUnschedulableAndUnresolvable, "", {text}};
}

}  // namespace

bool PreFilterOutcome::narrow(std::string_view plugin, std::set<std::string> names) {
  narrowing_plugins.emplace(plugin);
  if (node_names.has_value()) {
    std::erase_if(*node_names, [&](const std::string& name) { return !names.contains(name); });
  } else {
    node_names = std::move(names);
  }
  if (!node_names->empty()) return true;
  status = nothing_left(narrowing_plugins);
  return false;
}

Status PreFilterOutcome::absent_node_status() const {
  Status absent{StatusCode::kUnschedulableAndUnresolvable, "", {}};
  if (node_names.has_value()) {
    absent.reasons.push_back("node(s) didn't satisfy plugin(s) " + bracketed(narrowing_plugins));
  }
  return absent;
}

Diagnosis diagnose(const PreFilterOutcome& rejection, std::int64_t node_count) {
  return {node_count, {}, rejection.status.message(), {rejection.status.plugin}};
}

Diagnosis diagnose(const Verdicts& verdicts, std::int64_t node_count, const Status& absent) {
  Diagnosis diagnosis;
  diagnosis.node_count = node_count;
  std::int64_t absent_count = node_count;
  for (std::size_t node = 0; node < verdicts.node_count(); ++node) {
    if (verdicts.passes(node)) continue;
    --absent_count;
    const Status status = verdicts.status(node);
    for (const std::string& reason : status.reasons) ++diagnosis.reason_counts[reason];
    if (is_rejected(status.code)) diagnosis.rejectors.insert(status.plugin);
  }
  if (absent_count <= 0) return diagnosis;
  for (const std::string& reason : absent.reasons) diagnosis.reason_counts[reason] += absent_count;
  return diagnosis;
}

}  // namespace berth
