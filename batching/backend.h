// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface of every engine: reference, cpu, cuda.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth {

/// Position of a node in the snapshot's zone-interleaved order.
struct NodeIndex {
  std::int32_t value = -1;
  friend bool operator==(NodeIndex, NodeIndex) = default;
};
inline constexpr NodeIndex kNoNode{-1};

/// One pod of a batch. `pod` must live as long as the backend.
struct PodToPlace {
  PodPtr pod;
  std::int32_t profile = 0;       ///< index into SchedulerConfig::profiles
  std::int32_t class_index = -1;  ///< written by Backend::compile(); a backend without classes leaves it alone
  std::uint32_t compiled_at = 0;  ///< likewise: TopologyIndex::epoch() at that time
};

enum class OutcomeKind : std::uint8_t { kPlaced, kUnschedulable, kError };

/// The outcome of one pod. A pod without a node is a result with reasons, not an error.
struct Outcome {
  OutcomeKind kind = OutcomeKind::kUnschedulable;
  NodeIndex node = kNoNode;
  std::int64_t score = 0;     ///< total of the chosen node; 0 when it was chosen without scoring
  std::int32_t message = -1;  ///< index into BatchResult::messages for kUnschedulable and kError
};

enum class StopReason : std::uint8_t { kDone, kPodWithoutNode, kHostPlugin, kPermitWaits, kDeadline, kPodLimit };

struct BatchLimits {
  std::int64_t deadline_us = 0;     ///< 0: none; measured on the steady clock from the start of the call
  std::size_t pods_max = SIZE_MAX;  ///< stop after this many pods with kPodLimit
  bool stop_at_failure = false;     ///< stop after the first pod without a node (kPodWithoutNode)
};

struct BatchResult {
  std::vector<Outcome> outcomes;      ///< one per committed pod, a prefix of the batch
  std::vector<std::string> messages;  ///< FitError and error texts, each distinct text once
  StopReason stop = StopReason::kDone;
};

/// Position in the commit log that a backend can return to.
struct CommitMark {
  std::uint64_t position = 0;
};

struct PluginScore {
  std::string_view plugin;
  std::int64_t raw = 0;
  std::int64_t normalized = 0;
  std::int32_t weight = 0;
};

/// One pod on one node.
struct NodeEvaluation {
  NodeIndex node;
  bool feasible = false;
  Status status;                    ///< of the first plugin that refused; plugin "PreFilter" when no node was evaluated
  std::vector<PluginScore> scores;  ///< of the plugins that were not skipped; only on feasible nodes
  std::int64_t total = 0;
};

/// One pod on every node of the current cluster; nothing is committed: docs/behaviour/plugins-node.md 2.
struct Evaluation {
  std::vector<NodeEvaluation> nodes;  ///< snapshot order
  std::vector<NodeIndex> best;        ///< all nodes of the highest total
  std::string message;                ///< FitError text when no node is feasible
  std::string error;                  ///< non-empty: the cycle ended with this error
};

/// Counters of a device, for `berth bench`.
struct DeviceStats {
  struct Kernel {
    std::string_view name;
    std::int64_t launches = 0;
    double seconds = 0;       ///< on the device; 0 where it was not measured
    std::uint64_t bytes = 0;  ///< the least that it must transfer: docs/benchmarks.md
  };
  std::string device;  ///< its name
  std::vector<Kernel> kernels;
  std::uint64_t uploaded_bytes = 0;
  std::uint64_t downloaded_bytes = 0;
  std::uint64_t allocated_bytes = 0;             ///< now
  std::uint64_t peak_bandwidth_bytes_per_s = 0;  ///< of its memory; 0: unknown
};

/// Figures for `--stats` and the report.
struct BackendStats {
  std::int64_t class_count = 0;
  std::int64_t rows_built = 0;        ///< (class) evaluations over all nodes
  std::int64_t node_evaluations = 0;  ///< (class, node) evaluations, refreshes included
  std::uint64_t column_bytes = 0;
  std::uint64_t row_bytes = 0;
  std::optional<DeviceStats> device;  ///< of a backend that has one
};

/// An engine over one cluster. One call at a time; implementations use threads inside.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  /// Compiles the classes of `pods` and writes PodToPlace::class_index; evaluates no node. Compile pods before placing
  /// them.
  virtual void compile(std::span<PodToPlace> pods) = 0;

  /// Places `pods` in order, each as the serial algorithm would after all before it, and appends to the log.
  /// Calling again with the rest of a batch continues where the last call stopped.
  virtual BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) = 0;

  /// Places each list of pods from the current state, independently of the others, and commits none of them.
  /// @return one result per fork, equal to what commit_batch() would return
  virtual std::vector<BatchResult> try_forks(std::span<const std::span<const PodToPlace>> forks,
                                             const BatchLimits& limits);

  virtual CommitMark mark() const = 0;
  /// Undoes every placement after `mark`, newest first.
  virtual void rollback(CommitMark mark) = 0;

  virtual Evaluation evaluate(const PodToPlace& pod) = 0;
  virtual BackendStats stats() const = 0;

  /// Name of the node at `index`, valid for the lifetime of the backend.
  virtual std::string_view node_name(NodeIndex index) const = 0;
  virtual std::int32_t node_count() const = 0;
};

}  // namespace berth
