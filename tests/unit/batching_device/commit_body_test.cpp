// SPDX-License-Identifier: Apache-2.0
// The commit of a batch by one thread and by several: the same outcomes, columns, counters and rows. Only
// headers are compiled here, so that a build with ThreadSanitizer needs one file.
#include "batching/device/commit_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "batching/device/team.h"
#include "batching/device/window_body.h"
#include "tests/support/thread_team.h"
#include "tests/support/window_lists.h"
#include "tests/unit/batching_device/hand_made_row.h"

namespace berth {
namespace {

constexpr std::int32_t kNodes = 150;
constexpr std::int32_t kZones = 5;
constexpr std::int32_t kClasses = 6;
constexpr std::int32_t kLayouts = 3;  ///< class c has layout c % kLayouts
/// Domain columns and tables: each node by itself, then zones.
constexpr std::int32_t kByNode = 0;
constexpr std::int32_t kByZone = 1;

/// Classes that request different amounts and count one another's pods. A third of the rows is one cell, and a third
/// has one cell per zone: each thread selects from those alone, and in the latter reads counters that the next commit
/// changes. The last third is laid out by node, and the threads select together.
class HandMadeCluster {
 public:
  HandMadeCluster() : one_cell_({kNodes}), zones_(std::vector<std::int32_t>(kZones, kNodes / kZones)) {
    lay_out();
    make_tables();
    for (std::int32_t c = 0; c < kClasses; ++c) make_class(c);
    make_rows();
    attach();
    for (const DeviceRow& row : rows_) build(row);
  }

  /// Commits the batch with a team of this many threads; 0: with SequentialTeam.
  std::vector<DeviceOutcome> commit(const std::vector<std::int32_t>& row_of_pod, int threads) {
    std::vector<std::int32_t> last_pod(kClasses, -1);
    for (std::size_t i = 0; i < row_of_pod.size(); ++i)
      last_pod[static_cast<std::size_t>(row_of_pod[i])] = static_cast<std::int32_t>(i);
    std::vector<DeviceOutcome> outcomes(row_of_pod.size());
    std::int32_t committed = -1;
    const DeviceBatch batch{.row_of_pod = row_of_pod.data(),
                            .last_pod = last_pod.data(),
                            .pod_count = static_cast<std::int32_t>(row_of_pod.size()),
                            .row_count = kClasses,
                            .outcomes = outcomes.data(),
                            .committed_count = &committed};
    if (threads == 0) {
      commit_batch(SequentialTeam(), state_, batch);
    } else {
      test::run_together(threads, [&](const test::ThreadTeam& team) { commit_batch(team, state_, batch); });
    }
    EXPECT_EQ(committed, static_cast<std::int32_t>(row_of_pod.size()));
    return outcomes;
  }

  /// Commits one window after the other, with lists of `tops_max` nodes; none of the rows is laid out by node. Where
  /// the lists do not suffice for the first pod, it is committed without a window.
  std::vector<DeviceOutcome> commit_in_windows(const std::vector<std::int32_t>& row_of_pod, int threads,
                                               std::int32_t tops_max) {
    std::vector<DeviceOutcome> all;
    while (all.size() < row_of_pod.size()) {
      state_.scratch.first_mark = static_cast<std::int32_t>(all.size()) + 1;
      const std::vector<std::int32_t> rest(row_of_pod.begin() + static_cast<std::ptrdiff_t>(all.size()),
                                           row_of_pod.end());
      std::vector<DeviceOutcome> answered = commit_window_of(rest, threads, tops_max);
      windows_ += answered.empty() ? 0 : 1;
      if (answered.empty()) answered = commit({rest.front()}, 0);
      all.insert(all.end(), answered.begin(), answered.end());
      for (const DeviceRow& row : rows_) build(row);
    }
    return all;
  }
  int windows() const { return windows_; }

  /// Everything that a commit writes but the rows.
  std::vector<std::vector<std::int64_t>> columns() const {
    std::vector<std::vector<std::int64_t>> all{requested_, milli_cpu_, memory_, pods_, counts_, totals_};
    all.emplace_back(port_taken_.begin(), port_taken_.end());
    return all;
  }
  std::vector<std::vector<std::int64_t>> written() const {
    std::vector<std::vector<std::int64_t>> all = columns();
    all.insert(all.end(), keys_.begin(), keys_.end());
    return all;
  }

 private:
  std::vector<DeviceOutcome> commit_window_of(const std::vector<std::int32_t>& row_of_pod, int threads,
                                              std::int32_t tops_max) {
    const auto pods = static_cast<std::int32_t>(row_of_pod.size());
    std::vector<DeviceOutcome> outcomes(row_of_pod.size());
    std::vector<DeviceTop> tops(static_cast<std::size_t>(kClasses * kZones * tops_max));
    std::vector<DeviceTopList> lists(kClasses * kZones);
    std::vector<std::uint32_t> touched_nodes(node_set_words(kNodes), 0);
    const auto memory = std::make_unique<WindowMemory>();
    std::int32_t committed = -1;
    const DeviceBatch batch{.row_of_pod = row_of_pod.data(),
                            .pod_count = pods,
                            .row_count = kClasses,
                            .outcomes = outcomes.data(),
                            .committed_count = &committed};
    const DeviceWindow window{tops.data(), lists.data(), touched_nodes.data(), kZones, tops_max};
    test::fill_window_lists(state_, batch, window);
    if (threads == 0) {
      commit_window(SequentialTeam(), state_, batch, window, WindowMemoryAt{memory.get()});
    } else {
      test::run_together(threads, [&](const test::ThreadTeam& team) {
        commit_window(team, state_, batch, window, WindowMemoryAt{memory.get()});
      });
    }
    EXPECT_GE(committed, 0);
    outcomes.resize(static_cast<std::size_t>(committed));
    return outcomes;
  }
  void lay_out() {
    std::mt19937 dice(9);
    for (std::int32_t node = 0; node < kNodes; ++node) {
      base_.push_back(static_cast<std::int32_t>(dice() % 3));
      domain_of_.push_back(node + 1);
    }
    for (std::int32_t node = 0; node < kNodes; ++node) domain_of_.push_back(node % kZones + 1);
    layouts_[0] = one_cell_.layout();
    layouts_[0].in_order = true;
    layouts_[1].by_node = true;
    layouts_[1].cell_count = kNodes;
    layouts_[1].level_offset[1] = kNodes;
    layouts_[2] = zones_.layout();  // which deals node after node to zone after zone, as domain_of_ does
    layouts_[2].domains = zone_of_cell_;
    layouts_[2].soft_labels = has_label_;
    for (DeviceLayout& layout : layouts_) layout.base = base_.data();
  }
  void make_tables() {
    for (const std::int32_t column : {kByNode, kByZone}) {
      DeviceTable table;
      table.first = static_cast<std::int64_t>(counts_.size());
      table.column = column;
      table.domain_count = table.existing_domains = column == kByNode ? kNodes : kZones;
      tables_.push_back(table);
      counts_.resize(counts_.size() + static_cast<std::size_t>(table.domain_count) + 1, 0);
    }
    exists_.assign(counts_.size(), 1);
    for (std::int32_t size = 0; size <= kNodes; ++size) weights_.push_back(1.0 + size / 8.0);
  }
  void make_class(std::int32_t c) {
    const std::int64_t amount = 300 + 100 * c;
    DeviceClass pod_class;
    pod_class.draw_seed = static_cast<std::uint32_t>(17 * c);
    pod_class.port_set = c == 4 ? 0 : -1;
    const DeviceList one{static_cast<std::int32_t>(requests_.size()), 1};
    requests_.push_back({0, amount, 1});
    pod_class.filter = pod_class.fit = pod_class.delta = one;
    pod_class.delta_milli_cpu = amount;
    pod_class.moves = {static_cast<std::int32_t>(moves_.size()), 2};
    moves_.insert(moves_.end(), {{kByNode, 1}, {kByZone, 1}});
    if (c % kLayouts != 0) {
      const bool by_node = c % kLayouts == 1;
      pod_class.has_topology = true;
      const auto first = static_cast<std::int32_t>(reads_.size());
      reads_.push_back({.table = kByZone, .attribute = 0, .max_skew = 2 + c, .self = 1});
      reads_.push_back({.table = kByZone, .attribute = 0, .max_skew = 1, .label_column = kByZone});
      reads_.push_back(
          {.table = kByNode, .attribute = 0, .max_skew = 1, .label_column = kByNode, .counts_nodes = true});
      reads_.push_back({.table = by_node ? kByNode : kByZone, .attribute = 0, .multiplier = c - 2});
      pod_class.hard = {first, 1};
      pod_class.soft = {first + 1, by_node ? 2 : 1};
      pod_class.preferred = {first + 3, 1};
    }
    classes_.push_back(pod_class);
  }
  void make_rows() {
    rows_.resize(kClasses);
    for (std::int32_t c = 0; c < kClasses; ++c) {
      const DeviceLayout& layout = layouts_[c % kLayouts];
      const auto entries = static_cast<std::size_t>(layout.level_offset[layout.level_count]);
      keys_.emplace_back(entries, -1);
      best_.emplace_back(entries, -1);
      live_.emplace_back(static_cast<std::size_t>(layout.cell_count), 0);
      rows_[static_cast<std::size_t>(c)].pod_class = c;
      rows_[static_cast<std::size_t>(c)].layout = c % kLayouts;
    }
    for (std::size_t c = 0; c < rows_.size(); ++c) {
      rows_[c].keys = keys_[c].data();
      rows_[c].best = best_[c].data();
      rows_[c].live = live_[c].data();
      rows_[c].left_out = left_out_.data();
    }
  }
  static std::vector<std::uint32_t> from_zero() {
    std::vector<std::uint32_t> ranks(kNodes);
    std::iota(ranks.begin(), ranks.end(), 0U);
    return ranks;
  }
  void attach() {
    profile_.checks_fit = profile_.checks_ports = profile_.scores_anything = true;
    profile_.weight_fit = profile_.weight_spread = profile_.weight_pod_affinity = 1;
    state_.columns = {.node_count = kNodes,
                      .stride = kNodes,
                      .allocatable = allocatable_.data(),
                      .allowed_pods = allowed_pods_.data(),
                      .name_hash = name_hash_.data(),
                      .rank = ranks_.data(),
                      .requested = requested_.data(),
                      .non_zero_milli_cpu = milli_cpu_.data(),
                      .non_zero_memory_bytes = memory_.data(),
                      .pod_count = pods_.data(),
                      .port_taken = port_taken_.data()};
    state_.counts.stride = kNodes;
    state_.counts.domain_of = domain_of_.data();
    state_.counts.tables = tables_.data();
    state_.counts.exists = exists_.data();
    state_.counts.weight_of_size = weights_.data();
    state_.counts.counts = counts_.data();
    state_.counts.totals = totals_.data();
    state_.classes = {classes_.data(), &profile_, requests_.data(), reads_.data(), moves_.data(), &conflict_, 1};
    state_.rows = {rows_.data(), layouts_};
    state_.scratch = {seen_.data(), kNodes, 1};
  }
  void build(const DeviceRow& row) {
    const RowView view(state_, row);
    for (NodeKey& key : keys_[static_cast<std::size_t>(row.pod_class)]) key = 0;
    for (std::int32_t level = 1; level < view.layout.level_count; ++level)
      for (std::int32_t e = 0; e < view.layout.level_offset[level + 1] - view.layout.level_offset[level]; ++e)
        build_entry(view, level, e);
    for (std::int32_t node = 0; node < kNodes; ++node) refresh_node(state_, row, node);
  }

  using Longs = std::vector<std::int64_t>;
  test::HandMadeRow one_cell_, zones_;
  std::int32_t zone_of_cell_[kZones] = {1, 2, 3, 4, 5};
  std::uint64_t has_label_[kZones] = {1, 1, 1, 1, 1};
  DeviceLayout layouts_[kLayouts];
  DeviceProfile profile_;
  std::uint8_t conflict_ = 1;
  std::vector<std::int32_t> base_, domain_of_,
      seen_ = std::vector<std::int32_t>(kDeviceConstraintsMax * (kNodes + 1), 0);
  std::vector<DeviceTable> tables_;
  std::vector<std::uint8_t> exists_, port_taken_ = std::vector<std::uint8_t>(kNodes, 0);
  std::vector<double> weights_;
  std::vector<std::uint64_t> name_hash_ = std::vector<std::uint64_t>(kNodes, 77);
  std::vector<std::uint32_t> ranks_ = from_zero();
  Longs allocatable_ = Longs(2 * kNodes, 1500), allowed_pods_ = Longs(kNodes, 4), requested_ = Longs(2 * kNodes, 0),
        milli_cpu_ = Longs(kNodes, 0), memory_ = Longs(kNodes, 0), pods_ = Longs(kNodes, 0), totals_ = Longs(2, 0),
        counts_;
  std::vector<DeviceClass> classes_;
  std::vector<DeviceRequest> requests_;
  std::vector<DeviceRead> reads_;
  std::vector<DeviceMove> moves_;
  std::vector<DeviceRow> rows_;
  std::vector<std::vector<NodeKey>> keys_;
  std::vector<std::vector<std::int32_t>> best_, live_;
  std::vector<std::uint32_t> left_out_ = std::vector<std::uint32_t>(node_set_words(kNodes), 0);  ///< of every row
  DeviceState state_;
  int windows_ = 0;
};

std::vector<std::int64_t> numbers_of(const std::vector<DeviceOutcome>& outcomes) {
  std::vector<std::int64_t> numbers;
  for (const DeviceOutcome& outcome : outcomes)
    numbers.insert(numbers.end(), {static_cast<std::int64_t>(outcome.kind), outcome.node, outcome.total});
  return numbers;
}

TEST(CommitBodyTest, CommitsAreTheSameForAnyNumberOfThreads) {
  std::mt19937 dice(10);
  std::vector<std::int32_t> row_of_pod;
  for (int i = 0; i < 120; ++i) row_of_pod.push_back(static_cast<std::int32_t>(dice() % kClasses));
  HandMadeCluster alone;
  const std::vector<std::int64_t> expected = numbers_of(alone.commit(row_of_pod, 0));
  for (const int threads : {1, 2, 3, 7}) {
    HandMadeCluster together;
    EXPECT_EQ(numbers_of(together.commit(row_of_pod, threads)), expected) << threads << " threads";
    EXPECT_EQ(together.written(), alone.written()) << threads << " threads";
  }
}

TEST(CommitBodyTest, WindowsCommitWhatBatchesDoForAnyListsAndThreads) {
  std::mt19937 dice(11);
  std::vector<std::int32_t> row_of_pod;
  constexpr std::int32_t kInFewCells[] = {0, 2, 3, 5};
  for (int i = 0; i < 200; ++i) row_of_pod.push_back(kInFewCells[dice() % 4]);
  HandMadeCluster batch;
  const std::vector<std::int64_t> expected = numbers_of(batch.commit(row_of_pod, 0));
  int fewest_windows = INT_MAX;
  int most_windows = 0;
  for (const int threads : {0, 2, 3, 7})
    for (const std::int32_t tops_max : {1, 2, 5, 40, 200}) {
      HandMadeCluster windows;
      EXPECT_EQ(numbers_of(windows.commit_in_windows(row_of_pod, threads, tops_max)), expected)
          << threads << " threads, lists of " << tops_max;
      EXPECT_EQ(windows.columns(), batch.columns()) << threads << " threads, lists of " << tops_max;
      fewest_windows = std::min(fewest_windows, windows.windows());
      most_windows = std::max(most_windows, windows.windows());
    }
  EXPECT_EQ(fewest_windows, 1) << "lists of all nodes suffice";
  EXPECT_GT(most_windows, 5) << "short lists end windows early";
}

TEST(CommitBodyTest, AFullClusterAcceptsNoPod) {
  std::vector<std::int32_t> row_of_pod(5 * kNodes, 0);
  for (std::int32_t c = 0; c < kClasses; ++c) row_of_pod.push_back(c);
  for (const int threads : {0, 3}) {
    HandMadeCluster cluster;
    const std::vector<DeviceOutcome> outcomes = cluster.commit(row_of_pod, threads);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      EXPECT_EQ(outcomes[i].kind == DeviceOutcomeKind::kPlaced, i < 4 * kNodes) << "each node takes four pods: " << i;
  }
}

}  // namespace
}  // namespace berth
