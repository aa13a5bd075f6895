// SPDX-License-Identifier: Apache-2.0
// The scale-up estimates of write_embedding.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/histories/embedding_questions.h"
#include "tests/histories/embedding_steps.h"

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

/// What upstream does of the estimate of one shape. A new node is added before the first pod that goes there, and for a
/// look at it by each pod that is left over.
class EstimateSteps {
 public:
  EstimateSteps(const std::vector<PodPtr>& pods, const ShapeQuestion& shape, const ClusterHistory& history)
      : pods_(pods),
        shape_(shape),
        new_node_(shape, shape.name.empty() ? nullptr : history.live_cache().find_node(shape.name)),
        sized_(*history.live_cache().find_node(shape.node["metadata"]["name"].get<std::string>())->node) {}

  json walk(const EstimatedShape& estimated, bool decreases, json existing) {
    for (const std::size_t i : order(decreases)) take(*pods_[i], estimated.pods[i]);
    json names = json::array();
    for (std::uint32_t number = 0; number < added_; ++number) names.push_back(new_node_name(number));
    follow_.push_back({{"use", std::move(names)}});
    json caps = json::array();
    for (const auto& [resource, amount] : shape_.caps)
      caps.push_back({{"resource", resource},
                      {"amount", amount},
                      {"each", resource == "cpu" ? sized_.allocatable.milli_cpu : sized_.allowed_pod_number}});
    return {{"verb", "scale_up"},         {"steps", std::move(steps_)},       {"nodes_max", shape_.nodes_max},
            {"caps", std::move(caps)},    {"existing", std::move(existing)},  {"node_count", estimated.node_count},
            {"placed", estimated.placed}, {"requested", estimated.requested}, {"allocatable", estimated.allocatable},
            {"pods", json::array()},      {"follow", std::move(follow_)}};
  }

 private:
  std::vector<std::size_t> order(bool decreases) const {
    std::vector<std::size_t> order(pods_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (decreases)
      std::ranges::stable_sort(order, std::ranges::greater(),
                               [&](std::size_t i) { return size_of(*pods_[i], sized_); });
    return order;
  }

  void take(const Pod& pod, const Estimated& answer) {
    const json ask = {{"ask", pod.uid()}};
    json step = {{"pod", pod.full_name()}, {"added", added_}, {"node", answer.node}, {"refusal", answer.refusal}};
    if (answer.new_node != BERTH_NO_NODE) step["node"] = new_node_name(answer.new_node);
    steps_.push_back(step);
    follow_.push_back(ask);
    if (!answer.node.empty() || answer.new_node < added_) {
      follow_.push_back(Placement{step["node"], 0, ""}.line(pod.uid()));
      return;
    }
    new_node_.come(added_, follow_);
    follow_.push_back(ask);
    if (answer.new_node == BERTH_NO_NODE) return new_node_.go(added_, follow_);
    follow_.push_back(Placement{new_node_name(added_), 0, ""}.line(pod.uid()));
    ++added_;
  }

  const std::vector<PodPtr>& pods_;
  const ShapeQuestion& shape_;
  NewNode new_node_;
  const Node& sized_;
  std::uint32_t added_ = 0;
  json follow_ = json::array();
  json steps_ = json::array();
};

/// A shape that was given before has the answer of before, under its number.
void check_shape_numbers(const std::vector<ShapeQuestion>& shapes, const std::vector<EstimatedShape>& estimated) {
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const auto first = static_cast<std::size_t>(std::ranges::find(shapes, shapes[s]) - shapes.begin());
    const std::uint32_t number = estimated[s].same_as;
    if (number > s || estimated[number].same_as != number || number != estimated[first].same_as)
      throw std::runtime_error(fmt::format("shape {} has the number {}", s, number));
  }
}

}  // namespace

json estimate_walk(const std::vector<PodPtr>& pods, const ShapeQuestion& shape, const ClusterHistory& history,
                   const EstimatedShape& estimated, bool decreases, json existing) {
  return EstimateSteps(pods, shape, history).walk(estimated, decreases, std::move(existing));
}

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

/// One to three shapes at once, some of which are given twice.
void Questions::scale_up(berth_fork* fork, const ClusterHistory& history, json& walks) {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : asked_pods(history))
    if (!dice_.one_in(3)) pods.push_back(pod);
  if (pods.empty() || history.live_cache().nodes().empty()) return;
  std::vector<ShapeQuestion> shapes;
  for (std::int64_t wanted = 1 + dice_.upto(2); wanted > 0; --wanted)
    shapes.push_back(!shapes.empty() && dice_.one_in(4) ? shapes.front() : any_shape(history));
  const std::vector<std::string> names = calls_.node_names(fork);
  NodeChoice existing;
  if (dice_.one_in(2)) existing = any_nodes(names);
  if (existing.among || existing.flags != 0 || dice_.one_in(2)) existing.flags |= BERTH_EXISTING_FIRST;
  if (dice_.one_in(3)) existing.flags |= BERTH_DECREASING;
  std::vector<OwnedPod> handles;
  for (const PodPtr& pod : pods) handles.push_back(calls_.pod(pending_json(history, *pod)));
  const std::vector<EstimatedShape> estimated = calls_.scale_up(fork, handles, shapes, existing);
  check_shape_numbers(shapes, estimated);
  const bool decreases = (existing.flags & BERTH_DECREASING) != 0;
  const bool has_existing = (existing.flags & BERTH_EXISTING_FIRST) != 0;
  const json tried = has_existing ? json(left(names, existing, history)) : json::array();
  for (std::size_t s = 0; s < shapes.size(); ++s)
    walks.push_back(estimate_walk(pods, shapes[s], history, estimated[s], decreases, tried));
}

}  // namespace berth::test
