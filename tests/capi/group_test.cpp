// SPDX-License-Identifier: Apache-2.0
// Groups of pods: all or none, in one domain of a key. BERTH_GROUPS and BERTH_SEED change how many are drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/capi/counting_world.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

constexpr const char* kRack = "rack";

std::string text_at(const berth_result& result, std::uint32_t column, std::size_t i) {
  berth_str text{};
  EXPECT_EQ(berth_result_text(&result, column_of<std::uint32_t>(result, column).at(i), &text, nullptr), BERTH_OK);
  return {text.data, text.size};
}

/// Nodes in racks and zones, of which each has a fork.
struct Racks {
  explicit Racks(const char* backend = "cpu") : world(backend, 1) {}

  void add_node(const std::string& name, int cpu, int rack, int zone) {
    std::string text = node_json({.name = name, .cpu = cpu, .zone = zone});
    text.insert(text.find(R"("kubernetes.io/hostname")"), R"("rack":"r)" + std::to_string(rack) + "\",");
    world.upsert(text);
  }
  void open() {
    snapshot = world.snapshot();
    fork = fork_of(snapshot.get());
  }
  void add_pods(int count, PodShape shape) {
    const std::string prefix = shape.name;
    for (int i = 0; i < count; ++i) {
      shape.name = prefix + std::to_string(i);
      pods.push_back(world.pod(shape));
      group.push_back(pods.back().get());
    }
  }
  OwnedResult schedule(const berth_group_options& options, berth_status expected = BERTH_OK) {
    berth_result* made = nullptr;
    berth_error error = BERTH_ERROR_INIT;
    EXPECT_EQ(berth_fork_schedule_group(fork.get(), group.data(), group.size(), &options, &made, &error), expected)
        << error.text;
    return OwnedResult(made);
  }
  std::uint32_t node_of(std::size_t pod) {
    berth_str uid{};
    std::uint32_t node = 0;
    EXPECT_EQ(berth_pod_uid(group[pod], &uid, nullptr), BERTH_OK);
    EXPECT_EQ(berth_fork_node_of_pod(fork.get(), uid.data, &node, nullptr), BERTH_OK);
    return node;
  }

  CountingWorld world;
  OwnedSnapshot snapshot;
  OwnedFork fork;
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> group;
};

berth_group_options in_domain(std::uint32_t domain, const char* const* keys, std::size_t key_count) {
  berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
  options.domain = domain;
  options.keys = keys;
  options.key_count = key_count;
  return options;
}

/// r0: 2 CPUs, r1: 3, r2: 3; zone 0: r0 and r1.
void three_racks(Racks& racks) {
  racks.add_node("a", 2, 0, 0);
  racks.add_node("b", 3, 1, 0);
  racks.add_node("c", 3, 2, 1);
  racks.open();
}

TEST(Group, TheDomainWithMostRoomComesFirstAndOfEqualOnesTheFirstName) {
  for (const char* const backend : {"cpu", "reference"}) {
    Racks racks(backend);
    three_racks(racks);
    racks.add_pods(3, {.name = "p", .milli_cpu = 1000});
    const OwnedResult result = racks.schedule(in_domain(BERTH_DOMAIN_REQUIRED, &kRack, 1));
    ASSERT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_TRY_TAKEN), std::vector<std::uint8_t>{1});
    EXPECT_EQ(text_at(*result, BERTH_COLUMN_TRY_KEY, 0), "rack");
    EXPECT_EQ(text_at(*result, BERTH_COLUMN_TRY_VALUE, 0), "r1");
    EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_TRY_POD).front(), BERTH_NO_POD);
    EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE), (std::vector<std::uint32_t>{1, 1, 1}));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(racks.node_of(i), 1u);
  }
}

TEST(Group, EveryDomainSaysWhyNotAndNothingIsPlaced) {
  Racks racks;
  three_racks(racks);
  racks.add_pods(4, {.name = "p", .milli_cpu = 1000});
  const OwnedResult result = racks.schedule(in_domain(BERTH_DOMAIN_REQUIRED, &kRack, 1));
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_TRY_TAKEN), (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_TRY_PLACED), (std::vector<std::uint32_t>{3, 3, 2}));
  EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_TRY_POD), (std::vector<std::uint32_t>{3, 3, 2}));
  EXPECT_TRUE(text_at(*result, BERTH_COLUMN_TRY_REASONS, 0).starts_with("0/1 nodes are available: 1 Insufficient cpu."))
      << text_at(*result, BERTH_COLUMN_TRY_REASONS, 0);
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_FITS), (std::vector<std::uint8_t>{0, 0, 0, 0}));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(racks.node_of(i), BERTH_NO_NODE);
}

TEST(Group, TheNarrowestKeyThatHoldsAllIsTaken) {
  Racks racks;
  three_racks(racks);
  racks.add_pods(5, {.name = "p", .milli_cpu = 1000});
  const char* const keys[] = {kRack, kZone};
  const OwnedResult result = racks.schedule(in_domain(BERTH_DOMAIN_REQUIRED, keys, 2));
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_TRY_TAKEN), (std::vector<std::uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(text_at(*result, BERTH_COLUMN_TRY_VALUE, 3), "z0");
}

TEST(Group, APreferredDomainGivesWayToAllNodes) {
  Racks racks;
  three_racks(racks);
  racks.add_pods(6, {.name = "p", .milli_cpu = 1000});
  OwnedResult result = racks.schedule(in_domain(BERTH_DOMAIN_PREFERRED, &kZone, 1));
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_TRY_TAKEN), (std::vector<std::uint8_t>{0, 0, 1}));
  EXPECT_EQ(text_at(*result, BERTH_COLUMN_TRY_KEY, 2), "");
}

TEST(Group, TheMinimumIsTakenWhereNoDomainHoldsAll) {
  Racks racks;
  three_racks(racks);
  racks.add_pods(4, {.name = "p", .milli_cpu = 1000});
  berth_group_options options = in_domain(BERTH_DOMAIN_REQUIRED, &kRack, 1);
  options.minimum = 3;
  const OwnedResult result = racks.schedule(options);
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_TRY_TAKEN), (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_FITS), (std::vector<std::uint8_t>{1, 1, 1, 0}));
  EXPECT_EQ(racks.node_of(2), 1u);
  EXPECT_EQ(racks.node_of(3), BERTH_NO_NODE);
}

TEST(Group, APodThatIsNotJudgedFindsNoNode) {
  Racks racks;
  three_racks(racks);
  racks.add_pods(1, {.name = "claims", .has_claim = true});
  const OwnedResult result = racks.schedule(BERTH_GROUP_OPTIONS_INIT);
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_JUDGED), std::vector<std::uint8_t>{BERTH_JUDGED_NOT});
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_FITS), std::vector<std::uint8_t>{0});
  EXPECT_NE(text_at(*result, BERTH_COLUMN_TRY_REASONS, 0).find("spec.resourceClaims"), std::string::npos);
}

TEST(Group, ALateGroupIsNotPlaced) {
  Racks racks;
  three_racks(racks);
  racks.add_pods(200, {.name = "p", .milli_cpu = 10, .memory_mib = 0});
  berth_group_options options = in_domain(BERTH_DOMAIN_REQUIRED, &kRack, 1);
  options.deadline_us = 1;
  const OwnedResult result = racks.schedule(options, BERTH_DEADLINE);
  EXPECT_EQ(racks.node_of(0), BERTH_NO_NODE);
  EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE).size(), 200u);
}

TEST(Group, WrongArgumentsAreRefused) {
  Racks racks, other;
  three_racks(racks);
  racks.add_pods(2, {.name = "p"});
  const char* const keys[] = {"a", "b", "c", "d", "e"};
  EXPECT_EQ(racks.schedule(in_domain(3, keys, 1), BERTH_E_ARGUMENT), nullptr);
  EXPECT_EQ(racks.schedule(in_domain(BERTH_DOMAIN_NONE, keys, 1), BERTH_E_ARGUMENT), nullptr);
  EXPECT_EQ(racks.schedule(in_domain(BERTH_DOMAIN_REQUIRED, nullptr, 0), BERTH_E_ARGUMENT), nullptr);
  EXPECT_EQ(racks.schedule(in_domain(BERTH_DOMAIN_REQUIRED, nullptr, 1), BERTH_E_ARGUMENT), nullptr);
  EXPECT_EQ(racks.schedule(in_domain(BERTH_DOMAIN_REQUIRED, keys, 5), BERTH_E_ARGUMENT), nullptr);
  berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
  options.minimum = 3;
  EXPECT_EQ(racks.schedule(options, BERTH_E_ARGUMENT), nullptr);
  options.minimum = 0;
  options.flags = BERTH_AS_MOVED;
  EXPECT_EQ(racks.schedule(options, BERTH_E_ARGUMENT), nullptr);
  options.flags = 0;
  options.reserved = 1;
  EXPECT_EQ(racks.schedule(options, BERTH_E_ARGUMENT), nullptr);
  options.reserved = 0;
  options.struct_size = 0;
  EXPECT_EQ(racks.schedule(options, BERTH_E_STRUCT_SIZE), nullptr);
  racks.group[1] = racks.group[0];
  EXPECT_EQ(racks.schedule(BERTH_GROUP_OPTIONS_INIT, BERTH_E_ARGUMENT), nullptr);
  racks.group.pop_back();
  EXPECT_NE(racks.schedule(BERTH_GROUP_OPTIONS_INIT), nullptr);
  EXPECT_EQ(racks.schedule(BERTH_GROUP_OPTIONS_INIT, BERTH_E_EXISTS), nullptr);
}

/// What the pods of a group get when they are placed among some nodes of a fork of the fork.
std::vector<std::uint32_t> placed_among(Racks& racks, const std::vector<std::uint32_t>& nodes, std::uint32_t flags) {
  const OwnedFork fork = fork_of(racks.fork.get());
  const OwnedNodeSet set = node_set(racks.world, nodes);
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  options.flags = flags;
  options.nodes = set.get();
  berth_result* made = nullptr;
  EXPECT_EQ(berth_fork_schedule(fork.get(), racks.group.data(), racks.group.size(), &options, &made, nullptr),
            BERTH_OK);
  return column_of<std::uint32_t>(*OwnedResult(made), BERTH_COLUMN_NODE);
}

void draw_world(Dice& dice, Racks& racks, std::map<std::string, std::vector<std::uint32_t>>& nodes_of) {
  for (std::uint32_t n = 0; n < 6; ++n) {
    const int rack = static_cast<int>(dice.upto(2));
    racks.add_node("n" + std::to_string(n), 1 + static_cast<int>(dice.upto(3)), rack, rack % 2);
    nodes_of["rack r" + std::to_string(rack)].push_back(n);
    nodes_of["topology.kubernetes.io/zone z" + std::to_string(rack % 2)].push_back(n);
    nodes_of[" "].push_back(n);
  }
  for (int p = 0; p < 4; ++p)
    racks.world.upsert(
        pod_json({.name = "r" + std::to_string(p), .app = p % 2, .node = "n" + std::to_string(dice.upto(5))}));
  racks.open();
  for (int c = 0; c < 2; ++c)
    racks.add_pods(1 + static_cast<int>(dice.upto(4)), {.name = "g" + std::to_string(c) + "-",
                                                        .milli_cpu = 300 + 100 * static_cast<int>(dice.upto(6)),
                                                        .app = c,
                                                        .spreads = dice.one_in(4),
                                                        .alone = dice.one_in(4),
                                                        .together = dice.one_in(6)});
}

TEST(Group, ADrawnGroupIsPlacedAsInTheNodesOfItsDomain) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  int taken_groups = 0, left_out = 0;
  for (std::uint64_t seed = first; seed < first + setting("BERTH_GROUPS", 60); ++seed) {
    Racks fast("cpu"), plain("reference");
    std::map<std::string, std::vector<std::uint32_t>> nodes_of, same;
    Dice dice(seed), again(seed);
    draw_world(dice, fast, nodes_of);
    draw_world(again, plain, same);
    const char* const keys[] = {kRack, kZone};
    berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
    options.domain = static_cast<std::uint32_t>(dice.upto(2));
    options.keys = keys;
    options.key_count = options.domain == BERTH_DOMAIN_NONE ? 0 : static_cast<std::size_t>(1 + dice.upto(1));
    if (dice.one_in(3)) options.minimum = static_cast<std::size_t>(1 + dice.upto(1));
    std::map<std::string, std::vector<std::uint32_t>> placed_in;
    for (const auto& [domain, nodes] : nodes_of)
      placed_in[domain] = placed_among(
          fast, nodes,
          options.minimum == 0 || options.minimum == fast.group.size() ? std::uint32_t{BERTH_STOP_AT_FAILURE} : 0);
    const OwnedResult result = fast.schedule(options);
    ASSERT_EQ(text_of(*result), text_of(*plain.schedule(options))) << "seed " << seed;
    const auto taken = column_of<std::uint8_t>(*result, BERTH_COLUMN_TRY_TAKEN);
    const auto placed = column_of<std::uint32_t>(*result, BERTH_COLUMN_TRY_PLACED);
    const auto nodes = column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE);
    ASSERT_LE(std::ranges::count(taken, 1), 1) << "seed " << seed;
    for (std::size_t t = 0; t < taken.size(); ++t) {
      const std::string domain =
          text_at(*result, BERTH_COLUMN_TRY_KEY, t) + " " + text_at(*result, BERTH_COLUMN_TRY_VALUE, t);
      const std::vector<std::uint32_t>& alone = placed_in.at(domain);
      const auto count = std::ranges::count_if(alone, [](std::uint32_t node) { return node != BERTH_NO_NODE; });
      EXPECT_EQ(placed[t], static_cast<std::uint32_t>(count)) << "seed " << seed << ", " << domain;
      if (taken[t] != 0) {
        EXPECT_EQ(nodes, alone) << "seed " << seed << ", " << domain;
      }
      // Nothing is tried behind a try that placed all.
      if (placed[t] == fast.group.size()) {
        EXPECT_EQ(t + 1, taken.size());
        EXPECT_EQ(taken[t], 1);
      }
    }
    const bool is_taken = std::ranges::count(taken, 1) == 1;
    const std::size_t minimum = options.minimum == 0 ? fast.group.size() : options.minimum;
    EXPECT_EQ(is_taken, std::ranges::any_of(placed, [&](std::uint32_t p) { return p >= minimum; })) << "seed " << seed;
    for (std::size_t i = 0; i < fast.group.size(); ++i) EXPECT_EQ(fast.node_of(i), nodes[i]) << "seed " << seed;
    ++(is_taken ? taken_groups : left_out);
  }
  EXPECT_GT(taken_groups, 0);
  EXPECT_GT(left_out, 0);
}

}  // namespace
}  // namespace berth::test
