// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/declared_paths.h"
#include "host/objects/label_map.h"
#include "host/objects/resources.h"
#include "host/objects/shared_texts.h"

namespace berth {

enum class TaintEffect : std::uint8_t { kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  friend bool operator==(const Taint&, const Taint&) = default;
};

/// One entry of status.images: several names of one image. The nodes of a load that have it share them.
struct NodeImage {
  SharedTexts names;
  std::int64_t size_bytes = 0;
  friend bool operator==(const NodeImage&, const NodeImage&) = default;
};

struct Node {
  std::string name;
  LabelMap labels;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceAmounts allocatable;
  std::int64_t allowed_pod_number = 0;  ///< status.allocatable["pods"]; 0 when absent: such a node takes no pod
  std::vector<NodeImage> images;
  std::vector<std::string> declared_features;
  DeclaredValues declared;  ///< at paths that plugins declared
};

using NodePtr = std::shared_ptr<const Node>;

/// An allocatable amount of the node; "pods" is one too.
inline std::int64_t offered(const Node& node, std::string_view resource) {
  return resource == kPods ? node.allowed_pod_number : node.allocatable.amount(resource);
}

/// region and zone labels joined as kube-scheduler does; empty when the node has neither:
/// docs/behaviour/scheduler-core.md 2.5.
std::string zone_key(const Node& node);

}  // namespace berth
