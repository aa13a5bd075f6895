// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/generate/cluster_spec.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// Generates the cluster of `spec` in memory. The same spec and seed give the same cluster on every platform
/// and for every number of threads. Objects have the form that the loader gives after admission.
///
/// Running pods are assigned so that no node is overcommitted in pod slots, a resource or a host port: each is tried on
/// the nodes of its pools, starting at a random one, and placed on the first node with room. Node affinity and node
/// selectors are ignored here; `runningOn` selects the pools. Pods without room are omitted and reported in
/// ClusterObjects::warnings.
ClusterObjects generate_cluster(const ClusterSpec& spec, std::uint64_t seed);

/// Writes a List of the namespaces, priority classes, services, workloads, nodes and pods as Kubernetes JSON.
/// @param path  as write_output_file() takes it
/// @throws InputError naming the file when it cannot be written; a file that was there is as before
void write_cluster(const ClusterObjects& objects, const std::string& path);
/// Writes any text, to the same kinds of places and with the same errors.
void write_text(const std::string& text, const std::string& path);

}  // namespace berth
