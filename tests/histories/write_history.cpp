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

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/report/document_formats.h"
#include "host/report/output.h"
#include "host/scheduler/explain_document.h"
#include "host/scheduler/intake.h"
#include "tests/histories/history_lines.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"
#include "tests/support/evaluated.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using nlohmann::json;
using test::nomination_line;
using test::removal_line;
using test::upsert_line;
using test::write_line;

json change_json(const NodeUpsert& change) { return upsert_line(*change.node); }
json change_json(const NodeRemoval& change) { return removal_line("Node", "", change.name); }
json change_json(const PodUpsert& change) { return upsert_line(*change.pod); }
json change_json(const PodRemoval& change) { return removal_line("Pod", "", "", change.uid); }
json change_json(const NominationUpsert& change) { return nomination_line(change.pod->uid(), change.node_name); }
json change_json(const NamespaceUpsert& change) { return upsert_line(change.object); }
json change_json(const NamespaceRemoval& change) { return removal_line("Namespace", "", change.name); }
json change_json(const ServiceUpsert& change) { return upsert_line(change.object); }
json change_json(const ServiceRemoval& change) { return removal_line("Service", change.namespace_, change.name); }
json change_json(const WorkloadUpsert& change) { return upsert_line(change.object); }
json change_json(const WorkloadRemoval& change) { return removal_line(change.kind, change.namespace_, change.name); }
json change_json(const StorageUpsert& change) {
  return std::visit([](const auto& object) { return upsert_line(object); }, change.object);
}
json change_json(const StorageRemoval& change) {
  static constexpr std::array kKinds = {"PersistentVolume", "PersistentVolumeClaim", "StorageClass",    "CSINode",
                                        "CSIDriver",        "CSIStorageCapacity",    "VolumeAttachment"};
  return removal_line(kKinds[static_cast<std::size_t>(change.kind)], change.namespace_, change.name);
}

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
    const BatchResult result = commit_with_refills(batch, {}, *backend_);
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) answered(batch[i], result.outcomes[i], result);
    for (const PodToPlace& pod : batch)
      if (dice_.one_in(8) && history_.is_placed(*pod.pod)) undo(*pod.pod);
    if (dice_.one_in(3)) backend_->release(batch);
  }

  void explain(const PodToPlace& pod) {
    std::string record;
    Output output(record);
    const NodeNames names = [this](NodeIndex node) { return backend_->node_name(node); };
    const Explanation explanation{pod.pod->full_name(), pod.pod, PodStanding(), nullptr,
                                  test::evaluated(pod, *backend_)};
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

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  return berth::test::write_history(argc, argv, "write_history", [](const berth::test::HistoryInput& input) {
    berth::Life(input.objects, input.config, input.backend, input.seed).run();
  });
}
