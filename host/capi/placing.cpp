// SPDX-License-Identifier: Apache-2.0
#include "host/capi/placing.h"

#include <tsl/robin_set.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/capi/api_error.h"
#include "host/capi/first_fit.h"
#include "host/cluster/text_hash.h"
#include "host/objects/pod_copy.h"

namespace berth::capi {
namespace {

class Scheduling {
 public:
  Scheduling(WhatIf& fork, const ScheduleOptions& options, const StopWatch& watch)
      : fork_(fork),
        options_(options),
        watch_(watch),
        pieces_(watch, 1, kPieceOfBatch),
        result_(std::make_unique<Result>(fork.cluster(), fork.facts().version)),
        node_(result_->column<std::uint32_t>(BERTH_COLUMN_NODE)),
        fits_(result_->column<std::uint8_t>(BERTH_COLUMN_FITS)),
        judged_(result_->column<std::uint8_t>(BERTH_COLUMN_JUDGED)),
        score_(result_->column<std::int64_t>(BERTH_COLUMN_SCORE)),
        message_(result_->column<std::uint32_t>(BERTH_COLUMN_MESSAGE)),
        start_(options.start) {
    if ((options.flags & BERTH_WITH_REJECTORS) != 0) {
      rejectors_ = &result_->column<std::uint32_t>(BERTH_COLUMN_REJECTORS);
      pending_ = &result_->column<std::uint32_t>(BERTH_COLUMN_PENDING_REJECTORS);
    }
    if (options.choice == BERTH_CHOICE_SCORE) {
      among_ = nodes_among(fork_.state(), options.nodes, options.flags);
    } else {
      numbers_ = options.choice == BERTH_CHOICE_ORDER ? in_order() : numbers_of(roster(), options.nodes);
      asked_.resize(numbers_.size());
    }
  }

  Answer run(std::span<const PodHandlePtr> pods) {
    reserve(pods.size());
    berth_status status = BERTH_OK;
    for (std::size_t i = 0; i < pods.size();) {
      status = watch_.stop(i > 0);
      if (status != BERTH_OK) break;
      const auto placed = unless_interrupted(watch_, i > 0, [&] { return place_front(pods.subspan(i)); });
      if (!placed) {
        status = watch_.stop(i > 0);
        break;
      }
      i += *placed;
      watch_.tell(i, pods.size());
      if ((options_.flags & BERTH_STOP_AT_FAILURE) != 0 && fits_.back() == 0) break;
    }
    result_->next_start = start_;
    return {std::move(result_), status};
  }

 private:
  std::vector<std::uint32_t> in_order() const {
    std::vector<std::uint32_t> order;
    for (const std::uint32_t number : options_.order)
      if (options_.nodes == nullptr || options_.nodes->contains(number)) order.push_back(number);
    return order;
  }
  const Roster& roster() const { return *fork_.facts().roster; }
  /// Looked up when it is first asked for: mostly one of the first nodes fits.
  /// @param indexes  indexes_for() as many nodes as are asked for one behind the other
  const AskedNode& asked(std::size_t position, const NodeIndexes* indexes) {
    std::optional<AskedNode>& node = asked_[position];
    if (!node) node = asked_node(fork_.state(), numbers_[position], options_.flags, indexes);
    return *node;
  }
  void reserve(std::size_t pods) {
    node_.reserve(pods);
    fits_.reserve(pods);
    judged_.reserve(pods);
    score_.reserve(pods);
    message_.reserve(pods);
    if (rejectors_ == nullptr) return;
    rejectors_->reserve(pods);
    pending_->reserve(pods);
  }
  /// @param why  of a pod without a node
  void note(const ReadPod& pod, std::uint32_t node, std::int64_t score, const Message& why) {
    const bool has_node = node != BERTH_NO_NODE;
    const std::uint32_t text = has_node ? 0 : result_->number_of(why.text);
    if (rejectors_ != nullptr) {
      const std::uint32_t rejectors = has_node ? 0 : result_->number_of(to_string(why.rejectors));
      const std::uint32_t pending = has_node ? 0 : result_->number_of(to_string(why.pending));
      rejectors_->push_back(rejectors);
      pending_->push_back(pending);
    }
    node_.push_back(node);
    fits_.push_back(node != BERTH_NO_NODE ? 1 : 0);
    judged_.push_back(judged_of(pod));
    score_.push_back(score);
    message_.push_back(text);
  }

  /// @return how many pods were tried
  std::size_t place_front(std::span<const PodHandlePtr> pods) {
    const ReadPod& front = *pods.front()->pod;
    if (front.not_judged) {
      note(front, BERTH_NO_NODE, 0, {front.not_judged->text, {}, 0});
      return 1;
    }
    if (options_.choice != BERTH_CHOICE_SCORE) {
      place_first_fit(pods.front());
      return 1;
    }
    const bool one_by_one = (options_.flags & BERTH_AS_MOVED) != 0;
    if (one_by_one) return place_moved(pods.front());
    if (watch_.can_stop()) pods = pods.first(std::min(pods.size(), pieces_.next()));
    const auto end =
        std::ranges::find_if(pods, [](const PodHandlePtr& pod) { return pod->pod->not_judged.has_value(); });
    return place_by_score(pods.first(static_cast<std::size_t>(end - pods.begin())), watch_.piece_us());
  }

  std::size_t place_by_score(std::span<const PodHandlePtr> pods, std::int64_t deadline_us) {
    std::vector<PodToPlace> batch;
    batch.reserve(pods.size());
    for (const PodHandlePtr& pod : pods) batch.push_back(pod->pod->placeable((options_.flags & BERTH_AS_MOVED) != 0));
    BatchLimits limits;
    limits.deadline_us = deadline_us;
    limits.stop_at_failure = (options_.flags & BERTH_STOP_AT_FAILURE) != 0;
    limits.among = among_ ? &*among_ : nullptr;
    const BatchResult placed = fork_.commit_batch(pods, batch, limits);
    const State state = fork_.state();
    const std::shared_ptr<const NodeIndexes> indexes = indexes_for(state, placed.outcomes.size());
    const Message none;
    for (std::size_t i = 0; i < placed.outcomes.size(); ++i) {
      const auto& [kind, node, score, message] = placed.outcomes[i];
      note(*pods[i]->pod, number_of(state, node, indexes.get()), score,
           message >= 0 ? placed.messages[static_cast<std::size_t>(message)] : none);
    }
    return placed.outcomes.size();
  }

  /// The running copy leaves first, and stays where it was if there is no node.
  std::size_t place_moved(const PodHandlePtr& pod) {
    const std::string stood_on = take_out(*pod->pod);
    or_put_back(*pod->pod, stood_on, [&] { place_by_score({&pod, 1}, 0); });
    if (fits_.back() == 0) put_back(*pod->pod, stood_on);
    return 1;
  }
  /// @return the node that the pod stood on; empty: none
  std::string take_out(const ReadPod& pod) {
    if ((options_.flags & BERTH_AS_MOVED) == 0) return {};
    std::string node = fork_.state().fork.node_of_pod(pod.uid);
    if (!node.empty()) fork_.apply({PodRemoval{pod.uid}});
    return node;
  }
  /// Runs place(). Where that is interrupted, the pod stands where it stood.
  template <class Place>
  void or_put_back(const ReadPod& pod, const std::string& stood_on, Place place) {
    try {
      place();
    } catch (const Interrupted&) {
      put_back(pod, stood_on);
      throw;
    }
  }
  void put_back(const ReadPod& pod, const std::string& node) {
    if (node.empty()) return;
    const InterruptionScope to_the_end(nullptr);
    auto standing = copy_of(*pod.given);
    standing->node_name = node;
    fork_.apply({PodUpsert{std::move(standing)}});
  }

  void place_first_fit(const PodHandlePtr& handle) {
    const ReadPod& pod = *handle->pod;
    const PodToPlace& to_place = pod.placeable((options_.flags & BERTH_AS_MOVED) != 0);
    const std::string stood_on = take_out(pod);
    const bool goes_round = options_.choice == BERTH_CHOICE_FIRST_FIT;
    const std::size_t count = asked_.size();
    const std::size_t start = goes_round && count > 0 ? start_ % count : 0;
    Message why;
    std::optional<std::size_t> at;
    or_put_back(pod, stood_on, [&] {
      at = first_fit(to_place, start, why);
      if (at) fork_.place(handle, to_place, *fork_.cluster()->nodes().name_of(numbers_[*at]));
    });
    if (!at) {
      put_back(pod, stood_on);
      return note(pod, BERTH_NO_NODE, 0, why);
    }
    if (goes_round) start_ = static_cast<std::uint32_t>((*at + 1) % count);
    note(pod, numbers_[*at], 0, why);
  }

  /// @param why  the text of an error that ends the cycle, or why there is no node
  /// @return a position in asked_
  std::optional<std::size_t> first_fit(const PodToPlace& pod, std::size_t start, Message& why) {
    const std::size_t count = asked_.size();
    std::size_t chunk = kAskedFirst;
    std::vector<NodeIndex> nodes;
    std::vector<std::size_t> positions;
    for (std::size_t visited = 0; visited < count;) {
      nodes.clear();
      positions.clear();
      const std::shared_ptr<const NodeIndexes> indexes = indexes_for(fork_.state(), chunk);
      for (; visited < count && nodes.size() < chunk; ++visited) {
        const std::size_t position = (start + visited) % count;
        const AskedNode& node = asked(position, indexes.get());
        if (node.index == kNoNode || node.is_skipped) continue;
        nodes.push_back(node.index);
        positions.push_back(position);
      }
      const PodVerdicts verdicts = fork_.state().fork.verdicts_on(pod, nodes);
      why.text = verdicts.error;
      if (!why.text.empty()) return std::nullopt;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (verdicts.nodes[i].accepts()) return positions[i];
      chunk = std::min(2 * chunk, kAskedMax);
    }
    why = why_nowhere(pod);
    return std::nullopt;
  }
  /// What an attempt by score says that is made aside, so that a nomination stays: it knows the class's answers mostly.
  Message why_nowhere(const PodToPlace& pod) {
    const std::unique_ptr<Fork> aside = fork_.state().fork.fork();
    const bool is_every_node = options_.choice == BERTH_CHOICE_FIRST_FIT && options_.nodes == nullptr &&
                               (options_.flags & BERTH_SKIP_CORDONED) == 0;
    std::vector<bool> among;
    if (!is_every_node) among = among_asked(*aside);
    BatchLimits limits;
    limits.among = is_every_node ? nullptr : &among;  // rows know the answer of every node
    const BatchResult tried = aside->commit_batch({&pod, 1}, limits);
    const Outcome& outcome = tried.outcomes.front();
    if (outcome.message < 0) throw std::logic_error("an attempt by score places what no node accepts");
    return tried.messages[static_cast<std::size_t>(outcome.message)];
  }
  std::vector<bool> among_asked(Fork& fork) {
    const bool keeps_indices = fork_.state().fork.keeps_indices() && fork.keeps_indices();
    const std::shared_ptr<const NodeIndexes> indexes = indexes_for(fork_.state(), asked_.size());
    std::vector<bool> among;
    for (std::size_t position = 0; position < asked_.size(); ++position) {
      const AskedNode& node = asked(position, indexes.get());
      if (node.index == kNoNode || node.is_skipped) continue;
      const NodeIndex index =
          keeps_indices ? node.index : fork.find_node(*fork_.cluster()->nodes().name_of(numbers_[position]));
      const auto at = static_cast<std::size_t>(index.value);
      if (among.size() <= at) among.resize(at + 1);
      among[at] = true;
    }
    return among;
  }

  WhatIf& fork_;
  const ScheduleOptions& options_;
  const StopWatch& watch_;
  PieceSizes pieces_;  ///< of batches: the first pod of a class takes far longer than the next ones
  std::unique_ptr<Result> result_;
  std::vector<std::uint32_t>& node_;
  std::vector<std::uint8_t>& fits_;
  std::vector<std::uint8_t>& judged_;
  std::vector<std::int64_t>& score_;
  std::vector<std::uint32_t>& message_;
  std::vector<std::uint32_t>* rejectors_ = nullptr;  ///< null: not wanted
  std::vector<std::uint32_t>* pending_ = nullptr;    ///< with `rejectors_`
  std::uint32_t start_;
  std::optional<std::vector<bool>> among_;       ///< of SCORE
  std::vector<std::uint32_t> numbers_;           ///< of the other choices: the nodes that may be taken, in their order
  std::vector<std::optional<AskedNode>> asked_;  ///< [numbers_]
};

}  // namespace

void refuse_standing(Fork& fork, std::span<const PodHandlePtr> pods) {
  std::vector<const std::string*> uids;
  uids.reserve(pods.size());
  for (const PodHandlePtr& handle : pods) uids.push_back(&handle->pod->uid);
  const std::size_t first = fork.first_standing(uids);
  if (first == pods.size()) return;
  throw ApiError(BERTH_E_EXISTS, "Pod " + pods[first]->pod->given->full_name(),
                 "stands on node " + fork.node_of_pod(*uids[first]));
}

bool begin_placing(WhatIf& fork, std::span<const PodHandlePtr> pods, std::uint32_t flags, const StopWatch& watch) {
  if (pods.empty()) return true;
  const State state = fork.state();
  if (!open_engine(state, watch, false)) return false;
  if ((flags & BERTH_AS_MOVED) == 0) refuse_standing(state.fork, pods);
  return true;
}

void refuse_twice(std::span<const PodHandlePtr> pods) {
  constexpr std::size_t kFew = 16;  // which are compared one with the other, without a set
  tsl::robin_set<std::string_view, NameHash> uids;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::string& uid = pods[i]->pod->uid;
    const bool is_there =
        pods.size() > kFew
            ? !uids.insert(uid).second
            : std::ranges::any_of(pods.first(i), [&](const auto& before) { return before->pod->uid == uid; });
    if (is_there)
      throw ApiError(BERTH_E_ARGUMENT, "Pod " + pods[i]->pod->given->full_name(), "is among the pods twice");
  }
}

namespace {

Answer nothing_placed(const WhatIf& fork, const ScheduleOptions& options, const StopWatch& watch) {
  auto result = std::make_unique<Result>(fork.cluster(), fork.facts().version);
  for (const std::uint32_t id : {BERTH_COLUMN_NODE, BERTH_COLUMN_MESSAGE}) result->column<std::uint32_t>(id);
  for (const std::uint32_t id : {BERTH_COLUMN_FITS, BERTH_COLUMN_JUDGED}) result->column<std::uint8_t>(id);
  result->column<std::int64_t>(BERTH_COLUMN_SCORE);
  if ((options.flags & BERTH_WITH_REJECTORS) != 0)
    for (const std::uint32_t id : {BERTH_COLUMN_REJECTORS, BERTH_COLUMN_PENDING_REJECTORS})
      result->column<std::uint32_t>(id);
  result->next_start = options.start;
  return {std::move(result), watch.stop(false)};
}

}  // namespace

Answer schedule(WhatIf& fork, std::span<const PodHandlePtr> pods, const ScheduleOptions& options,
                const StopWatch& watch) {
  refuse_twice(pods);
  if (!begin_placing(fork, pods, options.flags, watch)) return nothing_placed(fork, options, watch);
  Answer scheduled;
  fork.as_one([&] { scheduled = Scheduling(fork, options, watch).run(pods); });
  return scheduled;
}

}  // namespace berth::capi
