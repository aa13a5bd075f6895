// SPDX-License-Identifier: Apache-2.0
#pragma once

// A CPU backend over a cluster from text, and its answers as text.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/cluster/engine_cluster.h"
#include "host/engine/cpu/cpu_backend.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth::test {

/// A backend over a cluster from text, with its cache for changes.
struct CpuBench {
  explicit CpuBench(const std::string& text, const CpuTuning& cpu_tuning = {})
      : scenario(parse_scenario(text)), cache(fill_cache(scenario.objects)), tuning(cpu_tuning) {
    for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
    backend = open();
    backend->compile(pods);
  }
  std::unique_ptr<CpuBackend> open() const {
    return std::make_unique<CpuBackend>(cache, scenario.objects, scenario.config, scenario.engine, tuning);
  }

  Scenario scenario;
  std::shared_ptr<ClusterCache> cache;
  CpuTuning tuning;
  std::vector<PodToPlace> pods;
  std::unique_ptr<CpuBackend> backend;
};

/// "node score", or the message.
inline std::vector<std::string> answers(const BatchResult& result, const Backend& backend) {
  std::vector<std::string> lines;
  for (const Outcome& outcome : result.outcomes)
    lines.push_back(outcome.kind == OutcomeKind::kPlaced
                        ? std::string(backend.node_name(outcome.node)) + " " + std::to_string(outcome.score)
                        : result.messages[static_cast<std::size_t>(outcome.message)].text);
  return lines;
}

inline std::vector<std::string> place(CpuBackend& backend, std::span<const PodToPlace> pods,
                                      const BatchLimits& limits = {}) {
  return answers(backend.commit_batch(pods, limits), backend);
}

}  // namespace berth::test
