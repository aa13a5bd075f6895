// SPDX-License-Identifier: Apache-2.0
#pragma once

// Questions that change nothing, of snapshots and forks alike.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/capi/result.h"
#include "host/capi/stop_watch.h"
#include "host/capi/what_if.h"

namespace berth::capi {

struct CheckOptions {
  const NodeNumbers* nodes = nullptr;  ///< null: all of the state
  std::uint32_t flags = 0;             ///< BERTH_SKIP_CORDONED, BERTH_AS_MOVED, BERTH_NO_REASONS, BERTH_WITH_SCORES
};

/// @throws ApiError BERTH_E_ARGUMENT for flags outside `allowed`
void check_flags(std::uint32_t flags, std::uint32_t allowed);

/// BERTH_JUDGED_*
inline std::uint8_t judged_of(const ReadPod& pod) {
  return pod.not_judged ? BERTH_JUDGED_NOT : pod.ignores ? BERTH_JUDGED_IGNORING : BERTH_JUDGED;
}

/// Where the fork of the state has to open an engine for its next answer, a call that can stop does that here.
/// @return false: the watch was over before
bool open_engine(const State& state, const StopWatch& watch, bool heeds_deadline);

/// A node of a question, with what the caller's number says.
struct AskedNode {
  std::uint32_t number = 0;
  NodeIndex index = kNoNode;  ///< kNoNode: no node has the number here
  bool is_skipped = false;    ///< cordoned, and to be skipped
};
AskedNode asked_node(const State& state, std::uint32_t number, std::uint32_t flags);
/// @param indexes  of the state; null: the node is found by its name
AskedNode asked_node(const State& state, std::uint32_t number, std::uint32_t flags, const NodeIndexes* indexes);
/// @param numbers  in the order of the answer
std::vector<AskedNode> asked_nodes(const State& state, std::span<const std::uint32_t> numbers, std::uint32_t flags);
/// The numbers of the state's nodes in the set, ascending.
std::vector<std::uint32_t> numbers_of(const Roster& roster, const NodeNumbers* nodes);
/// The nodes that a verb may take, as BatchLimits::among says; nullopt: all of the state.
std::optional<std::vector<bool>> nodes_among(const State& state, const NodeNumbers* nodes, std::uint32_t flags);

/// A state in which the running copies of pods are gone, where flags say so.
class MovedState {
 public:
  MovedState(const State& state, const ReadPod& pod, std::uint32_t flags);
  State state() const {
    return fork_ != nullptr ? State{*fork_, given_.cluster, given_.facts, given_.snapshot_roster, given_.found, false}
                            : given_;
  }

 private:
  State given_;
  std::unique_ptr<Fork> fork_;
};

/// One pod on one node. @param fits  set. @return the details, if they are wanted
std::unique_ptr<Result> check_one(const State& state, const std::shared_ptr<Cluster>& cluster, const ReadPod& pod,
                                  std::uint32_t number, std::uint32_t flags, bool details, bool& fits);
Answer check_bulk(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const PodHandlePtr> pods,
                  const CheckOptions& options, const StopWatch& watch);
/// Of a call that was stopped: without a record.
Answer explain(const State& state, const std::shared_ptr<Cluster>& cluster, const ReadPod& pod, std::uint32_t flags,
               const StopWatch& watch);
/// Of a call that was stopped: without candidates.
Answer preempt(const State& state, const std::shared_ptr<Cluster>& cluster, const ReadPod& pod, std::uint32_t flags,
               const StopWatch& watch);

}  // namespace berth::capi
