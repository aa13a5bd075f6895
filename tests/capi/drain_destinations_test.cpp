// SPDX-License-Identifier: Apache-2.0
// Where the pods of drained nodes go: as in a loop over the other verbs of berth.h. BERTH_DRAINS and BERTH_SEED change
// how many clusters are drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/capi/drained.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

/// A drawn cluster, and the drain of its nodes as a loop over other verbs.
class Drawn {
 public:
  Drawn(const char* backend, std::uint64_t seed) : dice_(seed), cluster_(make_cluster(backend, seed)) {
    for (int i = 0; i < 5; ++i) {
      NodeShape shape{"n" + std::to_string(i), static_cast<int>(2 + dice_.upto(3)), static_cast<int>(dice_.upto(2)),
                      dice_.upto(8) == 0, dice_.upto(8) == 0};
      upsert(cluster_.get(), node_json(shape));
      numbers_.push_back(node_number(cluster_.get(), shape.name));
      shapes_.push_back(shape);
      for (std::int64_t k = dice_.upto(3); k > 0; --k) {
        PodShape pod{.name = "p" + std::to_string(pods_.size()),
                     .milli_cpu = 250 * static_cast<int>(dice_.upto(5)),
                     .app = static_cast<int>(dice_.upto(2)),
                     .priority = static_cast<int>(dice_.upto(2)),
                     .node = shape.name,
                     .spreads = dice_.upto(4) == 0,
                     .alone = dice_.upto(4) == 0,
                     .has_port = dice_.upto(6) == 0,
                     .has_claim = false,
                     .wants_zone = dice_.upto(6) == 0 ? static_cast<int>(dice_.upto(2)) : -1,
                     .near_app = dice_.upto(6) == 0 ? static_cast<int>(dice_.upto(2)) : -1};
        upsert(cluster_.get(), pod_json(pod));
        handles_.push_back(pod_of(cluster_.get(), pod_json(pod)));
        pods_.push_back(pod);
      }
    }
    by_score_ = dice_.upto(1) == 0;
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (dice_.upto(1) == 0) drained_.push_back(i);
  }

  void compare() {
    const OwnedSnapshot snapshot = snapshot_of(cluster_.get());
    berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
    options.rules_off = kAllRules;
    if (by_score_) options.flags = BERTH_DRAIN_BY_SCORE;
    std::vector<std::uint32_t> numbers;
    for (const std::size_t i : drained_) numbers.push_back(numbers_[i]);
    const std::vector<Drained> alone = drain(snapshot.get(), numbers, options);
    ASSERT_EQ(alone.size(), drained_.size());
    for (std::size_t d = 0; d < drained_.size(); ++d) {
      const OwnedFork fork = fork_of(snapshot.get());
      cordon(fork.get(), drained_[d]);
      ASSERT_EQ(alone[d], move_pods(fork.get(), drained_[d], {drained_[d]})) << "node " << drained_[d];
      moved_ += alone[d].is_removable ? alone[d].pods.size() : 0;
    }
    options.flags |= BERTH_DRAIN_TOGETHER;
    const std::vector<Drained> together = drain(snapshot.get(), numbers, options);
    const OwnedFork fork = fork_of(snapshot.get());
    for (const std::size_t i : drained_) cordon(fork.get(), i);
    for (std::size_t d = 0; d < drained_.size(); ++d) {
      ASSERT_EQ(together[d], move_pods(fork.get(), drained_[d], drained_)) << "node " << drained_[d] << ", together";
      if (!together[d].is_removable) move_back(fork.get(), drained_[d], together[d]);
    }
  }
  std::size_t moved() const { return moved_; }

  /// Replacements are the cheapest of the scale-up estimates of what the drain leaves over.
  void compare_replacements() {
    const OwnedSnapshot snapshot = snapshot_of(cluster_.get());
    std::vector<std::string> texts;
    std::vector<berth_shape> shapes;
    for (int s = 0; s < 3; ++s)
      texts.push_back(node_json({"t" + std::to_string(s), static_cast<int>(1 + dice_.upto(3)),
                                 static_cast<int>(dice_.upto(3)), false, false}));
    for (const std::string& text : texts) {
      berth_shape& shape = shapes.emplace_back(berth_shape BERTH_SHAPE_INIT);
      shape.node = text.data();
      shape.node_size = text.size();
      shape.price = dice_.upto(3);
    }
    const std::vector<const berth_shape*> pointers = {&shapes[0], &shapes[1], &shapes[2]};
    const auto nodes_max = static_cast<std::uint32_t>(1 + dice_.upto(2));
    berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
    options.rules_off = kAllRules;
    if (by_score_) options.flags = BERTH_DRAIN_BY_SCORE;
    for (const bool is_together : {false, true}) {
      std::vector<std::vector<std::size_t>> groups;
      if (is_together) groups.push_back(drained_);
      for (const std::size_t node : drained_)
        if (!is_together) groups.push_back({node});
      for (const std::vector<std::size_t>& group : groups) {
        if (is_together) options.flags |= BERTH_DRAIN_TOGETHER;
        std::vector<std::uint32_t> numbers;
        for (const std::size_t i : group) numbers.push_back(numbers_[i]);
        berth_result* result = nullptr;
        ASSERT_EQ(berth_snapshot_replace(snapshot.get(), numbers.data(), numbers.size(), &options, pointers.data(), 3,
                                         nodes_max, &result, nullptr),
                  BERTH_OK);
        check_replacement(snapshot.get(), *OwnedResult(result), group, pointers, nodes_max);
      }
    }
  }
  std::size_t replaced() const { return replaced_; }

 private:
  void cordon(berth_fork* fork, std::size_t i) {
    NodeShape shape = shapes_[i];
    shape.cordoned = true;
    std::string text = node_json(shape);
    const std::string taint = R"({"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"})";
    if (shape.tainted) {
      text.insert(text.find(R"("taints":[)") + 10, taint + ",");
    } else {
      text.insert(text.find(R"("spec":{)") + 8, R"("taints":[)" + taint + "],");
    }
    EXPECT_EQ(berth_fork_update_node(fork, text.data(), text.size(), nullptr), BERTH_OK);
  }
  std::vector<std::size_t> pods_of(std::size_t node) const {
    std::vector<std::size_t> pods;
    for (std::size_t p = 0; p < pods_.size(); ++p)
      if (pods_[p].node == shapes_[node].name) pods.push_back(p);
    std::ranges::sort(pods, {}, [&](std::size_t p) { return std::tuple(-pods_[p].priority, pods_[p].name); });
    return pods;
  }
  OwnedNodeSet set_of(const std::vector<std::uint32_t>& nodes) const {
    berth_node_set* made = nullptr;
    EXPECT_EQ(berth_node_set_create(cluster_.get(), nodes.data(), nodes.size(), &made, nullptr), BERTH_OK);
    return OwnedNodeSet(made);
  }
  Drained move_pods(berth_fork* fork, std::size_t node, const std::vector<std::size_t>& left_out) {
    std::vector<std::uint32_t> candidates;
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (!std::ranges::count(left_out, i)) candidates.push_back(numbers_[i]);
    const OwnedNodeSet set = set_of(candidates);
    berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
    options.flags = BERTH_AS_MOVED;
    options.nodes = set.get();
    options.choice = by_score_ ? BERTH_CHOICE_SCORE : BERTH_CHOICE_FIRST_FIT;
    options.start =
        static_cast<std::uint32_t>(std::ranges::upper_bound(candidates, numbers_[node]) - candidates.begin());
    Drained said;
    said.is_removable = true;
    for (const std::size_t p : pods_of(node)) {
      const berth_pod* const pod = handles_[p].get();
      berth_result* result = nullptr;
      EXPECT_EQ(berth_fork_schedule(fork, &pod, 1, &options, &result, nullptr), BERTH_OK);
      const OwnedResult owned(result);
      const std::uint32_t target = values_of<std::uint32_t>(*result, BERTH_COLUMN_NODE).front();
      EXPECT_EQ(berth_result_next_start(result, &options.start, nullptr), BERTH_OK);
      const bool is_placed = target != BERTH_NO_NODE;
      const std::string uid = "uid-" + pods_[p].name;
      said.pods[uid] = {is_placed ? BERTH_POD_MOVES : BERTH_POD_NO_PLACE, target};
      said.messages[uid] = is_placed ? "" : message(fork, p, candidates, *result);
      if (!is_placed && said.is_removable) said.blocking = uid;
      said.is_removable = said.is_removable && is_placed;
    }
    return said;
  }
  void check_replacement(const berth_snapshot* snapshot, const berth_result& result,
                         const std::vector<std::size_t>& group, const std::vector<const berth_shape*>& shapes,
                         std::uint32_t nodes_max) {
    const OwnedFork fork = fork_of(snapshot);
    for (const std::size_t i : group) cordon(fork.get(), i);
    std::vector<std::size_t> rest;
    for (const std::size_t i : group) {
      const Drained moved = move_pods(fork.get(), i, group);
      for (const std::size_t p : pods_of(i))
        if (moved.pods.at("uid-" + pods_[p].name).second == BERTH_NO_NODE) rest.push_back(p);
    }
    std::vector<const berth_pod*> pods;
    for (const std::size_t p : rest) {
      EXPECT_EQ(berth_fork_unschedule(fork.get(), handles_[p].get(), nullptr), BERTH_OK);
      unbound_.push_back(pod_of(cluster_.get(), pod_json([&] {
                                  PodShape shape = pods_[p];
                                  shape.node.clear();
                                  return shape;
                                }())));
      pods.push_back(unbound_.back().get());
    }
    std::uint32_t best = BERTH_NO_NODE;
    std::uint32_t best_count = 0;
    std::int64_t best_price = 0;
    std::vector<std::uint32_t> places(rest.size(), BERTH_NO_NODE);
    for (std::uint32_t s = 0; s < shapes.size() && !rest.empty(); ++s) {
      berth_shape shape = *shapes[s];
      shape.max_nodes = nodes_max;
      const berth_shape* const pointer = &shape;
      berth_result* estimate = nullptr;
      EXPECT_EQ(berth_fork_scale_up(fork.get(), pods.data(), pods.size(), &pointer, 1, nullptr, &estimate, nullptr),
                BERTH_OK);
      const OwnedResult owned(estimate);
      const std::uint32_t count = values_of<std::uint32_t>(*estimate, BERTH_COLUMN_NODE_COUNT).front();
      if (values_of<std::uint32_t>(*estimate, BERTH_COLUMN_PLACED).front() < rest.size()) continue;
      const std::int64_t price = shape.price * count;
      if (best != BERTH_NO_NODE && (price > best_price || (price == best_price && count >= best_count))) continue;
      best = s;
      best_count = count;
      best_price = price;
      places = values_of<std::uint32_t>(*estimate, BERTH_COLUMN_NEW_NODE);
    }
    EXPECT_EQ(values_of<std::uint32_t>(result, BERTH_COLUMN_SHAPE), std::vector<std::uint32_t>{best});
    EXPECT_EQ(values_of<std::uint32_t>(result, BERTH_COLUMN_NODE_COUNT), std::vector<std::uint32_t>{best_count});
    EXPECT_EQ(values_of<std::int64_t>(result, BERTH_COLUMN_PRICE), std::vector<std::int64_t>{best_price});
    const std::vector<std::string> uids = texts_of(result, BERTH_COLUMN_POD);
    const auto new_nodes = values_of<std::uint32_t>(result, BERTH_COLUMN_NEW_NODE);
    for (std::size_t i = 0; i < uids.size(); ++i) {
      const auto at = std::ranges::find_if(rest, [&](std::size_t p) { return "uid-" + pods_[p].name == uids[i]; });
      EXPECT_EQ(new_nodes[i], at == rest.end() ? BERTH_NO_NODE : places[static_cast<std::size_t>(at - rest.begin())]);
    }
    bool all = true;
    for (const std::uint8_t removable : values_of<std::uint8_t>(result, BERTH_COLUMN_REMOVABLE)) all = all && removable;
    EXPECT_EQ(all, rest.empty() || best != BERTH_NO_NODE);
    replaced_ += best != BERTH_NO_NODE ? 1 : 0;
  }
  /// By first fit the verb gives no counts; by score it does, over the same nodes.
  std::string message(berth_fork* fork, std::size_t p, const std::vector<std::uint32_t>& candidates,
                      const berth_result& result) {
    if (by_score_) return texts_of(result, BERTH_COLUMN_MESSAGE).front();
    berth_fork* opened = nullptr;
    EXPECT_EQ(berth_fork_fork(fork, &opened, nullptr), BERTH_OK);
    const OwnedFork owned(opened);
    const OwnedNodeSet set = set_of(candidates);
    berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
    options.flags = BERTH_AS_MOVED;
    options.nodes = set.get();
    const berth_pod* const pod = handles_[p].get();
    berth_result* scored = nullptr;
    EXPECT_EQ(berth_fork_schedule(opened, &pod, 1, &options, &scored, nullptr), BERTH_OK);
    return texts_of(*OwnedResult(scored), BERTH_COLUMN_MESSAGE).front();
  }
  void move_back(berth_fork* fork, std::size_t node, const Drained& drained) {
    for (const std::size_t p : pods_of(node)) {
      if (drained.pods.at("uid-" + pods_[p].name).second == BERTH_NO_NODE) continue;
      EXPECT_EQ(berth_fork_add_pod(fork, handles_[p].get(), numbers_[node], nullptr), BERTH_OK);
    }
  }

  Dice dice_;
  OwnedCluster cluster_;
  std::vector<NodeShape> shapes_;
  std::vector<std::uint32_t> numbers_;
  std::vector<PodShape> pods_;
  std::vector<OwnedPod> handles_;
  std::vector<std::size_t> drained_;
  bool by_score_ = false;
  std::size_t moved_ = 0;
  std::size_t replaced_ = 0;
  std::vector<OwnedPod> unbound_;
};

class Destinations : public testing::TestWithParam<const char*> {};

TEST_P(Destinations, AreThoseOfTheOtherVerbs) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  const std::uint64_t count = setting("BERTH_DRAINS", 100);
  std::size_t moved = 0;
  std::size_t replaced = 0;
  for (std::uint64_t s = first; s < first + count; ++s) {
    SCOPED_TRACE("seed " + std::to_string(s));
    Drawn drawn(GetParam(), s);
    drawn.compare();
    drawn.compare_replacements();
    if (HasFailure()) return;
    moved += drawn.moved();
    replaced += drawn.replaced();
  }
  EXPECT_GT(moved, 0u);
  EXPECT_GT(replaced, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Destinations, testing::Values("cpu", "reference"));

}  // namespace
}  // namespace berth::test
