// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/objects/pod.h"

namespace berth {

/// Canonical bytes of everything in a pod's spec that a scheduling rule reads: equal bytes, equal class. Names of
/// containers and volumes, limits and labels are not included, so that many pods share a class.
std::string pod_signature(const PodSpec& spec);

/// The same of what a kubelet says of the pod's resources, which counts once the pod is on a node, and is seldom said
/// of one that is not; empty: nothing. Pods of equal pod_signature() are told apart by it.
std::string status_signature(const Pod& pod);

/// The part of the signature that is read by rules on the node object only, not on the load: classes that differ only
/// in requests share it.
/// @param with_images  false: as if its containers had no images
std::string node_side_signature(const PodSpec& spec, bool with_images = true);
/// The part of that which NodeAffinity reads: nodeSelector and nodeAffinity.
std::string node_affinity_signature(const PodSpec& spec);
/// The part of that which TaintToleration reads.
std::string tolerations_signature(const PodSpec& spec);
/// All that terms of a node selector say.
std::string node_terms_signature(const std::vector<NodeSelectorTerm>& terms);

/// 64-bit hash of the signature; the same in every backend and on every platform, because tie draws depend on it.
std::uint64_t pod_class_hash(const PodSpec& spec);
/// The same from pod_signature().
std::uint64_t pod_class_hash(std::string_view signature);

}  // namespace berth
