// SPDX-License-Identifier: Apache-2.0
// What events of node objects cost on a device: transfers, launches and rows that are built again.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "batching/device/device_errors.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "host/objects/pod_copy.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

using Changes = std::vector<ClusterChange>;

/// The node that one line of a scenario describes.
ClusterChange upsert(const std::string& line) { return NodeUpsert(test::parse_scenario(line).objects.nodes.front()); }

/// A device backend beside a cpu backend that is told the same.
struct Engines {
  explicit Engines(const std::string& text, const DeviceTuning& tuning = {}, const test::Emulation& emulation = {})
      : scenario(test::parse_scenario(text)), cache(test::fill_cache(scenario.objects)) {
    auto made = std::make_unique<test::EmulatedAccelerator>(emulation);
    accelerator = made.get();
    device = std::make_unique<DeviceBackend>(std::move(made), cache, scenario.objects, scenario.config, scenario.engine,
                                             tuning);
    cpu = std::make_unique<CpuBackend>(cache, scenario.objects, scenario.config, scenario.engine);
  }

  void apply(const Changes& changes) {
    device->apply(changes);
    cpu->apply(changes);
  }

  static std::vector<std::string> place(Backend& backend, const std::vector<PodPtr>& pods) {
    std::vector<PodToPlace> batch;
    for (const PodPtr& pod : pods) batch.push_back({pod, 0, -1});
    backend.compile(batch);
    const BatchResult result = backend.commit_batch(batch, {});
    std::vector<std::string> lines;
    for (const Outcome& outcome : result.outcomes)
      lines.push_back(outcome.kind == OutcomeKind::kPlaced
                          ? std::string(backend.node_name(outcome.node)) + " " + std::to_string(outcome.score)
                          : result.messages[static_cast<std::size_t>(outcome.message)].text);
    backend.release(batch);
    return lines;
  }
  /// The pending pods of the scenario once more, under other names.
  std::vector<PodPtr> next_pods() {
    std::vector<PodPtr> pods;
    for (const PodPtr& pod : scenario.pending()) {
      auto copy = copy_of(*pod);
      copy->name += "-" + std::to_string(round);
      copy->stored_uid.clear();
      pods.push_back(std::move(copy));
    }
    ++round;
    return pods;
  }
  void expect_equal_placements(const std::string& after) {
    const std::vector<PodPtr> pods = next_pods();
    EXPECT_EQ(place(*device, pods), place(*cpu, pods)) << after;
  }
  DeviceStats stats() const { return device->stats().device.value(); }

  test::Scenario scenario;
  std::shared_ptr<ClusterCache> cache;
  test::EmulatedAccelerator* accelerator = nullptr;
  std::unique_ptr<DeviceBackend> device;
  std::unique_ptr<CpuBackend> cpu;
  int round = 0;
};

/// What one round of placements after some events costs.
struct Cost {
  std::uint64_t bytes = 0;
  std::int64_t full_uploads = 0;
  std::int64_t layouts = 0;
  std::int64_t rows = 0;
};

Cost cost_of(Engines& engines, const Changes& changes, const std::string& what) {
  const DeviceStats before = engines.stats();
  const std::int64_t rows = engines.device->stats().rows_built;
  const std::uint64_t bytes = engines.accelerator->uploaded_bytes();
  engines.apply(changes);
  engines.expect_equal_placements(what);
  const DeviceStats after = engines.stats();
  return {engines.accelerator->uploaded_bytes() - bytes, after.full_uploads - before.full_uploads,
          after.layouts_rebuilt - before.layouts_rebuilt, engines.device->stats().rows_built - rows};
}

/// Classes in one cell, in cells by zone, node by node, and with raw scores of the node side.
std::string cluster_of(int nodes) {
  return "node n*" + std::to_string(nodes) +
         " cpu=64 memory=256Gi zone=1 host\nnode z*9 cpu=64 memory=256Gi zone=2 host\n"
         "node slow*9 cpu=64 memory=256Gi zone=2 host taint=slow:PreferNoSchedule\n"
         "pod a*2 cpu=100m\npod b*2 cpu=200m select:zone=1\npod s*2 label:app=s spread=zone match=app=s\n"
         "pod t*2 label:app=t soft-spread=zone match=app=t soft-spread=host match=app=t\n"
         "pod u*2 label:app=u pod-anti-affinity=host match=app=u\npod w*1 port=80\npod tied prefer=5:zone:In:2\n";
}
constexpr const char* kNode = "node n3 cpu=64 memory=256Gi zone=1 host";
constexpr const char* kSlow = "node slow3 cpu=64 memory=256Gi zone=2 host taint=slow:PreferNoSchedule";

DeviceTuning few_coarse_domains() {
  DeviceTuning tuning;
  tuning.coarse_domains_max = 8;
  return tuning;
}

struct Event {
  std::string what;
  Changes changes;
  /// Another node order is sent, eight bytes a node.
  bool changes_order = false;
  /// Nodes of several zones take turns in node order, so that some change places when one goes: rows, which contain the
  /// first of equal keys, are built again.
  bool moves_nodes = false;
};

std::vector<Event> small_events() {
  const std::string node = kNode;
  return {{"nothing", {}},
          {"a taint that refuses", {upsert(node + " taint=no:NoSchedule")}},
          {"the taint is gone", {upsert(node)}},
          {"a cordon", {upsert(node + " unschedulable")}},
          {"no cordon", {upsert(node)}},
          {"allocatable", {upsert("node n3 cpu=8 memory=16Gi zone=1 host")}},
          {"allocatable as before", {upsert(node)}},
          {"a label that nobody reads", {upsert(node + " label:x=y")}},
          {"another zone", {upsert("node n3 cpu=64 memory=256Gi zone=2 host")}, true},
          {"back in its zone", {upsert(node)}, true},
          {"a score of the node side", {upsert("node slow3 cpu=64 memory=256Gi zone=2 host")}},
          {"the score as before", {upsert(kSlow)}},
          {"a node goes", {NodeRemoval{"n3"}}, true, true},
          {"it comes back", {upsert(node)}, true},
          {"another node takes its place",
           {NodeRemoval{"z3"}, upsert("node new cpu=64 memory=256Gi zone=2 host")},
           true,
           true}};
}

TEST(DeviceEventsTest, EventsOfANodeAreFollowedAtTheCostOfTheNode) {
  std::vector<std::vector<std::uint64_t>> bytes;
  for (const int nodes : {1000, 4000}) {
    Engines engines(cluster_of(nodes), few_coarse_domains());
    engines.expect_equal_placements("the first round");
    engines.expect_equal_placements("the second round");
    const std::uint64_t whole = engines.accelerator->uploaded_bytes();
    std::vector<std::uint64_t>& of_events = bytes.emplace_back();
    for (const Event& event : small_events()) {
      // A class with uniform nodes is one cell: another raw score is laid out again.
      const bool is_raw = event.what.find("score") != std::string::npos;
      const Cost cost = cost_of(engines, event.changes, event.what);
      EXPECT_EQ(cost.full_uploads, 0) << event.what;
      if (!is_raw) {
        EXPECT_EQ(cost.layouts, 0) << event.what;
        EXPECT_EQ(cost.rows > 0, event.moves_nodes) << event.what;
      }
      EXPECT_LT(cost.bytes, whole / 4) << event.what;
      of_events.push_back(cost.bytes -
                          (event.changes_order ? std::uint64_t{8} * static_cast<std::uint64_t>(nodes) : 0));
    }
  }
  for (std::size_t e = 0; e < bytes[0].size(); ++e)
    EXPECT_LT(bytes[1][e], bytes[0][e] + 4096) << "event " << e << ": the number of nodes is not in it";
}

TEST(DeviceEventsTest, ATaintCausesNoUploadOfEverything) {
  Engines engines("node n*400 cpu=64 memory=64Gi\npod p*5 cpu=1\npod q*5 cpu=2\n");
  engines.expect_equal_placements("before");
  EXPECT_EQ(engines.stats().full_uploads, 1);
  const std::int64_t uploads = engines.accelerator->uploads();
  const std::int64_t launches = engines.accelerator->launches();
  const Cost cost = cost_of(engines, {upsert("node n7 cpu=64 memory=64Gi taint=no:NoSchedule")}, "a taint");
  EXPECT_EQ(engines.stats().full_uploads, 1);
  EXPECT_EQ(cost.rows, 0);
  EXPECT_EQ(engines.accelerator->uploads() - uploads, 2) << "the change, and the batch";
  EXPECT_EQ(engines.accelerator->launches() - launches, 3) << "the change, a refresh, and the batch";
}

TEST(DeviceEventsTest, TheFirstNodeWithAnotherRawScoreSplitsACell) {
  Engines engines("node n*40 cpu=64 memory=64Gi\npod p*5 cpu=1\n");
  engines.expect_equal_placements("before");
  const auto slow = [](int node) {
    return upsert("node n" + std::to_string(node) + " cpu=64 memory=64Gi taint=slow:PreferNoSchedule");
  };
  EXPECT_EQ(cost_of(engines, {slow(1)}, "the first one").layouts, 1);
  EXPECT_EQ(cost_of(engines, {slow(2)}, "another one").layouts, 0) << "there is room in its cell";
  const Cost cost =
      cost_of(engines, {upsert("node n1 cpu=64 memory=64Gi"), upsert("node n2 cpu=64 memory=64Gi")}, "all equal again");
  EXPECT_EQ(cost.layouts, 1) << "one cell";
  EXPECT_EQ(cost.full_uploads, 0);
}

TEST(DeviceEventsTest, CellsHaveRoomForSomeNodesAndNewCells) {
  DeviceTuning tuning;
  tuning.spare_cells = 1;
  tuning.spare_places_min = 2;
  Engines engines(
      "node a*12 cpu=64 memory=64Gi zone=1\nnode b*12 cpu=64 memory=64Gi zone=2\n"
      "pod s*3 cpu=1 label:app=s spread=zone match=app=s\n",
      tuning);
  engines.expect_equal_placements("before");
  const auto in_zone = [](const std::string& name, int zone) {
    return upsert("node " + name + " cpu=64 memory=64Gi zone=" + std::to_string(zone));
  };
  EXPECT_EQ(cost_of(engines, {in_zone("a0", 2), in_zone("a1", 2)}, "two nodes move").layouts, 0);
  EXPECT_EQ(cost_of(engines, {in_zone("a2", 2)}, "a third one").layouts, 1) << "no position is free";
  EXPECT_EQ(cost_of(engines, {in_zone("a3", 3)}, "a new zone").layouts, 0) << "a cell is free";
  EXPECT_EQ(cost_of(engines, {in_zone("a4", 4)}, "another new zone").layouts, 1) << "no cell is free";
  EXPECT_EQ(cost_of(engines, {in_zone("a3", 1), in_zone("a4", 5)}, "a zone ends and another begins").layouts, 0);
  EXPECT_EQ(cost_of(engines, {in_zone("b0", 1), in_zone("a5", 2)}, "two nodes change places").layouts, 0);
  EXPECT_EQ(engines.stats().full_uploads, 1);
}

/// Two loads, and anti-affinity that pods of one class read, in two priorities between which pods lie.
TEST(DeviceEventsTest, PodsThatNominationsCountAgainstArePlacedOnTheDevice) {
  Engines engines(cluster_of(20) +
                  "pod n cpu=63 priority=9 nominated=n3\npod m cpu=63500m priority=5 nominated=z1\n"
                  "pod k label:app=u priority=9 pod-anti-affinity=host match=app=u nominated=n5\n"
                  "pod high*3 cpu=700m priority=7\npod large*4 cpu=40 priority=1\n");
  for (const char* round : {"cold", "warm", "fuller"}) engines.expect_equal_placements(round);
  engines.apply({NominationUpsert{engines.scenario.pending().front(), "n7"}, PodRemoval{"no such pod"}});
  engines.expect_equal_placements("with another nomination");
  EXPECT_EQ(engines.stats().pods_on_host, 0);
  EXPECT_EQ(Engines::place(*engines.device, engines.scenario.pending()),
            Engines::place(*engines.cpu, engines.scenario.pending()));
  EXPECT_LE(engines.stats().pods_on_host, 4) << "nominated pods try their own node on the host";
  engines.expect_equal_placements("without nominations");
  EXPECT_LE(engines.stats().pods_on_host, 4);
}

TEST(DeviceEventsTest, PodsThatTheHostPlacesAreCounted) {
  const std::string cluster = "node a cpu=4 memory=4Gi\nnode b cpu=4 memory=4Gi\npod p*3 cpu=100m memory=1Mi\n";
  Engines plain(cluster);
  plain.expect_equal_placements("a plain profile");
  EXPECT_EQ(plain.stats().pods_on_host, 0);
  for (const char* words : {"engine ties=kube seed=7\n", "engine sampling=kube\nconfig percentage=50\n"}) {
    Engines on_host(words + cluster);
    on_host.expect_equal_placements(words);
    EXPECT_EQ(on_host.stats().pods_on_host, 3) << words;
    on_host.expect_equal_placements(words);
    EXPECT_EQ(on_host.stats().pods_on_host, 6) << words;
  }
}

TEST(DeviceEventsTest, ManyChangedNodesAndNewSlotsUploadEverything) {
  Engines engines(cluster_of(200));
  engines.expect_equal_placements("before");
  Changes many;
  for (int i = 0; i < 60; ++i)
    many.push_back(upsert("node n" + std::to_string(i) + " cpu=64 memory=256Gi zone=1 host unschedulable"));
  EXPECT_EQ(cost_of(engines, many, "many nodes").full_uploads, 1);
  EXPECT_EQ(cost_of(engines, {upsert("node new1 cpu=64 memory=256Gi zone=1 host")}, "no slot is free").full_uploads, 1);
  EXPECT_EQ(cost_of(engines, {upsert("node new2 cpu=64 memory=256Gi zone=1 host")}, "slots are free").full_uploads, 0);
}

TEST(DeviceEventsTest, EventsWithoutPlacementsBetweenThemAreTakenInTogether) {
  Engines engines(cluster_of(60), few_coarse_domains());
  engines.expect_equal_placements("before");
  const std::int64_t launches = engines.accelerator->launches();
  for (const Event& event : small_events()) engines.apply(event.changes);
  for (int again = 0; again < 30; ++again) {
    engines.apply({upsert(std::string(kNode) + " unschedulable")});
    engines.apply({upsert(kNode)});
  }
  EXPECT_EQ(engines.accelerator->launches(), launches) << "the device is told when it is asked";
  EXPECT_EQ(cost_of(engines, {}, "all of them").full_uploads, 0);
}

TEST(DeviceEventsTest, TheSecondNodeOfADomainThatWasReadByNodeUploadsEverything) {
  Engines engines(cluster_of(20), few_coarse_domains());
  engines.expect_equal_placements("before");
  const Cost cost = cost_of(engines, {upsert("node n3 cpu=64 memory=256Gi zone=1 label:kubernetes.io/hostname=n4")},
                            "two nodes of one host");
  EXPECT_EQ(cost.full_uploads, 1);
}

// Classes whose images are on no node share a node side, until a node has one of them.
TEST(DeviceEventsTest, ClassesPartWhenANodeGetsTheImageOfOne) {
  for (const std::string& order : {std::string("pod p*3 cpu=1\npod q*3 cpu=2 image=app:v1\n"),
                                   std::string("pod q*3 cpu=2 image=app:v1\npod p*3 cpu=1\n")}) {
    Engines engines("node n*20 cpu=64 memory=64Gi\n" + order);
    engines.expect_equal_placements("no node has the image");
    const auto with_image = [](int node) {
      return upsert("node n" + std::to_string(node) + " cpu=64 memory=64Gi image=900Mi*app:v1");
    };
    EXPECT_EQ(cost_of(engines, {with_image(3)}, "the image came to a node").full_uploads, 0);
    EXPECT_EQ(cost_of(engines, {with_image(4)}, "and to another one").full_uploads, 0);
    engines.expect_equal_placements("nothing happened since");
  }
}

/// Events, a round of placements after each, and one launch or allocation that fails.
std::vector<std::string> live(Engines& engines, int& errors, const std::function<void()>& heal) {
  std::vector<std::string> lines = Engines::place(*engines.device, engines.next_pods());
  for (const Event& event : small_events()) {
    engines.device->apply(event.changes);
    const std::vector<PodPtr> pods = engines.next_pods();
    const CommitMark before = engines.device->mark();
    for (;;) {
      try {
        const std::vector<std::string> placed = Engines::place(*engines.device, pods);
        lines.insert(lines.end(), placed.begin(), placed.end());
        break;
      } catch (const DeviceError&) {
        ++errors;
        heal();
        EXPECT_EQ(engines.device->mark().position, before.position) << event.what;
      }
      if (errors > 1) return lines;
    }
  }
  return lines;
}

TEST(DeviceEventsTest, EveryFailedLaunchLeavesNothingBehind) {
  int errors = 0;
  Engines healthy(cluster_of(12), few_coarse_domains());
  const std::vector<std::string> expected = live(healthy, errors, [] {});
  ASSERT_EQ(errors, 0);
  const auto first = [] {
    Engines engines(cluster_of(12), few_coarse_domains());
    Engines::place(*engines.device, engines.next_pods());
    return engines.accelerator->launches();
  }();
  const std::int64_t end = healthy.accelerator->launches();
  for (std::int64_t launches = first; launches < end; ++launches) {
    Engines engines(cluster_of(12), few_coarse_domains(), {.fails_after = launches});
    errors = 0;
    ASSERT_EQ(live(engines, errors, [&] { engines.accelerator->emulation().fails_after = -1; }), expected)
        << "failed after " << launches << " launches";
    ASSERT_EQ(errors, 1) << "failed after " << launches << " launches";
  }
  EXPECT_GT(end - first, 20);
}

TEST(DeviceEventsTest, EveryRefusedAllocationLeavesNothingBehind) {
  int errors = 0;
  Engines healthy(cluster_of(12), few_coarse_domains());
  const std::vector<std::string> expected = live(healthy, errors, [] {});
  const std::int64_t end = healthy.accelerator->allocations();
  std::int64_t refused = 0;
  for (std::int64_t allocations = 0; allocations < end; ++allocations) {
    // One refusal is survived by dropping what is kept for later; the second one ends the call.
    for (const std::int64_t times : {1, 1000}) {
      Engines engines(cluster_of(12), few_coarse_domains(), {.refuses_after = allocations, .refusals_max = times});
      errors = 0;
      try {
        ASSERT_EQ(live(engines, errors, [&] { engines.accelerator->emulation().refuses_after = -1; }), expected)
            << "refused after " << allocations << " allocations";
      } catch (const DeviceOutOfMemory&) {
        ++refused;  // of the round before the first event
      }
      EXPECT_LE(errors, 1);
      refused += errors;
    }
  }
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace berth
