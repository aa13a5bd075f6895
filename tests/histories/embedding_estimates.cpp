// SPDX-License-Identifier: Apache-2.0
// The scale-up estimates of write_embedding.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/histories/embedding_questions.h"

namespace berth::test {
namespace {

using nlohmann::json;

constexpr const char* kCordonTaint = "node.kubernetes.io/unschedulable";

std::string new_node_name(std::uint32_t number) { return fmt::format("new-{}", number); }

json taints_of(const json& node) {
  return node.contains("spec") ? node["spec"].value("taints", json::array()) : json();
}

void leave_out_taints(json& node, const std::vector<std::string>& keys) {
  json kept = json::array();
  for (json& taint : taints_of(node))
    if (std::ranges::find(keys, taint["key"].get<std::string>()) == keys.end()) kept.push_back(std::move(taint));
  node["spec"]["taints"] = std::move(kept);
}

bool stays_with_its_node(const Pod& pod) {
  return pod.rare().annotation("kubernetes.io/config.mirror") != nullptr ||
         (pod.owners != nullptr && std::ranges::any_of(*pod.owners, [](const OwnerReference& owner) {
            return owner.controller && owner.kind == "DaemonSet";
          }));
}

/// New nodes of one shape, as upstream is told of them.
class NewNode {
 public:
  /// @param shape  read for this call. @param of  null, or the node that is copied
  NewNode(const ShapeQuestion& shape, const NodeInfo* of) : node_(shape.node), pods_(shape.pods) {
    if (of != nullptr) {
      node_ = json_of(*of->node);
      node_["spec"]["unschedulable"] = false;
      leave_out_taints(node_, {kCordonTaint});
      for (const PodPtr& pod : of->pods)
        if (shape.with_pods_of_node && stays_with_its_node(*pod)) pods_.push_back(json_of(*pod));
    }
    leave_out_taints(node_, shape.startup_taints);
  }

  const json& object() const { return node_; }
  void come(std::uint32_t number, json& follow) const {
    json node = node_;
    node["metadata"]["name"] = new_node_name(number);
    node["metadata"]["labels"]["kubernetes.io/hostname"] = new_node_name(number);
    follow.push_back(apply_line({{"upsert", node}}));
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      json pod = pods_[i];
      pod["metadata"]["name"] = pod["metadata"]["uid"] = name_of_pod(i, number);
      pod["spec"]["nodeName"] = new_node_name(number);
      follow.push_back(apply_line(pod_line(std::move(pod))));
    }
  }
  void go(std::uint32_t number, json& follow) const {
    for (std::size_t i = 0; i < pods_.size(); ++i)
      follow.push_back(apply_line(removal_line("Pod", "", "", name_of_pod(i, number))));
    follow.push_back(apply_line(removal_line("Node", "", new_node_name(number))));
  }

 private:
  static std::string name_of_pod(std::size_t i, std::uint32_t number) {
    return fmt::format("with-{}-{}", i, new_node_name(number));
  }

  json node_;
  std::vector<json> pods_;
};

/// As cluster-autoscaler's DecreasingPodOrderer has it: of sums of quantities.
double size_of(const Pod& pod, const Node& node) {
  Quantity cpu;
  Quantity memory;
  for (const Container& container : pod.spec->containers)
    for (const auto& [resource, quantity] : container.requests) {
      if (resource == "cpu") cpu.nano += quantity.nano;
      if (resource == "memory") memory.nano += quantity.nano;
    }
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
  };
  return share(cpu.milli_value(), node.allocatable.milli_cpu) + share(memory.value(), node.allocatable.memory_bytes);
}

}  // namespace

ShapeQuestion Questions::any_shape(const ClusterHistory& history) {
  ShapeQuestion shape;
  const NodeInfo& node = *dice_.pick(history.live_cache().nodes());
  shape.node = json_of(*node.node);
  if (dice_.one_in(2)) shape.name = node.name;
  shape.with_pods_of_node = !shape.name.empty() && dice_.one_in(2);
  for (const Taint& taint : node.node->taints)
    if (dice_.one_in(3)) shape.startup_taints.push_back(taint.key);
  const std::vector<PodPtr> pods = asked_pods(history);
  if (!pods.empty() && dice_.one_in(4)) shape.pods.push_back(renamed(json_of(*dice_.pick(pods)), "daemon"));
  if (dice_.one_in(3)) shape.nodes_max = static_cast<std::uint32_t>(1 + dice_.upto(2));
  if (dice_.one_in(4)) shape.caps.emplace_back("cpu", node.node->allocatable.milli_cpu * dice_.upto(3));
  if (dice_.one_in(4)) shape.caps.emplace_back("pods", node.node->allowed_pod_number * (1 + dice_.upto(2)) + 1);
  return shape;
}

/// A new node is added before the first pod that goes there, and for a look at it by each pod that is left over.
void Questions::scale_up(berth_fork* fork, const ClusterHistory& history, json& walks) {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : asked_pods(history))
    if (!dice_.one_in(3)) pods.push_back(pod);
  if (pods.empty() || history.live_cache().nodes().empty()) return;
  const ShapeQuestion shape = any_shape(history);
  const std::vector<std::string> names = calls_.node_names(fork);
  NodeChoice existing;
  if (dice_.one_in(2)) existing = any_nodes(names);
  if (existing.among || existing.flags != 0 || dice_.one_in(2)) existing.flags |= BERTH_EXISTING_FIRST;
  if (dice_.one_in(3)) existing.flags |= BERTH_DECREASING;
  std::vector<OwnedPod> handles;
  for (const PodPtr& pod : pods) handles.push_back(calls_.pod(pending_json(history, *pod)));
  std::vector<Estimated> estimated = calls_.scale_up(fork, handles, shape, existing);
  const NodeInfo* const of = shape.name.empty() ? nullptr : history.live_cache().find_node(shape.name);
  const NewNode new_node(shape, of);
  const std::string shaped = shape.node["metadata"]["name"];
  const Node& sized = *history.live_cache().find_node(shaped)->node;
  std::vector<std::size_t> order(pods.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if ((existing.flags & BERTH_DECREASING) != 0)
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return size_of(*pods[i], sized); });
  json follow = json::array();
  json steps = json::array();
  std::uint32_t added = 0;
  for (const std::size_t i : order) {
    const Estimated& answer = estimated[i];
    const json ask = {{"ask", pods[i]->uid()}};
    json step = {{"pod", pods[i]->full_name()}, {"added", added}, {"node", answer.node}, {"refusal", answer.refusal}};
    if (answer.new_node != BERTH_NO_NODE) step["node"] = new_node_name(answer.new_node);
    steps.push_back(step);
    follow.push_back(ask);
    if (!answer.node.empty() || answer.new_node < added) {
      follow.push_back(Placement{step["node"], 0, ""}.line(pods[i]->uid()));
      continue;
    }
    new_node.come(added, follow);
    follow.push_back(ask);
    if (answer.new_node == BERTH_NO_NODE) {
      new_node.go(added, follow);
    } else {
      follow.push_back(Placement{new_node_name(added), 0, ""}.line(pods[i]->uid()));
      ++added;
    }
  }
  json caps = json::array();
  for (const auto& [resource, amount] : shape.caps)
    caps.push_back({{"resource", resource},
                    {"amount", amount},
                    {"each", resource == "cpu" ? sized.allocatable.milli_cpu : sized.allowed_pod_number}});
  const bool has_existing = (existing.flags & BERTH_EXISTING_FIRST) != 0;
  walks.push_back({{"verb", "scale_up"},
                   {"steps", std::move(steps)},
                   {"nodes_max", shape.nodes_max},
                   {"caps", std::move(caps)},
                   {"existing", has_existing ? json(left(names, existing, history)) : json::array()},
                   {"pods", json::array()},
                   {"follow", std::move(follow)}});
}

}  // namespace berth::test
