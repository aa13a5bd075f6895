// SPDX-License-Identifier: Apache-2.0
// The memory of a live scheduler per pod: watches bring pods of Deployments as an API server writes them, most of them
// on nodes, and the scheduling loop opens over them. No server is needed: a thread plays the text of the streams.
// Prints the live heap of the process after each step.
//
// bench_live_memory [pods] [nodes] [deployments] [pods without a node]

#include <fmt/format.h>
#include <malloc.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/kube/watch/informers.h"
#include "host/scheduler/loop/scheduling_loop.h"
#include "tests/support/answering_http.h"

namespace berth {
namespace {

struct MemoryOptions {
  std::int64_t pods = 1'000'000;
  std::int64_t nodes = 5'000;
  std::int64_t deployments = 1'000;
  std::int64_t pending = 10'000;
};

constexpr std::int64_t kObjectsOfPiece = 500;

std::uint64_t live_heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::string uid_of(std::int64_t number) {
  return fmt::format("{:08x}-3f1c-4b7e-9d2a-{:012x}", number * 2'654'435'761 % 0xffffffff, number);
}

std::string added(const std::string& object) { return R"({"type":"ADDED","object":)" + object + "}\n"; }

std::string end_of_list(std::string_view kind, std::string_view api_version) {
  return fmt::format(R"({{"type":"BOOKMARK","object":{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":)"
                     R"("9000000","annotations":{{"k8s.io/initial-events-end":"true"}}}}}}}})"
                     "\n",
                     kind, api_version);
}

std::string node_text(std::int64_t i) {
  return fmt::format(
      R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"node-{0:05}","uid":"{1}","resourceVersion":"{3}","labels":)"
      R"({{"kubernetes.io/hostname":"node-{0:05}","topology.kubernetes.io/zone":"zone-{2}"}}}},"status":{{"allocatable":)"
      R"({{"cpu":"64","memory":"256Gi","pods":"250"}},"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
      i, uid_of(2'000'000'000 + i), i % 10, i + 1);
}

/// As a pod of a Deployment looks on the wire; what nobody reads here is there, too.
std::string pod_text(const MemoryOptions& options, std::int64_t i) {
  const std::int64_t of = i % options.deployments;
  const bool has_node = i < options.pods - options.pending;
  const std::string node = has_node ? fmt::format(R"("nodeName":"node-{:05}",)", i % options.nodes) : "";
  const std::string status =
      has_node
          ? fmt::format(R"({{"phase":"Running","hostIP":"10.0.{}.{}","startTime":"2026-11-27T00:00:00Z","conditions":)"
                        R"([{{"type":"Ready","status":"True","lastTransitionTime":"2026-11-27T00:00:00Z"}},)"
                        R"({{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-27T00:00:00Z"}}]}})",
                        i % 200, i % 250)
          : R"({"phase":"Pending"})";
  return fmt::format(
      R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"service-{0:04}-6d4cf56db6-{1:07x}","generateName":)"
      R"("service-{0:04}-6d4cf56db6-","namespace":"team-{2:03}","uid":"{3}","resourceVersion":"{4}","creationTimestamp":)"
      R"("2026-11-27T00:00:00Z","labels":{{"app":"service-{0:04}","pod-template-hash":"6d4cf56db6","tier":"t{5}"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"service-{0:04}-6d4cf56db6","uid":"{6}",)"
      R"("controller":true,"blockOwnerDeletion":true}}],"managedFields":[{{"manager":"kube-controller-manager",)"
      R"("operation":"Update","apiVersion":"v1","time":"2026-11-27T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":)"
      R"({{"f:metadata":{{"f:labels":{{"f:app":{{}},"f:tier":{{}}}}}},"f:spec":{{"f:containers":{{}}}}}}}}]}},"spec":{{)"
      R"({7}"schedulerName":"default-scheduler","priority":0,"serviceAccountName":"default","tolerations":[{{"key":)"
      R"("node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":)"
      R"("node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],)"
      R"("topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":)"
      R"("ScheduleAnyway","labelSelector":{{"matchLabels":{{"app":"service-{0:04}"}}}}}}],"containers":[{{"name":"main",)"
      R"("image":"registry.example/service-{0:04}:1.2.3","resources":{{"requests":{{"cpu":"{8}m","memory":"{9}Mi"}}}},)"
      R"("env":[{{"name":"A","value":"b"}}]}}]}},"status":{10}}})",
      of, i, of % 100, uid_of(i), 1'000'000 + i, of % 3, uid_of(1'000'000'000 + of), node, 100 + of % 7 * 50,
      128 + of % 5 * 64, status);
}

class NoClient : public ApiClient {
 public:
  void start(std::uint64_t, const ApiCall&) override {}
  std::vector<ApiAnswer> take_answers() override { return {}; }
};

class NoLog : public InformerLog {
 public:
  void on_resource_problem(std::string_view resource, std::string_view problem) override {
    if (!problem.empty()) fail(resource, problem);
  }
  void on_json_only(std::string_view) override {}
  void on_unreadable_object(std::string_view resource, std::string_view problem) override { fail(resource, problem); }

 private:
  static void fail(std::string_view resource, std::string_view problem) {
    fmt::print(stderr, "{}: {}\n", resource, problem);
    std::_Exit(1);
  }
};

void print(std::string_view what, std::int64_t objects, std::uint64_t before, double seconds) {
  const std::uint64_t bytes = live_heap_bytes() - before;
  fmt::print("| {} | {} | {:.1f} | {:.0f} | {:.1f} |\n", what, objects, static_cast<double>(bytes) / (1 << 20),
             static_cast<double>(bytes) / static_cast<double>(objects), seconds);
}

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int run(const MemoryOptions& options) {
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t before = live_heap_bytes();
  EventQueue events([] {});
  NoLog log;
  std::promise<StoreContents> synced;
  std::optional<Informers> informers;
  const std::vector<WatchedResource> resources = watched_resources(config);
  AnsweringHttp http({[](const HttpRequest&) { return HttpResponse{}; },
                      [&](const HttpRequest& request) {
                        if (request.path.starts_with("/api/v1/pods?")) return std::string();  // play() sends them
                        for (const WatchedResource& one : resources)
                          if (request.path.starts_with(std::string(one.path) + "?")) {
                            std::string text;
                            if (one.item_kind == "Node")
                              for (std::int64_t i = 0; i < options.nodes; ++i) text += added(node_text(i));
                            return text + end_of_list(one.item_kind, one.api_version);
                          }
                        return std::string();
                      }});
  informers.emplace(Informers::Parts{http, http, RealClock::shared(), events, log}, resources, InformerOptions(),
                    [&](StoreContents contents) { synced.set_value(std::move(contents)); });
  for (std::int64_t i = 0; i < options.pods; i += kObjectsOfPiece) {
    std::promise<void> taken;
    http.after(0, [&taken] { taken.set_value(); });  // behind the piece before
    taken.get_future().wait();
    std::string piece;
    for (std::int64_t k = i; k < std::min(i + kObjectsOfPiece, options.pods); ++k) piece += added(pod_text(options, k));
    http.send("/api/v1/pods", std::move(piece));
  }
  http.send("/api/v1/pods", end_of_list("Pod", "v1"));
  StoreContents contents = synced.get_future().get();
  fmt::print("| after | pods | heap MiB | bytes a pod | s |\n|---|---|---|---|---|\n");
  print("the first lists", options.pods, before, since(begin));
  LoopOptions loop_options;
  loop_options.config = config;
  loop_options.engine.backend = "cpu";
  NoClient client;
  LoopObserver observer;
  const SchedulingLoop loop(contents, loop_options, RealClock::shared(), client, observer);
  contents = {};
  print("the loop is open", options.pods, before, since(begin));
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::MemoryOptions options;
  std::array<std::int64_t*, 4> values = {&options.pods, &options.nodes, &options.deployments, &options.pending};
  for (int i = 1; i < argc && i <= 4; ++i) *values[static_cast<std::size_t>(i - 1)] = std::atoll(argv[i]);
  return berth::run(options);
}
