// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/objects/json_value.h"
#include "host/perf/perf_config.h"

namespace berth {

/// Reads one operation of a workloadTemplate. Problems are those of `value`. The fields of an operation that Berth does
/// not have are not read.
PerfOp read_perf_op(const JsonValue& value);

}  // namespace berth
