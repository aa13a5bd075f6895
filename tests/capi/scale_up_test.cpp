// SPDX-License-Identifier: Apache-2.0
// The scale-up estimate is first fit, run pod by pod: the same through the other verbs of berth.h, over drawn clusters.
// BERTH_ESTIMATES and BERTH_SEED change how many there are.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

struct Shape {
  NodeShape node;
  std::uint32_t nodes_max = 0;
  int cap_cpu = 0;  ///< 0: none
  bool has_daemon = false;
};

PodShape drawn_pod(Dice& dice, const std::string& name) {
  return {.name = name,
          .milli_cpu = 250 * static_cast<int>(dice.upto(8)),
          .app = static_cast<int>(dice.upto(2)),
          .priority = 0,
          .node = {},
          .spreads = dice.upto(3) == 0,
          .alone = dice.upto(4) == 0,
          .has_port = dice.upto(6) == 0,
          .has_claim = dice.upto(15) == 0,
          .wants_zone = dice.upto(5) == 0 ? static_cast<int>(dice.upto(3)) : -1,
          .near_app = dice.upto(4) == 0 ? static_cast<int>(dice.upto(2)) : -1};
}

const PodShape kDaemon = {.name = "daemon", .milli_cpu = 500, .app = 2};

/// What is said of one pod, by the estimate and by the loop.
struct Said {
  std::uint32_t node = BERTH_NO_NODE;
  std::uint32_t new_node = BERTH_NO_NODE;
  int code = 0;
  int phase = 0;
  std::string plugin;
  std::string reasons;
  friend bool operator==(const Said&, const Said&) = default;
};
void PrintTo(const Said& said, std::ostream* out) {
  *out << said.node << " new " << said.new_node << " code " << said.code << " phase " << said.phase << " '"
       << said.plugin << "' '" << said.reasons << "'";
}

/// The estimate of one shape as a loop over other verbs.
class Loop {
 public:
  /// @param standing  pods that leave their nodes first
  Loop(berth_cluster* cluster, const berth_snapshot* snapshot, const Shape& shape, std::vector<std::uint32_t> existing,
       const std::vector<const berth_pod*>& standing)
      : cluster_(cluster),
        fork_(fork_of(snapshot)),
        shape_(shape),
        nodes_(std::move(existing)),
        first_new_(nodes_.size()) {
    for (const berth_pod* const pod : standing) EXPECT_EQ(berth_fork_unschedule(fork_.get(), pod, nullptr), BERTH_OK);
  }

  Said try_pod(const berth_pod* pod) {
    if (const std::uint32_t node = place(pod, nodes_); node != BERTH_NO_NODE) return placed_on(node);
    const std::uint32_t added = add_node();
    Said said = verdict_of(pod, added);
    if (said.code == BERTH_CODE_SUCCESS) said = cap_in_the_way();
    if (said.code != BERTH_CODE_SUCCESS) {
      remove_last();
      return said;
    }
    EXPECT_EQ(place(pod, {added}), added);
    return placed_on(added);
  }
  std::size_t node_count() const { return nodes_.size() - first_new_; }

 private:
  std::uint32_t place(const berth_pod* pod, const std::vector<std::uint32_t>& order) {
    berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
    options.choice = BERTH_CHOICE_ORDER;
    options.flags = BERTH_AS_MOVED;
    options.order = order.data();
    options.order_count = order.size();
    berth_result* result = nullptr;
    EXPECT_EQ(berth_fork_schedule(fork_.get(), &pod, 1, &options, &result, nullptr), BERTH_OK);
    return values_of<std::uint32_t>(*OwnedResult(result), BERTH_COLUMN_NODE).front();
  }
  Said placed_on(std::uint32_t node) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(nodes_, node) - nodes_.begin());
    Said said;
    (at < first_new_ ? said.node : said.new_node) =
        at < first_new_ ? node : static_cast<std::uint32_t>(at - first_new_);
    return said;
  }
  std::uint32_t add_node() {
    const std::string name = "fresh-" + std::to_string(node_count());
    NodeShape shape = shape_.node;
    shape.name = name;
    const std::string text = node_json(shape);
    std::uint32_t number = BERTH_NO_NODE;
    EXPECT_EQ(berth_fork_add_node(fork_.get(), text.data(), text.size(), &number, nullptr), BERTH_OK);
    nodes_.push_back(number);
    daemons_.push_back(nullptr);
    if (!shape_.has_daemon) return number;
    PodShape daemon = kDaemon;
    daemon.name += name;
    daemons_.back() = pod_of(cluster_, pod_json(daemon));
    EXPECT_EQ(berth_fork_add_pod(fork_.get(), daemons_.back().get(), number, nullptr), BERTH_OK);
    return number;
  }
  void remove_last() {
    if (daemons_.back() != nullptr) {
      EXPECT_EQ(berth_fork_unschedule(fork_.get(), daemons_.back().get(), nullptr), BERTH_OK);
    }
    EXPECT_EQ(berth_fork_remove_node(fork_.get(), nodes_.back(), nullptr), BERTH_OK);
    nodes_.pop_back();
    daemons_.pop_back();
  }
  Said verdict_of(const berth_pod* pod, std::uint32_t node) {
    berth_result* details = nullptr;
    std::int32_t fits = 0;
    EXPECT_EQ(berth_fork_check(fork_.get(), pod, node, BERTH_AS_MOVED, &fits, &details, nullptr), BERTH_OK);
    const OwnedResult owned(details);
    Said said;
    said.code = values_of<std::uint8_t>(*details, BERTH_COLUMN_CODE).front();
    said.phase = values_of<std::uint8_t>(*details, BERTH_COLUMN_PHASE).front();
    said.plugin = texts_of(*details, BERTH_COLUMN_PLUGIN).front();
    said.reasons = texts_of(*details, BERTH_COLUMN_REASONS).front();
    return said;
  }
  Said cap_in_the_way() const {
    Said said;
    const auto capped = [&](const std::string& reason) {
      said.code = BERTH_CODE_UNSCHEDULABLE;
      said.phase = BERTH_PHASE_NODE;
      said.reasons = reason;
      return said;
    };
    if (shape_.nodes_max > 0 && node_count() > shape_.nodes_max)
      return capped("the cap of " + std::to_string(shape_.nodes_max) + " nodes is reached");
    if (shape_.cap_cpu > 0 &&
        node_count() * static_cast<std::size_t>(shape_.node.cpu) > static_cast<std::size_t>(shape_.cap_cpu))
      return capped("the cap of " + std::to_string(shape_.cap_cpu * 1000) + " cpu is reached");
    return said;
  }

  berth_cluster* cluster_;
  OwnedFork fork_;
  const Shape& shape_;
  std::vector<std::uint32_t> nodes_;
  std::size_t first_new_;
  std::vector<OwnedPod> daemons_;
};

class Drawn {
 public:
  Drawn(const char* backend, std::uint64_t seed) : dice_(seed), cluster_(make_cluster(backend, seed)) {
    const auto node_count = static_cast<int>(1 + dice_.upto(4));
    for (int i = 0; i < node_count; ++i) {
      const std::string name = "n" + std::to_string(i);
      upsert(cluster_.get(), node_json({name, static_cast<int>(2 + dice_.upto(4)), static_cast<int>(dice_.upto(2)),
                                        dice_.upto(6) == 0, dice_.upto(6) == 0}));
      existing_.push_back(node_number(cluster_.get(), name));
      PodShape runs = drawn_pod(dice_, "runs" + std::to_string(i));
      runs.node = name;
      runs.has_claim = false;
      upsert(cluster_.get(), pod_json(runs));
    }
    if (dice_.upto(3) == 0) {  // reserves room on a node
      std::string nominated = pod_json({.name = "p0", .milli_cpu = 1000});
      nominated.insert(nominated.size() - 1, R"(,"status":{"nominatedNodeName":"n0"})");
      upsert(cluster_.get(), nominated);
    }
    const auto kinds = 1 + dice_.upto(5);
    std::vector<PodShape> shapes;
    for (std::int64_t i = 0; i < kinds; ++i) shapes.push_back(drawn_pod(dice_, ""));
    const auto pod_count = static_cast<std::size_t>(dice_.upto(14));
    const bool some_stand = dice_.upto(1) == 0;
    for (std::size_t i = 0; i < pod_count; ++i) {
      PodShape shape = shapes[static_cast<std::size_t>(dice_.upto(kinds - 1))];
      shape.name = "p" + std::to_string(i);
      const bool stands = some_stand && !shape.has_claim && dice_.upto(2) == 0;
      if (stands) {
        shape.node = "n" + std::to_string(dice_.upto(node_count - 1));
        upsert(cluster_.get(), pod_json(shape));
        flags_ |= BERTH_AS_MOVED;
      }
      cpu_.push_back(shape.milli_cpu);
      pods_.push_back(pod_of(cluster_.get(), pod_json(shape)));
      given_.push_back(pods_.back().get());
      if (stands) standing_.push_back(given_.back());
    }
    const auto shape_count = 1 + dice_.upto(3);
    for (std::int64_t i = 0; i < shape_count; ++i)
      shapes_.push_back({{"t" + std::to_string(i), static_cast<int>(1 + dice_.upto(4)), static_cast<int>(dice_.upto(3)),
                          dice_.upto(9) == 0, dice_.upto(7) == 0},
                         static_cast<std::uint32_t>(dice_.upto(4)),
                         dice_.upto(3) == 0 ? static_cast<int>(4 + dice_.upto(8)) : 0,
                         dice_.upto(2) == 0});
    if (dice_.upto(1) == 0) flags_ |= BERTH_EXISTING_FIRST;
    if (dice_.upto(1) == 0) flags_ |= BERTH_DECREASING;
    if (dice_.upto(2) == 0) flags_ |= BERTH_SKIP_CORDONED;
  }

  /// The estimate, in a snapshot or in a fork of it.
  OwnedResult estimate(const berth_snapshot* snapshot) {
    daemon_ = pod_of(cluster_.get(), pod_json(kDaemon));
    const berth_pod* const daemon = daemon_.get();
    std::vector<std::string> texts;
    for (const Shape& shape : shapes_) texts.push_back(node_json(shape.node));
    std::vector<berth_amount> caps;
    for (const Shape& shape : shapes_) caps.push_back({"cpu", shape.cap_cpu * 1000});
    std::vector<berth_shape> shapes;
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      berth_shape& shape = shapes.emplace_back(berth_shape BERTH_SHAPE_INIT);
      shape.node = texts[s].data();
      shape.node_size = texts[s].size();
      shape.max_nodes = shapes_[s].nodes_max;
      shape.pods = shapes_[s].has_daemon ? &daemon : nullptr;
      shape.pod_count = shapes_[s].has_daemon ? 1 : 0;
      shape.caps = &caps[s];
      shape.cap_count = shapes_[s].cap_cpu > 0 ? 1 : 0;
    }
    std::vector<const berth_shape*> pointers;
    for (const berth_shape& shape : shapes) pointers.push_back(&shape);
    berth_scale_up_options options = BERTH_SCALE_UP_OPTIONS_INIT;
    options.flags = flags_;
    berth_result* result = nullptr;
    berth_error error = BERTH_ERROR_INIT;
    const berth_status status = dice_.upto(1) == 0
                                    ? berth_snapshot_scale_up(snapshot, given_.data(), given_.size(), pointers.data(),
                                                              pointers.size(), &options, &result, &error)
                                    : berth_fork_scale_up(fork_of(snapshot).get(), given_.data(), given_.size(),
                                                          pointers.data(), pointers.size(), &options, &result, &error);
    EXPECT_EQ(status, BERTH_OK) << error.object << ": " << error.text;
    return OwnedResult(result);
  }

  void compare() {
    const OwnedSnapshot snapshot = snapshot_of(cluster_.get());
    const OwnedResult result = estimate(snapshot.get());
    const auto nodes = values_of<std::uint32_t>(*result, BERTH_COLUMN_NODE);
    const auto new_nodes = values_of<std::uint32_t>(*result, BERTH_COLUMN_NEW_NODE);
    const auto codes = values_of<std::uint8_t>(*result, BERTH_COLUMN_CODE);
    const auto phases = values_of<std::uint8_t>(*result, BERTH_COLUMN_PHASE);
    const auto plugins = texts_of(*result, BERTH_COLUMN_PLUGIN);
    const auto reasons = texts_of(*result, BERTH_COLUMN_REASONS);
    const auto counts = values_of<std::uint32_t>(*result, BERTH_COLUMN_NODE_COUNT);
    const auto placed = values_of<std::uint32_t>(*result, BERTH_COLUMN_PLACED);
    ASSERT_EQ(counts.size(), shapes_.size());
    ASSERT_EQ(nodes.size(), shapes_.size() * given_.size());
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      Loop loop(cluster_.get(), snapshot.get(), shapes_[s], existing(snapshot.get()), standing_);
      std::uint32_t fit = 0;
      for (const std::size_t p : order(shapes_[s])) {
        const std::size_t at = s * given_.size() + p;
        const Said said{nodes[at], new_nodes[at], codes[at], phases[at], plugins[at], reasons[at]};
        ASSERT_EQ(said, loop.try_pod(given_[p])) << "shape " << s << ", pod " << p;
        fit += said.code == BERTH_CODE_SUCCESS ? 1U : 0U;
      }
      ASSERT_EQ(counts[s], loop.node_count()) << "shape " << s;
      ASSERT_EQ(placed[s], fit) << "shape " << s;
      new_nodes_ += counts[s];
    }
  }

  std::uint64_t new_nodes() const { return new_nodes_; }

 private:
  std::vector<std::uint32_t> existing(const berth_snapshot* /*snapshot*/) const {
    if ((flags_ & BERTH_EXISTING_FIRST) == 0) return {};
    return existing_;
  }
  std::vector<std::size_t> order(const Shape& shape) const {
    std::vector<std::size_t> order(given_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if ((flags_ & BERTH_DECREASING) != 0)
      std::ranges::stable_sort(order, std::ranges::greater(),
                               [&](std::size_t p) { return cpu_[p] / (1000.0 * shape.node.cpu) + 1.0 / 16; });
    return order;
  }

  Dice dice_;
  OwnedCluster cluster_;
  std::vector<std::uint32_t> existing_;
  std::vector<OwnedPod> pods_;
  OwnedPod daemon_;
  std::vector<const berth_pod*> given_;
  std::vector<const berth_pod*> standing_;  ///< of these, on nodes
  std::vector<int> cpu_;
  std::vector<Shape> shapes_;
  std::uint32_t flags_ = 0;
  std::uint64_t new_nodes_ = 0;
};

class ScaleUp : public testing::TestWithParam<const char*> {};

TEST_P(ScaleUp, IsFirstFitPodByPod) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  std::uint64_t new_nodes = 0;
  for (std::uint64_t seed = first; seed < first + setting("BERTH_ESTIMATES", 150); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Drawn drawn(GetParam(), seed);
    drawn.compare();
    if (HasFatalFailure()) return;
    new_nodes += drawn.new_nodes();
  }
  EXPECT_GT(new_nodes, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, ScaleUp, testing::Values("cpu", "reference"));

}  // namespace
}  // namespace berth::test
