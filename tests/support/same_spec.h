// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/objects/pod.h"

namespace berth::test {

/// Equal except for the hashes of the text that was read: a spec that was built in memory, or written and read again,
/// has others.
inline bool is_same_spec(PodSpec a, const PodSpec& b) {
  a.tolerations_hash = b.tolerations_hash;
  a.volumes_hash = b.volumes_hash;
  return a == b;
}

}  // namespace berth::test
