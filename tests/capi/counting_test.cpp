// SPDX-License-Identifier: Apache-2.0
// max_replicas of drawn clusters is what placing copies one by one through berth.h gives: on snapshots, in forks of
// forks after random changes, for node sets, by both backends. BERTH_CLUSTERS and BERTH_SEED change how many there are.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/counting_world.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

constexpr int kNodes = 7;
constexpr std::size_t kMany = 1000;  ///< more copies than any of these clusters holds

NodeShape any_node(Dice& dice, int number) {
  return {.name = "n" + std::to_string(number),
          .cpu = 1 + static_cast<int>(dice.upto(5)),
          .zone = static_cast<int>(dice.upto(2)),
          .cordoned = dice.one_in(7),
          .tainted = dice.one_in(7),
          .gpus = dice.one_in(3) ? static_cast<int>(dice.upto(4)) : 0};
}

PodShape any_pod(Dice& dice, const std::string& name) {
  PodShape shape;
  shape.name = name;
  shape.milli_cpu = dice.one_in(6) ? 0 : 150 * static_cast<int>(1 + dice.upto(12));
  shape.memory_mib = dice.one_in(4) ? 0 : 512 * static_cast<int>(1 + dice.upto(5));
  shape.gpus = dice.one_in(6) ? 1 : 0;
  shape.app = static_cast<int>(dice.upto(5));
  shape.priority = dice.one_in(3) ? 100 : 0;
  shape.has_port = dice.one_in(7);
  shape.wants_zone = dice.one_in(6) ? static_cast<int>(dice.upto(2)) : -1;
  if (dice.one_in(2)) return shape;
  shape.spreads = dice.one_in(3);
  shape.spreads_hosts = dice.one_in(4);
  shape.alone = dice.one_in(4);
  shape.apart_in_zone = dice.one_in(6);
  shape.together = dice.one_in(5);
  shape.near_app = dice.one_in(6) ? static_cast<int>(dice.upto(5)) : -1;
  return shape;
}

Asked any_question(Dice& dice, const std::vector<PodShape>& running) {
  Asked asked;
  for (int i = 0; i < 8; ++i) asked.shapes.push_back(any_pod(dice, "s" + std::to_string(i)));
  asked.shapes.push_back(asked.shapes.front());
  asked.shapes.back().name = "again";
  asked.shapes.push_back(running[static_cast<std::size_t>(dice.upto(static_cast<std::int64_t>(running.size()) - 1))]);
  if (dice.one_in(2))
    for (std::uint32_t n = 0; n < kNodes - 1; ++n)
      if (!dice.one_in(3)) asked.set.push_back(n);
  if (dice.one_in(3)) asked.flags |= BERTH_SKIP_CORDONED;
  if (dice.one_in(2)) asked.flags |= BERTH_AS_MOVED;
  return asked;
}

/// Copies on each node, by placing one after another in a fork.
std::map<std::uint32_t, std::int32_t> placed_one_by_one(CountingWorld& world, berth_fork* where, const PodShape& shape,
                                                        const berth_node_set* set, std::uint32_t flags) {
  const OwnedFork fork = fork_of(where);
  std::map<std::uint32_t, std::int32_t> on_node;
  PodShape copied = shape;
  if ((flags & BERTH_AS_MOVED) != 0) {
    berth_fork_remove_pod(fork.get(), ("uid-" + shape.name).c_str(), nullptr);  // if it stands there
    copied.node.clear();
  }
  copied.nominated.clear();
  std::vector<OwnedPod> copies;
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  options.flags = flags & BERTH_SKIP_CORDONED;
  options.nodes = set;
  for (std::size_t i = 0; i < kMany; ++i) {
    copied.name = shape.name + "-copy-" + std::to_string(i);
    copies.push_back(world.pod(copied));
    const berth_pod* const one = copies.back().get();
    berth_result* made = nullptr;
    EXPECT_EQ(berth_fork_schedule(fork.get(), &one, 1, &options, &made, nullptr), BERTH_OK);
    const OwnedResult result(made);
    const std::uint32_t node = column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE).front();
    if (node == BERTH_NO_NODE) return on_node;
    ++on_node[node];
  }
  ADD_FAILURE() << "no end";
  return on_node;
}

/// Sums per value of the zone and the hostname, from the counts per node.
void check_values(CountingWorld& world, const berth_result& result, const std::map<std::uint32_t, int>& zone_of) {
  const auto nodes = column_of<std::uint32_t>(result, BERTH_COLUMN_NODE);
  const auto on_node = column_of<std::int32_t>(result, BERTH_COLUMN_COUNT_ON_NODE);
  const auto begin = column_of<std::uint32_t>(result, BERTH_COLUMN_VALUE_BEGIN);
  const auto value = column_of<std::uint32_t>(result, BERTH_COLUMN_VALUE);
  const auto of_value = column_of<std::int64_t>(result, BERTH_COLUMN_COUNT_OF_VALUE);
  const auto count = column_of<std::int64_t>(result, BERTH_COLUMN_COUNT);
  ASSERT_EQ(begin.size(), 4u);
  EXPECT_EQ(begin[2], begin[3]);
  EXPECT_EQ(begin[3], value.size());
  EXPECT_EQ(begin[2] - begin[1], nodes.size());
  for (std::size_t s = 0; s < count.size(); ++s) {
    std::map<std::string, std::int64_t> expected;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      berth_str name{};
      ASSERT_EQ(berth_cluster_node_name(world.cluster.get(), nodes[n], &name, nullptr), BERTH_OK);
      expected["z" + std::to_string(zone_of.at(nodes[n]))] += on_node[s * nodes.size() + n];
      expected[std::string(name.data, name.size)] += on_node[s * nodes.size() + n];
    }
    std::string before;
    for (std::size_t v = 0; v < value.size(); ++v) {
      berth_str text{};
      ASSERT_EQ(berth_result_text(&result, value[v], &text, nullptr), BERTH_OK);
      if (v != begin[1]) {
        EXPECT_LT(before, std::string(text.data));
      }
      before = text.data;
      EXPECT_EQ(of_value[s * value.size() + v], expected[text.data]) << text.data;
    }
  }
}

class Cluster {
 public:
  Cluster(Dice& dice, CountingWorld& fast, CountingWorld& plain) : dice_(dice), worlds_{&fast, &plain} {
    for (int n = 0; n < kNodes - 1; ++n) upsert_node(any_node(dice, n));
    for (int p = 0; p < 10; ++p) {
      PodShape shape = any_pod(dice, "r" + std::to_string(p));
      shape.node = "n" + std::to_string(dice.upto(kNodes - 2));
      running.push_back(shape);
      upsert(pod_json(shape));
    }
    if (!dice.one_in(3)) return;
    PodShape nominated = any_pod(dice, "nominated");
    nominated.nominated = "n" + std::to_string(dice.upto(kNodes - 2));
    running.push_back(nominated);
    upsert(pod_json(nominated));
  }

  void upsert(const std::string& text) {
    for (CountingWorld* const world : worlds_) world->upsert(text);
  }
  void upsert_node(const NodeShape& node) {
    upsert(node_json(node));
    zone_of[static_cast<std::uint32_t>(node.name[1] - '0')] = node.zone;
  }

  /// A drawn change of a fork of each world.
  void change(std::vector<berth_fork*> forks) {
    const std::int64_t kind = dice_.upto(5);
    const NodeShape node = any_node(dice_, static_cast<int>(dice_.upto(kNodes - 1)));
    const auto number = static_cast<std::uint32_t>(node.name[1] - '0');
    PodShape pod = any_pod(dice_, "f" + std::to_string(pods_made_++));
    const std::string text = node_json(node);
    for (std::size_t w = 0; w < forks.size(); ++w) {
      berth_fork* const fork = forks[w];
      if (kind == 0) {
        const bool is_new = berth_fork_update_node(fork, text.data(), text.size(), nullptr) == BERTH_E_NOT_FOUND;
        if (is_new) {
          EXPECT_EQ(berth_fork_add_node(fork, text.data(), text.size(), nullptr, nullptr), BERTH_OK);
        }
        zone_of[number] = node.zone;
      } else if (kind == 1) {
        berth_fork_remove_node(fork, number, nullptr);
      } else if (kind == 2) {
        berth_fork_remove_pod(fork, ("uid-" + running[number].name).c_str(), nullptr);
      } else if (kind == 3) {
        berth_fork_add_pod(fork, kept_.emplace_back(worlds_[w]->pod(pod)).get(), number, nullptr);
      } else {
        const berth_pod* const one = kept_.emplace_back(worlds_[w]->pod(pod)).get();
        berth_result* made = nullptr;
        EXPECT_EQ(berth_fork_schedule(fork, &one, 1, nullptr, &made, nullptr), BERTH_OK);
        berth_result_free(&made);
      }
    }
  }

  /// @return copies that were counted
  std::int64_t check(std::vector<berth_fork*> forks, const std::string& where) {
    const Asked asked = any_question(dice_, running);
    std::vector<std::string> answers;
    std::int64_t total = 0;
    for (std::size_t w = 0; w < forks.size(); ++w) {
      const OwnedResult alone = max_replicas(*worlds_[w], forks[w], nullptr, asked, false);
      const OwnedResult result = max_replicas(*worlds_[w], forks[w], nullptr, asked, true);
      answers.push_back(text_of(*result));
      const auto counts = column_of<std::int64_t>(*result, BERTH_COLUMN_COUNT);
      const auto alone_counts = column_of<std::int64_t>(*alone, BERTH_COLUMN_COUNT);
      for (std::size_t s = 0; s < counts.size(); ++s)
        EXPECT_EQ(alone_counts[s], counts[s])
            << where << ", counts alone, flags " << asked.flags << ", set of " << asked.set.size() << "\n"
            << pod_json(asked.shapes[s]);
      check_values(*worlds_[w], *result, zone_of);
      if (w == 0) total = check_by_placing(*worlds_[w], forks[w], asked, *result, where);
    }
    EXPECT_EQ(answers[0], answers[1]) << where;
    return total;
  }

  std::int64_t check_by_placing(CountingWorld& world, berth_fork* fork, const Asked& asked, const berth_result& result,
                                const std::string& where) {
    const auto nodes = column_of<std::uint32_t>(result, BERTH_COLUMN_NODE);
    const auto counts = column_of<std::int64_t>(result, BERTH_COLUMN_COUNT);
    const auto on_node = column_of<std::int32_t>(result, BERTH_COLUMN_COUNT_ON_NODE);
    const OwnedNodeSet set = node_set(world, asked.set);
    std::int64_t total = 0;
    for (std::size_t s = 0; s < asked.shapes.size(); ++s) {
      std::map<std::uint32_t, std::int32_t> placed =
          placed_one_by_one(world, fork, asked.shapes[s], set.get(), asked.flags);
      std::int64_t sum = 0;
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        EXPECT_EQ(on_node[s * nodes.size() + n], placed[nodes[n]])
            << where << ", flags " << asked.flags << ", node " << nodes[n] << "\n"
            << pod_json(asked.shapes[s]);
        sum += placed[nodes[n]];
      }
      EXPECT_EQ(counts[s], sum) << where << ", flags " << asked.flags << "\n" << pod_json(asked.shapes[s]);
      total += sum;
    }
    return total;
  }

  std::vector<PodShape> running;
  std::map<std::uint32_t, int> zone_of;

 private:
  Dice& dice_;
  std::vector<CountingWorld*> worlds_;
  std::vector<OwnedPod> kept_;
  int pods_made_ = 0;
};

TEST(Counting, MaxReplicasIsWhatPlacingOneByOneGives) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  std::int64_t counted = 0;
  for (std::uint64_t seed = first; seed < first + setting("BERTH_CLUSTERS", 40); ++seed) {
    Dice dice(seed);
    CountingWorld fast("cpu", seed), plain("reference", seed);
    Cluster cluster(dice, fast, plain);
    const OwnedSnapshot of_fast = fast.snapshot(), of_plain = plain.snapshot();
    std::vector<OwnedFork> forks;
    for (const berth_snapshot* const snapshot : {of_fast.get(), of_plain.get()}) {
      berth_fork* made = nullptr;
      ASSERT_EQ(berth_snapshot_fork(snapshot, &made, nullptr), BERTH_OK);
      forks.emplace_back(made);
    }
    for (int depth = 0; depth < 3; ++depth) {
      const std::string where = "seed " + std::to_string(seed) + ", depth " + std::to_string(depth);
      const std::size_t at = forks.size() - 2;
      counted += cluster.check({forks[at].get(), forks[at + 1].get()}, where);
      if (HasFailure()) return;
      for (const std::size_t w : {at, at + 1}) forks.push_back(fork_of(forks[w].get()));
      for (int i = 0; i < 3; ++i) cluster.change({forks[at + 2].get(), forks[at + 3].get()});
    }
  }
  EXPECT_GT(counted, 0);
  RecordProperty("copies", std::to_string(counted));
}

}  // namespace
}  // namespace berth::test
