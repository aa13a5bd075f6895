// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/record/comparison.h"

namespace berth {

/// One line: how far a recording goes, and its hash. The line says when the recording is incomplete.
std::string extent_report(const RecordingReader& reader);

/// Both extents, what differs between the runs, and the first differences with both decisions. For people.
/// @param cause  lines about the first difference; empty: nothing was found out
std::string comparison_report(const RecordingReader& a, const RecordingReader& b, const RecordingComparison& comparison,
                              const std::vector<std::string>& cause);

}  // namespace berth
