// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "batching/backend.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Backend::verdicts(). @throws std::logic_error naming the pod when it is not prepared
PodVerdicts verdicts_of_pod(const PodToPlace& pod, const ClassTable& table, const Nominations& nominations,
                            const Snapshot& snapshot);
/// Backend::verdicts_on()
PodVerdicts verdicts_of_pod_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, const ClassTable& table,
                               const Nominations& nominations, const Snapshot& snapshot);

}  // namespace berth
