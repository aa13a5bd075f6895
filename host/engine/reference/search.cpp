// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/search.h"

#include <string_view>

namespace berth::reference {
namespace {

/// Message of a PreFilter result for the nodes outside it; only NodeAffinity restricts (2.2).
constexpr std::string_view kOutsideReason = "node(s) didn't satisfy plugin(s) [NodeAffinity]";

}  // namespace

Status Search::outside_status() const {
  Status status{StatusCode::kUnschedulableAndUnresolvable, "PreFilter", {}};
  if (!pre.status.ok()) status.reasons = pre.status.reasons;
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
  diagnosis.node_count = static_cast<std::int64_t>(node_count);
  if (!search.pre.status.ok()) {
    diagnosis.pre_filter_message = search.pre.status.message();
    diagnosis.rejectors = {search.pre.status.plugin};
    return diagnosis;
  }
  if (search.pre.node_names) diagnosis.rejectors = {search.pre.named_by};
  for (const std::optional<Status>& refusal : search.refusals) {
    if (refusal) {
      for (const std::string& reason : refusal->reasons) ++diagnosis.reason_counts[reason];
      diagnosis.rejectors.insert(refusal->plugin);
    } else if (search.pre.node_names) {
      ++diagnosis.reason_counts[std::string(kOutsideReason)];
    }
  }
  return diagnosis;
}

}  // namespace berth::reference
