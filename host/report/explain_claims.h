// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/report/terminal.h"
#include "host/scheduler/explain_document.h"

namespace berth {

/// The section about the claims of a pod: what becomes of each on which nodes. Empty where there is nothing to say.
std::string claims_text(const Explanation& explanation, const NodeNames& node_name, const Terminal& terminal);

}  // namespace berth
