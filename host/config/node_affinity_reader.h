// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/objects/json_value.h"
#include "host/objects/selectors.h"

namespace berth {

/// A node affinity that a configuration adds to pods, decoded strictly. Unlike a pod's own, every term must parse
/// (docs/behaviour/plugins-node.md 8.1): a term that does not is a problem. Preferred terms of weight 0 have no effect
/// and are not evaluated, as in kube-scheduler.
NodeAffinity read_node_affinity(const JsonValue& value, ProblemSink& sink);

}  // namespace berth
