// SPDX-License-Identifier: Apache-2.0
#include "host/capi/counting.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "host/capi/api_error.h"
#include "host/capi/placed_copies.h"
#include "host/capi/questions.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth::capi {
namespace {

/// Shapes that are asked about at once.
constexpr std::size_t kShapesAtOnce = 1024;

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
    const std::size_t pairs = on_node_ != nullptr ? shapes.size() * numbers_.size() : 0;
    cluster_->engine().memory.check(pairs * sizeof(std::int32_t));
    if (on_node_ != nullptr) on_node_->reserve(pairs);
    if (!shapes.empty() && !open_engine(state_, watch_, false)) return {std::move(result_), watch_.stop(false)};
    for (std::size_t i = 0; i < shapes.size();) {
      if (const berth_status why = watch_.stop(i > 0); why != BERTH_OK) return {std::move(result_), why};
      const auto [asked, answered] = answer_front(shapes.subspan(i));
      if (answered < asked) return {std::move(result_), watch_.stop()};
      i += answered;
      watch_.tell(i, shapes.size());
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
