// SPDX-License-Identifier: Apache-2.0
#include "host/capi/counting.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "host/capi/api_error.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth::capi {
namespace {

/// Shapes that are asked about at once.
constexpr std::size_t kShapesAtOnce = 1024;
/// Copies of a batch: the first tells most shapes that fit nowhere, and of most others a few more the rest.
constexpr std::size_t kBatchGrowth = 64;
constexpr std::size_t kBatchMax = 4096;

/// BatchLimits::among of a fork of a fork, which may have opened another engine meanwhile, with other numbers of nodes.
std::optional<std::vector<bool>> among_in(Fork& child, const Fork& parent, const std::vector<bool>* among) {
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

void refuse_without_end(std::span<const ReadPod* const> pods, const Engine& engine) {
  for (const ReadPod* const pod : pods) {
    const Profile& profile = engine.config.profiles[static_cast<std::size_t>(pod->to_place.profile)];
    const auto& filters = profile.at(ExtensionPoint::kFilter);
    if (std::ranges::find(filters, NodeResourcesFit::name, &EnabledPlugin::name) == filters.end())
      throw ApiError(BERTH_E_UNSUPPORTED, "Pod " + pod->given->full_name(),
                     "its profile runs no NodeResourcesFit, so that there is no end to the copies that fit");
  }
}

/// The counts of one call, of pods that are told and of those that are placed.
class SomeCopies {
 public:
  SomeCopies(Fork& fork, const std::shared_ptr<Cluster>& cluster, std::span<const ReadPod* const> pods,
             const CopyQuestion& question, const StopWatch& watch)
      : fork_(fork), cluster_(cluster), pods_(pods), question_(question), watch_(watch), counted_(pods.size()) {}

  /// All of the pods, or those before the watch was over. @param may_be_none  an earlier pod of the call was answered
  CopyCounts run(bool may_be_none) {
    if (!unless_interrupted(watch_, may_be_none, [&] { return ask(); })) return {};
    place(may_be_none);
    return prefix();
  }

 private:
  using Kind = CopiesOfPod::Kind;

  bool ask() {
    std::vector<PodToPlace> to_place;
    to_place.reserve(pods_.size());
    for (const ReadPod* const pod : pods_) to_place.push_back(pod->placeable(question_.as_moved));
    const ForBlocks in_blocks = cluster_->in_blocks();
    answer_ = fork_.copies_that_fit(to_place, {question_.among, question_.on_nodes, &in_blocks});
    return !answer_.pods.empty();
  }

  /// In as many threads as the cluster has, each with a fork of its own, in the order of the pods.
  void place(bool may_be_none) {
    std::vector<std::size_t> waiting;
    for (std::size_t i = 0; i < pods_.size(); ++i)
      if (answer_.pods[i].same_as == i && answer_.pods[i].kind != Kind::kKnown) waiting.push_back(i);
    if (waiting.empty()) return;
    // Preparing waits for all forks, and they for it.
    std::vector<const ReadPod*> shapes;
    shapes.reserve(waiting.size());
    for (const std::size_t i : waiting) shapes.push_back(pods_[i]);
    std::vector<PodHandlePtr> first;
    for (std::unique_ptr<ReadPod>& copy : cluster_->copy_of_each(shapes, question_.as_moved))
      first.push_back(std::make_shared<const PodHandle>(cluster_, std::move(copy)));
    std::mutex parent_mutex;
    std::atomic<std::size_t> next = 0;
    const auto place_next = [&](std::size_t /*begin*/, std::size_t /*end*/) {
      for (std::size_t w = next++; w < waiting.size(); w = next++) {
        const std::size_t i = waiting[w];
        const bool heeds_deadline = may_be_none || i > 0;
        if (watch_.is_over(heeds_deadline)) return;
        PlacedCopies copies(fork_, parent_mutex, cluster_, *pods_[i], first[w], question_, watch_, heeds_deadline);
        counted_[i] = copies.count(answer_.pods[i].kind == Kind::kAfterFirst);
        if (counted_[i] && question_.on_nodes) copies.write(row(i));
      }
    };
    const std::size_t threads = std::min(cluster_->threads(), waiting.size());
    if (threads > 1) {
      cluster_->in_blocks()(threads, place_next);
    } else {
      place_next(0, 1);
    }
    first.clear();
    cluster_->forget_released();
  }

  std::span<std::int32_t> row(std::size_t i) {
    return std::span(answer_.on_node).subspan(i * answer_.slot_count, answer_.slot_count);
  }

  CopyCounts prefix() {
    CopyCounts counts;
    for (std::size_t i = 0; i < pods_.size(); ++i) {
      const CopiesOfPod& known = answer_.pods[i];
      if (known.same_as != i) {
        counts.pods.push_back(counts.pods[known.same_as]);
        if (question_.on_nodes) std::ranges::copy(row(known.same_as), row(i).begin());
      } else if (known.kind == Kind::kKnown) {
        counts.pods.push_back({known.count, known.error});
      } else if (counted_[i]) {
        counts.pods.push_back(*std::move(counted_[i]));
      } else {
        break;
      }
    }
    counts.on_node = std::move(answer_.on_node);
    counts.slot_count = answer_.slot_count;
    return counts;
  }

  Fork& fork_;
  const std::shared_ptr<Cluster>& cluster_;
  std::span<const ReadPod* const> pods_;
  const CopyQuestion& question_;
  const StopWatch& watch_;
  CopiesAnswer answer_;
  std::vector<std::optional<CopyCounts::OfPod>> counted_;  ///< of those that are placed
};

}  // namespace

CopyCounts count_copies(Fork& fork, const std::shared_ptr<Cluster>& cluster, std::span<const ReadPod* const> pods,
                        const CopyQuestion& question, const StopWatch& watch) {
  refuse_without_end(pods, cluster->engine());
  CopyCounts counts;
  PieceSizes pieces(watch, cluster->threads(), kShapesAtOnce);
  while (counts.pods.size() < pods.size() && !watch.is_over(!counts.pods.empty())) {
    const std::size_t before = counts.pods.size();
    const auto some = pods.subspan(before, std::min(pieces.next(), pods.size() - before));
    CopyCounts next = SomeCopies(fork, cluster, some, question, watch).run(before > 0);
    std::ranges::move(next.pods, std::back_inserter(counts.pods));
    if (question.on_nodes) counts.on_node.insert(counts.on_node.end(), next.on_node.begin(), next.on_node.end());
    counts.slot_count = next.slot_count;
    if (next.pods.size() < some.size()) break;
  }
  return counts;
}

namespace {

class Counting {
 public:
  Counting(const State& state, const std::shared_ptr<Cluster>& cluster, const MaxReplicasOptions& options,
           const StopWatch& watch)
      : state_(state),
        cluster_(cluster),
        options_(options),
        watch_(watch),
        pieces_(watch, cluster->threads(), kShapesAtOnce),
        numbers_(numbers_of(*state.facts.roster, options.nodes)),
        result_(std::make_unique<Result>(cluster, state.facts.version)),
        counts_(result_->column<std::int64_t>(BERTH_COLUMN_COUNT)),
        judged_(result_->column<std::uint8_t>(BERTH_COLUMN_JUDGED)),
        plugin_(result_->column<std::uint32_t>(BERTH_COLUMN_PLUGIN)),
        reasons_(result_->column<std::uint32_t>(BERTH_COLUMN_REASONS)) {
    if (options.on_nodes) {
      result_->column<std::uint32_t>(BERTH_COLUMN_NODE) = numbers_;
      on_node_ = &result_->column<std::int32_t>(BERTH_COLUMN_COUNT_ON_NODE);
    }
    if (!options.keys.empty()) read_values();
  }

  Answer run(std::span<const PodHandlePtr> shapes) {
    if (on_node_ != nullptr) on_node_->reserve(shapes.size() * numbers_.size());
    for (std::size_t i = 0; i < shapes.size();) {
      if (const berth_status why = watch_.stop(i > 0); why != BERTH_OK) return {std::move(result_), why};
      const auto [asked, answered] = answer_front(shapes.subspan(i));
      if (answered < asked) return {std::move(result_), watch_.stop()};
      i += answered;
    }
    return {std::move(result_), BERTH_OK};
  }

 private:
  bool as_moved() const { return (options_.flags & BERTH_AS_MOVED) != 0; }
  /// The values of the keys, and where a node's value is among them.
  void read_values() {
    auto& begin = result_->column<std::uint32_t>(BERTH_COLUMN_VALUE_BEGIN);
    auto& value = result_->column<std::uint32_t>(BERTH_COLUMN_VALUE);
    of_value_ = &result_->column<std::int64_t>(BERTH_COLUMN_COUNT_OF_VALUE);
    for (const char* const key : options_.keys) {
      begin.push_back(static_cast<std::uint32_t>(value.size()));
      std::map<std::string_view, std::uint32_t> position_of;
      for (const std::uint32_t number : numbers_)
        if (const auto found = state_.facts.roster->find(number)->labels.find(key)) position_of.try_emplace(*found, 0);
      for (auto& [text, position] : position_of) {
        position = static_cast<std::uint32_t>(value.size());
        value.push_back(result_->number_of(text));
      }
      std::vector<std::uint32_t>& of_node = value_of_node_.emplace_back();
      for (const std::uint32_t number : numbers_) {
        const auto found = state_.facts.roster->find(number)->labels.find(key);
        of_node.push_back(found ? position_of.at(*found) : kNoValue);
      }
    }
    begin.push_back(static_cast<std::uint32_t>(value.size()));
    value_count_ = value.size();
  }

  struct Counts {
    std::size_t asked = 0;
    std::size_t answered = 0;
  };
  Counts answer_front(std::span<const PodHandlePtr> shapes) {
    const ReadPod& front = *shapes.front()->pod;
    if (front.not_judged) {
      add_shape(BERTH_JUDGED_NOT, 0, front.not_judged->plugin, front.not_judged->text);
      return {1, 1};
    }
    const MovedState moved(state_, front, options_.flags);
    if (&moved.state().fork != &state_.fork) {
      const ReadPod* const one = &front;
      return answer({&one, 1}, moved.state());
    }
    std::vector<const ReadPod*> some;
    const std::size_t most = pieces_.next();
    for (const PodHandlePtr& shape : shapes) {
      const ReadPod& pod = *shape->pod;
      const bool stands = as_moved() && !state_.fork.node_of_pod(pod.uid).empty();
      if (pod.not_judged || stands || some.size() == most) break;
      some.push_back(&pod);
    }
    return answer(some, state_);
  }

  Counts answer(std::span<const ReadPod* const> pods, const State& state) {
    refuse_without_end(pods, cluster_->engine());
    const std::optional<std::vector<bool>> among = nodes_among(state, options_.nodes, options_.flags);
    const bool on_nodes = options_.on_nodes || !options_.keys.empty();
    const CopyQuestion question{among ? &*among : nullptr, as_moved(), on_nodes};
    const CopyCounts counts = SomeCopies(state.fork, cluster_, pods, question, watch_).run(!counts_.empty());
    if (counts.pods.empty()) return {pods.size(), 0};
    if (on_nodes && (asked_.empty() || &state.fork != &state_.fork))  // a number of a node is that of one fork
      asked_ = asked_nodes(state, numbers_, options_.flags);
    for (std::size_t i = 0; i < counts.pods.size(); ++i) {
      const auto& [count, error] = counts.pods[i];
      add_shape(pods[i]->ignores ? BERTH_JUDGED_IGNORING : BERTH_JUDGED, count, "", error);
      if (on_nodes) add_nodes(asked_, std::span(counts.on_node).subspan(i * counts.slot_count, counts.slot_count));
    }
    if (&state.fork != &state_.fork) asked_.clear();
    return {pods.size(), counts.pods.size()};
  }

  void add_shape(std::uint8_t judged, std::int64_t count, std::string_view plugin, std::string_view reasons) {
    counts_.push_back(count);
    judged_.push_back(judged);
    plugin_.push_back(result_->number_of(plugin));
    reasons_.push_back(result_->number_of(reasons));
    if (on_node_ != nullptr) on_node_->resize(counts_.size() * numbers_.size());
    if (of_value_ != nullptr) of_value_->resize(counts_.size() * value_count_);
  }

  /// Of the shape that was added last.
  void add_nodes(std::span<const AskedNode> nodes, std::span<const std::int32_t> on_node) {
    const std::size_t shape = counts_.size() - 1;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const auto at = static_cast<std::size_t>(nodes[n].index.value);
      if (nodes[n].index == kNoNode || at >= on_node.size() || on_node[at] == 0) continue;
      if (on_node_ != nullptr) (*on_node_)[shape * numbers_.size() + n] = on_node[at];
      for (const std::vector<std::uint32_t>& value_of_node : value_of_node_)
        if (value_of_node[n] != kNoValue) (*of_value_)[shape * value_count_ + value_of_node[n]] += on_node[at];
    }
  }

  static constexpr std::uint32_t kNoValue = UINT32_MAX;

  const State& state_;
  const std::shared_ptr<Cluster>& cluster_;
  const MaxReplicasOptions& options_;
  const StopWatch& watch_;
  PieceSizes pieces_;
  std::vector<std::uint32_t> numbers_;
  std::vector<AskedNode> asked_;  ///< [numbers_] in the state that is asked about; empty: not looked up yet
  std::unique_ptr<Result> result_;
  std::vector<std::int64_t>& counts_;
  std::vector<std::uint8_t>& judged_;
  std::vector<std::uint32_t>& plugin_;
  std::vector<std::uint32_t>& reasons_;
  std::vector<std::int32_t>* on_node_ = nullptr;   ///< null: not wanted
  std::vector<std::int64_t>* of_value_ = nullptr;  ///< null: no key is asked for
  std::size_t value_count_ = 0;
  std::vector<std::vector<std::uint32_t>> value_of_node_;  ///< [key][position in numbers_]
};

}  // namespace

Answer max_replicas(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const PodHandlePtr> shapes,
                    const MaxReplicasOptions& options, const StopWatch& watch) {
  return Counting(state, cluster, options, watch).run(shapes);
}

}  // namespace berth::capi
