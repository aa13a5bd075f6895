// SPDX-License-Identifier: Apache-2.0
// The drains of write_embedding.cpp.

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tests/histories/embedding_questions.h"
#include "tests/histories/embedding_steps.h"

namespace berth::test {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDrained = 25;  ///< pods of a node that is drained
constexpr std::uint32_t kAllRules = (1U << (BERTH_RULE_TOLERATES_TAINT + 1)) - 2;

/// What upstream does of a drain.
class DrainSteps {
 public:
  /// @param among  the nodes that pods may go to, by ascending number
  DrainSteps(const DrainQuestion& question, const ClusterHistory& history, std::vector<std::string> among)
      : question_(question), history_(history), among_(std::move(among)) {}

  void cordon(const std::string& node) {
    follow_.push_back(apply_line({{"upsert", emptied(*info(node).node, question_.preset)}}));
  }

  /// @return what is to be compared of the node
  json empty(const DrainedNode& node) {
    json standing = json::array();
    for (const PodPtr& pod : info(node.name).pods) standing.push_back(running_json(*pod, node.name));
    json pods = json::array();
    std::vector<std::pair<std::string, json>> moved;  // their uid, and the pod where it stood
    const bool is_blocked =
        std::ranges::any_of(node.pods, [](const Moved& pod) { return pod.outcome == BERTH_POD_BLOCKS; });
    for (const Moved& pod : node.pods) {
      pods.push_back({{"uid", pod.uid},
                      {"outcome", pod.outcome},
                      {"rule", pod.rule},
                      {"node", pod.node},
                      {"message", pod.message},
                      {"step", false}});
      if (is_blocked || (pod.outcome != BERTH_POD_MOVES && pod.outcome != BERTH_POD_NO_PLACE)) continue;
      pods.back()["step"] = true;
      const Pod& stood = standing_pod(node.name, pod.uid);
      move(stood, pod);
      if (!pod.node.empty()) moved.emplace_back(pod.uid, running_json(stood, node.name));
      if (pod.node.empty()) follow_.push_back(apply_line(pod_line(running_json(stood, node.name))));
    }
    if ((question_.targets.flags & BERTH_DRAIN_TOGETHER) != 0 && !node.is_removable)
      for (auto& [uid, stood] : moved) {
        follow_.push_back(apply_line(removal_line("Pod", "", "", uid)));
        follow_.push_back(apply_line(pod_line(std::move(stood))));
      }
    return {{"node", node.name},
            {"removable", node.is_removable},
            {"rule", node.rule},
            {"blocking", node.blocking_pod},
            {"standing", std::move(standing)},
            {"pods", std::move(pods)}};
  }

  /// @param kept  checks of what the drain leaves, one for each of the asks behind the moves
  json walk(json nodes, json kept) {
    for (const json& check : kept) follow_.push_back({{"ask", check["uid"]}});
    return {{"verb", "drain"},
            {"kept", std::move(kept)},
            {"preset", question_.preset},
            {"on", question_.rules_on},
            {"off", question_.rules_off},
            {"min_replicas", question_.min_replicas},
            {"by_score", (question_.targets.flags & BERTH_DRAIN_BY_SCORE) != 0},
            {"together", (question_.targets.flags & BERTH_DRAIN_TOGETHER) != 0},
            {"candidates", among_},
            {"nodes", std::move(nodes)},
            {"pods", json::array()},
            {"follow", std::move(follow_)}};
  }

 private:
  const NodeInfo& info(const std::string& node) const { return *history_.live_cache().find_node(node); }
  const Pod& standing_pod(const std::string& node, const std::string& uid) const {
    for (const PodPtr& pod : info(node).pods)
      if (pod->uid() == uid) return *pod;
    throw std::runtime_error(uid + " is drained and not on the node");
  }
  void move(const Pod& pod, const Moved& moved) {
    follow_.push_back(leaves_line(pod));
    follow_.push_back({{"explain", json::object()}});
    json line = Placement{moved.node, 0, moved.message}.line(moved.uid);
    line["among"] = among_;
    follow_.push_back(std::move(line));
  }

  const DrainQuestion& question_;
  const ClusterHistory& history_;
  std::vector<std::string> among_;
  json follow_ = json::array();
};

std::uint32_t any_rules(Dice& dice) {
  std::uint32_t rules = 0;
  for (std::uint32_t rule = BERTH_RULE_MIRROR; rule <= BERTH_RULE_TOLERATES_TAINT; ++rule)
    if (dice.one_in(2)) rules |= 1U << rule;
  return rules;
}

}  // namespace

json emptied(const Node& node, std::uint32_t preset) {
  json object = json_of(node);
  json taint = {{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}};
  if (preset == BERTH_DRAIN_KUBECTL) object["spec"]["unschedulable"] = true;
  if (preset == BERTH_DRAIN_CLUSTER_AUTOSCALER) taint["key"] = "ToBeDeletedByClusterAutoscaler";
  if (preset == BERTH_DRAIN_KARPENTER) taint["key"] = "karpenter.sh/disrupted";
  json& taints = object["spec"]["taints"];
  if (std::ranges::find(taints, taint) == taints.end()) taints.push_back(taint);
  return object;
}

json drain_walk(EmbeddingCalls& calls, const DrainQuestion& question, const ClusterHistory& history,
                const std::vector<std::string>& among, const std::vector<DrainedNode>& drained, json kept) {
  const bool is_together = (question.targets.flags & BERTH_DRAIN_TOGETHER) != 0;
  DrainSteps steps(question, history, among);
  json nodes = json::array();
  if (is_together ||
      std::ranges::none_of(drained.front().pods, [](const Moved& pod) { return pod.outcome == BERTH_POD_BLOCKS; }))
    for (const std::string& name : question.nodes) steps.cordon(name);
  for (const DrainedNode& node : drained) {
    nodes.push_back(steps.empty(node));
    // Numbers count up: the first candidate behind the node is tried first.
    nodes.back()["start"] = std::ranges::count_if(
        among, [&](const std::string& name) { return calls.node_number(name) < calls.node_number(node.name); });
  }
  return steps.walk(std::move(nodes), std::move(kept));
}

/// Some pending pods on every node of a fork.
json Questions::check_some(berth_fork* fork, const ClusterHistory& history) {
  std::vector<OwnedPod> handles;
  json checks = json::array();
  for (const PodPtr& pod : asked_pods(history)) {
    if (!dice_.one_in(2)) continue;
    handles.push_back(calls_.pod(pending_json(history, *pod)));
    checks.push_back({{"pod", pod->full_name()}, {"uid", pod->uid()}});
  }
  if (!handles.empty()) calls_.check_all(nullptr, fork, handles, checks);
  return checks;
}

std::vector<std::string> Questions::drainable(const ClusterHistory& history) const {
  std::vector<std::string> names;
  for (const NodeInfo* info : history.live_cache().nodes())
    if (!info->pods.empty() && info->pods.size() <= kMostDrained &&
        std::ranges::all_of(info->pods, [&](const PodPtr& pod) { return has_profile(*pod); }))
      names.push_back(info->name);
  return names;
}

/// With any rules.
DrainQuestion Questions::any_drain(berth_fork* fork) {
  DrainQuestion question;
  question.targets = any_nodes(calls_.node_names(fork));
  if (dice_.one_in(2)) question.targets.flags |= BERTH_DRAIN_TOGETHER;
  if (dice_.one_in(3)) question.targets.flags |= BERTH_DRAIN_BY_SCORE;
  question.preset = static_cast<std::uint32_t>(dice_.upto(2));
  question.rules_off = dice_.one_in(2) ? kAllRules : any_rules(dice_);
  question.rules_on = any_rules(dice_) & ~question.rules_off;
  question.min_replicas = static_cast<std::int32_t>(dice_.upto(3));
  return question;
}

/// Without the nodes that are drained.
std::vector<std::string> Questions::targets(berth_fork* fork, const DrainQuestion& question,
                                            const ClusterHistory& history) {
  std::vector<std::string> among = left(calls_.node_names(fork), question.targets, history);
  std::erase_if(among, [&](const std::string& name) { return std::ranges::count(question.nodes, name) != 0; });
  return among;
}

/// One node, or several together; some of these keep what they did.
void Questions::drain(berth_fork* fork, const ClusterHistory& history, json& walks) {
  const std::vector<std::string> names = drainable(history);
  if (names.empty()) return;
  DrainQuestion question = any_drain(fork);
  const bool is_together = (question.targets.flags & BERTH_DRAIN_TOGETHER) != 0;
  for (std::size_t i = is_together ? 3 : 1; i > 0; --i) {
    const std::string& name = dice_.pick(names);
    if (std::ranges::count(question.nodes, name) == 0) question.nodes.push_back(name);
  }
  const std::vector<std::string> among = targets(fork, question, history);
  json kept = json::array();
  std::vector<DrainedNode> drained;
  if (is_together && dice_.one_in(2)) {
    question.targets.flags |= BERTH_DRAIN_KEEP;
    const OwnedFork keeping = calls_.fork(fork);
    drained = calls_.drain(keeping.get(), question);
    kept = check_some(keeping.get(), history);
  } else {
    drained = calls_.drain(fork, question);
  }
  walks.push_back(drain_walk(calls_, question, history, among, drained, std::move(kept)));
}

}  // namespace berth::test
