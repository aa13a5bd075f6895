// SPDX-License-Identifier: Apache-2.0
#pragma once

// Updates of a pod's metadata and spec: kubernetes pkg/registry/core/pod/strategy.go, and ValidatePodUpdate() of
// pkg/apis/core/validation/validation.go.

#include <string>
#include <vector>

#include "host/store/object_rules.h"

namespace berth {

/// What an update stores: labels, owners and spec of `wanted`; identity and status of `stored`.
PodPtr with_stored_status(const PodPtr& wanted, const Pod& stored);

/// Whether anything of spec differs. The model keeps parts of spec in Pod: gates, volumes, claims, priority.
bool has_other_spec(const Pod& before, const Pod& after);

/// Changes of spec that the API server refuses, as texts of field errors. Allowed are other images, more tolerations,
/// fewer scheduling gates, and on a pod with gates more node selector pairs and narrower required node affinity.
/// Upstream's text ends with a diff of the specs, which is left out here.
std::vector<std::string> update_problems(const Pod& before, const Pod& after);

}  // namespace berth
