// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/generate/cluster_spec.h"
#include "host/objects/json_value.h"

namespace berth {

/// Checks that need the whole spec: names are there once, and what is named exists.
void check_cluster_spec(const ClusterSpec& spec, ProblemSink& sink);

}  // namespace berth
