// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/generate/cluster_spec.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// Makes the cluster that `spec` describes, in memory. The same spec and seed give the same cluster on every platform
/// and for every number of threads. Objects have the form that the loader gives after admission.
///
/// Running pods are put where they fit, so that no node is overcommitted in pod slots, in a resource or in a host port:
/// each is tried on the nodes of the pools it may run on, from a random one on, and the first with room takes it. Node
/// affinity and node selectors are not looked at here; `runningOn` says which pools are meant. What finds no room is
/// left out and said in ClusterObjects::warnings.
ClusterObjects generate_cluster(const ClusterSpec& spec, std::uint64_t seed);

/// Writes a List of the namespaces, priority classes, services, workloads, nodes and pods as Kubernetes JSON.
/// @param path  "-" for standard output; a name that ends in ".gz" is compressed
/// @throws InputError naming the file when it cannot be written; what was written of it is then removed
void write_cluster(const ClusterObjects& objects, const std::string& path);
/// Writes any text, to the same kinds of places and with the same errors.
void write_text(const std::string& text, const std::string& path);

}  // namespace berth
