// SPDX-License-Identifier: Apache-2.0
#pragma once

// What engines count about themselves.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batching/answer_ways.h"

namespace berth {

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
  std::int64_t pods_on_host = 0;                 ///< of batches, answered by the host instead: docs/architecture.md
  std::int64_t dry_runs_on_host = 0;             ///< likewise
  std::int64_t fork_pods_on_host = 0;            ///< of batches of Backend::fork()
  std::int64_t evaluations_on_host = 0;          ///< of Backend::evaluate() and Fork::evaluate()
  std::int64_t full_uploads = 0;                 ///< of all columns: the first one, and where events cannot be followed
  std::int64_t layouts_rebuilt = 0;              ///< orders of nodes in rows, after events that they had no room for
  std::uint64_t allocated_bytes = 0;             ///< now
  std::uint64_t peak_bandwidth_bytes_per_s = 0;  ///< of its memory; 0: unknown
};

/// Figures for `--stats` and the report.
struct BackendStats {
  std::int64_t class_count = 0;
  std::int64_t rows_built = 0;        ///< (class) evaluations over all nodes
  std::int64_t node_evaluations = 0;  ///< (class, node) evaluations, refreshes included
  std::int64_t dry_runs = 0;          ///< of Backend::dry_run()
  std::int64_t forks_reopened = 0;    ///< forks that could not read the engine any more, and opened one of their own
  std::int64_t host_columns = 0;      ///< filled by plugins on the host: all nodes of a class
  std::int64_t host_nodes = 0;        ///< (class, node) pairs evaluated by such plugins, those of columns included
  std::int64_t host_pods = 0;         ///< placed or failed while such a plugin decides on them
  std::int64_t host_stops = 0;        ///< batches that ended with StopReason::kHostPlugin
  AnswerWays ways;                    ///< of the cpu backend, without forks
  std::uint64_t column_bytes = 0;
  std::uint64_t row_bytes = 0;        ///< of rows and of the index by load
  std::optional<DeviceStats> device;  ///< of a backend that has one
};

/// Figures of BackendStats that begin again when an engine is reopened: those from before.
struct EarlierStats {
  std::int64_t rows_built = 0;
  std::int64_t node_evaluations = 0;
  std::int64_t host_columns = 0;
  std::int64_t host_nodes = 0;
};

}  // namespace berth
