// SPDX-License-Identifier: Apache-2.0
#pragma once

// Copies of a pod that have to be placed to be counted.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/capi/counting.h"

namespace berth::capi {

/// BatchLimits::among of a fork of a fork, which may have opened another engine meanwhile, with other numbers of nodes.
inline std::optional<std::vector<bool>> among_in(Fork& child, const Fork& parent, const std::vector<bool>* among) {
  if (among == nullptr) return std::nullopt;
  std::vector<bool> of_child;
  for (std::size_t i = 0; i < among->size(); ++i) {
    if (!(*among)[i]) continue;
    const NodeIndex node = child.find_node(parent.node_name({static_cast<std::int32_t>(i)}));
    if (node == kNoNode) continue;
    const auto at = static_cast<std::size_t>(node.value);
    if (of_child.size() <= at) of_child.resize(at + 1);
    of_child[at] = true;
  }
  return of_child;
}

/// Copies that are placed in a fork of its own until one finds no node.
class PlacedCopies {
 public:
  /// @param parent_mutex  of the fork, which takes one call at a time
  /// @param first  a copy
  PlacedCopies(Fork& fork, std::mutex& parent_mutex, std::shared_ptr<Cluster> cluster, const ReadPod& pod,
               PodHandlePtr first, const CopyQuestion& question, const StopWatch& watch, bool heeds_deadline)
      : cluster_(std::move(cluster)),
        pod_(pod),
        question_(question),
        watch_(watch),
        heeds_deadline_(heeds_deadline),
        handles_({std::move(first)}),
        parent_(fork),
        parent_mutex_(parent_mutex) {
    const std::lock_guard alone(parent_mutex_);
    fork_ = parent_.fork();
    among_ = among_in(*fork_, parent_, question.among);
  }

  /// @param asks_again  once the first one is placed, the engine may tell the rest
  /// @return nullopt: the watch was over
  std::optional<CopyCounts::OfPod> count(bool asks_again) {
    return unless_interrupted(watch_, heeds_deadline_, [&] { return count_all(asks_again); }).value_or(std::nullopt);
  }

  /// Adds what was counted on the nodes. @param row  [NodeIndex::value] of the parent
  void write(std::span<std::int32_t> row) const {
    const std::lock_guard alone(parent_mutex_);
    for (std::size_t i = 0; i < on_node_.size(); ++i) {
      if (on_node_[i] == 0) continue;
      const NodeIndex node = parent_.find_node(fork_->node_name({static_cast<std::int32_t>(i)}));
      row[static_cast<std::size_t>(node.value)] += on_node_[i];
    }
  }

 private:
  /// Copies of a batch: the first tells most shapes that fit nowhere, and of most others a few more the rest.
  static constexpr std::size_t kBatchGrowth = 64;
  static constexpr std::size_t kBatchMax = 4096;
  enum class Placed : std::uint8_t { kAll, kUpToFailure, kStopped };

  std::optional<CopyCounts::OfPod> count_all(bool asks_again) {
    for (std::size_t size = 1;; size = std::min(size * kBatchGrowth, kBatchMax)) {
      const Placed placed = place(size, asks_again && size == 1);
      if (placed == Placed::kStopped) return std::nullopt;
      if (placed == Placed::kUpToFailure) return std::move(counted_);
      if (watch_.is_over(heeds_deadline_)) return std::nullopt;
      if (asks_again && size == 1 && ask_for_rest()) return std::move(counted_);
      if (size == kBatchMax) open_engine();
    }
  }

  /// @param alone  no more copies are expected to follow, so that rows would not pay
  Placed place(std::size_t size, bool alone) {
    const std::size_t piece = watch_.can_stop() ? kPieceOfBatch : kBatchMax;
    for (std::size_t i = 0; i < size; i += piece) {
      if (watch_.is_over(heeds_deadline_)) return Placed::kStopped;
      const Placed placed = place_piece(size == 1 ? first_copy() : more_copies(std::min(piece, size - i)), alone);
      if (placed != Placed::kAll) return placed;
    }
    return Placed::kAll;
  }
  std::vector<PodToPlace> first_copy() const { return {handles_.front()->pod->to_place}; }
  std::vector<PodToPlace> more_copies(std::size_t count) {
    std::vector<PodToPlace> copies;
    copies.reserve(count);
    for (std::unique_ptr<ReadPod>& copy : cluster_->copies_of(pod_, question_.as_moved, count)) {
      copies.push_back(copy->to_place);
      handles_.push_back(std::make_shared<const PodHandle>(cluster_, std::move(copy)));
    }
    return copies;
  }
  Placed place_piece(std::span<const PodToPlace> copies, bool alone) {
    BatchLimits limits;
    limits.stop_at_failure = true;
    limits.among = among_ ? &*among_ : nullptr;
    limits.lists_nodes = alone;
    while (!copies.empty()) {
      if (watch_.is_over(heeds_deadline_)) return Placed::kStopped;
      limits.deadline_us = watch_.piece_us(heeds_deadline_);
      const BatchResult result = fork_->commit_batch(copies, limits);
      note(result);
      if (result.stop == StopReason::kPodWithoutNode) return Placed::kUpToFailure;
      copies = copies.subspan(result.outcomes.size());
    }
    return Placed::kAll;
  }

  /// By now the fork differs from its engine on most nodes, which it would look at one by one for each copy.
  void open_engine() {
    if (!has_engine_) fork_->as_engine();
    has_engine_ = true;
  }

  void note(const BatchResult& result) {
    for (const Outcome& outcome : result.outcomes) {
      if (outcome.kind == OutcomeKind::kPlaced) ++counted_.count;
      if (outcome.kind == OutcomeKind::kError)
        counted_.error = result.messages[static_cast<std::size_t>(outcome.message)].text;
      if (question_.on_nodes && outcome.kind == OutcomeKind::kPlaced) add(outcome.node, 1);
    }
  }

  bool ask_for_rest() {
    CopiesLimits limits;
    limits.among = among_ ? &*among_ : nullptr;
    limits.on_nodes = question_.on_nodes;
    const CopiesAnswer rest = fork_->copies_that_fit({&pod_.placeable(question_.as_moved), 1}, limits);
    const CopiesOfPod& of_pod = rest.pods.front();
    if (of_pod.kind != CopiesOfPod::Kind::kKnown) return false;
    counted_.count += of_pod.count;
    counted_.error = of_pod.error;
    if (question_.on_nodes)
      for (std::size_t i = 0; i < rest.slot_count; ++i) add({static_cast<std::int32_t>(i)}, rest.on_node[i]);
    return true;
  }

  void add(NodeIndex node, std::int32_t copies) {
    const auto at = static_cast<std::size_t>(node.value);
    if (at >= on_node_.size()) on_node_.resize(at + 1);
    on_node_[at] += copies;
  }

  std::shared_ptr<Cluster> cluster_;
  const ReadPod& pod_;
  const CopyQuestion& question_;
  const StopWatch& watch_;
  bool heeds_deadline_;
  std::vector<PodHandlePtr> handles_;  ///< which must outlive what the fork knows of them
  Fork& parent_;
  std::mutex& parent_mutex_;
  std::unique_ptr<Fork> fork_;
  std::optional<std::vector<bool>> among_;
  bool has_engine_ = false;  ///< of its own
  CopyCounts::OfPod counted_;
  std::vector<std::int32_t> on_node_;  ///< [NodeIndex::value] of `fork_`
};

}  // namespace berth::capi
