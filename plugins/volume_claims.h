// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the plugins of volumes read of a pod in the same way.

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"
#include "host/framework/host_plugin.h"
#include "host/objects/pod.h"
#include "plugins/claim_users.h"

namespace berth {

/// The claim that a volume names, or that the controller of ephemeral volumes makes for it; nullopt: none.
std::optional<std::string> claim_name(const Pod& pod, const PodVolume& volume);
/// A volume of the pod names a claim of that name; claims of ephemeral volumes are not named.
bool names_claim(const Pod& pod, std::string_view claim_name);
/// The claim is the pod's: a volume names it, or it is made for an ephemeral volume.
bool uses_claim(const Pod& pod, const VolumeClaim& claim);
/// Why the claim of an ephemeral volume is not this pod's; nullopt: it is.
std::optional<std::string> ownership_problem(const Pod& pod, const VolumeClaim& claim);
/// `persistentvolumeclaim "c" not found`
std::string not_found(std::string_view resource, std::string_view name);

/// All that can be read of these volumes of a pod, so that pods with equal texts are alike. Empty: there are none.
std::string volumes_signature(const Pod& pod, const std::function<bool(const PodVolume&)>& is_read);

bool has_volume(const Pod& pod, const std::function<bool(const PodVolume&)>& is_read);
/// The claims of the pod, when they are all that plugins read of its volumes, PreFilter accepts each of them, and each
/// can be known by what it says (OwnClaim); nullopt otherwise.
std::optional<std::vector<OwnClaim>> own_claims(const Pod& pod, const ClusterStorage& storage, const ClaimUsers& users);
/// @param claims  point into a cluster that may change
ClaimCopies copies_of(std::span<const OwnClaim> claims);
/// Appends texts so that no other sequence of texts gives the same.
void append_texts(std::string& out, std::initializer_list<std::string_view> texts);

inline bool has_claim(const PodVolume& volume) {
  return volume.kind == PodVolume::Kind::kClaim || volume.kind == PodVolume::Kind::kEphemeral;
}

/// The pods of a node, without some and with others, in the order in which upstream's dry run has them.
void for_each_pod(const NodeInfo& node, std::span<const Pod* const> added, std::span<const Pod* const> removed,
                  const std::function<void(const Pod&)>& visit);

}  // namespace berth
