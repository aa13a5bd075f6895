// SPDX-License-Identifier: Apache-2.0
// Whether the memory of the scheduling loop and its queue follows the cluster and not its history. A store with a
// constant number of nodes and pods, a stand-in for the kubelets and the loop run on a virtual clock: pods come under
// new names and go, some fit nowhere, some preempt; nodes are relabelled, cordoned, removed and added. An event is a
// write of the store. Prints the live heap of the process after each tenth of the events; it contains the store.
//
// bench_loop_soak [events] [nodes] [templates]

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/scheduler/loop/store_scheduler.h"
#include "host/store/kubelet.h"
#include "host/store/object_store.h"

namespace berth {
namespace {

constexpr std::int64_t kStartUs = std::int64_t{1'767'225'600} * 1'000'000;
constexpr std::int64_t kStepUs = 200'000;
constexpr int kChangesPerStep = 64;
constexpr std::size_t kPodsPerNode = 20;

struct SoakOptions {
  std::int64_t nodes = 500;
  std::int64_t templates = 200;
};

std::uint64_t live_heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

LoopOptions loop_options() {
  LoopOptions options;
  options.config = default_scheduler_config(FeatureGates());
  options.engine.backend = "cpu";
  return options;
}

class LoopSoak : public LoopObserver {
 public:
  explicit LoopSoak(const SoakOptions& options) : options_(options) {
    for (std::int64_t i = 0; i < options.templates; ++i) specs_.push_back(make_spec(i));
    for (std::int64_t i = 0; i < options.nodes; ++i) store_.create<Node>(make_node(i));
    scheduler_ = std::make_unique<StoreScheduler>(store_, loop_options(), *this);
  }

  /// @param events  of the store, by its resourceVersion
  void run_to(std::uint64_t events) {
    const auto begin = std::chrono::steady_clock::now();
    while (store_.resource_version() < events) step();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void report() const {
    const SchedulingLoop& loop = scheduler_->loop();
    const SchedulingQueue::Sizes sizes = loop.queue().sizes();
    std::printf(
        "%12llu events %8.2f us each %14llu bytes live %10lld attempts %8lld bound %6lld preempted %6zu pods wait %5zu "
        "hint classes\n",
        static_cast<unsigned long long>(store_.resource_version()),
        seconds_ * 1e6 / static_cast<double>(store_.resource_version()),
        static_cast<unsigned long long>(live_heap_bytes()), static_cast<long long>(attempts_),
        static_cast<long long>(bound_), static_cast<long long>(preempted_),
        sizes.active + sizes.backoff + sizes.unschedulable, loop.queue().hint_class_count());
    std::fflush(stdout);
  }

 private:
  void on_attempt(const Attempt& attempt) override {
    static_cast<void>(attempt);
    ++attempts_;
  }
  void on_bound(const QueuedPodInfo& info, std::string_view node_name) override {
    static_cast<void>(info), static_cast<void>(node_name);
    ++bound_;
  }
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override {
    static_cast<void>(victim), static_cast<void>(preemptor), static_cast<void>(node_name);
    ++preempted_;
  }

  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_); }

  static std::shared_ptr<const PodSpec> make_spec(std::int64_t number) {
    PodSpec spec;
    Container& container = spec.containers.emplace_back();
    container.name = "c";
    container.image = "app:" + std::to_string(number);
    const std::int64_t milli_cpu = number % 50 == 0 ? 1'000'000 : 100 + 5 * (number % 100);  // every 50th fits nowhere
    container.requests = {{"cpu", Quantity{static_cast<__int128>(milli_cpu) * 1'000'000}}};
    spec.termination_grace_s = number % 5;
    return std::make_shared<const PodSpec>(std::move(spec));
  }
  NodePtr make_node(std::int64_t number) {
    auto node = std::make_shared<Node>();
    node->name = "node-" + std::to_string(number);
    node->labels = LabelMap({{"kubernetes.io/hostname", node->name}, {"shade", std::to_string(below(7))}});
    node->allocatable.milli_cpu = 8'000;
    node->allocatable.memory_bytes = std::int64_t{64} << 30;
    node->allowed_pod_number = 110;
    return node;
  }

  void step() {
    for (int i = 0; i < kChangesPerStep; ++i) change();
    clock_.advance_to(clock_.now_us() + kStepUs);
    for (bool goes_on = true; goes_on;) {
      kubelet_.run_until(clock_.now_us());
      goes_on = scheduler_->run() > 0;
    }
  }
  void change() {
    const std::int64_t kind = below(100);
    if (kind < 5) return change_node();
    const bool comes = names_.size() < static_cast<std::size_t>(options_.nodes) * kPodsPerNode && kind < 60;
    if (comes || names_.empty()) return add_pod();
    const auto at = static_cast<std::size_t>(below(static_cast<std::int64_t>(names_.size())));
    store_.remove<Pod>({.namespace_ = "default", .name = names_[at]});
    names_[at] = std::move(names_.back());
    names_.pop_back();
  }
  void add_pod() {
    auto pod = std::make_shared<Pod>();
    pod->name = "pod-" + std::to_string(next_pod_++);
    const auto number = static_cast<std::size_t>(below(options_.templates));
    pod->spec = specs_[number];
    pod->labels = LabelMap({{"app", std::to_string(number)}});
    pod->priority = below(100) == 0 ? 10 : 0;
    names_.push_back(pod->name);
    store_.create<Pod>(pod);
  }
  void change_node() {
    const std::int64_t number = below(options_.nodes);
    const std::string name = "node-" + std::to_string(number);
    const StoredPtr<Node> stored = store_.get<Node>({.namespace_ = {}, .name = name});
    if (stored == nullptr) {
      store_.create<Node>(make_node(number));
    } else if (below(10) == 0) {
      store_.remove<Node>({.namespace_ = {}, .name = name});
    } else {
      auto changed = std::make_shared<Node>(*make_node(number));
      changed->unschedulable = !stored->object->unschedulable && below(20) == 0;
      store_.update<Node>(NodePtr(changed));
    }
  }

  SoakOptions options_;
  std::mt19937_64 random_{1};
  VirtualClock clock_{kStartUs};
  ObjectStore store_{clock_};
  Kubelet kubelet_{store_};
  std::vector<std::shared_ptr<const PodSpec>> specs_;
  std::vector<std::string> names_;  ///< of pods that were not deleted
  std::unique_ptr<StoreScheduler> scheduler_;
  std::int64_t next_pod_ = 0;
  std::int64_t attempts_ = 0;
  std::int64_t bound_ = 0;
  std::int64_t preempted_ = 0;
  double seconds_ = 0;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const auto argument = [&](int index, std::int64_t otherwise) {
    return index < argc ? std::strtoll(argv[index], nullptr, 10) : otherwise;
  };
  const std::int64_t events = argument(1, 10'000'000);
  berth::SoakOptions options;
  options.nodes = argument(2, options.nodes);
  options.templates = argument(3, options.templates);
  berth::LoopSoak soak(options);
  std::vector<std::uint64_t> heaps;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    soak.run_to(static_cast<std::uint64_t>(events / 10 * tenth));
    soak.report();
    heaps.push_back(berth::live_heap_bytes());
  }
  std::printf("bench-loop-soak: heap after all events / after a tenth: %.4f\n",
              static_cast<double>(heaps.back()) / static_cast<double>(heaps.front()));
  return 0;
}
