// SPDX-License-Identifier: Apache-2.0
// Draws what happens to a living engine (events, placements, placements undone) and writes it with what the engine
// answered, for `oracle walk`, which does the same with upstream's cache and plugins.
//
//     write_history CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]      "" for CONFIG: the defaults
//
// One JSON value a line, in the order in which it happened:
//
//     {"apply": [CHANGE...]}        {"upsert": OBJECT}, {"remove": {"kind", "namespace", "name", "uid"}}
//                                   or {"nominate": UID, "node": NAME}
//     {"undo": UID}                 a placement
//     {"explain": RECORD}           of the pod of the next line: docs/schemas/explain-record.schema.json
//     {"place": UID, "node": NAME, "score": TOTAL, "reason": REASON, "message": TEXT}      as berth schedule -o json

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "host/cli/explain_document.h"
#include "host/config/feature_gates.h"
#include "host/objects/json_out.h"
#include "host/objects/loader.h"
#include "host/scheduler/intake.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using nlohmann::json;

template <class Object>
json as_json(const Object& object) {
  std::string text;
  append_json(text, object);
  return json::parse(text);
}

template <class Object>
json upsert(const Object& object) {
  return {{"upsert", as_json(object)}};
}

json removal(std::string_view kind, std::string_view name_space, std::string_view name, std::string_view uid = "") {
  return {{"remove", {{"kind", kind}, {"namespace", name_space}, {"name", name}, {"uid", uid}}}};
}

json change_json(const NodeUpsert& change) { return upsert(*change.node); }
json change_json(const NodeRemoval& change) { return removal("Node", "", change.name); }
json change_json(const PodUpsert& change) { return upsert(*change.pod); }
json change_json(const PodRemoval& change) { return removal("Pod", "", "", change.uid); }
json change_json(const NominationUpsert& change) {
  return {{"nominate", change.pod->uid()}, {"node", change.node_name}};
}
json change_json(const NamespaceUpsert& change) { return upsert(change.object); }
json change_json(const NamespaceRemoval& change) { return removal("Namespace", "", change.name); }
json change_json(const ServiceUpsert& change) { return upsert(change.object); }
json change_json(const ServiceRemoval& change) { return removal("Service", change.namespace_, change.name); }
json change_json(const WorkloadUpsert& change) { return upsert(change.object); }
json change_json(const WorkloadRemoval& change) { return removal(change.kind, change.namespace_, change.name); }

void write_line(const json& line) { std::puts(line.dump().c_str()); }

/// A living engine, and what happens to it.
class Life {
 public:
  Life(const ClusterObjects& objects, const SchedulerConfig& config, std::string_view backend, std::uint64_t seed)
      : dice_(seed), history_(objects, test::fill_cache(objects)) {
    EngineConfig engine;
    engine.seed = seed;
    engine.threads = 1;
    backend_ = test::open_backend(backend, history_.cache(), objects, config, engine);
    if (backend_ == nullptr) throw std::runtime_error(fmt::format("this build has no backend \"{}\"", backend));
    ClusterCache unused;
    pods_ = partition_pods(objects, config, unused).queue;
  }

  void run() {
    for (std::size_t next = 0; next < pods_.size();) {
      if (dice_.one_in(2)) change();
      const auto count =
          std::min(static_cast<std::size_t>(dice_.one_in(2) ? 1 : 1 + dice_.upto(9)), pods_.size() - next);
      place({pods_.begin() + static_cast<std::ptrdiff_t>(next),
             pods_.begin() + static_cast<std::ptrdiff_t>(next + count)});
      next += count;
    }
  }

 private:
  void change() {
    const std::vector<ClusterChange> changes = history_.draw(dice_, 4);
    backend_->apply(changes);
    json list = json::array();
    for (const ClusterChange& change : changes)
      list.push_back(std::visit([](const auto& what) { return change_json(what); }, change));
    write_line({{"apply", std::move(list)}});
  }

  void place(std::vector<PodToPlace> batch) {
    backend_->compile(batch);
    if (dice_.one_in(3)) change();
    batch = test::not_placed(batch, history_);
    if (batch.size() == 1) explain(batch.front());
    const BatchResult result = backend_->commit_batch(batch, {});
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) answered(batch[i], result.outcomes[i], result);
    for (const PodToPlace& pod : batch)
      if (dice_.one_in(8) && history_.is_placed(*pod.pod)) undo(*pod.pod);
    if (dice_.one_in(3)) backend_->release(batch);
  }

  void explain(const PodToPlace& pod) {
    std::string record;
    Output output(record);
    const NodeNames names = [this](NodeIndex node) { return backend_->node_name(node); };
    const Explanation explanation{pod.pod->full_name(), pod.pod, PodStanding(), backend_->evaluate(pod)};
    write_explain_record(explanation, names, *json_writer(output, 0));
    output.flush();
    write_line({{"explain", json::parse(record)}});
  }

  void answered(const PodToPlace& pod, const Outcome& outcome, const BatchResult& result) {
    const std::string node(backend_->node_name(outcome.node));
    json line = {{"place", pod.pod->uid()}, {"node", node}, {"score", outcome.score}};
    if (outcome.kind != OutcomeKind::kPlaced) {
      line["reason"] = outcome.kind == OutcomeKind::kError ? "SchedulerError" : "Unschedulable";
      line["message"] = result.messages[static_cast<std::size_t>(outcome.message)].text;
    }
    write_line(line);
    history_.answered(pod.pod, node);
  }

  void undo(const Pod& pod) {
    if (!backend_->undo(pod)) throw std::logic_error(pod.full_name() + " is not placed, so it cannot be undone");
    history_.undone(pod);
    write_line({{"undo", pod.uid()}});
  }

  test::Dice dice_;
  test::ClusterHistory history_;
  std::unique_ptr<Backend> backend_;
  std::vector<PodToPlace> pods_;
};

void write_history(const std::vector<std::string>& arguments) {
  LoadResult loaded = load_cluster({arguments[0]});
  loaded.throw_if_problems();
  FeatureGates gates(parse_release(arguments[3]));
  if (arguments.size() > 5) gates.apply(arguments[5]);
  const bool has_config = arguments.size() > 4 && !arguments[4].empty();
  const SchedulerConfig config =
      has_config ? load_scheduler_config(arguments[4], gates) : default_scheduler_config(gates);
  Life(loaded.objects, config, arguments[2], std::stoull(arguments[1])).run();
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 4 || arguments.size() > 6) {
    std::fputs("write_history CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]\n", stderr);
    return 2;
  }
  try {
    berth::write_history(arguments);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("write_history: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
