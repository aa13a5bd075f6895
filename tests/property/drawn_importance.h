// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host/objects/cluster_objects.h"
#include "tests/property/dice.h"

namespace berth::test {

/// A copy of the pod with a random priority, start, grace period and whatever else preemption reads.
PodPtr with_drawn_importance(Dice& dice, const Pod& pod);

/// Up to three budgets, each for the pods that have the labels of one of `objects`.
std::vector<PodDisruptionBudget> draw_budgets(Dice& dice, const ClusterObjects& objects);

}  // namespace berth::test
