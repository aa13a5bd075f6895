// SPDX-License-Identifier: Apache-2.0
#include "batching/victim_moves.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

/// Lists of victims by name, prepared with their kinds.
class Lists {
 public:
  Lists(test::CompiledCluster& cluster, const std::vector<std::vector<std::string>>& names) : victims_(names.size()) {
    std::map<std::string, const Pod*> by_name;
    for (const PodPtr& pod : cluster.scenario.objects.pods) by_name[pod->name] = pod.get();
    for (std::size_t l = 0; l < names.size(); ++l) {
      for (const std::string& name : names[l]) victims_[l].push_back({by_name.at(name), false});
      lists_.push_back({NodeIndex{0}, victims_[l]});
    }
    memory_.begin(cluster.table, cluster.snapshot);
    prepared_.emplace(DryRunRequest{{}, lists_, {}}, cluster.table, true, false, memory_);
  }
  const Victims& prepared() const { return *prepared_; }
  /// As VictimMemory::moves_for() of a class that nobody asked about.
  KindMoves& unknown_moves() { return known_.emplace_back(); }

 private:
  std::vector<std::vector<Victim>> victims_;
  std::vector<VictimList> lists_;
  VictimMemory memory_;
  std::optional<Victims> prepared_;
  std::list<KindMoves> known_;
};

constexpr const char* kVictimsAndClass =
    "node a zone=x\n"
    "pod db*2 on=a label:app=db\n"
    "pod web*2 on=a label:app=web\n"
    "pod guard on=a label:app=guard pod-anti-affinity=zone match=app=db\n"
    "pod plain on=a\n"
    "pod apart label:app=db pod-anti-affinity=zone match=app=web\n"
    "pod spread label:app=web spread=zone match=app=web\n";

std::vector<bool> changes_of(const VictimMoves& moves, std::size_t lists) {
  std::vector<bool> changes;
  for (std::size_t l = 0; l < lists; ++l) changes.push_back(moves.change(l));
  return changes;
}

TEST(VictimMoves, OnlyVictimsThatATermOfTheClassOrTheirOwnConcernsChangeATable) {
  test::CompiledCluster cluster(kVictimsAndClass);
  Lists lists(cluster, {{"plain"}, {"db0", "plain"}, {"web0"}, {"guard"}, {}, {"plain", "web1", "db1"}});
  const ListsOfKinds of_kinds(lists.prepared());
  for (const ListsOfKinds* const by_kind : {static_cast<const ListsOfKinds*>(nullptr), &of_kinds}) {
    const VictimMoves apart(cluster.class_of(0), false, cluster.table, lists.prepared(), by_kind,
                            lists.unknown_moves());
    EXPECT_EQ(changes_of(apart, 6), (std::vector<bool>{false, false, true, true, false, true}));
    const VictimMoves spread(cluster.class_of(1), false, cluster.table, lists.prepared(), by_kind,
                             lists.unknown_moves());
    EXPECT_EQ(changes_of(spread, 6), (std::vector<bool>{false, false, true, false, false, true}));
  }
}

TEST(VictimMoves, AffinityThatPreFilterSkipsIsNotChanged) {
  test::CompiledCluster cluster(kVictimsAndClass);
  Lists lists(cluster, {{"web0"}, {"guard"}});
  const VictimMoves apart(cluster.class_of(0), true, cluster.table, lists.prepared(), nullptr, lists.unknown_moves());
  EXPECT_EQ(changes_of(apart, 2), (std::vector<bool>{false, false}));
}

TEST(VictimMoves, WhatIsKnownOfKindsServesLaterRequests) {
  test::CompiledCluster cluster(kVictimsAndClass);
  Lists lists(cluster, {{"plain"}, {"web0"}, {"guard"}});
  KindMoves& known = lists.unknown_moves();
  {
    const VictimMoves first(cluster.class_of(0), false, cluster.table, lists.prepared(), nullptr, known);
  }
  const std::size_t changes = known.moves.size();
  EXPECT_EQ(changes, 3u) << "nothing, and what web and guard change";
  const VictimMoves again(cluster.class_of(0), false, cluster.table, lists.prepared(), nullptr, known);
  EXPECT_EQ(changes_of(again, 3), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(known.moves.size(), changes);
}

TEST(VictimMoves, VictimsThatCountAlikeAreOneKind) {
  test::CompiledCluster cluster(kVictimsAndClass);
  const Lists lists(cluster, {{"db0", "web0", "db1"}, {"web1"}});
  const Victims& victims = lists.prepared();
  EXPECT_EQ(victims.list(0).kinds[0], victims.list(0).kinds[2]);
  EXPECT_EQ(victims.list(0).kinds[1], victims.list(1).kinds[0]);
  EXPECT_EQ(victims.memory().kind_count(), 2u);
  const ListsOfKinds of_kinds(victims);
  EXPECT_EQ(of_kinds.of(victims.list(0).kinds[0]).size(), 2u) << "once for each victim";
  EXPECT_EQ(of_kinds.of(victims.list(1).kinds[0]).size(), 2u);
}

}  // namespace
}  // namespace berth
