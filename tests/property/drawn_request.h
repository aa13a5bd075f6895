// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random dry runs, and the answers of verdicts and dry runs as texts. Nodes go by name, since engines number them in
// their own ways.

#include <map>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "tests/property/dice.h"

namespace berth::test {

using PodsByNode = std::map<std::string, std::vector<PodPtr>>;

/// Of nodes that exist.
PodsByNode pods_by_node(const ClusterCache& cache);

/// A request with its memory.
class DrawnRequest {
 public:
  /// @param preemptors  prepared
  DrawnRequest(Dice& dice, std::vector<PodToPlace> preemptors, const PodsByNode& pods);
  /// The request as this engine numbers nodes, valid until the next call.
  DryRunRequest to(const Backend& engine);
  std::vector<std::string> texts(const DryRunResult& result) const;

  const std::vector<PodToPlace>& preemptors() const { return preemptors_; }
  const std::vector<DryRun>& runs() const { return runs_; }
  const std::vector<Victim>& victims(std::size_t list) const { return victims_[list]; }
  const std::string& node(std::size_t list) const { return nodes_[list]; }
  std::size_t list_count() const { return lists_.size(); }

 private:
  std::vector<PodToPlace> preemptors_;
  std::vector<std::string> nodes_;            ///< [list]
  std::vector<std::vector<Victim>> victims_;  ///< [list]
  std::vector<VictimList> lists_;
  std::vector<DryRun> runs_;
};

std::string text_of(const NodeVerdict& verdict);
/// The error and the rejectors, then a line for each node that exists.
std::vector<std::string> texts_of(const PodVerdicts& verdicts, const Backend& engine);

/// Fails the property where they differ.
void expect_equal(const std::vector<std::string>& expected, const std::vector<std::string>& actual);

}  // namespace berth::test
