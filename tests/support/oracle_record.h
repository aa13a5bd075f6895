// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares the verdicts of upstream kube-scheduler on one pod with a backend's: one record of tests/oracle, in the
// schema of `berth explain -o json`.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "batching/backend.h"

namespace berth::test {

/// Whether raw scores below zero are compared. tests/golden/recorded has upstream's internal values there.
enum class NegativeRaw { kCompared, kIgnored };

/// Returns one line per difference between `ours` and `record`: feasibility, plugin, code and reasons (as a multiset),
/// scores, totals, the best nodes, the message, the rejectors; for a cycle that ended with an error, that error.
std::vector<std::string> record_differences(const nlohmann::json& record, const Backend& backend,
                                            const Evaluation& ours, NegativeRaw negative_raw);

/// The decompressed bytes of a gzip file. @throws std::runtime_error when it cannot be read
std::string gunzip_file(const std::string& path);

}  // namespace berth::test
