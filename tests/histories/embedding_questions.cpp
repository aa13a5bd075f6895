// SPDX-License-Identifier: Apache-2.0
#include "tests/histories/embedding_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"

namespace berth::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostCopies = 60;         ///< of a shape whose copies upstream places, too
constexpr std::int64_t kMostCopiesRarely = 400;  ///< of one shape in twenty
constexpr std::size_t kMostExplained = 3;        ///< pods of a state
constexpr std::size_t kMostPreempting = 2;
constexpr std::size_t kMostMoved = 4;

std::string nomination_of(const ClusterHistory& history, const Pod& pod) {
  for (const ClusterChange& change : history.nominations()) {
    const auto& nomination = std::get<NominationUpsert>(change);
    if (nomination.pod->uid() == pod.uid()) return nomination.node_name;
  }
  return {};
}
json names_of(const std::vector<std::string>& names) { return json(names); }
/// The pod as it stands on the node.
std::vector<std::string> cordoned(const std::vector<std::string>& names, const ClusterHistory& history) {
  std::vector<std::string> cordoned;
  for (const std::string& name : names)
    if (history.live_cache().find_node(name)->node->unschedulable) cordoned.push_back(name);
  return cordoned;
}

}  // namespace

json Questions::pending_json(const ClusterHistory& history, const Pod& pod) {
  json object = json_of(pod);
  const std::string node = nomination_of(history, pod);
  if (object.contains("status")) object["status"].erase("nominatedNodeName");
  if (!node.empty()) object["status"]["nominatedNodeName"] = node;
  return object;
}

std::vector<PodPtr> Questions::pending_pods(const ClusterHistory& history) const {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : input_.objects.pods)
    if (is_pending(*pod) && !history.is_on_a_node(*pod)) pods.push_back(pod);
  return pods;
}

bool Questions::is_asked(const Pod& pod) const {
  return has_profile(pod) && !pod.terminating && pod.rare().scheduling_gates.empty();
}

std::vector<PodPtr> Questions::asked_pods(const ClusterHistory& history) const {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : pending_pods(history))
    if (is_asked(*pod)) pods.push_back(pod);
  return pods;
}

NodeChoice Questions::any_nodes(const std::vector<std::string>& names) {
  NodeChoice nodes;
  if (dice_.one_in(3)) nodes.flags |= BERTH_SKIP_CORDONED;
  if (!dice_.one_in(3)) return nodes;
  nodes.among.emplace();
  for (const std::string& name : names)
    if (!dice_.one_in(3)) nodes.among->push_back(name);
  return nodes;
}

std::vector<std::string> Questions::left(const std::vector<std::string>& names, const NodeChoice& nodes,
                                         const ClusterHistory& history) {
  std::vector<std::string> rest;
  for (const std::string& name : names) {
    const bool skips = (nodes.flags & BERTH_SKIP_CORDONED) != 0;
    if (skips && history.live_cache().find_node(name)->node->unschedulable) continue;
    if (!nodes.among || std::ranges::count(*nodes.among, name) != 0) rest.push_back(name);
  }
  return rest;
}

ScheduleChoice Questions::any_choice(const std::vector<std::string>& names) {
  ScheduleChoice how;
  how.nodes = any_nodes(names);
  if (dice_.one_in(2)) return how;
  how.choice = dice_.one_in(2) ? BERTH_CHOICE_FIRST_FIT : BERTH_CHOICE_ORDER;
  how.start = static_cast<std::uint32_t>(dice_.upto(100));
  if (how.choice == BERTH_CHOICE_FIRST_FIT || names.empty()) return how;
  for (std::size_t i = 0; i < names.size(); ++i) how.order.push_back(dice_.pick(names));
  return how;
}

json Questions::check(const Place& place) {
  const ClusterHistory& history = place.model->history;
  std::vector<OwnedPod> handles;
  json checks = json::array();
  for (const PodPtr& pod : pending_pods(history)) {
    handles.push_back(calls_.pod(pending_json(history, *pod)));
    const bool is_tried = has_profile(*pod) && !pod->terminating;
    checks.push_back({{"pod", pod->full_name()}, {"uid", pod->uid()}, {"tried", is_tried}});
  }
  calls_.check_all(place.snapshot, place.fork, handles, checks);
  std::vector<std::string> names;
  for (const NodeInfo* info : history.live_cache().nodes()) names.push_back(info->name);
  NodeChoice nodes = any_nodes(names);
  nodes.flags = BERTH_SKIP_CORDONED;
  calls_.check_all(place.snapshot, place.fork, handles, checks, nodes, "among");
  for (std::size_t i = 0; i < handles.size(); ++i) {
    checks[i]["cordoned"] = names_of(cordoned(names, history));
    checks[i]["set"] = names_of(nodes.among ? *nodes.among : names);
    if (names.empty() || !dice_.one_in(3)) continue;
    checks[i]["alone"] = json::array(
        {calls_.check_one(place.snapshot, place.fork, handles[i].get(), dice_.pick(names), 0),
         calls_.check_one(place.snapshot, place.fork, handles[i].get(), dice_.pick(names), BERTH_SKIP_CORDONED)});
  }
  return checks;
}

json Questions::walks(const Place& place, berth_fork* what_if, const json& checks) {
  json walks = json::array();
  const ClusterHistory& history = place.model->history;
  explain(place, walks);
  preempt(place, checks, walks);
  count_replicas(what_if, history, walks);
  drain(what_if, history, walks);
  check_as_moved(what_if, history, walks);
  check_ignoring(what_if, history, walks);
  schedule_as_moved(what_if, history, walks);
  scale_up(what_if, history, walks);
  replace(what_if, history, walks);
  return walks;
}

void Questions::explain(const Place& place, json& walks) {
  std::vector<PodPtr> tried;
  for (const PodPtr& pod : pending_pods(place.model->history))
    if (has_profile(*pod) && !pod->terminating) tried.push_back(pod);
  for (std::size_t i = 0; i < std::min(tried.size(), kMostExplained); ++i) {
    const Pod& pod = *dice_.pick(tried);
    const OwnedPod handle = calls_.pod(pending_json(place.model->history, pod));
    walks.push_back({{"verb", "explain"},
                     {"record", calls_.explain(place.snapshot, place.fork, handle.get())},
                     {"pods", json::array()},
                     {"follow", json::array({json{{"ask", pod.uid()}}})}});
  }
}

/// Pods that fit nowhere.
void Questions::preempt(const Place& place, const json& checks, json& walks) {
  const ClusterHistory& history = place.model->history;
  std::vector<PodPtr> pods;
  for (const json& check : checks)
    if (check["tried"] && !check["nodes"].empty() &&
        std::ranges::none_of(check["nodes"], [](const json& node) { return node["fits"].get<bool>(); }))
      for (const PodPtr& pod : pending_pods(history))
        if (pod->uid() == check["uid"].get<std::string>() && is_asked(*pod)) pods.push_back(pod);
  json names = json::object();
  for (const NodeInfo* info : history.live_cache().nodes())
    for (const PodPtr& pod : info->pods) names[pod->uid()] = pod->full_name();
  for (std::size_t i = 0; i < std::min(pods.size(), kMostPreempting); ++i) {
    const Pod& pod = *dice_.pick(pods);
    const OwnedPod handle = calls_.pod(pending_json(history, pod));
    json answer = calls_.preempt(place.snapshot, place.fork, handle.get());
    for (json& candidate : answer["candidates"])
      for (json& victim : candidate["victims"]) victim = names.at(victim.get<std::string>());
    walks.push_back({{"verb", "preempt"},
                     {"answer", std::move(answer)},
                     {"pods", json::array()},
                     {"follow", json::array({json{{"dry", pod.uid()}}})}});
  }
}

void Questions::attempted(const PodPtr& pod, const std::string& node, Model& model) {
  model.history.answered(pod, node);
  model.path.push_back(apply_line(nomination_line(pod->uid(), "")));
  if (node.empty()) return;
  json bound = json_of(*pod);
  bound["spec"]["nodeName"] = node;
  model.path.push_back(apply_line(pod_line(std::move(bound))));
}

json Questions::schedule(berth_fork* fork, Model& model) {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : asked_pods(model.history))
    if (dice_.one_in(4)) pods.push_back(pod);
  if (pods.empty()) return nullptr;
  std::vector<OwnedPod> handles;
  for (const PodPtr& pod : pods) handles.push_back(calls_.pod(pending_json(model.history, *pod)));
  const std::vector<std::string> names = calls_.node_names(fork);
  const ScheduleChoice how = any_choice(names);
  const Scheduled scheduled = calls_.schedule(fork, handles, how);
  const bool is_order = how.choice == BERTH_CHOICE_ORDER;
  const std::vector<std::string> among = left(is_order ? how.order : names, how.nodes, model.history);
  json follow = json::array();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::string& node = scheduled.placements[i].node;
    json line = scheduled.placements[i].line(pods[i]->uid());
    if (how.nodes.among || how.nodes.flags != 0 || is_order) line["among"] = among;
    const bool keeps_nomination = node.empty() && how.choice != BERTH_CHOICE_SCORE;
    if (keeps_nomination) line["keeps"] = true;
    if (how.choice != BERTH_CHOICE_SCORE) follow.push_back({{"explain", json::object()}});
    follow.push_back(std::move(line));
    if (keeps_nomination) continue;
    attempted(pods[i], node, model);
  }
  return {{"verb", "schedule"},
          {"choice", how.choice},
          {"start", how.start},
          {"names", names},
          {"order", among},
          {"set", how.nodes.among ? *how.nodes.among : names},
          {"next", scheduled.next_start},
          {"pods", json::array()},
          {"follow", std::move(follow)}};
}

/// Upstream takes the steps of the schedule verb, which must be as many as the count.
void Questions::count_replicas(berth_fork* fork, const ClusterHistory& history, json& walks) {
  const std::vector<PodPtr> shapes = asked_pods(history);
  if (shapes.empty()) return;
  const Pod& shape = *dice_.pick(shapes);
  const json pending = pending_json(history, shape);
  const OwnedPod handle = calls_.pod(pending);
  const std::vector<std::string> names = calls_.node_names(fork);
  ScheduleChoice how;
  how.nodes = any_nodes(names);
  std::set<std::string> known;
  for (const NodeInfo* info : history.live_cache().nodes())
    for (const auto& [key, value] : info->node->labels) known.emplace(key);
  std::vector<std::string> keys;
  for (const std::string& key : known)
    if (keys.size() < BERTH_KEYS_MAX && dice_.one_in(3)) keys.push_back(key);
  const Replicas replicas = calls_.max_replicas(fork, handle.get(), how.nodes, keys);
  const std::int64_t most = dice_.one_in(20) ? kMostCopiesRarely : kMostCopies;
  if (replicas.count < 0 || replicas.count > most) return;
  const OwnedFork one_by_one = calls_.fork(fork);
  const std::vector<std::string> among = left(names, how.nodes, history);
  json pods = json::array();
  json follow = json::array();
  std::vector<OwnedPod> copies;
  for (std::int64_t i = 0; i <= replicas.count; ++i) {
    pods.push_back(renamed(pending, fmt::format("copy-{}", i)));
    copies.push_back(calls_.pod(pods.back()));
  }
  const Scheduled scheduled = calls_.schedule(one_by_one.get(), copies, how);
  for (std::size_t i = 0; i < scheduled.placements.size(); ++i) {
    json line = scheduled.placements[i].line(fmt::format("uid-copy-{}", i));
    if (how.nodes.among || how.nodes.flags != 0) line["among"] = among;
    follow.push_back(std::move(line));
  }
  json labels = json::object();
  for (const std::string& name : names)
    labels[name] = json_of(*history.live_cache().find_node(name)->node)["metadata"].value("labels", json::object());
  walks.push_back({{"verb", "max_replicas"},
                   {"shape", shape.full_name()},
                   {"count", replicas.count},
                   {"on_node", replicas.on_node},
                   {"of_value", replicas.of_value},
                   {"labels", std::move(labels)},
                   {"set", how.nodes.among ? *how.nodes.among : names},
                   {"pods", std::move(pods)},
                   {"follow", std::move(follow)}});
}

std::vector<std::pair<PodPtr, std::string>> Questions::standing_pods(const ClusterHistory& history) const {
  std::vector<std::pair<PodPtr, std::string>> pods;
  for (const NodeInfo* info : history.live_cache().nodes())
    for (const PodPtr& pod : info->pods)
      if (has_profile(*pod)) pods.emplace_back(pod, info->name);
  return pods;
}

/// A pod that stands on a node, on every node, as if it left its own.
void Questions::check_as_moved(berth_fork* fork, const ClusterHistory& history, json& walks) {
  const auto pods = standing_pods(history);
  if (pods.empty()) return;
  const auto& [pod, node] = dice_.pick(pods);
  const json running = running_json(*pod, node);
  std::vector<OwnedPod> handles;
  handles.push_back(calls_.pod(running));
  json checks = json::array({{{"pod", pod->full_name()}}});
  calls_.check_all(nullptr, fork, handles, checks, {std::nullopt, BERTH_AS_MOVED});
  const std::vector<std::string> names = calls_.node_names(fork);
  NodeChoice nodes = any_nodes(names);
  nodes.flags = BERTH_SKIP_CORDONED | BERTH_AS_MOVED;
  calls_.check_all(nullptr, fork, handles, checks, nodes, "among");
  checks[0]["set"] = names_of(nodes.among ? *nodes.among : names);
  checks[0]["cordoned"] = names_of(cordoned(names, history));
  walks.push_back({{"verb", "as_moved"},
                   {"check", checks.front()},
                   {"pods", json::array()},
                   {"follow", json::array({leaves_line(*pod), json{{"ask", pod->uid()}}})}});
}

/// A pending pod without what it is to be judged without.
void Questions::check_ignoring(berth_fork* fork, const ClusterHistory& history, json& walks) {
  const std::vector<PodPtr> pods = asked_pods(history);
  if (pods.empty()) return;
  const Pod& pod = *dice_.pick(pods);
  const auto ignore = static_cast<std::uint32_t>(1 + dice_.upto(2));  // BERTH_IGNORE_CLAIMS, BERTH_IGNORE_VOLUMES
  const json pending = pending_json(history, pod);
  json without = pending;
  const bool claims = (ignore & BERTH_IGNORE_CLAIMS) != 0;
  const bool volumes = (ignore & BERTH_IGNORE_VOLUMES) != 0;
  if (claims) without["spec"].erase("resourceClaims");
  if (volumes) without["spec"].erase("volumes");
  std::vector<OwnedPod> handles;
  handles.push_back(calls_.pod(pending, ignore));
  json checks = json::array({{{"pod", pod.full_name()}}});
  calls_.check_all(nullptr, fork, handles, checks);
  walks.push_back({{"verb", "ignoring"},
                   {"check", checks.front()},
                   {"ignores", (claims && !pod.rare().resource_claims.empty()) ||
                                   (volumes && !pod.rare().volumes.empty())},  // that rules read
                   {"pods", json::array()},
                   {"follow", json::array({apply_line(pod_line(std::move(without))), json{{"ask", pod.uid()}}})}});
}

/// A few pods that stand on nodes, one after another; one that finds no node stays where it was.
void Questions::schedule_as_moved(berth_fork* fork, const ClusterHistory& history, json& walks) {
  std::vector<std::pair<PodPtr, std::string>> pods;
  for (const auto& standing : standing_pods(history))
    if (pods.size() < kMostMoved && dice_.one_in(4)) pods.push_back(standing);
  if (pods.empty()) return;
  std::vector<OwnedPod> handles;
  for (const auto& [pod, node] : pods) handles.push_back(calls_.pod(running_json(*pod, node)));
  const std::vector<std::string> names = calls_.node_names(fork);
  ScheduleChoice how = any_choice(names);
  const std::vector<std::string> among = left(how.choice == BERTH_CHOICE_ORDER ? how.order : names, how.nodes, history);
  how.nodes.flags |= BERTH_AS_MOVED;
  const OwnedFork moving = calls_.fork(fork);
  const Scheduled scheduled = calls_.schedule(moving.get(), handles, how);
  json follow = json::array();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const auto& [pod, node] = pods[i];
    const Placement& placed = scheduled.placements[i];
    follow.push_back(leaves_line(*pod));
    if (how.choice != BERTH_CHOICE_SCORE) follow.push_back({{"explain", json::object()}});
    json line = placed.line(pod->uid());
    line["among"] = among;
    follow.push_back(std::move(line));
    if (placed.node.empty()) follow.push_back(apply_line(pod_line(running_json(*pod, node))));
  }
  walks.push_back({{"verb", "schedule as moved"},
                   {"choice", how.choice},
                   {"start", how.start},
                   {"names", names},
                   {"order", among},
                   {"set", how.nodes.among ? *how.nodes.among : names},
                   {"next", scheduled.next_start},
                   {"pods", json::array()},
                   {"follow", std::move(follow)}});
}

}  // namespace berth::test
