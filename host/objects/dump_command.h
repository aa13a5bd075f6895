// SPDX-License-Identifier: Apache-2.0
#pragma once

// How to dump a cluster with kubectl. --help, the messages about what a dump lacks and README.md (a test compares) give
// this text.

#include <string>
#include <string_view>

namespace berth {

/// kubectl's own short names keep it within a line. Brings every kind that the program reads and every cluster has.
/// Deployments, DaemonSets and Jobs are not among them: their pods, and the ReplicaSets whose selectors count, are in
/// the dump themselves. Nor are the kinds of resource.k8s.io, which clusters before 1.34 lack, and for which kubectl
/// would fail.
inline constexpr std::string_view kDumpCommand =
    "kubectl get no,po,ns,svc,rc,rs,sts,pc,runtimeclasses,pdb,pv,pvc,sc,csinodes,csidrivers,csistoragecapacities,"
    "volumeattachments -A -o json > cluster.json";

/// The command for one or several kinds alone: "kubectl get namespaces -A -o json".
/// @param kinds  as kubectl takes them: "services,replicasets"
inline std::string dump_command_for(std::string_view kinds) {
  return std::string("kubectl get ").append(kinds).append(" -A -o json");
}

}  // namespace berth
