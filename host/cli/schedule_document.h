// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/report/document_formats.h"
#include "host/report/output.h"
#include "host/scheduler/scheduler.h"

namespace berth {

/// The report for machines: docs/schemas/schedule-report.schema.json, field by field.
void write_schedule_document(const ScheduleResult& result, DocumentWriter& writer);

/// The text of an unplaced pod, empty when it has none; points into `result`.
std::string_view unplaced_message(const ScheduleResult& result, const Unplaced& unplaced);

/// Name of the chosen node; points into `result`.
std::string_view placed_node(const ScheduleResult& result, const Placement& placement);

/// A List of v1 Binding objects, one per placement, as `kubectl create -f -` takes them.
void write_bindings(const ScheduleResult& result, DocumentWriter& writer);

/// A line "kubectl delete pod --namespace NAMESPACE NAME" per evicted pod, in order. What is not plain in a name is
/// quoted for bash.
void write_deletions(const ScheduleResult& result, Output& output);

/// The names of the pods that each preemptor evicted, in order. Refers to `result`.
class PreemptedPods {
 public:
  explicit PreemptedPods(const ScheduleResult& result);
  std::span<const Eviction* const> of(const Pod& preemptor) const;

 private:
  std::unordered_map<std::string, std::vector<const Eviction*>> of_uid_;
};

}  // namespace berth
