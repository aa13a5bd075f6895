// SPDX-License-Identifier: Apache-2.0
// Searches of the index by load, against the rules on every node.
#include "host/engine/cpu/load_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "host/engine/cpu/lone_row.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

/// Nodes and pods of every size: a byte apart, with nothing on offer, beyond exact doubles.
std::string drawn_cluster(std::mt19937& random, unsigned nodes_min) {
  const auto upto = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
  std::string text;
  const unsigned nodes = nodes_min + upto(90);
  for (unsigned i = 0; i < nodes; ++i) {
    const std::string name = "node n" + std::to_string(i);
    const std::string pods = " pods=" + std::to_string(upto(9) == 0 ? 0 : 1 + upto(30));
    switch (upto(12)) {
      case 0:
        text += name + pods + "\n";
        break;
      case 1:
        text += name + " cpu=4000000000 memory=9007199254740993" + pods + "\n";
        break;
      default:
        text += name + " cpu=" + std::to_string(1 + upto(3) * upto(8000)) +
                "m memory=" + std::to_string(1 + upto(3) * (1u << 30) / 2 + upto(2)) + pods + "\n";
    }
  }
  for (unsigned p = 0; p < 6; ++p) {
    text += "pod p" + std::to_string(p);
    if (upto(3) != 0) text += " cpu=" + std::to_string(upto(2) * upto(900) + upto(3)) + "m";
    if (upto(3) != 0) text += " memory=" + std::to_string(upto(2) * upto(1u << 27) + upto(3));
    text += "\n";
  }
  return text;
}

class IndexedCluster {
 public:
  /// @param changes_min  of LoadIndex. @param moves  whether nodes that change leave their leaves
  IndexedCluster(const std::string& config, std::mt19937& random, unsigned nodes_min, std::int64_t changes_min,
                 bool moves)
      : cluster_(config + "\n" + drawn_cluster(random, nodes_min)),
        random_(random),
        changes_min_(changes_min),
        moves_(moves) {
    groups_ = 1 + static_cast<std::int32_t>(random_() % 4);
    for (std::int32_t node = 0; node < cluster_.snapshot.slot_count(); ++node)
      group_of_.push_back(static_cast<std::int32_t>(random_() % static_cast<unsigned>(groups_)));
    for (std::int32_t group = 0; group < groups_; ++group) {
      base_.push_back(random_() % 5 == 0 ? -1 : static_cast<std::int32_t>(random_() % 300));
      beside_side_.push_back(static_cast<std::int32_t>(random_() % 100));
      differs_.push_back(base_.back() >= 0 && random_() % 2 == 0 ? 1 : 0);
    }
    for (std::size_t node = 0; node < group_of_.size(); ++node) {
      const auto group = static_cast<std::size_t>(group_of_[node]);
      side_.push_back(random_() % 4 == 0 ? -1 : static_cast<std::int32_t>(random_() % 200));
      if (differs_[group] != 0) base_[group] = std::max(base_[group], side_[node] + beside_side_[group]);
    }
  }

  /// Pods come to a node, fitting or not, or leave it.
  void change_some_node() {
    const auto node = static_cast<std::int32_t>(random_() % group_of_.size());
    const std::int32_t c = draw_class();
    std::vector<std::int32_t>& there = classes_on_[node];
    if (!there.empty() && random_() % 4 == 0) {
      cluster_.snapshot.apply(node, cluster_.table[there.back()].delta, -1);
      log_.append({node, there.back(), -1});
      there.pop_back();
    } else {
      cluster_.snapshot.apply(node, cluster_.table[c].delta, 1);
      log_.append({node, c, 1});
      there.push_back(c);
    }
  }

  void expect_search_finds_all() {
    const std::int32_t c = draw_class();
    const PodClass& pod_class = cluster_.table[c];
    const CompiledProfile& profile = cluster_.table.profile_of(c);
    ASSERT_TRUE(LoadIndex::serves(profile));
    if (index_ == nullptr) index_ = std::make_unique<LoadIndex>(profile, changes_min_, 3, 0);
    index_->catch_up(cluster_.snapshot, log_, group_of_, groups_);
    if (moves_) index_->note_searches(1000, 1000000);
    index_->catch_up(cluster_.snapshot, log_, group_of_, groups_);
    const std::optional<ClassOnLoads> on_loads = describe_on_loads(pod_class, profile);
    ASSERT_TRUE(on_loads.has_value());
    excluded_.clear();
    for (std::int32_t node = 0; node < cluster_.snapshot.slot_count(); ++node)
      if (random_() % 8 == 0) excluded_.insert(node);
    std::map<std::int32_t, NodeKey> expected;
    std::vector<std::int64_t> fitting(static_cast<std::size_t>(groups_), 0);
    std::vector<std::int64_t> accepted = fitting;
    for (std::int32_t node = 0; node < cluster_.snapshot.slot_count(); ++node) {
      const auto group = static_cast<std::size_t>(group_of_[static_cast<std::size_t>(node)]);
      const auto odd = index_->odd_nodes();
      if (std::find(odd.begin(), odd.end(), node) != odd.end()) continue;
      const bool fits = load_accepts(pod_class, profile, cluster_.snapshot, node);
      ASSERT_EQ(index_->fits(*on_loads, node), fits);
      if (!fits) continue;
      ++fitting[group];
      accepted[group] += side_[static_cast<std::size_t>(node)] >= 0 ? 1 : 0;
      if (base_of(node) < 0 || excluded_.contains(node)) continue;
      expected[node] = make_node_key(load_total(pod_class, profile, cluster_.snapshot, node) + base_of(node),
                                     node_draw(profile.draw, cluster_.snapshot, node).bits);
    }
    for (std::int32_t group = 0; group < groups_; ++group) {
      const std::int64_t all = fitting[static_cast<std::size_t>(group)];
      ASSERT_EQ(index_->count_fitting(*on_loads, group, INT64_MAX), all);
      ASSERT_GE(index_->count_fitting(*on_loads, group, 2), std::min<std::int64_t>(all, 2));
      ASSERT_EQ(index_->count_fitting(*on_loads, group, INT64_MAX, side_), accepted[static_cast<std::size_t>(group)]);
    }
    // A box that were bounded by less than a node in it would hide the node from a search for nodes as good as it.
    NodeKey least = 1;
    if (!expected.empty() && random_() % 4 != 0)
      least = std::next(expected.begin(), static_cast<std::ptrdiff_t>(random_() % expected.size()))->second;
    search_.begin(*index_, *on_loads, {base_, differs_, side_, beside_side_}, excluded_);
    expect_those_that_reach(expected, least);
    for (;;) {
      const LoadSearch::Candidate candidate = search_.next(least);
      if (candidate.node < 0) break;
      ASSERT_GE(candidate.bound, least);
      ASSERT_EQ(expected.count(candidate.node), 1u) << "found twice, does not fit, or is excluded";
      ASSERT_GE(candidate.bound, expected[candidate.node]);
      ASSERT_EQ(draw_of(candidate.bound), draw_of(expected[candidate.node]));
      ASSERT_EQ(candidate.group, group_of_[static_cast<std::size_t>(candidate.node)]);
      expected.erase(candidate.node);
    }
    std::erase_if(expected, [least](const auto& entry) { return entry.second < least; });
    ASSERT_TRUE(expected.empty()) << "node " << expected.begin()->first << " was not found";
  }

 private:
  std::int32_t base_of(std::int32_t node) const {
    const auto n = static_cast<std::size_t>(node);
    const auto group = static_cast<std::size_t>(group_of_[n]);
    if (differs_[group] == 0) return base_[group];
    return side_[n] < 0 ? -1 : side_[n] + beside_side_[group];
  }

  /// Some nodes side by side, whatever their groups.
  void expect_those_that_reach(const std::map<std::int32_t, NodeKey>& keys, NodeKey least) {
    std::vector<std::int32_t> nodes;
    std::vector<std::int32_t> bases;
    for (const auto& [node, key] : keys) {
      if (nodes.size() == kBoxLanes) break;
      nodes.push_back(node);
      bases.push_back(base_of(node));
    }
    std::array<NodeKey, kBoxLanes> bounds;
    const std::uint32_t lanes = search_.reaching(nodes, bases, least, bounds);
    for (std::size_t i = 0; i < kBoxLanes; ++i) {
      const bool reaches = (lanes >> i & 1) != 0;
      ASSERT_FALSE(reaches && i >= nodes.size());
      if (i < nodes.size() && keys.at(nodes[i]) >= least) {
        ASSERT_TRUE(reaches);
        ASSERT_GE(bounds[i], keys.at(nodes[i]));
      }
    }
  }

  std::int32_t draw_class() { return cluster_.pods[random_() % cluster_.pods.size()].class_index; }

  test::CompiledCluster cluster_;
  std::mt19937& random_;
  CommitLog log_;
  std::int32_t groups_ = 1;
  std::vector<std::int32_t> group_of_;
  std::int64_t changes_min_;
  bool moves_;
  std::vector<std::int32_t> base_;
  std::vector<std::uint8_t> differs_;
  std::vector<std::int32_t> side_;
  std::vector<std::int32_t> beside_side_;
  ExcludedNodes excluded_;
  std::map<std::int32_t, std::vector<std::int32_t>> classes_on_;
  std::unique_ptr<LoadIndex> index_;
  LoadSearch search_;
};

class LoadIndexConfigTest : public testing::TestWithParam<const char*> {};

TEST_P(LoadIndexConfigTest, ASearchFindsEveryNodeThatFitsInTheOrderOfBoundsThatHold) {
  std::mt19937 random(11);
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    IndexedCluster indexed(GetParam(), random, 1, 5, round % 3 == 0);
    for (int step = 0; step < 40 && !HasFatalFailure(); ++step) {
      indexed.expect_search_finds_all();
      for (auto changes = random() % 6; changes > 0; --changes) indexed.change_some_node();
    }
  }
}

/// More than fill the leaves that they move to.
TEST_P(LoadIndexConfigTest, NodesThatLeftTheirLeavesAreFound) {
  std::mt19937 random(12);
  for (int round = 0; round < 3 && !HasFatalFailure(); ++round) {
    IndexedCluster indexed(GetParam(), random, 1500, 100000, true);
    for (int step = 0; step < 12 && !HasFatalFailure(); ++step) {
      indexed.expect_search_finds_all();
      for (auto changes = random() % 300; changes > 0; --changes) indexed.change_some_node();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Configurations, LoadIndexConfigTest,
                         testing::Values("config strategy=LeastAllocated", "config strategy=MostAllocated",
                                         "engine ties=first", "config weight=NodeResourcesBalancedAllocation:3",
                                         "config weight=NodeResourcesFit:7"));

}  // namespace
}  // namespace berth
