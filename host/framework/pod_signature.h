// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/objects/pod.h"

namespace berth {

/// Canonical bytes of everything in a pod's spec that a scheduling rule reads: equal bytes, equal class. Names of
/// containers and volumes, limits and labels stay out (design: a class is only worth something if real pods share it).
std::string pod_signature(const PodSpec& spec);

/// The part of the signature that rules read which look at a node's object alone, not at what runs on it: classes that
/// differ only in what they request share it.
std::string node_side_signature(const PodSpec& spec);

/// 64-bit hash of the signature; the same in every backend and on every platform, since ties are drawn from it.
std::uint64_t pod_class_hash(const PodSpec& spec);

}  // namespace berth
