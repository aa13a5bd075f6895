// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/config/feature_gates.h"

namespace berth {

/// Gang scheduling is not built, and pods that come in gangs would be placed one by one without it.
/// @throws InputError that names GenericWorkload and GangScheduling, where they are on
void refuse_unbuilt_gates(const FeatureGates& gates);

}  // namespace berth
