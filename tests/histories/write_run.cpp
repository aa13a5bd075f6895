// SPDX-License-Identifier: Apache-2.0
// Runs the scheduling loop over a cluster until every pod has had its chances, with preemption, and writes what
// happened for `oracle walk`, which takes the same steps with upstream's cache and plugins. Now and then a pod goes, or
// a node changes.
//
//     write_run CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]      "" for CONFIG: the defaults
//
// Lines of write_history.cpp, where a nomination has the one of the pod's status too ("status"), and of a pod that
// found no node:
//
//     {"place": UID, "node": "", ..., "preempt": {"node": NODE, "victims": [NAMESPACE/NAME...]}}
//
// where NODE is the one that the pod is nominated for after the attempt, and the victims are those that are evicted.
//
// Where FEATURE_GATES has OpportunisticBatching=true, the loop runs with --batching kube-1.35 and --tie-break kube, and
// of each attempt:
//
//     {"place": UID, ..., "batch": {"cycle": N, "timeUs": T, "hint": BOOL, "result": TEXT, "flush": [TEXT...]}}
//
// with the labels that the metrics of batching count for it; reasons of flushes are sorted.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/metrics/scheduler_metrics.h"
#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "host/scheduler/loop/scheduling_loop.h"
#include "host/scheduler/loop/store_client.h"
#include "host/simulate/actions.h"
#include "host/store/kubelet.h"
#include "tests/histories/history_lines.h"
#include "tests/property/dice.h"

namespace berth {
namespace {

using nlohmann::json;

constexpr int kAttemptsMax = 250;
constexpr std::int64_t kPauseMaxUs = 700'000;  ///< longer than what a batch may wait
constexpr std::int64_t kLongestUs = std::int64_t{3600} * 1'000'000;

/// The latest attempt, and whom it evicted.
class Notes : public LoopObserver {
 public:
  void on_attempt(const Attempt& attempt) override {
    taken = Taken{attempt.info.pod, attempt.result, std::string(attempt.node_name), attempt.score,
                  std::string(attempt.message)};
  }
  void on_preempted(const PodPtr& victim, const PodPtr&, std::string_view) override {
    victims.push_back(victim->full_name());
  }

  struct Taken {
    PodPtr pod;
    AttemptResult result;
    std::string node;
    std::int64_t score;
    std::string message;
  };
  std::optional<Taken> taken;
  std::vector<std::string> victims;
};

/// A pod without a uid is known to `oracle walk` by its name; the store would make one up.
ClusterObjects with_uids(const ClusterObjects& objects) {
  ClusterObjects named = objects;
  for (PodPtr& pod : named.pods) {
    const std::shared_ptr<Pod> copy = copy_of(*pod);
    copy->stored_uid = pod->uid();
    pod = copy;
  }
  return named;
}

/// What opportunistic batching counts of one attempt.
class BatchNotes : public SchedulerMetrics {
 public:
  using SchedulerMetrics::SchedulerMetrics;
  void on_batch_attempt(std::string_view, BatchAttempt attempt) override { result = to_string(attempt); }
  void on_batch_flush(std::string_view, BatchFlush reason) override { flush.emplace(to_string(reason)); }
  void on_node_hint(std::string_view, bool is_hint, double) override { has_hint = is_hint; }
  void clear() {
    has_hint = false;
    result.clear();
    flush.clear();
  }

  bool has_hint = false;
  std::string result;
  std::set<std::string> flush;
};

LoopOptions loop_options(const test::HistoryInput& input, LoopMeter& meter) {
  LoopOptions options;
  if (input.batches) {
    options.engine.batching = Batching::kKube;
    options.engine.tie_break = TieBreak::kKube;
    options.meter = &meter;
  }
  options.config = input.config;
  options.engine.backend = input.backend;
  options.engine.seed = input.seed;
  options.engine.threads = 1;
  return options;
}

class Run {
 public:
  explicit Run(const test::HistoryInput& input)
      : batches_(input.batches),
        dice_(input.seed),
        store_(clock_),
        loaded_(create_objects(with_uids(input.objects), true, store_)),
        start_(store_.list_all()),
        kubelet_(store_),
        watch_(store_.watch(start_.resource_version).watch),
        client_(store_),
        loop_(start_, loop_options(input, batch_notes_), clock_, client_, notes_) {
    if (!loaded_.empty()) throw std::runtime_error(loaded_.front());
    for (const StoredPodPtr& pod : start_.of<Pod>())
      if (is_pending(*pod->object)) pending_.push_back(pod->object);
    for (const PodPtr& pod : pending_) nominated_[pod->uid()] = nomination_of(*pod);
  }

  void run() {
    const std::int64_t end_us = clock_.now_us() + kLongestUs;
    while (attempts_ < kAttemptsMax && clock_.now_us() < end_us) {
      if (dice_.one_in(8)) disturb();
      if (batches_ && dice_.one_in(4)) clock_.advance_to(clock_.now_us() + dice_.upto(kPauseMaxUs));
      if (step()) continue;
      const std::int64_t next_us = std::min(loop_.next_wake_us(), kubelet_.next_event_us());
      if (next_us == ApiClient::kNeverUs) break;
      clock_.advance_to(next_us);
    }
  }

 private:
  /// @return whether something was done
  bool step() {
    kubelet_.run_until(clock_.now_us());
    const std::vector<WatchEvent> events = watch_.poll().events;
    json changes = json::array();
    for (const WatchEvent& event : events) add_changes(event, changes);
    loop_.take(events);
    add_nominations(changes);
    write_changes(std::move(changes));
    notes_ = Notes();
    batch_notes_.clear();
    const bool popped = loop_.run(1) > 0;
    if (notes_.taken) write_attempt();
    return popped || !events.empty();
  }

  void disturb() {
    if (dice_.one_in(2)) {
      const ObjectList<Pod> pods = store_.list<Pod>();
      if (pods.items.empty()) return;
      const StoredPodPtr& pod = dice_.pick(pods.items);
      if (is_on_node(*pod->object)) store_.remove<Pod>(key_of(*pod->object));
    } else {
      const ObjectList<Node> nodes = store_.list<Node>();
      if (nodes.items.empty()) return;
      if (batches_ && dice_.one_in(2)) {
        store_.remove<Node>(key_of(*dice_.pick(nodes.items)->object));
        return;
      }
      auto changed = std::make_shared<Node>(*dice_.pick(nodes.items)->object);
      changed->unschedulable = !changed->unschedulable;
      store_.update<Node>(changed);
    }
  }

  static void add_changes(const WatchEvent& event, json& changes) {
    if (const auto* const node = event.get<Node>()) {
      changes.push_back(node->after == nullptr ? test::removal_line("Node", "", node->before->object->name)
                                               : test::upsert_line(*node->after->object));
    } else if (const auto* const pod = event.get<Pod>()) {
      if (pod->after != nullptr && is_on_node(*pod->after->object)) {
        changes.push_back(test::upsert_line(*pod->after->object));
      } else if (pod->before != nullptr && is_on_node(*pod->before->object)) {
        changes.push_back(test::removal_line("Pod", "", "", pod->before->object->uid()));
      }
    }
  }

  /// Of a pod: as the scheduler has it, and as the status of the pod says. They differ while a patch is under way.
  struct Nomination {
    std::string node;
    std::string status;
    friend bool operator==(const Nomination&, const Nomination&) = default;
  };
  Nomination nomination_of(const Pod& pod) const {
    const StoredPodPtr stored = store_.get<Pod>(key_of(pod));
    return {loop_.queue().nominator().node_of(pod).value_or(std::string()),
            stored == nullptr ? std::string() : stored->object->rare().nominated_node_name};
  }

  /// Those that are not what upstream's scheduler was told.
  void add_nominations(json& changes) {
    for (const PodPtr& pod : pending_) {
      Nomination now = nomination_of(*pod);
      Nomination& told = nominated_[pod->uid()];
      if (now == told) continue;
      json line = test::nomination_line(pod->uid(), now.node);
      line["status"] = now.status;
      changes.push_back(std::move(line));
      told = std::move(now);
    }
  }

  static void write_changes(json changes) {
    if (!changes.empty()) test::write_line({{"apply", std::move(changes)}});
  }

  void write_attempt() {
    ++attempts_;
    const Notes::Taken& taken = *notes_.taken;
    json line = {{"place", taken.pod->uid()}, {"node", taken.node}, {"score", taken.score}};
    if (taken.result != AttemptResult::kScheduled) {
      const bool is_error = taken.result == AttemptResult::kError;
      line["reason"] = is_error ? "SchedulerError" : "Unschedulable";
      line["message"] = taken.message;
      if (!is_error) line["preempt"] = {{"node", nomination_of(*taken.pod).node}, {"victims", notes_.victims}};
    }
    if (batches_) {
      line["batch"] = {{"cycle", loop_.queue().scheduling_cycle()},
                       {"timeUs", clock_.now_us()},
                       {"hint", batch_notes_.has_hint},
                       {"result", batch_notes_.result},
                       {"flush", batch_notes_.flush}};
    }
    test::write_line(line);
    nominated_[taken.pod->uid()].node.clear();  // an attempt ends the nomination
  }

  bool batches_;
  test::Dice dice_;
  VirtualClock clock_{std::int64_t{1'767'225'600} * 1'000'000};
  ObjectStore store_;
  std::vector<std::string> loaded_;  ///< what the store refused
  StoreContents start_;
  Kubelet kubelet_;
  Watch watch_;
  StoreClient client_;
  Notes notes_;
  BatchNotes batch_notes_{clock_};
  SchedulingLoop loop_;
  std::vector<PodPtr> pending_;                            ///< at the start
  std::unordered_map<std::string, Nomination> nominated_;  ///< [uid] as upstream's scheduler was told
  int attempts_ = 0;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  return berth::test::write_history(argc, argv, "write_run",
                                    [](const berth::test::HistoryInput& input) { berth::Run(input).run(); });
}
