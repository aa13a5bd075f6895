// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/record/comparison.h"

namespace berth {

/// Why the first difference came about, in lines: runs the inputs of both recordings again up to the attempt, and
/// compares what the plugins say there of the nodes concerned. Empty where the first difference is not a decision that
/// both runs made about one pod.
/// @throws RecordingError
std::vector<std::string> cause_of_first(const RecordingReader& a, const RecordingReader& b,
                                        const RecordingComparison& comparison);

}  // namespace berth
