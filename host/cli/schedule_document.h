// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "host/cli/document_writer.h"
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

}  // namespace berth
