// SPDX-License-Identifier: Apache-2.0
#include "tests/support/object_text.h"

#include <memory>
#include <optional>
#include <utility>

namespace berth::test {
namespace {

/// "key[=value]:Effect"
Taint taint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) fail("a taint needs an effect", text);
  auto [key, value] = key_value(text.substr(0, colon));
  return Taint{std::move(key), std::move(value), taint_effect(text.substr(colon + 1))};
}

/// "size*name,name"
NodeImage node_image(std::string_view text) {
  const std::size_t star = text.find('*');
  if (star == std::string_view::npos) fail("not size*name,name", text);
  return NodeImage{split(text.substr(star + 1), ','), quantity(text.substr(0, star)).value()};
}

struct NodeText {
  Node node;
  ResourceList allocatable;
  std::vector<std::pair<std::string, std::string>> labels;
  bool names_itself = false;  ///< has the hostname label

  void take(const std::string& word) {
    const auto [key, value] = key_value(word);
    if (const std::optional<std::string> name = resource_name(key)) {
      set_amount(allocatable, *name, value);
    } else if (key == "pods") {
      node.allowed_pod_number = integer(value);
    } else if (key.starts_with("label:")) {
      labels.emplace_back(key.substr(6), value);
    } else if (key == "zone") {
      labels.emplace_back(topology_key("zone"), value);
    } else if (key == "host") {
      names_itself = true;
    } else if (key == "taint") {
      node.taints.push_back(taint(value));
    } else if (key == "unschedulable") {
      node.unschedulable = true;
    } else if (key == "image") {
      node.images.push_back(node_image(value));
    } else if (key == "feature") {
      node.declared_features.push_back(value);
    } else {
      fail("no word of a node", word);
    }
  }
};

/// "key=value" of a word "PREFIXkey=value"; nullopt for another word.
std::optional<std::pair<std::string, std::string>> pair_behind(std::string_view prefix, const std::string& word) {
  if (!word.starts_with(prefix)) return std::nullopt;
  return key_value(std::string_view(word).substr(prefix.size()));
}

}  // namespace

void add_nodes(const std::vector<std::string>& words, ClusterObjects& objects) {
  NodeText text;
  text.node.allowed_pod_number = 110;
  for (std::size_t i = 2; i < words.size(); ++i) text.take(words[i]);
  text.node.allocatable = to_amounts(text.allocatable);
  for (const std::string& name : expand_name(words.at(1))) {
    auto labels = text.labels;
    if (text.names_itself) labels.emplace_back(topology_key("host"), name);
    text.node.labels = LabelMap(std::move(labels));
    text.node.name = name;
    objects.nodes.push_back(std::make_shared<const Node>(text.node));
  }
}

void add_namespace(const std::vector<std::string>& words, ClusterObjects& objects) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto label = pair_behind("label:", words[i]);
    if (!label) fail("no word of a namespace", words[i]);
    labels.push_back(*label);
  }
  objects.namespaces.push_back({words.at(1), LabelMap(std::move(labels))});
}

void add_service(const std::vector<std::string>& words, ClusterObjects& objects) {
  Service service{words.at(1), "default", {}};
  std::vector<std::pair<std::string, std::string>> selector;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (const auto pair = pair_behind("select:", words[i])) {
      selector.push_back(*pair);
    } else if (const auto [key, value] = key_value(words[i]); key == "namespace") {
      service.namespace_ = value;
    } else {
      fail("no word of a service", words[i]);
    }
  }
  service.selector = LabelMap(std::move(selector));
  objects.services.push_back(std::move(service));
}

void add_workload(const std::vector<std::string>& words, ClusterObjects& objects) {
  const std::vector<std::string> kind_and_name = split(words.at(1), '/');
  if (kind_and_name.size() != 2) fail("not KIND/NAME", words[1]);
  Workload workload;
  workload.kind = kind_and_name[0];
  workload.name = kind_and_name[1];
  workload.namespace_ = "default";
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "match") {
      workload.selector = label_selector(value);
    } else if (key == "namespace") {
      workload.namespace_ = value;
    } else {
      fail("no word of a workload", words[i]);
    }
  }
  objects.workloads.push_back(std::move(workload));
}

}  // namespace berth::test
