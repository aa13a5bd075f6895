// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plugins on the host for tests. They read the claims of a pod; the first letter of a claim's name says which plugin
// it concerns. They have the names of plugins of kube-scheduler's default profile that Berth has not built.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/framework/host_plugin.h"

namespace berth::test {

/// The plugins that make_host_plugins() gives, which share this.
struct HostPluginState {
  std::atomic<std::uint64_t> version = 0;  ///< part of the hashes of VolumeZone
};

/// - NodeVolumeLimits: a node takes so many claims; a pod on a node changes that node. Reads all claims.
/// - VolumeRestrictions: a claim "x..." is used by one pod of the cluster; such a pod changes everything. With "xb..."
///   PreFilter says so too, with code Unschedulable.
/// - VolumeZone, which no pod changes: a claim "z..." suits some nodes, by a hash. "zset" and "zeven" name node sets,
///   "zghost" one without a node that exists, "zbroken" is an error of PreFilter, "znever" refused by it, "zthrow"
///   throws in Filter, "zfail" fails on some nodes, "zlater" waits for something outside.
/// - VolumeBinding: a zone takes so many pods with claims "d..." and "u..."; such a pod changes its zone. Scores,
///   normalised by the largest; "dwild" leaves the range, "dsad" fails in PreScore. Pods with "u..." are not signed,
///   and signing "uthrow" throws.
HostPlugins make_host_plugins(std::shared_ptr<const HostPluginState> state = std::make_shared<HostPluginState>());

/// The names of a pod's claims.
std::vector<std::string> claims_of(const Pod& pod);

}  // namespace berth::test
