// SPDX-License-Identifier: Apache-2.0
// Questions that are put to libberth, through berth.h, and to upstream's framework (bench/peer/embed.go) over the same
// objects: the nodes and running pods of bench_engine, without required anti-affinity. bench/peer/embed.py runs both.
//
//   bench_embed_peer FOLDER     writes FOLDER/cluster.json and FOLDER/questions.json, asks libberth, and prints a line
//                               for each question: its name, microseconds (the fastest round), and what was answered
//
// questions.json: {"pods": {NAME: POD}, "checked": [NODE...], "drained": [NODE...], "estimate": {"node": NODE,
// "pods": [POD...]}, "running": [POD...]}; the last ones replace those of their names before the questions "among
// anti-affinity".

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/embed_table.h"
#include "bench/engine/embed_what_ifs.h"
#include "bench/engine/loaded_engine.h"
#include "host/objects/json_out.h"
#include "host/objects/pod_copy.h"
#include "include/berth/berth.h"

namespace berth {
namespace {

constexpr int kRounds = 41;
constexpr std::size_t kChecked = 200;  ///< nodes
constexpr std::size_t kDrained = 40;
constexpr int kEstimated = 500;  ///< pods, of a class each
constexpr std::string_view kNodeName = "kubernetes.io/hostname";

LabelSelector selecting(const LabelMap& labels) {
  LabelSelector selector;
  selector.match_labels = labels;
  return selector;
}

PodAffinityTerm apart(const LabelMap& labels) {
  PodAffinityTerm term;
  term.topology_key = kNodeName;
  term.label_selector = selecting(labels);
  return term;
}

Pod plain_pod(const std::string& name, std::int64_t milli_cpu) {
  Pod pod;
  pod.namespace_ = "team-1";
  pod.name = pod.stored_uid = name;
  pod.labels = LabelMap{{"app", name}};
  PodSpec spec;
  Container container;
  container.requests = {{"cpu", Quantity{static_cast<__int128>(milli_cpu) * 1'000'000}}};
  spec.containers.push_back(container);
  pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  return pod;
}

Pod with_spec(const Pod& given, const std::function<void(PodSpec&)>& change) {
  Pod pod = std::move(*copy_of(given));
  PodSpec spec = *pod.spec;
  change(spec);
  pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  return pod;
}

/// What rules ask other pods for costs upstream much, so that it is a question of its own.
PodPtr without_anti_affinity(const PodPtr& pod) {
  if (!pod->spec->pod_anti_affinity || pod->spec->pod_anti_affinity->required.empty()) return pod;
  return std::make_shared<const Pod>(with_spec(*pod, [](PodSpec& spec) { spec.pod_anti_affinity->required.clear(); }));
}

/// Terms about the pods of one Deployment, which stand on many nodes.
std::map<std::string, Pod> asked_pods() {
  const LabelMap deployment{{"app", "app-1"}};
  std::map<std::string, Pod> pods;
  pods.emplace("plain", plain_pod("plain", 100));
  pods.emplace("nowhere", plain_pod("nowhere", 1'000'000));
  pods.emplace("spread", with_spec(plain_pod("spread", 100), [&](PodSpec& spec) {
                 TopologySpreadConstraint constraint;
                 constraint.topology_key = "topology.kubernetes.io/zone";
                 constraint.max_skew = 5;
                 constraint.label_selector = selecting(deployment);
                 spec.topology_spread_constraints.push_back(constraint);
               }));
  pods.emplace("anti-affinity", with_spec(plain_pod("anti-affinity", 100), [&](PodSpec& spec) {
                 spec.pod_anti_affinity.emplace().required.push_back(apart(deployment));
               }));
  return pods;
}

/// A JSON value built up in a file.
class Writer {
 public:
  explicit Writer(const std::string& path) : out_(path) {
    if (!out_) std::exit(1);
  }
  Writer& text(std::string_view text) {
    out_ << text;
    return *this;
  }
  template <class T>
  Writer& object(const T& object) {
    std::string text;
    append_json(text, object);
    return this->text(text);
  }
  template <class List, class Write>
  Writer& list(const List& list, Write write) {
    const char* before = "[";
    for (const auto& item : list) {
      text(before);
      write(item);
      before = ",\n";
    }
    return text(list.empty() ? "[]" : "]");
  }

 private:
  std::ofstream out_;
};

class Questions {
 public:
  explicit Questions(LoadedEngine& workload) : workload_(workload), pods_(asked_pods()) {
    for (PodPtr& pod : workload.running) pod = without_anti_affinity(pod);
    for (std::size_t i = 0; i < kChecked; ++i) checked_.push_back(workload.any_node()->name);
    for (std::size_t i = 0; i < kDrained; ++i) drained_.push_back(workload.nodes[i * 101]->name);
    for (int c = 0; c < kEstimated; ++c) {
      estimated_.push_back(pod_of_estimate(workload, c));
      estimated_.back().name = estimated_.back().stored_uid = "estimate-" + std::to_string(c);
    }
    for (std::size_t i = 0; i < workload.running.size(); i += 10)
      running_.push_back(with_spec(*workload.running[i], [&](PodSpec& spec) {
        spec.pod_anti_affinity.emplace().required = {apart(workload.running[i]->labels)};
      }));
    shape_ = workload.make_node("shape", 1);
  }

  void write(const std::string& folder) const {
    Writer cluster(folder + "/cluster.json");
    cluster.text(R"({"apiVersion":"v1","kind":"List","items":)");
    std::vector<std::function<void()>> items;
    for (const NodePtr& node : workload_.nodes) items.emplace_back([&] { cluster.object(*node); });
    for (const PodPtr& pod : workload_.running) items.emplace_back([&] { cluster.object(*pod); });
    cluster.list(items, [](const auto& write) { write(); }).text("}");
    Writer questions(folder + "/questions.json");
    const char* before = R"({"pods":{)";
    for (const auto& [name, pod] : pods_) {
      questions.text(before).text("\"" + name + "\":").object(pod);
      before = ",";
    }
    const auto named = [&](const std::string& name) { questions.text("\"" + name + "\""); };
    const auto of_pod = [&](const Pod& pod) { questions.object(pod); };
    questions.text(R"(},"checked":)").list(checked_, named).text(R"(,"drained":)").list(drained_, named);
    questions.text(R"(,"estimate":{"node":)").object(*shape_).text(R"(,"pods":)").list(estimated_, of_pod);
    questions.text(R"(},"running":)").list(running_, of_pod).text("}");
  }

  void ask() {
    load();
    for (const auto& [name, pod] : pods_) handles_.emplace(name, handle_of(pod));
    open_snapshot();
    for (const char* const name : {"plain", "spread", "anti-affinity"})
      check_on_nodes(name, std::string("check ") + name);
    any_node("plain", "any node plain");
    any_node("nowhere", "any node nowhere");
    check_all_nodes(BERTH_NO_REASONS, "bulk check plain");
    check_all_nodes(BERTH_NO_REASONS | BERTH_WITH_SCORES, "bulk check plain with scores");
    drain();
    estimate();
    Bulk changed;
    for (const Pod& pod : running_) changed.add(pod);
    const berth_bulk bulk = changed.view();
    CHECK(berth_cluster_upsert_bulk(cluster_, &bulk, nullptr, &error));
    open_snapshot();
    check_on_nodes("plain", "check plain among anti-affinity");
    any_node("plain", "any node plain among anti-affinity");
    any_node("nowhere", "any node nowhere among anti-affinity");
    for (auto& [name, handle] : handles_) berth_pod_free(&handle);
    berth_snapshot_free(&snapshot_);
    berth_cluster_free(&cluster_);
  }

 private:
  void load() {
    berth_engine* engine = nullptr;
    berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
    options.backend = "cpu";
    CHECK(berth_engine_create(&options, &engine, &error));
    CHECK(berth_cluster_create(engine, &cluster_, &error));
    berth_engine_free(&engine);
    Bulk objects;
    for (const NodePtr& node : workload_.nodes) objects.add(*node);
    for (const PodPtr& pod : workload_.running) objects.add(*pod);
    const berth_bulk bulk = objects.view();
    CHECK(berth_cluster_upsert_bulk(cluster_, &bulk, nullptr, &error));
  }
  void open_snapshot() {
    berth_snapshot_free(&snapshot_);
    CHECK(berth_snapshot_create(cluster_, &snapshot_, &error));
  }
  berth_pod* handle_of(const Pod& pod) {
    std::string text;
    append_json(text, pod);
    berth_pod* made = nullptr;
    CHECK(berth_pod_create(cluster_, text.data(), text.size(), nullptr, &made, &error));
    return made;
  }
  std::uint32_t number_of(const std::string& name) {
    std::uint32_t number = BERTH_NO_NODE;
    CHECK(berth_cluster_find_node(cluster_, name.c_str(), &number, &error));
    return number;
  }

  /// The fastest round: the machine may be shared. @param count  what a call of `once` asks
  static void row(const std::string& name, double count, std::int64_t answer, const std::function<void()>& once) {
    std::vector<double> us;
    for (int round = 0; round < kRounds; ++round) us.push_back(microseconds_of(once) / count);
    std::sort(us.begin(), us.end());
    std::printf("%s\t%.4f\t%lld\n", name.c_str(), us.front(), static_cast<long long>(answer));
    std::fflush(stdout);
  }

  void check_on_nodes(const std::string& pod, const std::string& what) {
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : checked_) numbers.push_back(number_of(name));
    std::int64_t fitting = 0;
    const auto once = [&] {
      fitting = 0;
      for (const std::uint32_t number : numbers) {
        std::int32_t fits = 0;
        CHECK(berth_snapshot_check(snapshot_, handles_.at(pod), number, 0, &fits, nullptr, &error));
        fitting += fits;
      }
    };
    once();
    row(what, static_cast<double>(numbers.size()), fitting, once);
  }

  void check_all_nodes(std::uint32_t flags, const std::string& what) {
    const berth_pod* const asked = handles_.at("plain");
    std::int64_t fitting = 0;
    const auto once = [&] {
      berth_result* result = nullptr;
      CHECK(berth_snapshot_check_bulk(snapshot_, &asked, 1, nullptr, flags, &result, &error));
      berth_column fits{};
      CHECK(berth_result_column(result, BERTH_COLUMN_FITS, &fits, &error));
      fitting = 0;
      for (std::size_t i = 0; i < fits.length; ++i) fitting += static_cast<const std::uint8_t*>(fits.data)[i];
      berth_result_free(&result);
    };
    once();
    row(what, 1, fitting, once);
  }

  /// On any of all nodes, and taken off again where one took it.
  void any_node(const std::string& pod, const std::string& what) {
    for (const std::uint32_t choice : {BERTH_CHOICE_SCORE, BERTH_CHOICE_FIRST_FIT}) {
      berth_fork* fork = nullptr;
      CHECK(berth_snapshot_fork(snapshot_, &fork, &error));
      berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
      options.choice = choice;
      const berth_pod* const asked = handles_.at(pod);
      std::int64_t placed = 0;
      const auto once = [&] {
        berth_result* result = nullptr;
        CHECK(berth_fork_schedule(fork, &asked, 1, &options, &result, &error));
        berth_column fits{};
        CHECK(berth_result_column(result, BERTH_COLUMN_FITS, &fits, &error));
        placed = *static_cast<const std::uint8_t*>(fits.data);
        berth_result_free(&result);
        if (placed != 0) CHECK(berth_fork_unschedule(fork, asked, &error));
      };
      once();
      row(what + (choice == BERTH_CHOICE_SCORE ? " by score" : " by first fit"), 1, placed, once);
      berth_fork_free(&fork);
    }
  }

  void drain() {
    berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
    options.rules_off = (1U << (BERTH_RULE_TOLERATES_TAINT + 1)) - 2;
    std::int64_t moved = 0;
    const auto once = [&] {
      moved = 0;
      for (const std::string& name : drained_) {
        const std::uint32_t number = number_of(name);
        berth_result* result = nullptr;
        CHECK(berth_snapshot_drain(snapshot_, &number, 1, &options, &result, &error));
        berth_column targets{};
        CHECK(berth_result_column(result, BERTH_COLUMN_TARGET, &targets, &error));
        for (std::size_t i = 0; i < targets.length; ++i)
          moved += static_cast<const std::uint32_t*>(targets.data)[i] != BERTH_NO_NODE ? 1 : 0;
        berth_result_free(&result);
      }
    };
    once();
    row("drain of one node", static_cast<double>(drained_.size()), moved, once);
  }

  void estimate() {
    std::vector<berth_pod*> pods;
    for (const Pod& pod : estimated_) pods.push_back(handle_of(pod));
    const std::vector<const berth_pod*> asked(pods.begin(), pods.end());
    std::string text;
    append_json(text, *shape_);
    berth_shape shape = BERTH_SHAPE_INIT;
    shape.node = text.data();
    shape.node_size = text.size();
    const berth_shape* const shapes = &shape;
    std::int64_t placed = 0;
    const auto once = [&] {
      berth_result* result = nullptr;
      CHECK(berth_snapshot_scale_up(snapshot_, asked.data(), asked.size(), &shapes, 1, nullptr, &result, &error));
      placed = sum_of(result, BERTH_COLUMN_PLACED);
      berth_result_free(&result);
    };
    once();
    row("scale-up estimate", 1, placed, once);
    for (berth_pod*& pod : pods) berth_pod_free(&pod);
  }

  LoadedEngine& workload_;
  std::map<std::string, Pod> pods_;
  std::vector<std::string> checked_;
  std::vector<std::string> drained_;
  std::vector<Pod> estimated_;
  std::vector<Pod> running_;
  NodePtr shape_;
  berth_cluster* cluster_ = nullptr;
  berth_snapshot* snapshot_ = nullptr;
  std::map<std::string, berth_pod*> handles_;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("bench_embed_peer FOLDER\n", stderr);
    return 2;
  }
  berth::LoadedEngine workload;
  workload.backend.reset();
  berth::Questions questions(workload);
  questions.write(argv[1]);
  questions.ask();
  return 0;
}
