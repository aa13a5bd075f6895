// SPDX-License-Identifier: Apache-2.0
#pragma once

// The calls of an engine in any order: events, batches cut by limits, evaluations, verdicts and dry runs between them,
// several marks and rollbacks, placements undone one by one, pods released, lists of pods tried. After each call two
// backends must agree.

#include <string>
#include <vector>

#include "batching/backend.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"

namespace berth::test {

/// Two engines of a case, with the same calls. rapidcheck's assertions fail where they differ.
class PairedCalls {
 public:
  /// @param expected  leaves PodToPlace alone: the reference
  PairedCalls(Case& drawn, Backend& expected, Backend& actual);

  /// Calls until the pods of the case are placed.
  void make_all();

 private:
  struct Marks {
    CommitMark expected;
    CommitMark actual;
    std::size_t next = 0;
    ClusterHistory::Placements placed;
  };

  bool done() const { return next_ == drawn_.pods.size(); }
  void commit(Dice& dice);
  void change(Dice& dice);
  void undo(Dice& dice);
  void settle();
  void release();
  PodToPlace prepared(const PodToPlace& pod);
  void evaluate(Dice& dice);
  void ask_for_verdicts(Dice& dice);
  void try_evictions(Dice& dice);
  void try_forks(Dice& dice);
  void mark();
  void go_back(Dice& dice);

  Case& drawn_;
  ClusterHistory history_;
  Backend& expected_;
  Backend& actual_;
  std::size_t next_ = 0;
  std::vector<Marks> marks_;
  std::vector<PodToPlace> held_;  ///< compiled and not released
};

}  // namespace berth::test
