// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/objects/selectors.h"

namespace berth {

/// kube-scheduler's error text for malformed preferred node affinity terms:
/// docs/behaviour/plugins-node.md 8.1, 8.5. Terms of weight 0 and empty terms are not parsed. Several problems are
/// listed in brackets, each once.
/// @return nullopt when all terms parse
std::optional<std::string> preferred_terms_problem(const std::vector<PreferredSchedulingTerm>& terms);

}  // namespace berth
