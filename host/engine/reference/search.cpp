// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/search.h"

#include <string>

namespace berth::reference {
namespace {

/// Message of a PreFilter result for the nodes outside it (2.2).
std::string outside_reason(const Search& search) {
  PluginNames plugins;
  for (const auto& [plugin, names] : search.pre.node_sets) plugins.insert(plugin);
  if (!search.nomination_refused_by.empty()) plugins.insert(search.nomination_refused_by);
  return node_set_text(plugins);
}

}  // namespace

std::size_t Search::count_among(std::size_t node_count) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < node_count; ++i) count += is_among(i) ? 1U : 0U;
  return count;
}

Status Search::outside_status() const {
  Status status{StatusCode::kUnschedulableAndUnresolvable, "PreFilter", {}};
  if (!pre.status.ok()) {
    status.code = pre.status.code;
    status.reasons = {pre.status.message()};
  }
  return status;
}

const Status* Search::first_error() const {
  for (const std::optional<Status>& refusal : refusals) {
    if (refusal && refusal->code == StatusCode::kError) return &*refusal;
  }
  return nullptr;
}

Diagnosis diagnose(const Search& search, std::size_t node_count) {
  Diagnosis diagnosis;
  diagnosis.node_count = static_cast<std::int64_t>(search.count_among(node_count));
  if (!search.pre.status.ok()) {
    diagnosis.pre_filter_message = search.pre.status.message();
    diagnosis.rejectors = search.pre.rejectors();
    if (search.pre.status.code == StatusCode::kUnschedulable) diagnosis.resolvable_count = diagnosis.node_count;
    return diagnosis;
  }
  diagnosis.rejectors = search.pre.rejectors();
  for (std::size_t i = 0; i < search.refusals.size(); ++i) {
    const std::optional<Status>& refusal = search.refusals[i];
    if (!search.is_among(i)) continue;
    if (refusal) {
      for (const std::string& reason : refusal->reasons) ++diagnosis.reason_counts[reason];
      diagnosis.add_rejection(*refusal, 1);
    } else if (search.pre.node_names) {
      ++diagnosis.reason_counts[outside_reason(search)];
    }
  }
  return diagnosis;
}

}  // namespace berth::reference
