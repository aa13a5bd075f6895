// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/slot_kernel.h"

namespace berth {

const SlotKernels& slot_kernels() {
#if defined(__x86_64__)
  static const SlotKernels& best = [&]() -> const SlotKernels& {
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (avx512) return kSlotKernelsAvx512;
    if (avx2) return kSlotKernelsAvx2;
    return kSlotKernelsBaseline;
  }();
  return best;
#elif defined(__aarch64__)
  return kSlotKernelsNeon;
#else
  return kSlotKernelsBaseline;
#endif
}

}  // namespace berth
