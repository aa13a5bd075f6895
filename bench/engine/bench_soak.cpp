// SPDX-License-Identifier: Apache-2.0
// Whether the memory of a living engine follows its cluster and not its history: 5,000 nodes, 150,000 pods and 1,000
// Deployments, all of which are replaced in the course of the events (host/generate/cluster_life.h), while 100 forks
// are open, which are opened again in the middle of each tenth. Prints the live heap of the process at the end of each
// tenth, and what an event costs the engine. The heap is the mean of 100 looks during the last hundredth of the events:
// from one event to the next it moves by more than a percent, as tables grow and single Deployments come and go. It
// contains the history's own list of nodes and pods, whose size does not change, and what the forks were left when the
// first node changed after their opening. A table at the end says what each kind of event cost.
//
// bench_soak [events] [nodes] [deployments]

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/generate/cluster_life.h"
#include "tests/support/live_heap.h"

namespace berth {
namespace {

/// By the index of a ClusterChange; what is placed follows.
constexpr std::array kKinds = {
    "node changed",      "node removed",    "pod bound",       "pod removed",  "nomination",
    "namespace changed", "namespace gone",  "service changed", "service gone", "workload changed",
    "workload gone",     "storage changed", "storage gone",    "placed"};
static_assert(kKinds.size() == std::variant_size_v<ClusterChange> + 1);

class Soak {
 public:
  explicit Soak(const ClusterLifeOptions& options)
      : life_(options),
        config_(default_scheduler_config(FeatureGates())),
        backend_(life_.cache(), life_.objects(), config_, {}) {}

  /// @param events  of which the forks are opened in the middle
  /// @return the live heap during the last tenth of these events, on average
  double run(std::int64_t events) {
    double heap_bytes = 0;
    const std::int64_t stride = std::max<std::int64_t>(1, events / (10 * kLooks));
    for (std::int64_t i = 0; i < events; ++i) {
      if (i == events / 2) open_forks();
      if (events - i <= kLooks * stride && (events - i) % stride == 0)
        heap_bytes += static_cast<double>(test::live_heap_bytes()) / kLooks;
      const ClusterLife::Event event = life_.next();
      Cost& cost = costs_[event.change.empty() ? kKinds.size() - 1 : event.change.front().index()];
      const auto begin = std::chrono::steady_clock::now();
      const std::string node = event.to_place != nullptr ? place(event.to_place) : std::string();
      if (!event.change.empty()) backend_.apply(event.change);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      seconds_ += seconds;
      cost.seconds += seconds;
      ++cost.events;
      if (!node.empty()) life_.placed(event.to_place, node);
      placed_ += node.empty() ? 0 : 1;
    }
    events_ += events;
    return heap_bytes;
  }
  void report(double heap_bytes) const {
    const BackendStats stats = backend_.stats();
    std::printf("%12lld events %10.2f us each %14.0f bytes live %8lld placed %6lld classes %12llu bytes of columns\n",
                static_cast<long long>(events_), seconds_ * 1e6 / static_cast<double>(events_), heap_bytes,
                static_cast<long long>(placed_), static_cast<long long>(stats.class_count),
                static_cast<unsigned long long>(stats.column_bytes));
    std::fflush(stdout);
  }
  void report_kinds() const {
    for (std::size_t k = 0; k < kKinds.size(); ++k) {
      const Cost& cost = costs_[k];
      if (cost.events == 0) continue;
      std::printf("%18s %10lld events %10.2f us each %5.1f %% of the time\n", kKinds[k],
                  static_cast<long long>(cost.events), cost.seconds * 1e6 / static_cast<double>(cost.events),
                  100 * cost.seconds / seconds_);
    }
    std::printf("%18s %10lld forks  %10.2f us each %5.1f %% of the time\n", "fork opened",
                static_cast<long long>(opened_.events), opened_.seconds * 1e6 / static_cast<double>(opened_.events),
                100 * opened_.seconds / seconds_);
  }

 private:
  struct Cost {
    double seconds = 0;
    std::int64_t events = 0;
  };
  static constexpr int kForks = 100;
  static constexpr int kLooks = 100;  ///< at the heap, in the last tenth of run()

  void open_forks() {
    forks_.clear();
    const auto begin = std::chrono::steady_clock::now();
    for (int f = 0; f < kForks; ++f) forks_.push_back(backend_.fork());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    seconds_ += seconds;
    opened_.seconds += seconds;
    opened_.events += kForks;
  }
  std::string place(const PodPtr& pod) {
    std::vector<PodToPlace> pods{{pod, 0}};
    backend_.compile(pods);
    const BatchResult result = backend_.commit_batch(pods, {});
    const std::string node(backend_.node_name(result.outcomes.front().node));
    backend_.release(pods);
    return node;
  }

  ClusterLife life_;
  SchedulerConfig config_;
  CpuBackend backend_;
  std::vector<std::unique_ptr<Fork>> forks_;
  double seconds_ = 0;
  std::int64_t events_ = 0;
  std::int64_t placed_ = 0;
  std::array<Cost, kKinds.size()> costs_{};
  Cost opened_;
};

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  const auto argument = [&](int index, std::int64_t otherwise) {
    return index < argc ? std::strtoll(argv[index], nullptr, 10) : otherwise;
  };
  const std::int64_t events = argument(1, 10'000'000);
  berth::ClusterLifeOptions options;
  options.nodes = static_cast<int>(argument(2, options.nodes));
  options.deployments = static_cast<int>(argument(3, options.deployments));
  berth::Soak soak(options);
  std::vector<double> heaps;
  for (int tenth = 0; tenth < 10; ++tenth) {
    heaps.push_back(soak.run(events / 10));
    soak.report(heaps.back());
  }
  soak.report_kinds();
  std::printf("bench-soak: heap after all events / after a tenth: %.4f\n", heaps.back() / heaps.front());
  return 0;
}
