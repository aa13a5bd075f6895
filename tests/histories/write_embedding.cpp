// SPDX-License-Identifier: Apache-2.0
// Asks a drawn cluster through berth.h, in snapshots, forks and forks of forks between random changes, and writes what
// it answered together with the objects that the answers are about, for scripts/oracle_embed.py, which asks upstream.
//
//     write_embedding CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]      "" for CONFIG: the defaults
//
// One JSON value a line. The first one is {"cluster": LIST}, what upstream begins with; the others are states:
//
//     {"where": TEXT, "path": [LINE...], "checks": [CHECK...], "explained": [RECORD...], "walks": [WALK...]}
//
//     LINE     of write_history.cpp; those of "path" lead from the cluster as loaded to the state
//     CHECK    {"pod": NAMESPACE/NAME, "uid", "tried", "judged": N,
//               "nodes": [{"node", "fits", "code", "phase", "plugin", "reasons"}]}:
//              what berth_*_check_bulk() has of the pod, numbers as in berth.h. "tried": upstream takes it from its
//              queue
//     RECORD   of berth_*_explain(): docs/schemas/explain-record.schema.json
//     WALK     {"verb": "schedule" | "max_replicas" | "drain" | "scale_up" | "as_moved", "pods": [POD...], "follow":
//     [LINE...],
//     ...}: what happens
//              behind the path; the pods are pending from the beginning, beside those of the cluster.
//              "max_replicas" has "count", what the verb said; "drain" has "candidates", the names of the nodes that
//              pods may go to by ascending number, "start", the position of the first one that is tried, and "failed"
//              instead where the call failed. "scale_up" has "existing", the names of nodes that are tried before new
//              ones, and "steps", what the estimate says of each pod: {"pod", "added": the number of new nodes before
//              it, "node": new-<number>, an existing one or "", "refusal": reasons of an empty new node}. Each step is
//              asked before a node is added, and once more behind that. "as_moved" has "check", a CHECK

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_model.h"
#include "tests/histories/history_lines.h"
#include "tests/property/cluster_history.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostCopies = 60;   ///< of a shape whose copies upstream places, too
constexpr std::size_t kMostDrained = 25;   ///< pods of a node that is drained
constexpr std::size_t kMostExplained = 3;  ///< pods of a state
constexpr std::uint32_t kAllRules = (1U << (BERTH_RULE_TOLERATES_TAINT + 1)) - 2;

/// What is asked.
struct Place {
  std::string where;
  const berth_snapshot* snapshot = nullptr;  ///< the place, unless it is a fork
  berth_fork* fork = nullptr;
  Model* model = nullptr;
};

class Embedding {
 public:
  explicit Embedding(const HistoryInput& input, const EngineSettings& settings)
      : dice_(input.seed),
        input_(input),
        start_(ClusterHistory(input.objects, fill_cache(input.objects))),
        calls_(settings) {}

  void run() {
    const json cluster = list_of(items_at_start());
    write_line({{"cluster", cluster}});
    calls_.upsert(cluster);
    for (const ClusterChange& change : start_.history.draw(dice_, 5)) {
      std::visit([this](const auto& what) { change_cluster(what); }, change);
      start_.happened(change);
    }
    const OwnedSnapshot snapshot = calls_.snapshot();
    ask({"snapshot", snapshot.get(), nullptr, &start_});
    const OwnedFork fork = calls_.fork(snapshot.get());
    Model of_fork(start_);
    change_fork(fork.get(), of_fork);
    ask({"fork", nullptr, fork.get(), &of_fork});
    const OwnedFork inner = calls_.fork(fork.get());
    auto of_inner = std::make_unique<Model>(of_fork);
    change_fork(inner.get(), *of_inner);
    ask({"fork of a fork", nullptr, inner.get(), of_inner.get()});
    leave_innermost(inner.get(), of_inner);
    ask({"fork below", nullptr, fork.get(), &of_fork});
  }

 private:
  /// A fork of a fork of a fork, which is committed, reverted or dropped; then the one below is asked again.
  void leave_innermost(berth_fork* inner, std::unique_ptr<Model>& of_inner) {
    const OwnedFork innermost = calls_.fork(inner);
    auto model = std::make_unique<Model>(*of_inner);
    change_fork(innermost.get(), *model);
    ask({"third fork", nullptr, innermost.get(), model.get()});
    switch (dice_.upto(2)) {
      case 0:
        must(berth_fork_commit(innermost.get(), nullptr, calls_.error()), calls_.error());
        of_inner = std::move(model);
        return ask({"fork that was committed into", nullptr, inner, of_inner.get()});
      case 1:
        must(berth_fork_revert(innermost.get(), calls_.error()), calls_.error());
        model = std::make_unique<Model>(*of_inner);
        return ask({"reverted fork", nullptr, innermost.get(), model.get()});
      default:
        return ask({"fork below another one", nullptr, inner, of_inner.get()});
    }
  }

  // Objects of a state.

  static std::string nomination_of(const ClusterHistory& history, const Pod& pod) {
    for (const ClusterChange& change : history.nominations()) {
      const auto& nomination = std::get<NominationUpsert>(change);
      if (nomination.pod->uid() == pod.uid()) return nomination.node_name;
    }
    return {};
  }
  static json pending_json(const ClusterHistory& history, const Pod& pod) {
    json object = json_of(pod);
    const std::string node = nomination_of(history, pod);
    if (object.contains("status")) object["status"].erase("nominatedNodeName");
    if (!node.empty()) object["status"]["nominatedNodeName"] = node;
    return object;
  }
  std::vector<PodPtr> pending_pods(const ClusterHistory& history) const {
    std::vector<PodPtr> pods;
    for (const PodPtr& pod : input_.objects.pods)
      if (is_pending(*pod) && !history.is_on_a_node(*pod)) pods.push_back(pod);
    return pods;
  }
  json items_at_start() const {
    const ClusterObjects& objects = input_.objects;
    json items = json::array();
    for (const Namespace& object : objects.namespaces) items.push_back(json_of(object));
    for (const Service& object : objects.services) items.push_back(json_of(object));
    for (const Workload& object : objects.workloads) items.push_back(json_of(object));
    for (const NodePtr& node : objects.nodes) items.push_back(json_of(*node));
    for (const PodPtr& pod : objects.pods) items.push_back(json_of(*pod));
    return items;
  }
  static json list_of(json items) { return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}}; }

  // Changes.

  void change_cluster(const NodeUpsert& change) { calls_.upsert(json_of(*change.node)); }
  void change_cluster(const NodeRemoval& change) { calls_.remove("Node", "", change.name); }
  void change_cluster(const PodUpsert& change) { calls_.upsert(json_of(*change.pod)); }
  void change_cluster(const PodRemoval& change) { calls_.remove_pod(change.uid); }
  void change_cluster(const NominationUpsert& change) { calls_.upsert(pending_json(start_.history, *change.pod)); }
  void change_cluster(const NamespaceUpsert& change) { calls_.upsert(json_of(change.object)); }
  void change_cluster(const NamespaceRemoval& change) { calls_.remove("Namespace", "", change.name); }
  void change_cluster(const ServiceUpsert& change) { calls_.upsert(json_of(change.object)); }
  void change_cluster(const ServiceRemoval& change) { calls_.remove("Service", change.namespace_, change.name); }
  void change_cluster(const WorkloadUpsert& change) { calls_.upsert(json_of(change.object)); }
  void change_cluster(const WorkloadRemoval& change) { calls_.remove(change.kind, change.namespace_, change.name); }
  template <class Other>
  void change_cluster(const Other&) {
    throw std::logic_error("a history has no such event");
  }

  void change_fork(berth_fork* fork, Model& model) {
    for (const ClusterChange& change : model.history.draw_for_fork(dice_, 6, 2)) {
      std::visit([&](const auto& what) { change_fork(fork, what); }, change);
      model.happened(change);
    }
  }
  void change_fork(berth_fork* fork, const NodeUpsert& change) { calls_.upsert_node(fork, json_of(*change.node)); }
  void change_fork(berth_fork* fork, const NodeRemoval& change) {
    must(berth_fork_remove_node(fork, calls_.node_number(change.name), calls_.error()), calls_.error());
  }
  void change_fork(berth_fork* fork, const PodUpsert& change) {
    calls_.remove_pod(fork, change.pod->uid());
    const std::vector<std::string> names = calls_.node_names(fork);
    if (is_on_node(*change.pod) && std::ranges::count(names, change.pod->node_name) != 0)
      calls_.add_pod(fork, json_of(*change.pod), change.pod->node_name);
  }
  void change_fork(berth_fork* fork, const PodRemoval& change) { calls_.remove_pod(fork, change.uid); }
  template <class Other>
  void change_fork(berth_fork*, const Other&) {
    throw std::logic_error("forks take no such event");
  }

  // Questions.

  void ask(const Place& place) {
    const ClusterHistory& history = place.model->history;
    std::vector<OwnedPod> handles;
    std::vector<const berth_pod*> tried;
    json checks = json::array();
    for (const PodPtr& pod : pending_pods(history)) {
      handles.push_back(calls_.pod(pending_json(history, *pod)));
      const bool is_tried = has_profile(*pod) && !pod->terminating;
      if (is_tried) tried.push_back(handles.back().get());
      checks.push_back({{"pod", pod->full_name()}, {"uid", pod->uid()}, {"tried", is_tried}});
    }
    calls_.check_all(place.snapshot, place.fork, handles, checks);
    json state = {{"where", place.where}, {"path", place.model->path}, {"checks", std::move(checks)}};
    state["explained"] = json::array();
    for (std::size_t i = 0; i < std::min(tried.size(), kMostExplained); ++i)
      state["explained"].push_back(calls_.explain(place.snapshot, place.fork, dice_.pick(tried)));
    state["walks"] = json::array();
    const OwnedFork what_if = place.fork != nullptr ? calls_.fork(place.fork) : calls_.fork(place.snapshot);
    count_replicas(what_if.get(), history, state["walks"]);
    drain(what_if.get(), history, state["walks"]);
    check_as_moved(what_if.get(), history, state["walks"]);
    scale_up(what_if.get(), history, state["walks"]);
    if (place.fork != nullptr) schedule(place.fork, *place.model, state["walks"]);
    write_line(state);
  }

  /// A few pending pods one after another; their fork keeps them.
  void schedule(berth_fork* fork, Model& model, json& walks) {
    std::vector<PodPtr> pods;
    for (const PodPtr& pod : pending_pods(model.history))
      if (is_asked(*pod) && dice_.one_in(4)) pods.push_back(pod);
    if (pods.empty()) return;
    std::vector<OwnedPod> handles;
    for (const PodPtr& pod : pods) handles.push_back(calls_.pod(pending_json(model.history, *pod)));
    const std::vector<Placement> placements = calls_.schedule(fork, handles);
    json follow = json::array();
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const std::string& node = placements[i].node;
      follow.push_back(placements[i].line(pods[i]->uid()));
      model.history.answered(pods[i], node);
      model.path.push_back(apply_line(nomination_line(pods[i]->uid(), "")));  // an attempt ends it
      if (node.empty()) continue;
      json bound = json_of(*pods[i]);
      bound["spec"]["nodeName"] = node;
      model.path.push_back(apply_line(pod_line(bound)));
    }
    walks.push_back({{"verb", "schedule"}, {"pods", json::array()}, {"follow", std::move(follow)}});
  }

  /// Upstream takes the steps of the schedule verb, which must be as many as the count.
  void count_replicas(berth_fork* fork, const ClusterHistory& history, json& walks) {
    std::vector<PodPtr> shapes;
    for (const PodPtr& pod : pending_pods(history))
      if (is_asked(*pod)) shapes.push_back(pod);
    if (shapes.empty()) return;
    const Pod& shape = *dice_.pick(shapes);
    const json pending = pending_json(history, shape);
    const OwnedPod handle = calls_.pod(pending);
    const std::int64_t count = calls_.max_replicas(fork, handle.get());
    if (count < 0 || count > kMostCopies) return;
    const OwnedFork one_by_one = calls_.fork(fork);
    json pods = json::array();
    json follow = json::array();
    std::vector<OwnedPod> copies;
    for (std::int64_t i = 0; i <= count; ++i) {
      pods.push_back(renamed(pending, fmt::format("copy-{}", i)));
      copies.push_back(calls_.pod(pods.back()));
    }
    const std::vector<Placement> placements = calls_.schedule(one_by_one.get(), copies);
    for (std::size_t i = 0; i < placements.size(); ++i)
      follow.push_back(placements[i].line(fmt::format("uid-copy-{}", i)));
    walks.push_back({{"verb", "max_replicas"},
                     {"shape", shape.full_name()},
                     {"count", count},
                     {"pods", std::move(pods)},
                     {"follow", std::move(follow)}});
  }

  /// A pod that stands on a node, on every node, as if it left its own.
  void check_as_moved(berth_fork* fork, const ClusterHistory& history, json& walks) {
    std::vector<std::pair<PodPtr, std::string>> pods;
    for (const NodeInfo* info : history.live_cache().nodes())
      for (const PodPtr& pod : info->pods)
        if (has_profile(*pod)) pods.emplace_back(pod, info->name);
    if (pods.empty()) return;
    const auto& [pod, node] = dice_.pick(pods);
    json running = json_of(*pod);
    running["spec"]["nodeName"] = node;
    std::vector<OwnedPod> handles;
    handles.push_back(calls_.pod(running));
    json checks = json::array({{{"pod", pod->full_name()}}});
    calls_.check_all(nullptr, fork, handles, checks, BERTH_AS_MOVED);
    walks.push_back(
        {{"verb", "as_moved"},
         {"check", checks.front()},
         {"pods", json::array({renamed(json_of(*pending_copy_of(*pod)), "moved")})},
         {"follow", json::array({apply_line(removal_line("Pod", "", "", pod->uid())), json{{"ask", "uid-moved"}}})}});
  }

  /// A new node is added before the first pod that goes there, and for a look at it by each pod that is left over.
  void scale_up(berth_fork* fork, const ClusterHistory& history, json& walks) {
    std::vector<PodPtr> pods;
    for (const PodPtr& pod : pending_pods(history))
      if (is_asked(*pod) && !dice_.one_in(3)) pods.push_back(pod);
    const std::vector<const NodeInfo*> nodes = history.live_cache().nodes();
    if (pods.empty() || nodes.empty()) return;
    std::vector<OwnedPod> handles;
    for (const PodPtr& pod : pods) handles.push_back(calls_.pod(pending_json(history, *pod)));
    const json shape = json_of(*dice_.pick(nodes)->node);
    const bool existing_first = dice_.one_in(2);
    const std::vector<Estimated> estimated =
        calls_.scale_up(fork, handles, shape, existing_first ? BERTH_EXISTING_FIRST : 0);
    json follow = json::array();
    json steps = json::array();
    std::uint32_t added = 0;
    for (std::size_t i = 0; i < pods.size(); ++i) {
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
      follow.push_back(apply_line({{"upsert", new_node(shape, added)}}));
      follow.push_back(ask);
      if (answer.new_node == BERTH_NO_NODE) {
        follow.push_back(apply_line(removal_line("Node", "", new_node_name(added))));
      } else {
        follow.push_back(Placement{new_node_name(added), 0, ""}.line(pods[i]->uid()));
        ++added;
      }
    }
    walks.push_back({{"verb", "scale_up"},
                     {"steps", std::move(steps)},
                     {"existing", existing_first ? json(calls_.node_names(fork)) : json::array()},
                     {"pods", json::array()},
                     {"follow", std::move(follow)}});
  }
  static std::string new_node_name(std::uint32_t number) { return fmt::format("new-{}", number); }
  static json new_node(json shape, std::uint32_t number) {
    shape["metadata"]["name"] = new_node_name(number);
    shape["metadata"]["labels"]["kubernetes.io/hostname"] = new_node_name(number);
    return shape;
  }

  /// One node by first fit, without rules that hold pods back.
  void drain(berth_fork* fork, const ClusterHistory& history, json& walks) {
    std::vector<const NodeInfo*> nodes;
    for (const NodeInfo* info : history.live_cache().nodes())
      if (!info->pods.empty() && info->pods.size() <= kMostDrained &&
          std::ranges::all_of(info->pods, [&](const PodPtr& pod) { return has_profile(*pod); }))
        nodes.push_back(info);
    if (nodes.empty()) return;
    const NodeInfo& drained = *dice_.pick(nodes);
    std::vector<Moved> moved;
    try {
      moved = calls_.drain(fork, drained.name, kAllRules);
    } catch (const std::runtime_error& error) {
      walks.push_back({{"verb", "drain"},
                       {"node", drained.name},
                       {"failed", error.what()},
                       {"candidates", json::array()},
                       {"start", 0},
                       {"pods", json::array()},
                       {"follow", json::array()}});
      return;
    }
    json pods = json::array();
    json follow = json::array();
    follow.push_back(apply_line({{"upsert", cordoned(*drained.node)}}));
    for (const Moved& pod : moved) {
      const auto at = std::ranges::find_if(drained.pods, [&](const PodPtr& p) { return p->uid() == pod.uid; });
      if (at == drained.pods.end()) throw std::runtime_error(pod.uid + " is drained and not on the node");
      if (pod.outcome == BERTH_POD_STAYS || pod.outcome == BERTH_POD_ENDS) continue;  // of DaemonSets, for example
      if (pod.outcome != BERTH_POD_MOVES && pod.outcome != BERTH_POD_NO_PLACE) {
        follow.push_back({{"unlike", fmt::format("{} has outcome {}", pod.uid, pod.outcome)}});
        continue;
      }
      json running = json_of(**at);
      running["spec"]["nodeName"] = drained.name;
      const std::string name = fmt::format("moved-{}", pods.size());
      pods.push_back(renamed(json_of(*pending_copy_of(**at)), name));
      follow.push_back(apply_line(removal_line("Pod", "", "", (*at)->uid())));
      follow.push_back({{"explain", json::object()}});
      follow.push_back(Placement{pod.node, 0, ""}.line("uid-" + name));
      if (pod.node.empty()) follow.push_back(apply_line(pod_line(running)));
    }
    std::vector<std::string> candidates = calls_.node_names(fork);
    const auto start = std::ranges::find(candidates, drained.name) - candidates.begin();
    std::erase(candidates, drained.name);
    walks.push_back({{"verb", "drain"},
                     {"node", drained.name},
                     {"candidates", candidates},
                     {"start", start},
                     {"pods", std::move(pods)},
                     {"follow", std::move(follow)}});
  }
  /// As `kubectl drain` and the node controller leave it.
  static json cordoned(const Node& node) {
    json object = json_of(node);
    object["spec"]["unschedulable"] = true;
    json& taints = object["spec"]["taints"];
    const json taint = {{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}};
    if (std::ranges::find(taints, taint) == taints.end()) taints.push_back(taint);
    return object;
  }

  bool has_profile(const Pod& pod) const { return input_.config.find_profile(pod.spec->scheduler_name) != nullptr; }
  /// Upstream's queue has the pod, and a cycle may begin with it.
  bool is_asked(const Pod& pod) const {
    return has_profile(pod) && !pod.terminating && pod.rare().scheduling_gates.empty();
  }

  Dice dice_;
  const HistoryInput& input_;
  Model start_;
  EmbeddingCalls calls_;
};

}  // namespace
}  // namespace berth::test

int main(int argc, char** argv) {
  return berth::test::write_history(argc, argv, "write_embedding", [&](const berth::test::HistoryInput& input) {
    const berth::test::EngineSettings settings{argv[3], input.seed, argv[4], argc > 5 ? argv[5] : "",
                                               argc > 6 ? argv[6] : ""};
    berth::test::Embedding(input, settings).run();
  });
}
