// SPDX-License-Identifier: Apache-2.0
// Takes Berth's queue through histories that tests/oracle/queue has taken upstream's queue through, and compares the
// pods that are popped, and after each step the place of every pod and the nominations.
//
//     queue_replay < histories.jsonl
//
// Prints a line for the first difference of each history, and last "oracle-queue: N histories, N pops, N differences".
// Exit status 0 without a difference, 1 with one, 2 when the input cannot be read.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/objects/loader.h"
#include "host/objects/pod_copy.h"
#include "host/queue/event_router.h"
#include "host/queue/queue_plugins.h"
#include "host/queue/scheduling_queue.h"

namespace berth {
namespace {

using Json = nlohmann::json;

ClusterObjects objects_of(Json object, const std::string& kind, const std::string& api_version = "v1") {
  object["apiVersion"] = api_version;
  object["kind"] = kind;
  LoadOptions options;
  options.threads = 1;
  LoadResult loaded = load_cluster_from_text(object.dump(), "history", options);
  loaded.throw_if_problems();
  return std::move(loaded.objects);
}

PodPtr pod_of(const Json& step, const char* key) {
  return step.contains(key) ? objects_of(step[key], "Pod").pods.at(0) : nullptr;
}
NodePtr node_of(const Json& step, const char* key) {
  return step.contains(key) ? objects_of(step[key], "Node").nodes.at(0) : nullptr;
}

template <class T>
StorageObjectPtr first_of(const std::vector<T>& list) {
  return list.empty() ? nullptr : std::make_shared<const StorageObject>(list.front());
}
StorageObjectPtr storage_of(const Json& step, const char* key) {
  if (!step.contains(key)) return nullptr;
  const StorageObjects all = objects_of(step[key], step["kind"], step["api"]).storage;
  for (StorageObjectPtr found :
       {first_of(all.volumes), first_of(all.claims), first_of(all.classes), first_of(all.csi_nodes),
        first_of(all.csi_drivers), first_of(all.capacities), first_of(all.attachments)})
    if (found != nullptr) return found;
  throw std::runtime_error("no storage object: " + step.dump());
}

/// Sorted, joined with ",".
std::string names_of(const std::vector<PodPtr>& pods, bool sorted) {
  std::vector<std::string> names;
  for (const PodPtr& pod : pods) names.push_back(pod->name);
  if (sorted) std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

PluginNames plugins_of(const Json& step, const char* key) {
  PluginNames names;
  if (step.contains(key))
    for (const std::string& name : step[key].get<std::vector<std::string>>()) names.insert(name);
  return names;
}

class AssumedByName : public AssumedPods {
 public:
  bool is_assumed(const Pod& pod) const override {
    const auto at = pods.find(pod.name);
    return at != pods.end() && same_uid(*at->second, pod);
  }
  PodPtr give_up(const Pod& pod) override { return is_assumed(pod) ? pods.extract(pod.name).mapped() : nullptr; }
  std::map<std::string, PodPtr> pods;
};

class Replay {
 public:
  explicit Replay(const Json& header)
      : gates_(parse_release(header["release"].get<std::string>())), clock_(header["start_us"].get<std::int64_t>()) {
    gates_.apply(header["gates"].get<std::string>());
    const std::string config = header["config"];
    config_ = config.empty() ? default_scheduler_config(gates_) : parse_scheduler_config(config, "config", gates_);
    plugins_ = std::make_unique<QueuePlugins>(config_, [](const Pod&) { return PodLabelSelector::everything(); });
    QueueOptions options = queue_options(config_);
    options.initial_backoff_us = header["initial_us"];
    options.max_backoff_us = header["max_us"];
    options.max_unschedulable_us = header["stay_us"];
    options.lister = [this](std::string_view, std::string_view name) {
      const auto at = pods_.find(std::string(name));
      return at == pods_.end() ? nullptr : at->second;
    };
    queue_ = std::make_unique<SchedulingQueue>(plugins_->take_profiles(), options, clock_);
    router_ = std::make_unique<EventRouter>(*queue_, assumed_, gates_);
  }

  /// @return what differs; empty when nothing does
  std::string take(const Json& step) {
    const std::string op = step["op"];
    std::string difference;
    if (op == "time") {
      pass_time(step["to_us"]);
    } else if (op == "pod") {
      change_pod(pod_of(step, "old_pod"), pod_of(step, "new_pod"));
    } else if (op == "node") {
      router_->node_changed(node_of(step, "old_node"), node_of(step, "new_node"));
    } else if (op == "storage") {
      router_->storage_changed(storage_of(step, "old_storage"), storage_of(step, "new_storage"));
    } else if (op == "pop") {
      difference = pop(step);
    } else {
      take_attempt_step(op, step["name"], step);
    }
    if (difference.empty() && places() != step["places"].get<std::string>())
      difference = "after \"" + op + "\": upstream " + step["places"].get<std::string>() + "; here " + places();
    return difference;
  }
  std::int64_t pops() const { return pops_; }

 private:
  void pass_time(std::int64_t until_us) {
    while (queue_->next_flush_us() <= until_us) {
      clock_.advance_to(queue_->next_flush_us());
      queue_->flush();
    }
    clock_.advance_to(until_us);
  }
  void change_pod(const PodPtr& before, const PodPtr& after) {
    const std::string& name = before == nullptr ? after->name : before->name;
    if (after == nullptr) {
      pods_.erase(name);
    } else {
      pods_[name] = after;
    }
    // The cache confirms a bound pod before the event is raised.
    if (after != nullptr && !after->node_name.empty()) assumed_.pods.erase(name);
    router_->pod_changed(before, after);
  }
  /// Pods that upstream's heap leaves in any order are popped in one step, and compared as a set.
  std::string pop(const Json& step) {
    std::vector<std::string> expected = step.value("popped", std::vector<std::string>());
    std::vector<std::string> actual;
    for (std::size_t i = 0; i < std::max<std::size_t>(expected.size(), 1); ++i) {
      const std::optional<QueuedPodInfo> info = queue_->pop();
      if (!info) break;
      actual.push_back(info->pod->name + "@" + std::to_string(info->timestamp_us));
      tries_[info->pod->name] = *info;
      ++pops_;
    }
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
    return expected == actual ? "" : "popped by upstream " + Json(expected).dump() + ", here " + Json(actual).dump();
  }
  void take_attempt_step(const std::string& op, const std::string& name, const Json& step) {
    if (op == "activate") return queue_->activate(std::vector{pods_.at(name)});
    if (op == "preemption") {
      if (!gates_.enabled("SchedulerAsyncPreemption")) return;
      RunningPreemptions& running = plugins_->running_preemptions();
      return step.value("on", false) ? running.begin(*pods_.at(name)) : running.end(*pods_.at(name));
    }
    if (op == "nominate") {
      const auto node = step.contains("node") ? std::optional(step["node"].get<std::string>()) : std::nullopt;
      return queue_->nominator().add(pods_.at(name), node);
    }
    end_attempt(op, name, step);
  }
  void end_attempt(const std::string& op, const std::string& name, const Json& step) {
    const QueuedPodInfo info = tries_.at(name);
    if (op == "done") {
      queue_->done(info.pod->uid());
      tries_.erase(name);
    } else if (op == "fail") {
      tries_.erase(name);
      QueuedPodInfo failed = info;
      failed.pod = pods_.at(name);
      queue_->add_failed(failed, {plugins_of(step, "rejected"), plugins_of(step, "pending")});
    } else if (op == "assume") {
      const std::shared_ptr<Pod> assumed = copy_of(*info.pod);
      assumed->node_name = step["node"];
      assumed_.pods[name] = assumed;
      queue_->nominator().remove(*info.pod);
      queue_->done(info.pod->uid());
    } else if (op == "forget") {
      const PodPtr assumed = assumed_.pods.extract(name).mapped();
      queue_->move_on_event({EventResource::kAssignedPod, EventAction::kDelete}, {.old_pod = assumed},
                            {.except = step.value("on", false) ? assumed : nullptr});
    } else {
      throw std::runtime_error("no operation: \"" + op + "\"");
    }
  }
  std::string places() const {
    const SchedulingQueue::PendingPods pods = queue_->pending_pods();
    std::string text = "active " + names_of(pods.active, true) + " backoff " + names_of(pods.backoff, true) +
                       " unschedulable " + names_of(pods.unschedulable, true);
    for (const char* node : {"n0", "n1"})
      text += std::string(" ") + node + " " + names_of(queue_->nominated_pods(node), false);
    return text;
  }

  FeatureGates gates_;
  VirtualClock clock_;
  SchedulerConfig config_;
  AssumedByName assumed_;
  std::unique_ptr<QueuePlugins> plugins_;
  std::unique_ptr<SchedulingQueue> queue_;
  std::unique_ptr<EventRouter> router_;
  std::map<std::string, PodPtr> pods_;  ///< newest versions, by name
  std::map<std::string, QueuedPodInfo> tries_;
  std::int64_t pops_ = 0;
};

struct Totals {
  std::int64_t histories = 0;
  std::int64_t pops = 0;
  std::int64_t differences = 0;
};

Totals replay_all(std::istream& in) {
  Totals totals;
  std::unique_ptr<Replay> replay;
  std::string history;
  std::int64_t step_count = 0;
  for (std::string line; std::getline(in, line);) {
    const Json document = Json::parse(line);
    if (document.contains("history")) {
      if (replay) totals.pops += replay->pops();
      replay = std::make_unique<Replay>(document);
      history = document["history"].dump();
      step_count = 0;
      ++totals.histories;
      continue;
    }
    ++step_count;
    if (!replay) continue;
    const std::string difference = replay->take(document);
    if (difference.empty()) continue;
    std::printf("history %s, step %lld: %s\n", history.c_str(), static_cast<long long>(step_count), difference.c_str());
    ++totals.differences;
    totals.pops += replay->pops();
    replay = nullptr;  // what follows would differ for the same reason
  }
  if (replay) totals.pops += replay->pops();
  return totals;
}

}  // namespace
}  // namespace berth

int main() {
  try {
    const berth::Totals totals = berth::replay_all(std::cin);
    std::printf("oracle-queue: %lld histories, %lld pops, %lld differences\n", static_cast<long long>(totals.histories),
                static_cast<long long>(totals.pops), static_cast<long long>(totals.differences));
    return totals.differences == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "queue_replay: %s\n", error.what());
    return 2;
  }
}
