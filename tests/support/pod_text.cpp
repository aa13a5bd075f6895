// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/support/object_text.h"
#include "tests/support/storage_text.h"

namespace berth::test {
namespace {

/// "key", "key=value", "key>5" or "key<5", each with ":Effect" or without; "*" is the empty key.
Toleration toleration(std::string_view text) {
  Toleration result;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    result.effect = taint_effect(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  const std::size_t at = text.find_first_of("=<>");
  result.key = std::string(text.substr(0, at));
  if (result.key == "*") result.key.clear();
  result.op = TolerationOperator::kExists;
  if (at == std::string_view::npos) return result;
  result.value = std::string(text.substr(at + 1));
  result.op = text[at] == '='   ? TolerationOperator::kEqual
              : text[at] == '>' ? TolerationOperator::kGt
                                : TolerationOperator::kLt;
  return result;
}

/// "[ip/][protocol/]port"; an IPv6 address may hold colons but no slash.
ContainerPort host_port(std::string_view text) {
  const std::vector<std::string> parts = split(text, '/');
  ContainerPort port;
  port.host_port = small_integer(parts.back());
  port.container_port = port.host_port;
  if (parts.size() >= 2) port.protocol = parts[parts.size() - 2];
  if (parts.size() >= 3) port.host_ip = parts[parts.size() - 3];
  return port;
}

struct PodText {
  Pod pod;
  PodSpec spec;
  PodRare rare;
  std::vector<std::pair<std::string, std::string>> selector;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<OwnerReference> owners;
  Container* container = nullptr;              ///< the one that words apply to
  TopologySpreadConstraint* spread = nullptr;  ///< the one that words apply to; null: `affinity_term` is
  PodAffinityTerm* affinity_term = nullptr;

  void take(const std::string& word) {
    const auto [key, value] = key_value(word);
    if (take_container(key, value) || take_rule(key, value) || take_rare(key, value)) return;
    if (take_topology(key, value) || (spread != nullptr && take_spread(key, value)) ||
        (affinity_term != nullptr && take_affinity_term(key, value))) {
      return;
    }
    fail("no word of a pod", word);
  }

  Container& current() {
    if (container == nullptr) container = &spec.containers.emplace_back();
    return *container;
  }

  bool take_container(const std::string& key, const std::string& value) {
    if (key == "container") {
      container = &spec.containers.emplace_back();
    } else if (key == "init" || key == "sidecar") {
      container = &spec.init_containers.emplace_back();
      container->restart_always = key == "sidecar";
    } else if (const std::optional<std::string> name = resource_name(key)) {
      set_amount(current().requests, *name, value);
    } else if (key == "image") {
      current().image = value;
    } else if (key == "port") {
      current().ports.push_back(host_port(value));
    } else if (key == "restarts-all") {
      current().restarts_all_containers = true;
    } else {
      return false;
    }
    return true;
  }

  NodeAffinity& affinity() {
    if (!spec.node_affinity) spec.node_affinity.emplace();
    return *spec.node_affinity;
  }

  std::vector<NodeSelectorTerm>& required() {
    if (!affinity().required) affinity().required.emplace();
    return *affinity().required;
  }

  bool take_rule(const std::string& key, const std::string& value) {
    if (key == "tolerate") {
      spec.tolerations.push_back(toleration(value));
    } else if (key.starts_with("select:")) {
      selector.emplace_back(key.substr(7), value);
    } else if (key == "need") {
      required().push_back(term(value));
    } else if (key == "need-nothing") {
      required();
    } else if (key == "prefer") {
      affinity().preferred.push_back(preferred_term(value));
    } else if (key.starts_with("overhead:")) {
      set_amount(spec.overhead, key.substr(9), value);
    } else if (key.starts_with("pod-level:")) {
      set_amount(spec.pod_level_requests, key.substr(10), value);
      spec.has_pod_level_resources = true;
    } else if (key == "image-volume") {
      spec.image_volumes.push_back(value);
    } else {
      return false;
    }
    return true;
  }

  bool take_topology(const std::string& key, const std::string& value) {
    if (key == "spread" || key == "soft-spread") {
      spread = &spec.topology_spread_constraints.emplace_back();
      affinity_term = nullptr;
      spread->topology_key = topology_key(value);
      spread->schedule_anyway = key == "soft-spread";
    } else if (key == "pod-affinity" || key == "pod-anti-affinity") {
      add_term(key == "pod-affinity" ? spec.pod_affinity : spec.pod_anti_affinity, value);
    } else if (key == "match" && (spread != nullptr || affinity_term != nullptr)) {
      (spread != nullptr ? spread->label_selector : affinity_term->label_selector) = label_selector(value);
    } else {
      return false;
    }
    return true;
  }

  /// "KEY" is a required term, "KEY:WEIGHT" a preferred one.
  void add_term(std::optional<PodAffinity>& to, const std::string& text) {
    if (!to) to.emplace();
    const std::vector<std::string> parts = split(text, ':');
    spread = nullptr;
    affinity_term = parts.size() == 1 ? &to->required.emplace_back() : &to->preferred.emplace_back().term;
    affinity_term->topology_key = topology_key(parts[0]);
    if (parts.size() > 1) to->preferred.back().weight = small_integer(parts[1]);
  }

  static bool honors(const std::string& policy) {
    if (policy != "Honor" && policy != "Ignore") fail("neither Honor nor Ignore", policy);
    return policy == "Honor";
  }

  bool take_spread(const std::string& key, const std::string& value) {
    if (key == "skew") {
      spread->max_skew = small_integer(value);
    } else if (key == "min-domains") {
      spread->min_domains = small_integer(value);
    } else if (key == "node-affinity") {
      spread->honor_node_affinity = honors(value);
    } else if (key == "node-taints") {
      spread->honor_node_taints = honors(value);
    } else if (key == "match-keys") {
      spread->match_label_keys = split(value, ',');
    } else {
      return false;
    }
    return true;
  }

  bool take_affinity_term(const std::string& key, const std::string& value) {
    if (key == "namespaces") {
      affinity_term->namespaces = split(value, ',');
    } else if (key == "namespace-match") {
      affinity_term->namespace_selector = label_selector(value);
    } else {
      return false;
    }
    return true;
  }

  /// "KIND/NAME": controlled by a workload in its storage version.
  static OwnerReference owner(const std::string& text) {
    const std::vector<std::string> parts = split(text, '/');
    if (parts.size() != 2) fail("not KIND/NAME", text);
    const bool is_core = parts[0] == "ReplicationController";
    return {parts[0], parts[1], "", true, is_core ? "v1" : "apps/v1"};
  }

  bool take_rare(const std::string& key, const std::string& value) {
    if (key.starts_with("label:")) {
      labels.emplace_back(key.substr(6), value);
    } else if (key == "owner") {
      owners.push_back(owner(value));
    } else if (key == "on") {
      pod.node_name = value;
      pod.phase = PodPhase::kRunning;
    } else if (key == "priority") {
      pod.priority = small_integer(value);
    } else if (key == "namespace") {
      pod.namespace_ = value;
    } else if (key == "nominated") {
      rare.nominated_node_name = value;
    } else if (key == "gate") {
      rare.scheduling_gates.push_back(value);
    } else if (key == "terminating") {
      pod.terminating = true;
    } else if (key == "claim") {
      rare.volumes.push_back({PodVolume::Kind::kClaim, value});
    } else if (key == "ephemeral-volume") {
      rare.volumes.push_back({PodVolume::Kind::kEphemeral, value});
    } else if (key == "disk") {
      rare.volumes.push_back(inline_disk(value));
    } else if (key == "inline-csi") {
      rare.volumes.push_back({PodVolume::Kind::kCsiInline, value});
    } else if (key == "resource-claim") {
      rare.resource_claims.push_back(value);
    } else {
      return false;
    }
    return true;
  }
};

/// Nodes and pods of one line share their content, like loaded ones.
Pod copy_with(const PodText& text, const std::string& name, std::shared_ptr<const PodSpec> spec) {
  Pod pod;
  pod.name = name;
  pod.namespace_ = text.pod.namespace_;
  pod.spec = std::move(spec);
  pod.labels = LabelMap(text.labels);
  if (!text.owners.empty()) pod.owners = std::make_shared<const std::vector<OwnerReference>>(text.owners);
  pod.node_name = text.pod.node_name;
  pod.priority = text.pod.priority;
  pod.phase = text.pod.phase;
  pod.terminating = text.pod.terminating;
  pod.rare_fields = std::make_unique<const PodRare>(text.rare);
  return pod;
}

}  // namespace

std::vector<PodPtr> make_pods(const std::vector<std::string>& words) {
  PodText text;
  for (std::size_t i = 2; i < words.size(); ++i) text.take(words[i]);
  if (text.spec.containers.empty()) text.spec.containers.emplace_back();
  text.spec.node_selector = LabelMap(std::move(text.selector));
  const auto spec = std::make_shared<const PodSpec>(std::move(text.spec));
  std::vector<PodPtr> pods;
  for (const std::string& name : expand_name(words.at(1))) {
    pods.push_back(std::make_shared<const Pod>(copy_with(text, name, spec)));
  }
  return pods;
}

}  // namespace berth::test
