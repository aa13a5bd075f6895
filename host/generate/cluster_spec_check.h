// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/generate/cluster_spec.h"
#include "host/objects/json_value.h"

namespace berth {

/// Checks that need the whole spec: names are unique, and referenced names exist.
void check_cluster_spec(const ClusterSpec& spec, ProblemSink& sink);

}  // namespace berth
