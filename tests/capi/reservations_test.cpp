// SPDX-License-Identifier: Apache-2.0
// Reservations: pods that keep room, by owner.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/capi/counting_world.h"

namespace berth::test {
namespace {

/// Two nodes of 3 CPUs, each in a zone of its own.
class Reserved : public testing::TestWithParam<const char*> {
 protected:
  Reserved() : world_(GetParam(), 1), pod_(world_.pod({.name = "p", .milli_cpu = 1000})) {
    for (int n = 0; n < 2; ++n) world_.upsert(node_json({.name = "n" + std::to_string(n), .cpu = 3, .zone = n}));
  }

  berth_cluster* cluster() { return world_.cluster.get(); }
  OwnedResult reserve(const char* owner, std::size_t count, const char* zone = nullptr) {
    berth_reserve_options options = BERTH_RESERVE_OPTIONS_INIT;
    options.key = zone != nullptr ? kZone : nullptr;
    options.value = zone;
    berth_result* made = nullptr;
    berth_error error = BERTH_ERROR_INIT;
    EXPECT_EQ(berth_cluster_reserve(cluster(), owner, pod_.get(), count, &options, &made, &error), BERTH_OK)
        << error.text;
    return OwnedResult(made);
  }
  /// "owner uid node", each
  std::string listed(const char* owner = nullptr) {
    berth_result* made = nullptr;
    EXPECT_EQ(berth_cluster_reservations(cluster(), owner, &made, nullptr), BERTH_OK);
    const OwnedResult result(made);
    const auto owners = column_of<std::uint32_t>(*result, BERTH_COLUMN_OWNER);
    const auto uids = column_of<std::uint32_t>(*result, BERTH_COLUMN_UID);
    const auto nodes = column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE);
    std::string text;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      berth_str name{}, uid{};
      EXPECT_EQ(berth_result_text(made, owners[i], &name, nullptr), BERTH_OK);
      EXPECT_EQ(berth_result_text(made, uids[i], &uid, nullptr), BERTH_OK);
      text += std::string(name.data) + " " + uid.data + " " +
              (nodes[i] == BERTH_NO_NODE ? "gone" : std::to_string(nodes[i])) + "\n";
    }
    return text;
  }
  std::int64_t room() {
    const OwnedResult result =
        max_replicas(world_, nullptr, world_.snapshot().get(),
                     {.shapes = {{.name = "q", .milli_cpu = 1000}}, .set = {}, .flags = 0}, false);
    return column_of<std::int64_t>(*result, BERTH_COLUMN_COUNT).front();
  }
  std::size_t unreserve(const char* owner, const berth_unreserve_options* options = nullptr) {
    std::size_t removed = 99;
    EXPECT_EQ(berth_cluster_unreserve(cluster(), owner, options, &removed, nullptr), BERTH_OK);
    return removed;
  }
  std::uint64_t version() {
    std::uint64_t version = 0;
    EXPECT_EQ(berth_cluster_version(cluster(), &version, nullptr), BERTH_OK);
    return version;
  }

  CountingWorld world_;
  OwnedPod pod_;
};

TEST_P(Reserved, RulesSeeThemInLaterSnapshotsAndTheyAreListedByOwner) {
  const OwnedSnapshot before = world_.snapshot();
  ASSERT_EQ(room(), 6);
  const OwnedResult result = reserve("team", 2, "z1");
  EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE), (std::vector<std::uint32_t>{1, 1}));
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_FITS), (std::vector<std::uint8_t>{1, 1}));
  EXPECT_EQ(room(), 4);
  reserve("a/b", 1, "z0");
  EXPECT_EQ(listed(), "a/b reservation/a/b/0 0\nteam reservation/team/0 1\nteam reservation/team/1 1\n");
  EXPECT_EQ(listed("team"), "team reservation/team/0 1\nteam reservation/team/1 1\n");
  EXPECT_EQ(listed("nobody"), "");
  const OwnedResult of_before = max_replicas(
      world_, nullptr, before.get(), {.shapes = {{.name = "q", .milli_cpu = 1000}}, .set = {}, .flags = 0}, false);
  EXPECT_EQ(column_of<std::int64_t>(*of_before, BERTH_COLUMN_COUNT).front(), 6);
  EXPECT_EQ(unreserve("team"), 2u);
  EXPECT_EQ(room(), 5);
}

TEST_P(Reserved, AllOfThemFitOrNoneIsKept) {
  const std::uint64_t before = version();
  const OwnedResult result = reserve("team", 4, "z0");
  EXPECT_EQ(column_of<std::uint8_t>(*result, BERTH_COLUMN_FITS), (std::vector<std::uint8_t>{0, 0, 0, 0}));
  EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE), std::vector<std::uint32_t>(4, BERTH_NO_NODE));
  berth_str why{};
  ASSERT_EQ(
      berth_result_text(result.get(), column_of<std::uint32_t>(*result, BERTH_COLUMN_MESSAGE).back(), &why, nullptr),
      BERTH_OK);
  EXPECT_TRUE(std::string(why.data).starts_with("0/1 nodes are available: 1 Insufficient cpu")) << why.data;
  EXPECT_EQ(version(), before);
  EXPECT_EQ(listed(), "");
  EXPECT_EQ(column_of<std::uint8_t>(*reserve("team", 1, "nowhere"), BERTH_COLUMN_FITS), std::vector<std::uint8_t>{0});
  EXPECT_EQ(column_of<std::uint8_t>(*reserve("team", SIZE_MAX), BERTH_COLUMN_FITS), std::vector<std::uint8_t>(7, 0));
  EXPECT_EQ(column_of<std::uint8_t>(*reserve("team", 0), BERTH_COLUMN_FITS).size(), 0u);
  EXPECT_EQ(room(), 6);
}

TEST_P(Reserved, SomeAreGivenBackTheLatestFirst) {
  reserve("team", 2, "z0");
  reserve("team", 3, "z1");
  berth_unreserve_options options = BERTH_UNRESERVE_OPTIONS_INIT;
  options.count = 1;
  EXPECT_EQ(unreserve("team", &options), 1u);
  options.key = kZone;
  options.value = "z0";
  EXPECT_EQ(unreserve("team", &options), 1u);
  EXPECT_EQ(listed(), "team reservation/team/0 0\nteam reservation/team/2 1\nteam reservation/team/3 1\n");
  options = BERTH_UNRESERVE_OPTIONS_INIT;
  const OwnedPod other = world_.pod({.name = "other", .milli_cpu = 500});
  options.pod = other.get();
  EXPECT_EQ(unreserve("team", &options), 0u);
  const OwnedPod equal = world_.pod({.name = "equal", .milli_cpu = 1000});
  options.pod = equal.get();
  const OwnedNodeSet set = node_set(world_, {1});
  options.nodes = set.get();
  EXPECT_EQ(unreserve("team", &options), 2u);
  reserve("team", 1, "z1");
  EXPECT_EQ(listed(), "team reservation/team/0 0\nteam reservation/team/1 1\n");
}

TEST_P(Reserved, TheyOutliveAReplaceOfPodsAndTheLossOfTheirNode) {
  reserve("team", 1, "z0");
  world_.upsert(pod_json({.name = "runs", .node = "n1"}));
  EXPECT_EQ(berth_cluster_replace(cluster(), "Pod", nullptr, 0, nullptr), BERTH_OK);
  EXPECT_EQ(listed(), "team reservation/team/0 0\n");
  EXPECT_EQ(berth_cluster_delete(cluster(), "Node", nullptr, "n0", nullptr, nullptr), BERTH_OK);
  EXPECT_EQ(listed(), "team reservation/team/0 gone\n");
  EXPECT_EQ(room(), 3);
  world_.upsert(node_json({.name = "n0", .cpu = 3, .zone = 0}));
  EXPECT_EQ(listed(), "team reservation/team/0 0\n");
  EXPECT_EQ(room(), 5);
}

TEST_P(Reserved, WhatDeletesThePodEndsTheReservation) {
  reserve("team", 2, "z0");
  EXPECT_EQ(berth_cluster_delete(cluster(), "Pod", nullptr, nullptr, "reservation/team/0", nullptr), BERTH_OK);
  EXPECT_EQ(listed(), "team reservation/team/1 0\n");
  const OwnedSnapshot snapshot = world_.snapshot();
  const OwnedFork fork = fork_of(snapshot.get());
  EXPECT_EQ(berth_fork_remove_pod(fork.get(), "reservation/team/1", nullptr), BERTH_OK);
  EXPECT_EQ(listed(), "team reservation/team/1 0\n");
  EXPECT_EQ(berth_fork_commit(fork.get(), nullptr, nullptr), BERTH_OK);
  EXPECT_EQ(listed(), "");
  EXPECT_EQ(berth_cluster_unreserve(cluster(), "team", nullptr, nullptr, nullptr), BERTH_E_NOT_FOUND);
  EXPECT_EQ(room(), 6);
}

TEST_P(Reserved, WrongArgumentsAreRefused) {
  berth_result* result = nullptr;
  const auto status_of = [&](const char* owner, const berth_pod* pod, const berth_reserve_options* options) {
    berth_error error = BERTH_ERROR_INIT;
    return berth_cluster_reserve(cluster(), owner, pod, 1, options, &result, &error);
  };
  const auto with = [&](auto change) {
    berth_reserve_options options = BERTH_RESERVE_OPTIONS_INIT;
    change(options);
    return status_of("team", pod_.get(), &options);
  };
  EXPECT_EQ(status_of(nullptr, pod_.get(), nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(status_of("", pod_.get(), nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(status_of("team", nullptr, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.key = kZone; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.value = "z0"; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.key = "", o.value = "z0"; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.flags = BERTH_AS_MOVED; }), BERTH_E_ARGUMENT);
  EXPECT_EQ(with([](auto& o) { o.struct_size = 0; }), BERTH_E_STRUCT_SIZE);
  const OwnedPod claims = world_.pod({.name = "claims", .has_claim = true});
  EXPECT_EQ(status_of("team", claims.get(), nullptr), BERTH_E_UNSUPPORTED);
  EXPECT_EQ(berth_cluster_reserve(nullptr, "team", pod_.get(), 1, nullptr, &result, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(berth_cluster_reserve(cluster(), "team", pod_.get(), 1, nullptr, nullptr, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(berth_cluster_unreserve(cluster(), "team", nullptr, nullptr, nullptr), BERTH_E_NOT_FOUND);
  EXPECT_EQ(berth_cluster_unreserve(cluster(), "", nullptr, nullptr, nullptr), BERTH_E_ARGUMENT);
  berth_unreserve_options options = BERTH_UNRESERVE_OPTIONS_INIT;
  options.reserved = 1;
  EXPECT_EQ(berth_cluster_unreserve(cluster(), "team", &options, nullptr, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(berth_cluster_reservations(cluster(), "", &result, nullptr), BERTH_E_ARGUMENT);
  EXPECT_EQ(berth_cluster_reservations(cluster(), nullptr, nullptr, nullptr), BERTH_E_ARGUMENT);
  std::string taken = pod_json({.name = "x", .node = "n0"});
  taken.replace(taken.find("uid-x"), 5, "reservation/team/0");
  world_.upsert(taken);
  EXPECT_EQ(status_of("team", pod_.get(), nullptr), BERTH_E_EXISTS);
  EXPECT_EQ(result, nullptr);
}

INSTANTIATE_TEST_SUITE_P(OnBackends, Reserved, testing::Values("cpu", "reference"));

}  // namespace
}  // namespace berth::test
