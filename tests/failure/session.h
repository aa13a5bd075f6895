// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"

namespace berth::test {

enum class Engine : std::uint8_t { kReference, kCpu, kDevice };

/// An engine in the middle of its life, with forks that are open. Two sessions of the same arguments are equal.
class Session {
 public:
  Session(Engine engine, std::uint64_t seed, bool host_plugins);

  /// Everything that can be asked, as texts. @param commits  also by batches that are rolled back
  std::vector<std::string> answers(bool commits = true);
  /// A change of each kind that has an effect here, and several as one list.
  std::vector<std::vector<ClusterChange>> changes();
  /// The same of those that forks take.
  std::vector<std::vector<ClusterChange>> fork_changes();

  // Read by the calls under test.
  Case drawn;
  std::unique_ptr<Backend> backend;
  std::vector<PodToPlace> placed;    ///< in the engine, or without a node there
  std::vector<PodToPlace> prepared;  ///< and not placed
  std::vector<PodToPlace> compiled;  ///< and neither prepared nor placed
  std::vector<PodToPlace> unknown;   ///< to the engine
  CommitMark middle;                 ///< after a part of `placed`
  std::unique_ptr<Fork> fork;        ///< of the engine, where something was done
  std::unique_ptr<Fork> child;       ///< of `fork`, where something was done
  std::unique_ptr<Fork> promotable;  ///< of the engine as it is
  std::unique_ptr<Fork> opened;      ///< for the call under test

  DryRunResult dry_run();
  std::vector<Status> statuses_without_victims();
  std::string any_node() const;
  /// Those of `placed` that stand on a node, unconfirmed: undo() takes them back. In the order of their placement.
  std::vector<PodToPlace> standing() const;

 private:
  template <class Ask>
  auto ask_about_victims(Ask ask);
  void place(std::size_t count);
  ClusterHistory history_;
};

/// A seed of which the case is small and has something of everything. @param from  seeds from here on
std::uint64_t small_case(std::uint64_t from, bool host_plugins);

}  // namespace berth::test
