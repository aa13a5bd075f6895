// SPDX-License-Identifier: Apache-2.0
// One run of `berth schedule` with its evictions, written for `oracle walk`, which takes the same steps with upstream's
// cache and plugins.
//
//     write_schedule CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]      "" for CONFIG: the defaults
//
// Lines of write_run.cpp, without batches.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "host/scheduler/scheduler.h"
#include "tests/histories/history_lines.h"

namespace berth {
namespace {

using nlohmann::json;

class HistoryWriter : public QueueRunObserver {
 public:
  void on_attempt(const Attempt& attempt) override {
    const Pod& pod = *attempt.pod.pod;
    json line = {{"place", pod.uid()}, {"node", attempt.node_name}, {"score", attempt.outcome.score}};
    if (attempt.outcome.kind != OutcomeKind::kPlaced) {
      const bool is_error = attempt.outcome.kind == OutcomeKind::kError;
      line["reason"] = is_error ? "SchedulerError" : "Unschedulable";
      line["message"] = attempt.message;
      if (!is_error) line["preempt"] = {{"node", nominated_node(pod)}, {"victims", victims()}};
    }
    test::write_line(line);
    write(std::exchange(of_attempt_, {}));
  }
  void on_preemption(std::span<const ClusterChange> changes) override {
    of_attempt_.assign(changes.begin(), changes.end());
  }
  void on_gone(std::span<const ClusterChange> changes) override { write({changes.begin(), changes.end()}); }

 private:
  std::string nominated_node(const Pod& pod) const {
    std::string node;
    for (const ClusterChange& change : of_attempt_)
      if (const auto* nomination = std::get_if<NominationUpsert>(&change);
          nomination != nullptr && nomination->pod->uid() == pod.uid())
        node = nomination->node_name;
    return node;
  }
  std::vector<std::string> victims() const {
    std::vector<std::string> names;
    for (const ClusterChange& change : of_attempt_)
      if (const auto* pod = std::get_if<PodUpsert>(&change)) names.push_back(pod->pod->full_name());
    return names;
  }

  static json line_of(const PodUpsert& change) { return test::upsert_line(*change.pod); }
  static json line_of(const PodRemoval& change) { return test::removal_line("Pod", "", "", change.uid); }
  static json line_of(const NominationUpsert& change) {
    json line = test::nomination_line(change.pod->uid(), change.node_name);
    line["status"] = change.node_name;
    return line;
  }
  template <class Other>
  static json line_of(const Other&) {
    throw std::logic_error("a run makes no such change");
  }
  static void write(const std::vector<ClusterChange>& changes) {
    json list = json::array();
    for (const ClusterChange& change : changes)
      list.push_back(std::visit([](const auto& what) { return line_of(what); }, change));
    if (!list.empty()) test::write_line({{"apply", std::move(list)}});
  }

  std::vector<ClusterChange> of_attempt_;
};

void write_schedule(const test::HistoryInput& input) {
  HistoryWriter writer;
  ScheduleOptions options;
  options.config = input.config;
  options.engine.backend = input.backend;
  options.engine.seed = input.seed;
  options.engine.threads = 1;
  options.observer = &writer;
  schedule(input.objects, options);
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  return berth::test::write_history(argc, argv, "write_schedule", berth::write_schedule);
}
