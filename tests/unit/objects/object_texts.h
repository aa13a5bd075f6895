// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects as JSON, with a part that the test writes.

#include <string>
#include <string_view>

namespace berth::object_texts {

/// A pod that no check has anything to say about. The arguments are JSON: of the spec, ending in a comma; of the
/// container and of the metadata, beginning with one.
inline std::string good_pod(const std::string& spec = "", const std::string& container = "",
                            const std::string& metadata = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p")" + metadata + R"(},"spec":{)" + spec +
         R"("containers":[{"name":"c","image":"i")" + container + "}]}}";
}

inline std::string affinity(const std::string& content) { return good_pod(R"("affinity":{)" + content + "},"); }
inline std::string required_node_terms(const std::string& terms) {
  return affinity(R"("nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" + terms +
                  "]}}");
}
inline std::string anti_affinity_term(const std::string& term) {
  return affinity(R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{)" + term + "}]}");
}
inline std::string spread(const std::string& constraint) {
  return good_pod(R"("topologySpreadConstraints":[{)" + constraint + "}],");
}
inline std::string node(const std::string& content) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},)" + content + "}";
}
inline std::string workload(const std::string& kind, const std::string& spec, const std::string& pod_spec = "") {
  const std::string version = kind == "Job" ? "batch/v1" : kind == "ReplicationController" ? "v1" : "apps/v1";
  return R"({"apiVersion":")" + version + R"(","kind":")" + kind + R"(","metadata":{"name":"w"},"spec":{)" + spec +
         R"("template":{"metadata":{"labels":{"app":"x"}},"spec":{)" + pod_spec +
         R"("containers":[{"name":"c","image":"i"}]}}}})";
}
inline std::string object(const std::string& version, const std::string& kind, const std::string& rest) {
  return R"({"apiVersion":")" + version + R"(","kind":")" + kind + R"(","metadata":{"name":"o"})" + rest + "}";
}

// Storage objects. What is missing for a good one the argument has.

inline std::string volume(const std::string& spec) {
  return object("v1", "PersistentVolume", R"(,"spec":{)" + spec + "}");
}
inline std::string claim(const std::string& spec) {
  return object("v1", "PersistentVolumeClaim", R"(,"spec":{)" + spec + "}");
}
inline std::string storage_class(const std::string& rest) {
  return object("storage.k8s.io/v1", "StorageClass", "," + rest);
}
inline std::string csi_node(const std::string& drivers) {
  return object("storage.k8s.io/v1", "CSINode", R"(,"spec":{"drivers":[)" + drivers + "]}");
}
inline std::string capacity(const std::string& rest) {
  return object("storage.k8s.io/v1", "CSIStorageCapacity", "," + rest);
}
inline std::string attachment(const std::string& spec) {
  return object("storage.k8s.io/v1", "VolumeAttachment", R"(,"spec":{)" + spec + "}");
}
inline std::string pod_volume(const std::string& source) {
  return good_pod(R"("volumes":[{"name":"v",)" + source + "}],");
}
inline std::string stateful_set(const std::string& claim_template) {
  return workload("StatefulSet",
                  R"("selector":{"matchLabels":{"app":"x"}},"volumeClaimTemplates":[{)" + claim_template + "}],");
}

inline const std::string kModes = R"("accessModes":["ReadWriteOnce"],)";
inline const std::string kSize = R"("capacity":{"storage":"1Gi"},)";
inline const std::string kVolume = kModes + kSize;
inline const std::string kClaim = kModes + R"("resources":{"requests":{"storage":"1Gi"}})";
inline const std::string kCsi = R"("csi":{"driver":"d.example.com","volumeHandle":"h"})";

/// The same pod with the label app=x.
inline std::string labelled(std::string pod) {
  constexpr std::string_view kName = R"("name":"p")";
  return pod.insert(pod.find(kName) + kName.size(), R"(,"labels":{"app":"x"})");
}

/// A pod with these owners.
inline std::string owned(const std::string& owners) {
  return good_pod("", "", R"(,"ownerReferences":[{)" + owners + "}]");
}

inline const std::string kOwner = R"("apiVersion":"apps/v1","kind":"ReplicaSet","name":"r")";
inline constexpr auto kZone = R"("topologyKey":"zone")";
inline constexpr auto kHard = R"("whenUnsatisfiable":"DoNotSchedule")";

}  // namespace berth::object_texts
