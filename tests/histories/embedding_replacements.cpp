// SPDX-License-Identifier: Apache-2.0
// The replacements of write_embedding.cpp: a drain of one node, and behind it an estimate of each shape for the pods
// that find no place. Upstream is asked about both; which shape is the cheapest is counted here.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "tests/histories/embedding_questions.h"
#include "tests/histories/embedding_steps.h"

namespace berth::test {
namespace {

using nlohmann::json;

bool keeps_its_node(const Moved& pod) {
  return pod.outcome == BERTH_POD_BLOCKS || pod.outcome == BERTH_POD_NO_PLACE || pod.outcome == BERTH_POD_NOT_JUDGED;
}

/// A drained node behind the moves of its pods: in a fork, and upstream.
class Emptied {
 public:
  Emptied(EmbeddingCalls& calls, berth_fork* fork, const NodeInfo& info, const DrainQuestion& question,
          const DrainedNode& drained)
      : fork_(calls.fork(fork)) {
    const json node = emptied(*info.node, question.preset);
    calls.upsert_node(fork_.get(), node);
    lines_.push_back(apply_line({{"upsert", node}}));
    for (const Moved& moved : drained.pods) {
      const PodPtr& pod =
          *std::ranges::find_if(info.pods, [&](const PodPtr& known) { return known->uid() == moved.uid; });
      if (moved.outcome == BERTH_POD_NO_PLACE) rest_.push_back(pod);
      if (moved.outcome != BERTH_POD_MOVES || moved.node.empty()) continue;
      json there = running_json(*pod, moved.node);
      calls.remove_pod(fork_.get(), moved.uid);
      calls.add_pod(fork_.get(), there, moved.node);
      lines_.push_back(apply_line(removal_line("Pod", "", "", moved.uid)));
      lines_.push_back(apply_line(pod_line(std::move(there))));
    }
    for (const PodPtr& pod : rest_) {
      handles_.push_back(calls.pod(running_json(*pod, info.name)));
      lines_.push_back(leaves_line(*pod));
    }
  }

  berth_fork* fork() const { return fork_.get(); }
  const std::vector<PodPtr>& rest() const { return rest_; }  ///< pods without a place, in the order in which they leave
  const std::vector<OwnedPod>& handles() const { return handles_; }  ///< [rest]
  const json& lines() const { return lines_; }

 private:
  OwnedFork fork_;
  std::vector<PodPtr> rest_;
  std::vector<OwnedPod> handles_;
  json lines_ = json::array();
};

/// @return position of the cheapest shape that holds all pods; BERTH_NO_NODE: none does
std::uint32_t cheapest(const std::vector<ShapeQuestion>& shapes, const std::vector<EstimatedShape>& estimated) {
  std::uint32_t best = BERTH_NO_NODE;
  const auto cost = [&](std::uint32_t s) {
    return std::pair(shapes[s].price * estimated[s].node_count, estimated[s].node_count);
  };
  for (std::uint32_t s = 0; s < shapes.size(); ++s)
    if (estimated[s].placed == estimated[s].pods.size() && (best == BERTH_NO_NODE || cost(s) < cost(best))) best = s;
  return best;
}

/// @param best  the estimate that counts; null: there is none
void check_pods(const Replaced& replaced, const DrainedNode& drained, const EstimatedShape* best) {
  std::size_t rest = 0;
  for (std::size_t i = 0; i < drained.pods.size(); ++i) {
    const Moved& before = drained.pods[i];
    const Moved& pod = replaced.node.pods[i];
    const bool is_rest = before.outcome == BERTH_POD_NO_PLACE;
    const bool is_new = is_rest && best != nullptr;
    const std::uint32_t new_node = is_new ? best->pods[rest].new_node : BERTH_NO_NODE;
    if (is_rest) ++rest;
    if (pod.uid != before.uid || pod.node != before.node || replaced.new_nodes[i] != new_node ||
        pod.outcome != (is_new ? std::int32_t{BERTH_POD_MOVES} : before.outcome) ||
        pod.message != (is_new ? "" : before.message))
      throw std::runtime_error(fmt::format("replace: pod {} goes to {} and new {}, after '{}' and new {}", pod.uid,
                                           pod.node, replaced.new_nodes[i], before.node, new_node));
  }
  if (replaced.node.is_removable != std::ranges::none_of(replaced.node.pods, keeps_its_node))
    throw std::runtime_error(fmt::format("replace: {} is removable: {}", drained.name, replaced.node.is_removable));
}

}  // namespace

void Questions::replace(berth_fork* fork, const ClusterHistory& history, json& walks) {
  const std::vector<std::string> names = drainable(history);
  if (names.empty()) return;
  DrainQuestion question = any_drain(fork);
  question.targets.flags &= ~std::uint32_t{BERTH_DRAIN_TOGETHER};
  question.nodes.push_back(dice_.pick(names));
  if (dice_.one_in(2)) question.targets.among.emplace();
  const auto max_nodes = static_cast<std::uint32_t>(1 + dice_.upto(3));
  std::vector<ShapeQuestion> shapes;
  for (std::int64_t wanted = 1 + dice_.upto(2); wanted > 0; --wanted) {
    ShapeQuestion& shape = shapes.emplace_back(any_shape(history));
    shape.name.clear();  // copies are read before the node is cordoned, which the fork below has done
    shape.with_pods_of_node = false;
    shape.price = dice_.upto(4);
  }
  const std::vector<DrainedNode> drained = calls_.drain(fork, question);
  const Replaced replaced = calls_.replace(fork, question, shapes, max_nodes);
  walks.push_back(drain_walk(calls_, question, history, targets(fork, question, history), drained, json::array()));
  const Emptied behind(calls_, fork, *history.live_cache().find_node(drained.front().name), question, drained.front());
  std::uint32_t best = BERTH_NO_NODE;
  std::vector<EstimatedShape> estimated;
  if (!behind.rest().empty()) {
    for (ShapeQuestion& shape : shapes)
      shape.nodes_max = shape.nodes_max == 0 ? max_nodes : std::min(shape.nodes_max, max_nodes);
    estimated = calls_.scale_up(behind.fork(), behind.handles(), shapes, {std::nullopt, BERTH_AS_MOVED});
    best = cheapest(shapes, estimated);
  }
  for (std::size_t s = 0; s < estimated.size(); ++s) {
    json walk = estimate_walk(behind.rest(), shapes[s], history, estimated[s], false, json::array());
    json follow = behind.lines();
    for (json& line : walk["follow"]) follow.push_back(std::move(line));
    walk["follow"] = std::move(follow);
    walk["verb"] = "replace";
    walks.push_back(std::move(walk));
  }
  if (replaced.shape != best)
    throw std::runtime_error(fmt::format("replace: shape {} where {} is the cheapest", replaced.shape, best));
  check_pods(replaced, drained.front(), best == BERTH_NO_NODE ? nullptr : &estimated[best]);
}

}  // namespace berth::test
