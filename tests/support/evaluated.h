// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batching/backend.h"

namespace berth::test {

/// Backend::evaluate() of a pod that is prepared for it.
inline Evaluation evaluated(PodToPlace pod, Backend& backend) {
  backend.prepare({&pod, 1});
  return backend.evaluate(pod);
}

}  // namespace berth::test
