// SPDX-License-Identifier: Apache-2.0
// The scheduling queue with a million pods in 1,000 classes: push, pop, and events that wake nobody or all.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/queue/queue_plugins.h"
#include "host/queue/scheduling_queue.h"

namespace berth {
namespace {

constexpr std::int64_t kClasses = 1000;

std::vector<PodPtr> make_pods(std::int64_t count) {
  std::vector<std::shared_ptr<const PodSpec>> specs;
  for (std::int64_t i = 0; i < kClasses; ++i) {
    PodSpec spec;
    spec.containers.emplace_back();
    spec.containers.back().requests = {{"cpu", Quantity{(1000 + i) * 1'000'000}}};
    specs.push_back(std::make_shared<const PodSpec>(std::move(spec)));
  }
  std::vector<PodPtr> pods;
  for (std::int64_t i = 0; i < count; ++i) {
    auto pod = std::make_shared<Pod>();
    pod->name = "pod-" + std::to_string(i);
    pod->stored_uid = "00000000-0000-0000-0000-" + std::to_string(100'000'000'000 + i);
    pod->spec = specs[static_cast<std::size_t>(i % kClasses)];
    pod->priority = static_cast<std::int32_t>(i % 5);
    pods.push_back(std::move(pod));
  }
  return pods;
}

NodePtr make_node(std::int64_t milli_cpu) {
  auto node = std::make_shared<Node>();
  node->name = "node";
  node->allocatable.milli_cpu = milli_cpu;
  node->allowed_pod_number = 110;
  return node;
}

/// A queue with its surroundings.
struct Setup {
  SchedulingQueue& operator*() { return queue; }
  SchedulingQueue* operator->() { return &queue; }

  SchedulerConfig config = default_scheduler_config(FeatureGates());
  VirtualClock clock{1'000'000'000};
  QueuePlugins plugins{config, nullptr};
  SchedulingQueue queue{plugins.take_profiles(), queue_options(config), clock};
};

void push_all(Setup& setup, const std::vector<PodPtr>& pods) {
  for (const PodPtr& pod : pods) {
    setup.clock.advance_by(1);
    setup->add(pod);
  }
}

/// Every pod is popped once and fails.
void fail_all(Setup& setup) {
  for (std::optional<QueuedPodInfo> info = setup->pop(); info; info = setup->pop())
    setup->add_failed(*std::move(info), {.unschedulable = {"NodeResourcesFit"}});
}

void add_pods(benchmark::State& state) {
  const std::vector<PodPtr> pods = make_pods(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    auto setup = std::make_unique<Setup>();
    push_all(*setup, pods);
    state.PauseTiming();
    setup.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// Times `work` on a queue with all pods in activeQ.
template <class Work>
void time_with_active_pods(benchmark::State& state, Work work) {
  const std::vector<PodPtr> pods = make_pods(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    auto setup = std::make_unique<Setup>();
    push_all(*setup, pods);
    state.ResumeTiming();
    work(*setup);
    state.PauseTiming();
    setup.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void pop_pods(benchmark::State& state) {
  time_with_active_pods(state, [](Setup& setup) {
    for (std::optional<QueuedPodInfo> info = setup->pop(); info; info = setup->pop())
      setup->done(info->pod->stored_uid);
  });
}

void pop_and_fail(benchmark::State& state) { time_with_active_pods(state, fail_all); }

void event_that_wakes_nobody(benchmark::State& state) {
  Setup setup;
  push_all(setup, make_pods(state.range(0)));
  fail_all(setup);
  const NodePtr small = make_node(10);
  for ([[maybe_unused]] auto _ : state)
    setup->move_on_event({EventResource::kNode, EventAction::kAdd}, {.new_node = small});
  state.counters["classes"] = static_cast<double>(setup->hint_class_count());
  if (setup->sizes().unschedulable != static_cast<std::size_t>(state.range(0))) state.SkipWithError("pods were woken");
}

void event_that_wakes_all(benchmark::State& state) {
  const std::vector<PodPtr> pods = make_pods(state.range(0));
  const NodePtr large = make_node(100'000);
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    auto setup = std::make_unique<Setup>();
    push_all(*setup, pods);
    fail_all(*setup);
    state.ResumeTiming();
    (*setup)->move_on_event({EventResource::kNode, EventAction::kAdd}, {.new_node = large});
    state.PauseTiming();
    if ((*setup)->sizes().unschedulable != 0) state.SkipWithError("pods stayed");
    setup.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(add_pods)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(pop_pods)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(pop_and_fail)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(event_that_wakes_nobody)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(event_that_wakes_all)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth
