// SPDX-License-Identifier: Apache-2.0
// The kernels without vector instructions, which the build turns off for this file: what every instruction set is
// compared with.
#include "host/engine/cpu/slot_kernel_body.h"

namespace berth {

extern const SlotKernels kSlotKernelsScalar = {
    refresh, combine, copies, nodes, bounds, bounds_by_lane, node_bounds, node_bounds_by_lane, fitting, join, "scalar"};

}  // namespace berth
