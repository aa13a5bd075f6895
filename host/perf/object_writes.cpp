// SPDX-License-Identifier: Apache-2.0
#include "host/perf/object_writes.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace berth {
namespace {

constexpr int kNodeAttempts = 5;  // createNodeRetries of upstream's node_util.go: generated names meet
constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

LabelMap with_label(const LabelMap& labels, std::string_view key, std::string_view value) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [label, content] : labels) entries.emplace_back(label, content);
  entries.emplace_back(key, value);
  return LabelMap(std::move(entries));
}

std::vector<ContainerResize> amounts_of(const PodSpec& spec) {
  std::vector<ContainerResize> changes;
  for (const auto* containers : {&spec.containers, &spec.init_containers})
    for (const Container& container : *containers)
      changes.push_back({container.name, container.requests, container.limits});
  return changes;
}

StoreStatus update_pod(ObjectStore& store, const PodPtr& pod, const std::vector<std::string>& subresources) {
  if (std::find(subresources.begin(), subresources.end(), "resize") == subresources.end())
    return store.update(pod).status;
  return store.resize(key_of(*pod), amounts_of(*pod->spec)).status;
}

StoreStatus label_node(ObjectStore& store, const NodePtr& node, std::string_view key, std::string_view value) {
  auto changed = std::make_shared<Node>(*node);
  changed->labels = with_label(node->labels, key, value);
  return store.update(NodePtr(std::move(changed))).status;
}

/// PrepareDependentObjects() of upstream's test/utils/runners.go.
StoreStatus put_csi_node(ObjectStore& store, const SetNodeAllocatable& strategy, const std::string& node_name) {
  const StoredPtr<CsiNode> before = store.get<CsiNode>({{}, node_name});
  auto node = before == nullptr ? std::make_shared<CsiNode>() : std::make_shared<CsiNode>(*before->object);
  node->name = node_name;
  node->migrated_plugins = strategy.migrated_plugins;
  for (const CsiNode::Driver& driver : strategy.drivers) {
    std::erase_if(node->drivers, [&](const CsiNode::Driver& other) { return other.name == driver.name; });
    node->drivers.push_back(driver);
  }
  const std::shared_ptr<const CsiNode> made = std::move(node);
  return before == nullptr ? store.create(made).status : store.update(made).status;
}

}  // namespace

StoreStatus create_object(ObjectStore& store, const PerfObject& object, std::string& name) {
  return std::visit(
      [&](const auto& wanted) {
        const auto result = store.create(wanted, object.options);
        name = result.is_success() ? result.stored->object->name : std::string();
        return result.status;
      },
      object.object);
}

StoreStatus remove_object(ObjectStore& store, const PerfObject& like, std::string_view name_space,
                          std::string_view name) {
  return std::visit(
      [&]<class T>(const std::shared_ptr<const T>&) {
        const bool has_namespace = is_namespaced(kKindOf<T>);
        return store.remove<T>({has_namespace ? name_space : std::string_view(), name}).status;
      },
      like.object);
}

StoreStatus update_object(ObjectStore& store, const PerfObject& object, const std::vector<std::string>& subresources) {
  return std::visit(
      [&]<class T>(const std::shared_ptr<const T>& wanted) {
        if constexpr (std::is_same_v<T, Pod>) {
          return update_pod(store, wanted, subresources);
        } else {
          StoreStatus status = store.update(wanted).status;
          if constexpr (std::is_same_v<T, Node>) {
            if (status.is_success()) status = store.update_status(wanted).status;
          }
          return status;
        }
      },
      object.object);
}

StoreStatus create_node(ObjectStore& store, const PerfObject& object, GeneratedNames& names) {
  const auto* wanted = std::get_if<NodePtr>(&object.object);
  if (wanted == nullptr) throw WorkloadError("createNodes got a template of another kind, expected a Node");
  StoreStatus status;
  for (int attempt = 0; attempt < kNodeAttempts; ++attempt) {
    auto node = std::make_shared<Node>(**wanted);
    if (node->name.empty()) node->name = names.name(object.options.generate_name);
    node->labels = with_label(node->labels, kHostnameLabel, node->name);
    status = store.create(NodePtr(std::move(node)), object.options).status;
    if (status.reason != StoreReason::kAlreadyExists) break;
  }
  return status;
}

StoreStatus prepare_nodes(ObjectStore& store, const NodeStrategy& strategy, std::int64_t first, std::int64_t count,
                          GeneratedNames& names) {
  const auto* labels = std::get_if<LabelNodes>(&strategy);
  const auto* unique = std::get_if<LabelNodesUniquely>(&strategy);
  // SetNodeAllocatable patches the node itself, and the API server ignores the status there (nodeStrategy in
  // kubernetes pkg/registry/core/node/strategy.go): what counts are the CSINodes.
  const auto* allocatable = std::get_if<SetNodeAllocatable>(&strategy);
  if (labels == nullptr && unique == nullptr && allocatable == nullptr) return {};
  const std::vector<StoredPtr<Node>> nodes = store.list<Node>().items;
  for (std::int64_t i = 0; i < count; ++i) {
    const NodePtr& node = nodes.at(static_cast<std::size_t>(first + i))->object;
    const auto turn = static_cast<std::size_t>(i);
    if (allocatable != nullptr) {
      if (StoreStatus status = put_csi_node(store, *allocatable, node->name); !status.is_success()) return status;
      continue;
    }
    StoreStatus status = labels != nullptr
                             ? label_node(store, node, labels->key, labels->values[turn % labels->values.size()])
                             : label_node(store, node, unique->key, names.uid());
    if (!status.is_success()) return status;
  }
  return {};
}

}  // namespace berth
