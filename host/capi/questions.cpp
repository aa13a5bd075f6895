// SPDX-License-Identifier: Apache-2.0
#include "host/capi/questions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "host/capi/api_error.h"

namespace berth::capi {
namespace {

/// Adds the last `count` elements once more.
template <class Element>
void repeat_last(std::vector<Element>& column, std::size_t count) {
  const std::size_t from = column.size() - count;
  for (std::size_t i = from; i < from + count; ++i) column.push_back(column[i]);
}

/// The verdict columns of a result.
class VerdictColumns {
 public:
  /// Bytes of one pod on one node.
  static constexpr std::size_t kBytesOfPair = 3 * sizeof(std::uint8_t) + 2 * sizeof(std::uint32_t);

  VerdictColumns(Result& result, std::size_t pod_count, std::size_t node_count)
      : result_(result),
        fits_(result.column<std::uint8_t>(BERTH_COLUMN_FITS)),
        judged_(result.column<std::uint8_t>(BERTH_COLUMN_JUDGED)),
        code_(result.column<std::uint8_t>(BERTH_COLUMN_CODE)),
        phase_(result.column<std::uint8_t>(BERTH_COLUMN_PHASE)),
        plugin_(result.column<std::uint32_t>(BERTH_COLUMN_PLUGIN)),
        reasons_(result.column<std::uint32_t>(BERTH_COLUMN_REASONS)) {
    judged_.reserve(pod_count);
    const std::size_t pairs = pod_count * node_count;
    fits_.reserve(pairs);
    code_.reserve(pairs);
    phase_.reserve(pairs);
    plugin_.reserve(pairs);
    reasons_.reserve(pairs);
  }

  /// A pod that fits on all nodes, until refuse() says otherwise.
  void add_pod(std::uint8_t judged, std::size_t node_count) {
    judged_.push_back(judged);
    first_ = fits_.size();
    const std::size_t end = first_ + node_count;
    fits_.resize(end, 1);
    code_.resize(end, static_cast<std::uint8_t>(StatusCode::kSuccess));
    phase_.resize(end, BERTH_PHASE_NONE);
    plugin_.resize(end);  // 0 is the empty text
    reasons_.resize(end);
  }
  /// @param n  of the nodes of the pod that was added last
  void refuse(std::size_t n, StatusCode code, std::uint8_t phase, std::string_view plugin, std::uint32_t reasons) {
    if (plugin != latest_plugin_) {
      latest_plugin_ = plugin;
      latest_number_ = result_.number_of(plugin);
    }
    fits_[first_ + n] = 0;
    code_[first_ + n] = static_cast<std::uint8_t>(code);
    phase_[first_ + n] = phase;
    plugin_[first_ + n] = latest_number_;
    reasons_[first_ + n] = reasons;
  }
  void repeat_pod(std::size_t node_count) {
    judged_.push_back(judged_.back());
    repeat_last(fits_, node_count);
    repeat_last(code_, node_count);
    repeat_last(phase_, node_count);
    repeat_last(plugin_, node_count);
    repeat_last(reasons_, node_count);
  }
  std::uint32_t number_of(std::string_view text) { return result_.number_of(text); }

 private:
  Result& result_;
  std::vector<std::uint8_t>& fits_;
  std::vector<std::uint8_t>& judged_;
  std::vector<std::uint8_t>& code_;
  std::vector<std::uint8_t>& phase_;
  std::vector<std::uint32_t>& plugin_;
  std::vector<std::uint32_t>& reasons_;
  std::size_t first_ = 0;  ///< in the columns: of the pod that was added last
  std::string latest_plugin_;
  std::uint32_t latest_number_ = 0;
};

/// The columns of BERTH_WITH_SCORES.
class ScoreColumns {
 public:
  static constexpr std::size_t kBytesOfPair = sizeof(std::int64_t);

  ScoreColumns(Result& result, std::size_t pod_count, std::size_t node_count)
      : result_(result),
        node_count_(node_count),
        score_(result.column<std::int64_t>(BERTH_COLUMN_SCORE)),
        message_(result.column<std::uint32_t>(BERTH_COLUMN_MESSAGE)) {
    score_.reserve(pod_count * node_count);
    message_.reserve(pod_count);
  }

  void add_pod_without_scores() { add_pod({}, {}); }
  /// @param positions  of the nodes that fit, ascending, in the answer
  void add_pod(std::span<const std::size_t> positions, const PodTotals& totals) {
    message_.push_back(result_.number_of(totals.error));
    const std::size_t from = score_.size();
    score_.resize(from + node_count_, BERTH_NO_SCORE);
    if (!totals.error.empty()) return;
    for (std::size_t i = 0; i < positions.size(); ++i) score_[from + positions[i]] = totals.nodes[i];
  }
  void repeat_pod() {
    message_.push_back(message_.back());
    repeat_last(score_, node_count_);
  }

 private:
  Result& result_;
  std::size_t node_count_;
  std::vector<std::int64_t>& score_;
  std::vector<std::uint32_t>& message_;
};

std::uint8_t phase_of(bool is_of_pre_filter) { return is_of_pre_filter ? BERTH_PHASE_PRE_FILTER : BERTH_PHASE_FILTER; }

void refuse_without_node(std::size_t n, bool is_skipped, VerdictColumns& columns) {
  const std::string_view why = is_skipped ? "the node is cordoned" : "there is no such node";
  columns.refuse(n, StatusCode::kUnschedulableAndUnresolvable, BERTH_PHASE_NODE, "", columns.number_of(why));
}

/// Of a pod that is not judged, or whose cycle ends with an error whatever the node.
void refuse_all(std::string_view plugin, std::string_view text, std::size_t node_count, VerdictColumns& columns) {
  const std::uint32_t reasons = columns.number_of(text);
  for (std::size_t n = 0; n < node_count; ++n) columns.refuse(n, StatusCode::kError, BERTH_PHASE_NONE, plugin, reasons);
}

/// Of those that are there and not skipped.
std::vector<NodeIndex> existing_of(std::span<const AskedNode> nodes) {
  std::vector<NodeIndex> indexes;
  indexes.reserve(nodes.size());
  for (const AskedNode& node : nodes)
    if (node.index != kNoNode && !node.is_skipped) indexes.push_back(node.index);
  return indexes;
}

/// The totals of the nodes that are there and fit. @param fits  fits(i) of the i-th of these that are there
template <class Fits>
void score_pod(Fork& fork, const PodToPlace& pod, std::span<const AskedNode> nodes, Fits fits, ScoreColumns& scores) {
  std::vector<NodeIndex> feasible;
  std::vector<std::size_t> positions;
  std::size_t next = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].index == kNoNode || nodes[n].is_skipped || !fits(next++)) continue;
    feasible.push_back(nodes[n].index);
    positions.push_back(n);
  }
  scores.add_pod(positions, fork.totals_on(pod, feasible));
}

/// The statuses of the nodes that refuse. @param indexes  of the verdicts
std::vector<NodeStatus> refusals_of(Fork& fork, const PodToPlace& pod, std::span<const NodeIndex> indexes,
                                    const PodVerdicts& verdicts) {
  std::vector<NodeIndex> refusing;
  for (std::size_t i = 0; i < verdicts.nodes.size(); ++i)
    if (!verdicts.nodes[i].accepts()) refusing.push_back(indexes[i]);
  if (refusing.empty()) return {};
  return fork.statuses_on(pod, refusing).nodes;
}

/// @param scores  null: they are not wanted
void check_pod(Fork& fork, const ReadPod& pod, const CheckOptions& options, std::span<const AskedNode> nodes,
               std::span<const NodeIndex> indexes, VerdictColumns& columns, ScoreColumns* scores) {
  if (pod.not_judged) {
    columns.add_pod(BERTH_JUDGED_NOT, nodes.size());
    if (scores != nullptr) scores->add_pod_without_scores();
    return refuse_all(pod.not_judged->plugin, pod.not_judged->text, nodes.size(), columns);
  }
  const PodToPlace& to_place = pod.placeable((options.flags & BERTH_AS_MOVED) != 0);
  const bool with_reasons = (options.flags & BERTH_NO_REASONS) == 0;
  const PodVerdicts verdicts = fork.verdicts_on(to_place, indexes);
  const bool is_error = !verdicts.error.empty();
  std::vector<NodeStatus> refusals;
  if (with_reasons && !is_error) refusals = refusals_of(fork, to_place, indexes, verdicts);
  // Before anything else is added: a call that is cancelled here answers the pods before this one.
  if (scores != nullptr && !is_error) {
    score_pod(fork, to_place, nodes, [&](std::size_t i) { return verdicts.nodes[i].accepts(); }, *scores);
  } else if (scores != nullptr) {
    scores->add_pod_without_scores();
  }
  columns.add_pod(pod.ignores ? BERTH_JUDGED_IGNORING : BERTH_JUDGED, nodes.size());
  if (is_error) return refuse_all("", verdicts.error, nodes.size(), columns);
  std::size_t next = 0;
  std::size_t next_refusal = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].index == kNoNode || nodes[n].is_skipped) {
      refuse_without_node(n, nodes[n].is_skipped, columns);
      continue;
    }
    const NodeVerdict& verdict = verdicts.nodes[next++];
    if (verdict.accepts()) continue;
    const std::uint32_t reasons = with_reasons ? columns.number_of(refusals[next_refusal++].status.message()) : 0;
    columns.refuse(n, verdict.code, phase_of(verdict.is_of_pre_filter), verdict.plugin, reasons);
  }
}

}  // namespace

void check_flags(std::uint32_t flags, std::uint32_t allowed) {
  if ((flags & ~allowed) != 0) throw ApiError(BERTH_E_ARGUMENT, "flags", "has bits that mean nothing here");
}

bool open_engine(const State& state, const StopWatch& watch, bool heeds_deadline) {
  const auto ask = [&] {
    state.fork.node_of_pod({});
    return true;
  };
  if (!watch.can_stop()) return true;  // whoever asks first opens it
  return !watch.is_over(heeds_deadline) && unless_interrupted(watch, heeds_deadline, ask);
}

AskedNode asked_node(const State& state, std::uint32_t number, std::uint32_t flags) {
  return asked_node(state, number, flags, indexes_for(state, 1).get());
}

AskedNode asked_node(const State& state, std::uint32_t number, std::uint32_t flags, const NodeIndexes* indexes) {
  AskedNode node{number, kNoNode, false};
  const Roster::Entry* const entry = state.facts.roster->find(number);
  if (entry == nullptr) return node;
  node.is_skipped = entry->is_cordoned && (flags & BERTH_SKIP_CORDONED) != 0;
  node.index = indexes != nullptr
                   ? indexes->of_entry[static_cast<std::size_t>(entry - &state.facts.roster->entries()[0])]
                   : state.fork.find_node(*state.cluster.nodes().name_of(number));
  return node;
}

std::vector<AskedNode> asked_nodes(const State& state, std::span<const std::uint32_t> numbers, std::uint32_t flags) {
  std::vector<AskedNode> nodes;
  nodes.reserve(numbers.size());
  const std::span<const Roster::Entry> entries = state.facts.roster->entries();
  const std::shared_ptr<const NodeIndexes> indexes = indexes_for(state, numbers.size());
  if (indexes == nullptr) {
    for (const std::uint32_t number : numbers) nodes.push_back(asked_node(state, number, flags));
    return nodes;
  }
  std::size_t at = 0;
  for (const std::uint32_t number : numbers) {
    if (at > 0 && entries[at - 1].number >= number) at = 0;  // usually they ascend
    while (at < entries.size() && entries[at].number < number) ++at;
    AskedNode& node = nodes.emplace_back(AskedNode{number, kNoNode, false});
    if (at == entries.size() || entries[at].number != number) continue;
    node.is_skipped = entries[at].is_cordoned && (flags & BERTH_SKIP_CORDONED) != 0;
    node.index = indexes->of_entry[at];
  }
  return nodes;
}

std::vector<std::uint32_t> numbers_of(const Roster& roster, const NodeNumbers* nodes) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(roster.entries().size());
  for (const Roster::Entry& entry : roster.entries())
    if (nodes == nullptr || nodes->contains(entry.number)) numbers.push_back(entry.number);
  return numbers;
}

std::optional<std::vector<bool>> nodes_among(const State& state, const NodeNumbers* nodes, std::uint32_t flags) {
  const Roster& roster = *state.facts.roster;
  const bool skips =
      (flags & BERTH_SKIP_CORDONED) != 0 && std::ranges::any_of(roster.entries(), &Roster::Entry::is_cordoned);
  if (nodes == nullptr && !skips) return std::nullopt;
  std::vector<bool> among;
  for (const AskedNode& node : asked_nodes(state, numbers_of(roster, nodes), flags)) {
    if (node.index == kNoNode || node.is_skipped) continue;
    const auto at = static_cast<std::size_t>(node.index.value);
    if (among.size() <= at) among.resize(at + 1);
    among[at] = true;
  }
  return among;
}

MovedState::MovedState(const State& state, const ReadPod& pod, std::uint32_t flags) : given_(state) {
  if ((flags & BERTH_AS_MOVED) == 0 || state.fork.node_of_pod(pod.uid).empty()) return;
  fork_ = state.fork.fork();
  const ClusterChange removal = PodRemoval{pod.uid};
  fork_->apply({&removal, 1});
}

std::unique_ptr<Result> check_one(const State& given, const std::shared_ptr<Cluster>& cluster, const ReadPod& pod,
                                  std::uint32_t number, std::uint32_t flags, bool details, bool& fits) {
  const MovedState moved(given, pod, flags);
  const State state = moved.state();
  const AskedNode node = asked_node(state, number, flags);
  if (details) {
    auto result = std::make_unique<Result>(cluster, state.facts.version);
    result->column<std::uint32_t>(BERTH_COLUMN_NODE) = {number};
    VerdictColumns columns(*result, 1, 1);
    check_pod(state.fork, pod, {nullptr, flags}, {&node, 1}, existing_of({&node, 1}), columns, nullptr);
    fits = result->column<std::uint8_t>(BERTH_COLUMN_FITS).front() != 0;
    return result;
  }
  fits = false;
  if (pod.not_judged || node.index == kNoNode || node.is_skipped) return nullptr;
  const PodVerdicts verdicts = state.fork.verdicts_on(pod.placeable((flags & BERTH_AS_MOVED) != 0), {&node.index, 1});
  fits = verdicts.error.empty() && verdicts.nodes.front().accepts();
  return nullptr;
}

Answer check_bulk(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const PodHandlePtr> pods,
                  const CheckOptions& options, const StopWatch& watch) {
  auto result = std::make_unique<Result>(cluster, state.facts.version);
  const std::vector<std::uint32_t> numbers = numbers_of(*state.facts.roster, options.nodes);
  result->column<std::uint32_t>(BERTH_COLUMN_NODE) = numbers;
  const bool with_scores = (options.flags & BERTH_WITH_SCORES) != 0;
  const std::size_t bytes_of_pair = VerdictColumns::kBytesOfPair + (with_scores ? ScoreColumns::kBytesOfPair : 0);
  cluster->engine().memory.check(pods.size() * numbers.size() * bytes_of_pair);
  VerdictColumns columns(*result, pods.size(), numbers.size());
  std::optional<ScoreColumns> scores;
  if (with_scores) scores.emplace(*result, pods.size(), numbers.size());
  std::vector<AskedNode> nodes;
  std::vector<NodeIndex> indexes;
  const PodHandle* last = nullptr;
  const auto check = [&](const ReadPod& pod) {
    const MovedState moved(state, pod, options.flags);
    const State asked = moved.state();
    if (nodes.empty() || &asked.fork != &state.fork) {  // a number of a node is that of one fork
      nodes = asked_nodes(asked, numbers, options.flags);
      indexes = existing_of(nodes);
    }
    check_pod(asked.fork, pod, options, nodes, indexes, columns, scores ? &*scores : nullptr);
    if (&asked.fork != &state.fork) nodes.clear();
    return true;
  };
  for (const PodHandlePtr& handle : pods) {
    const bool heeds_deadline = last != nullptr;
    if (const berth_status why = watch.stop(heeds_deadline); why != BERTH_OK) return {std::move(result), why};
    if (last == handle.get()) {
      columns.repeat_pod(numbers.size());
      if (scores) scores->repeat_pod();
      continue;
    }
    if (!unless_interrupted(watch, heeds_deadline, [&] { return check(*handle->pod); }))
      return {std::move(result), watch.stop(heeds_deadline)};
    last = handle.get();
  }
  return {std::move(result), BERTH_OK};
}

}  // namespace berth::capi
