// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a state of write_embedding.cpp looks like, and the lines that take `oracle walk` there.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "host/objects/pod_copy.h"
#include "tests/histories/history_lines.h"
#include "tests/property/cluster_history.h"

namespace berth::test {

template <class Object>
nlohmann::json json_of(const Object& object) {
  std::string text;
  append_json(text, object);
  return nlohmann::json::parse(text);
}

/// The pod under another name, waiting for a node.
inline nlohmann::json renamed(nlohmann::json pod, const std::string& name) {
  pod["metadata"]["name"] = name;
  pod["metadata"]["uid"] = "uid-" + name;
  pod["spec"].erase("nodeName");
  if (pod.contains("status")) pod["status"].erase("nominatedNodeName");
  return pod;
}

/// A pod that stands on a node.
inline nlohmann::json running_json(const Pod& pod, const std::string& node) {
  nlohmann::json object = json_of(pod);
  object["spec"]["nodeName"] = node;
  object["metadata"]["uid"] = pod.uid();
  return object;
}
/// A pod that stands somewhere as it would wait for a node. Its claims know it by its name and uid.
inline nlohmann::json waiting_again(const Pod& pod) {
  nlohmann::json waiting = json_of(*pending_copy_of(pod));
  waiting["metadata"]["uid"] = pod.uid();
  waiting["metadata"].erase("deletionTimestamp");
  waiting["spec"].erase("nodeName");
  waiting["spec"].erase("schedulingGates");  // an assumed pod may have some
  if (waiting.contains("status")) waiting["status"].erase("nominatedNodeName");
  return waiting;
}

inline nlohmann::json change_json(const NodeUpsert& change) { return upsert_line(*change.node); }
inline nlohmann::json change_json(const NodeRemoval& change) { return removal_line("Node", "", change.name); }
/// berth.h reads pods as their owners write them, and so shall upstream: label keys are not merged into selectors yet.
inline nlohmann::json pod_line(nlohmann::json pod) { return {{"upsert", std::move(pod)}, {"created", true}}; }
inline nlohmann::json change_json(const PodUpsert& change) { return pod_line(json_of(*change.pod)); }
inline nlohmann::json change_json(const PodRemoval& change) { return removal_line("Pod", "", "", change.uid); }
inline nlohmann::json change_json(const NominationUpsert& change) {
  return nomination_line(change.pod->uid(), change.node_name);
}
inline nlohmann::json change_json(const NamespaceUpsert& change) { return upsert_line(change.object); }
inline nlohmann::json change_json(const NamespaceRemoval& change) { return removal_line("Namespace", "", change.name); }
inline nlohmann::json change_json(const ServiceUpsert& change) { return upsert_line(change.object); }
inline nlohmann::json change_json(const ServiceRemoval& change) {
  return removal_line("Service", change.namespace_, change.name);
}
inline nlohmann::json change_json(const WorkloadUpsert& change) { return upsert_line(change.object); }
inline nlohmann::json change_json(const WorkloadRemoval& change) {
  return removal_line(change.kind, change.namespace_, change.name);
}
template <class Other>
nlohmann::json change_json(const Other&) {
  throw std::logic_error("a history has no such event");
}

inline nlohmann::json apply_line(nlohmann::json change) {
  return {{"apply", nlohmann::json::array({std::move(change)})}};
}
/// The pod leaves its node and waits.
inline nlohmann::json leaves_line(const Pod& pod) {
  return {{"apply", {removal_line("Pod", "", "", pod.uid()), pod_line(waiting_again(pod))}}};
}

/// What a state looks like, and how upstream gets there.
struct Model {
  ClusterHistory history;
  nlohmann::json path = nlohmann::json::array();

  explicit Model(const ClusterHistory& begun) : history(begun) {}
  void happened(const ClusterChange& change) {
    path.push_back(apply_line(std::visit([](const auto& what) { return change_json(what); }, change)));
  }
};

}  // namespace berth::test
