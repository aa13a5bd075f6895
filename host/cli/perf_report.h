// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/perf/perf_runner.h"
#include "host/report/document_formats.h"
#include "host/report/terminal.h"

namespace berth {

/// A row for each measurement, then the workloads that were skipped or failed with the reason. The last line is
/// "perf: 3 workloads run, 1 skipped, 0 below threshold", with ", 1 failed" where any did.
std::string perf_report(const std::vector<PerfResult>& results, const Terminal& terminal);

/// The form of upstream's files (DataItems in util.go: version, dataItems) with one member more: workloads.
void write_perf_results(const std::vector<PerfResult>& results, DocumentWriter& writer);

}  // namespace berth
