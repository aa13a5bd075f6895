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
