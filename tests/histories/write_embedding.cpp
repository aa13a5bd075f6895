// SPDX-License-Identifier: Apache-2.0
// Asks a drawn cluster through berth.h, in snapshots, forks and forks of forks between random changes, and writes what
// it answered together with the objects that the answers are about, for scripts/oracle_embed.py, which asks upstream.
//
//     write_embedding CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]      "" for CONFIG: the defaults
//
// One JSON value a line. The first one is {"cluster": LIST}, what upstream begins with; the others are states:
//
//     {"where": TEXT, "path": [LINE...], "checks": [CHECK...], "walks": [WALK...]}
//
//     LINE     of write_history.cpp; those of "path" lead from the cluster as loaded to the state
//     CHECK    {"pod": NAMESPACE/NAME, "uid", "tried", "judged": N, "nodes": [VERDICT...]}: what berth_*_check_bulk()
//     has
//              of the pod. "tried": upstream takes it from its queue. In the checks of a state also "among": the same
//              of the nodes of "set", without those of "cordoned", and of some pods "alone": two VERDICTs of
//              berth_*_check(), the second one without cordoned nodes
//     VERDICT  {"node", "fits", "code", "phase", "plugin", "reasons"}, numbers as in berth.h
//     WALK     {"verb", "pods": [POD...], "follow": [LINE...], ...}: what happens behind the path; the pods are pending
//              from the beginning, beside those of the cluster. By verb, beside these:
//       explain        "record": docs/schemas/explain-record.schema.json
//       preempt        "answer": candidates with the names of victims, and the message
//       schedule       "choice", "start", "next" as berth.h has them, "set", "names" of all nodes by ascending number,
//                      "order": the nodes that may be taken, in the order in which they are tried
//       max_replicas   "count", "on_node", "of_value", "labels" of the nodes, "set"
//       drain          the options; "candidates", the nodes that pods may go to by ascending number; "nodes", what is
//                      said of each, with the pods on it ("standing"), the position of the first candidate that is
//                      tried ("start"), and for each pod whether upstream has a step for it; "kept", CHECKs in the
//                      fork that keeps the drain, which are asked at the end
//       scale_up       "existing", the names of nodes that are tried before new ones, and "steps", what the estimate
//       says
//                      of each pod: {"pod", "added": the number of new nodes before it, "node": new-<number>, an
//                      existing one or "", "refusal": reasons of an empty new node}. Each step is asked before a node
//                      is added, and once more behind that. "node_count", "placed", "requested" and "allocatable" are
//                      those of the shape, the last two by resource: the use of the new nodes is asked at the end
//       as_moved       "check", a CHECK, also of a set
//       schedule as moved   as schedule, of pods that stand on nodes
//       group          the options, "tries", and "domains", the values of the key in the order in which they are to be
//                      tried; the steps are of the try that was taken
//       reserve        "base", what stands for the path of the state: the walk comes before

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/cluster/cache.h"
#include "host/objects/pod_state.h"
#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_model.h"
#include "tests/histories/embedding_questions.h"
#include "tests/histories/history_lines.h"
#include "tests/property/cluster_history.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

using nlohmann::json;

class Embedding {
 public:
  /// @param path  of the file that the input was read from
  Embedding(const HistoryInput& input, const std::string& path, const EngineSettings& settings)
      : dice_(input.seed),
        input_(input),
        path_(path),
        start_(ClusterHistory(input.objects, fill_cache(input.objects))),
        calls_(settings),
        questions_(dice_, input_, calls_) {
    for (const ClusterChange& nomination : start_.history.nominations()) note_nomination(nomination);
  }

  void run() {
    const json cluster = list_of(items_at_start());
    write_line({{"cluster", cluster}});
    calls_.upsert(cluster);
    change_cluster();
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
    go_on(fork.get(), of_fork);
  }

 private:
  /// The fork is committed into the cluster or not, which then changes; it ends with placements that are assumed and
  /// forgotten.
  void go_on(berth_fork* fork, Model& of_fork) {
    const bool commits = dice_.one_in(2);
    Model& model = commits ? of_fork : start_;
    if (commits) must(berth_fork_commit(fork, nullptr, calls_.error()), calls_.error());
    change_cluster(model);
    assume_and_forget(model);
    json reserved = questions_.reserve(model);
    const OwnedSnapshot snapshot = calls_.snapshot();
    ask({commits ? "cluster after a commit" : "cluster again", snapshot.get(), nullptr, &model}, std::move(reserved));
  }
  /// Upstream frees a port when one of two pods that use it is forgotten, the engine's undo does not; only an assumed
  /// pod that no rule was asked about can use another one's port.
  static bool has_host_port(const Pod& pod) { return !wanted_host_ports(*pod.spec).empty(); }
  void assume_and_forget(Model& model) {
    std::vector<std::string> nodes;
    for (const NodeInfo* info : model.history.live_cache().nodes()) nodes.push_back(info->name);
    if (nodes.empty()) return;
    for (const PodPtr& pod : questions_.pending_pods(model.history)) {
      if (!questions_.has_profile(*pod) || has_host_port(*pod) || !dice_.one_in(6)) continue;
      const std::string node = dice_.pick(nodes);
      json bound = json_of(*pod);
      bound["spec"]["nodeName"] = node;
      calls_.assume(calls_.pod(Questions::pending_json(model.history, *pod)).get(), node);
      model.history.answered(pod, node);
      model.path.push_back(apply_line(nomination_line(pod->uid(), "")));
      model.path.push_back(apply_line(pod_line(bound)));
    }
    for (const PodPtr& pod : input_.objects.pods) {
      if (!model.history.is_placed(*pod) || !dice_.one_in(3)) continue;
      calls_.forget(calls_.pod(json_of(*pod)).get());
      model.history.undone(*pod);
      model.path.push_back(apply_line(removal_line("Pod", "", "", pod->uid())));
      if (const auto known = nominated_.find(pod->uid()); known != nominated_.end()) {
        model.history.follow(known->second);
        model.happened(known->second);
      }
    }
  }

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

  json items_at_start() const {
    const ClusterObjects& objects = input_.objects;
    json items = json::array();
    for (const Namespace& object : objects.namespaces) items.push_back(json_of(object));
    for (const Service& object : objects.services) items.push_back(json_of(object));
    for (const Workload& object : objects.workloads) items.push_back(json_of(object));
    for (const NodePtr& node : objects.nodes) items.push_back(json_of(*node));
    for (const PodPtr& pod : objects.pods) items.push_back(json_of(*pod));
    // Of these the model has not all that upstream reads.
    std::ifstream file(path_);
    for (json& item : json::parse(file).at("items"))
      if (item["kind"] == "PodDisruptionBudget") items.push_back(std::move(item));
    return items;
  }
  static json list_of(json items) { return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}}; }

  // Changes.

  void change_cluster() { change_cluster(start_); }
  void change_cluster(Model& model) {
    for (const ClusterChange& change : model.history.draw(dice_, 5)) {
      std::visit([&](const auto& what) { change_cluster(model, what); }, change);
      note_nomination(change);
      model.happened(change);
    }
  }
  /// What the latest upsert of a pod says.
  void note_nomination(const ClusterChange& change) {
    if (const auto* upsert = std::get_if<PodUpsert>(&change)) nominated_.erase(upsert->pod->uid());
    if (const auto* removal = std::get_if<PodRemoval>(&change)) nominated_.erase(removal->uid);
    const auto* const nomination = std::get_if<NominationUpsert>(&change);
    if (nomination == nullptr) return;
    nominated_.erase(nomination->pod->uid());
    if (!nomination->node_name.empty()) nominated_.emplace(nomination->pod->uid(), *nomination);
  }
  void change_cluster(const Model&, const NodeUpsert& change) { calls_.upsert(json_of(*change.node)); }
  void change_cluster(const Model&, const NodeRemoval& change) { calls_.remove("Node", "", change.name); }
  void change_cluster(const Model&, const PodUpsert& change) { calls_.upsert(json_of(*change.pod)); }
  void change_cluster(const Model&, const PodRemoval& change) { calls_.remove_pod(change.uid); }
  void change_cluster(const Model& model, const NominationUpsert& change) {
    calls_.upsert(Questions::pending_json(model.history, *change.pod));
  }
  void change_cluster(const Model&, const NamespaceUpsert& change) { calls_.upsert(json_of(change.object)); }
  void change_cluster(const Model&, const NamespaceRemoval& change) { calls_.remove("Namespace", "", change.name); }
  void change_cluster(const Model&, const ServiceUpsert& change) { calls_.upsert(json_of(change.object)); }
  void change_cluster(const Model&, const ServiceRemoval& change) {
    calls_.remove("Service", change.namespace_, change.name);
  }
  void change_cluster(const Model&, const WorkloadUpsert& change) { calls_.upsert(json_of(change.object)); }
  void change_cluster(const Model&, const WorkloadRemoval& change) {
    calls_.remove(change.kind, change.namespace_, change.name);
  }
  template <class Other>
  void change_cluster(const Model&, const Other&) {
    throw std::logic_error("a history has no such event");
  }

  void change_fork(berth_fork* fork, Model& model) {
    for (const ClusterChange& change : model.history.draw_for_fork(dice_, 6, 2, /*nominations=*/false)) {
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

  /// @param walk  of what led to the state; null: none
  void ask(const Place& place, json walk = nullptr) {
    json state = {{"where", place.where}, {"path", place.model->path}, {"checks", questions_.check(place)}};
    const OwnedFork what_if = place.fork != nullptr ? calls_.fork(place.fork) : calls_.fork(place.snapshot);
    state["walks"] = questions_.walks(place, what_if.get(), state["checks"]);
    if (place.fork != nullptr)
      walk = dice_.one_in(3) ? questions_.schedule_group(place.fork, *place.model)
                             : questions_.schedule(place.fork, *place.model);
    if (!walk.is_null()) state["walks"].push_back(std::move(walk));
    write_line(state);
  }

  Dice dice_;
  const HistoryInput& input_;
  std::string path_;
  Model start_;
  std::map<std::string, NominationUpsert> nominated_;  ///< by uid; what a pod has again that is forgotten
  EmbeddingCalls calls_;
  Questions questions_;
};

}  // namespace
}  // namespace berth::test

int main(int argc, char** argv) {
  return berth::test::write_history(argc, argv, "write_embedding", [&](const berth::test::HistoryInput& input) {
    const berth::test::EngineSettings settings{argv[3], input.seed, argv[4], argc > 5 ? argv[5] : "",
                                               argc > 6 ? argv[6] : ""};
    berth::test::Embedding(input, argv[1], settings).run();
  });
}
