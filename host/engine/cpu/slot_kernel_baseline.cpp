// SPDX-License-Identifier: Apache-2.0
// The build compiles this file for its instruction set: host/engine/CMakeLists.txt.
#include "host/engine/cpu/slot_kernel_body.h"

namespace berth {

extern const SlotKernels kSlotKernelsBaseline = {refresh, combine,        copies,      nodes,
                                                 bounds,  bounds_by_lane, node_bounds, node_bounds_by_lane,
                                                 fitting, join,           "baseline"};

}  // namespace berth
