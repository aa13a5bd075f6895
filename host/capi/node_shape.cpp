// SPDX-License-Identifier: Apache-2.0
#include "host/capi/node_shape.h"

#include <algorithm>
#include <optional>

#include "host/capi/api_error.h"
#include "host/capi/handles.h"
#include "host/objects/label_keys.h"
#include "host/objects/pod_copy.h"

namespace berth::capi {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";

LabelMap with_hostname(const LabelMap& labels, const std::string& name) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [key, value] : labels) entries.emplace_back(key, value);
  entries.emplace_back(kHostname, name);  // of equal keys the last one wins
  return LabelMap(std::move(entries));
}

/// The node without its name.
Node nameless(const Node& node) {
  Node copy = node;
  copy.name.clear();
  copy.labels = with_hostname(node.labels, "");
  return copy;
}

bool is_of_node(const Pod& pod) {
  if (pod.rare().annotation(kMirrorAnnotation) != nullptr) return true;
  return pod.owners != nullptr && std::ranges::any_of(*pod.owners, [](const OwnerReference& owner) {
           return owner.controller && owner.kind == "DaemonSet";
         });
}

/// Rules read these of pods that stand on a node.
bool are_alike(const Pod& a, const Pod& b) {
  return a.namespace_ == b.namespace_ && a.labels == b.labels && *a.spec == *b.spec && a.priority == b.priority &&
         a.terminating == b.terminating && a.rare() == b.rare();
}

/// Sets NodeShape::number and same_as.
void number(std::vector<NodeShape>& shapes) {
  std::vector<NodeFingerprint> nodes;
  for (std::uint32_t s = 0; s < shapes.size(); ++s) {
    NodeShape& shape = shapes[s];
    nodes.push_back(fingerprint_of(nameless(*shape.node)));
    shape.number = shape.same_as = s;
    for (std::uint32_t k = 0; k < s && shape.number == s; ++k)
      if (shapes[k].number == k && differing_parts(nodes[k], nodes[s]).empty() &&
          std::ranges::equal(shapes[k].pods, shape.pods,
                             [](const PodPtr& one, const PodPtr& other) { return are_alike(*one, *other); }))
        shape.number = k;
    for (std::uint32_t k = 0; k < s && shape.same_as == s; ++k)
      if (shapes[k].number == shape.number && shapes[k].nodes_max == shape.nodes_max && shapes[k].caps == shape.caps)
        shape.same_as = k;
  }
}

class ShapeReader {
 public:
  ShapeReader(const State& state, CallLog& log) : state_(state), log_(log) {}

  NodeShape read(const berth_shape& given) {
    NodeShape shape;
    if ((given.flags & ~std::uint32_t{BERTH_SHAPE_WITH_PODS_OF_NODE}) != 0)
      throw ApiError(BERTH_E_ARGUMENT, "shape.flags", "has bits that mean nothing");
    const bool is_copy = given.node == nullptr;
    if (!is_copy && given.flags != 0)
      throw ApiError(BERTH_E_ARGUMENT, "shape.flags", "pods of a node are copied with the node alone");
    Node node = is_copy ? copied(given, shape) : *state_.cluster.read_node({given.node, given.node_size}, log_);
    leave_out_taints(given, node);
    shape.node = std::make_shared<const Node>(std::move(node));
    for (const PodHandlePtr& pod : pod_arguments(given.pods, given.pod_count, state_.cluster))
      shape.pods.push_back(pod->pod->given);
    shape.nodes_max = given.max_nodes;
    if (given.cap_count > 0) needed(given.caps, "shape.caps");
    for (std::size_t i = 0; i < given.cap_count; ++i) {
      if (given.caps[i].amount < 0) throw ApiError(BERTH_E_ARGUMENT, "shape.caps", "an amount is below 0");
      shape.caps.push_back({&needed(given.caps[i].resource, "shape.caps[].resource"), given.caps[i].amount});
    }
    if (given.price < 0) throw ApiError(BERTH_E_ARGUMENT, "shape.price", "is below 0");
    shape.price = given.price;
    return shape;
  }

 private:
  /// A node that begins its life is not cordoned.
  Node copied(const berth_shape& given, NodeShape& shape) const {
    const std::string* const name = state_.cluster.nodes().name_of(given.copy_of);
    const NodePtr node = name != nullptr ? state_.fork.node_object(*name) : nullptr;
    if (node == nullptr)
      throw ApiError(BERTH_E_NOT_FOUND, "node " + std::to_string(given.copy_of), "there is no such node here");
    if ((given.flags & BERTH_SHAPE_WITH_PODS_OF_NODE) != 0) {
      for (const PodPtr& pod : state_.fork.pods_on(*name))
        if (is_of_node(*pod)) shape.pods.push_back(pod);
      std::ranges::sort(shape.pods, {}, [](const PodPtr& pod) { return pod->full_name(); });
    }
    Node copy = *node;
    copy.unschedulable = false;
    std::erase_if(copy.taints, [](const Taint& taint) { return taint.key == kCordonTaint; });
    return copy;
  }

  static void leave_out_taints(const berth_shape& given, Node& node) {
    if (given.startup_taint_count > 0) needed(given.startup_taints, "shape.startup_taints");
    for (std::size_t i = 0; i < given.startup_taint_count; ++i) {
      const std::string_view key = &needed(given.startup_taints[i], "shape.startup_taints[]");
      std::erase_if(node.taints, [&](const Taint& taint) { return taint.key == key; });
    }
  }

  const State& state_;
  CallLog& log_;
};

}  // namespace

std::vector<NodeShape> read_shapes(const State& state, const berth_shape* const* shapes, std::size_t count,
                                   CallLog& log) {
  std::vector<NodeShape> read;
  if (count == 0) return read;
  needed(shapes, "shapes");
  ShapeReader reader(state, log);
  for (std::size_t i = 0; i < count; ++i) read.push_back(reader.read(read_options(&needed(shapes[i], "shapes[]"))));
  number(read);
  return read;
}

NewNodes::New NewNodes::make() {
  New made;
  do {
    made.name = shape_.node->name + "-" + std::to_string(next_number_++);
  } while (fork_.find_node(made.name) != kNoNode);
  auto node = std::make_shared<Node>(*shape_.node);
  node->name = made.name;
  node->labels = with_hostname(node->labels, made.name);
  made.come.emplace_back(NodeUpsert(std::move(node)));
  for (const PodPtr& pod : shape_.pods) {
    auto copy = copy_of(*pod);
    copy->name += "-" + made.name;
    copy->stored_uid = copy->namespace_ + "/" + copy->name;
    copy->node_name = made.name;
    made.go.emplace_back(PodRemoval{copy->stored_uid});
    made.come.emplace_back(PodUpsert{std::move(copy)});
  }
  made.go.emplace_back(NodeRemoval{made.name});
  return made;
}

NodeIndex NewNodes::add() {
  if (count_ == nodes_.size()) nodes_.push_back(make());
  fork_.apply(nodes_[count_].come);
  return fork_.find_node(nodes_[count_++].name);
}

void NewNodes::remove_last() { fork_.apply(nodes_[--count_].go); }

}  // namespace berth::capi
