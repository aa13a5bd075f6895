// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/objects/pod.h"

namespace berth {

/// A copy that differs in nothing, for a caller that changes some fields of it. Specs and owners are shared.
std::shared_ptr<Pod> copy_of(const Pod& pod);

/// The pod as its owner would make it again: without a node, a nomination, and what a kubelet reported of it.
std::shared_ptr<Pod> pending_copy_of(const Pod& pod);

}  // namespace berth
