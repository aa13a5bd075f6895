// SPDX-License-Identifier: Apache-2.0
#include "batching/backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "batching/engine_fork.h"

namespace berth {

Backend::Backend() : as_parent_(std::make_shared<ForkParent>()) { as_parent_->engine = this; }

Backend::~Backend() { as_parent_->engine = nullptr; }

void Backend::note_change() noexcept { as_parent_->note_change(); }

void Backend::forget_changes_since(std::uint64_t version) noexcept { as_parent_->version = version; }

std::uint64_t Backend::change_version() const noexcept { return as_parent_->version; }

std::uint64_t next_victim_list_version() {
  static std::atomic<std::uint64_t> latest = 0;
  return ++latest;
}

Message message_of(const Diagnosis& diagnosis) {
  return {fit_error_text(diagnosis), diagnosis.rejectors, diagnosis.resolvable_count,
          !diagnosis.pre_filter_message.empty(), diagnosis.pending};
}

namespace {

/// Pods that are handed over at once after a stop: each call looks at all of its pods.
constexpr std::size_t kPodsAfterStop = 16;

/// Appends the result of a later call.
void append(BatchResult later, BatchResult& result) {
  std::vector<std::int32_t> index_of;
  for (Message& message : later.messages) {
    const auto known = std::find(result.messages.begin(), result.messages.end(), message);
    index_of.push_back(static_cast<std::int32_t>(known - result.messages.begin()));
    if (known == result.messages.end()) result.messages.push_back(std::move(message));
  }
  for (Outcome outcome : later.outcomes) {
    if (outcome.message >= 0) outcome.message = index_of[static_cast<std::size_t>(outcome.message)];
    result.outcomes.push_back(outcome);
  }
  result.stop = later.stop;
  result.others = std::move(later.others);
}

/// The limits of a batch after some of its pods; nullopt: its deadline has passed.
std::optional<BatchLimits> limits_left(const BatchLimits& limits, std::size_t answered,
                                       std::chrono::steady_clock::time_point begin) {
  BatchLimits left = limits;
  left.pods_max -= answered;
  if (limits.deadline_us == 0) return left;
  const auto passed = std::chrono::steady_clock::now() - begin;
  left.deadline_us -= std::chrono::duration_cast<std::chrono::microseconds>(passed).count();
  if (left.deadline_us > 0) return left;
  if (answered > 0) return std::nullopt;
  left.deadline_us = 1;  // at least one pod per call
  return left;
}

}  // namespace

BatchResult commit_with_refills(std::span<const PodToPlace> pods, const BatchLimits& limits, Backend& backend) {
  BatchResult result;
  backend.as_one([&] {
    result = commit_with_refills(
        pods, limits, [&](auto rest, const BatchLimits& left) { return backend.commit_batch(rest, left); },
        [&](auto rest) { backend.refill(rest); });
  });
  return result;
}

BatchResult commit_with_refills(std::span<const PodToPlace> pods, const BatchLimits& limits, const CommitCall& commit,
                                const RefillCall& refill) {
  const auto begin = std::chrono::steady_clock::now();
  BatchResult result = commit(pods, limits);
  std::size_t wanted = kPodsAfterStop;
  // A placement may make every answer about the next pods stale, or none: as many are asked for as were of use.
  std::size_t refilled = 1;
  while (result.stop == StopReason::kHostPlugin ||
         (result.stop == StopReason::kDone && result.outcomes.size() < pods.size())) {
    const std::optional<BatchLimits> left = limits_left(limits, result.outcomes.size(), begin);
    if (!left) {
      result.stop = StopReason::kDeadline;
      break;
    }
    const auto rest =
        pods.subspan(result.outcomes.size()).first(std::min(wanted, pods.size() - result.outcomes.size()));
    refill(rest.first(std::min(refilled, rest.size())));
    BatchResult next = commit(rest, *left);
    const std::size_t answered = next.outcomes.size();
    if (answered == 0 && next.stop == StopReason::kHostPlugin)
      throw std::runtime_error("the answers of a plugin on the host are stale at once after it was asked");
    wanted = std::max(kPodsAfterStop, 2 * answered);
    refilled = answered < refilled ? std::max<std::size_t>(answered, 1) : 2 * refilled;
    append(std::move(next), result);
  }
  return result;
}

PodVerdicts Backend::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  PodVerdicts all = verdicts(pod);
  PodVerdicts some;
  some.error = std::move(all.error);
  if (!some.error.empty()) return some;
  some.nodes.reserve(nodes.size());
  for (const NodeIndex node : nodes) some.nodes.push_back(all.nodes[static_cast<std::size_t>(node.value)]);
  return some;
}

CopiesAnswer Backend::copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) const {
  CopiesAnswer answer;
  answer.pods.resize(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) answer.pods[i].same_as = i;
  answer.slot_count = static_cast<std::size_t>(slot_count());
  if (limits.on_nodes) answer.on_node.resize(pods.size() * answer.slot_count);
  return answer;
}

AnswerChanges Backend::answer_changes(const PodToPlace& /*pod*/, AnswerBasis& /*basis*/) const { return {}; }

std::vector<BatchResult> Backend::try_forks(std::span<const std::span<const PodToPlace>> forks,
                                            const BatchLimits& limits) {
  std::vector<BatchResult> results;
  const std::uint64_t version = change_version();
  as_one([&] {
    const CommitMark before = mark();
    for (const std::span<const PodToPlace> pods : forks) {
      results.push_back(commit_with_refills(pods, limits, *this));
      rollback(before);
    }
  });
  forget_changes_since(version);
  return results;
}

}  // namespace berth
