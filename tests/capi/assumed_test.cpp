// SPDX-License-Identifier: Apache-2.0
// Pods that are assumed on a node and forgotten again.

#include <gtest/gtest.h>

#include <string>

#include "tests/capi/answers.h"

namespace berth::test {
namespace {

/// A node that a pod of 3 of its 4 cores is nominated to, above one that would take 2.
class Assumed : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    upsert(cluster_.get(), node_json({.name = "n0"}));
    upsert(cluster_.get(), pod_json(nominated_));
    other_ = pod_of(cluster_.get(), pod_json({.name = "other", .milli_cpu = 2000}));
    waits_ = pod_of(cluster_.get(), pod_json(nominated_));
    EXPECT_FALSE(other_fits());
  }

  bool other_fits() {
    const OwnedSnapshot snapshot = snapshot_of(cluster_.get());
    std::int32_t fits = -1;
    EXPECT_EQ(berth_snapshot_check(snapshot.get(), other_.get(), 0, 0, &fits, nullptr, nullptr), BERTH_OK);
    return fits == 1;
  }
  void forget() { EXPECT_EQ(berth_cluster_forget(cluster_.get(), waits_.get(), nullptr), BERTH_OK); }
  void assume() { EXPECT_EQ(berth_cluster_assume(cluster_.get(), waits_.get(), 0, nullptr), BERTH_OK); }

  PodShape nominated_ = {.name = "waits", .milli_cpu = 3000, .priority = 10, .nominated = "n0"};
  OwnedCluster cluster_ = make_cluster(GetParam(), 1);
  OwnedPod other_;
  OwnedPod waits_;
};

TEST_P(Assumed, AForgottenPodIsNominatedAsBefore) {
  assume();
  EXPECT_FALSE(other_fits());
  forget();
  EXPECT_FALSE(other_fits());
  EXPECT_EQ(berth_cluster_forget(cluster_.get(), waits_.get(), nullptr), BERTH_E_NOT_FOUND);
  EXPECT_EQ(berth_cluster_delete(cluster_.get(), "Pod", nullptr, nullptr, "uid-waits", nullptr), BERTH_OK);
  EXPECT_TRUE(other_fits());
}

TEST_P(Assumed, SoIsOneThatAForkHasPlaced) {
  const OwnedSnapshot snapshot = snapshot_of(cluster_.get());
  const OwnedFork fork = fork_of(snapshot.get());
  const berth_pod* const pods[] = {waits_.get()};
  berth_result* result = nullptr;
  EXPECT_EQ(berth_fork_schedule(fork.get(), pods, 1, nullptr, &result, nullptr), BERTH_OK);
  berth_result_free(&result);
  EXPECT_EQ(berth_fork_commit(fork.get(), nullptr, nullptr), BERTH_OK);
  forget();
  EXPECT_FALSE(other_fits());
}

TEST_P(Assumed, WhatAnUpsertSaysMeanwhileCounts) {
  assume();
  PodShape now = nominated_;
  now.nominated.clear();
  upsert(cluster_.get(), pod_json(now));
  forget();
  EXPECT_TRUE(other_fits());
  assume();
  upsert(cluster_.get(), pod_json(nominated_));
  forget();
  EXPECT_FALSE(other_fits());
}

INSTANTIATE_TEST_SUITE_P(Backends, Assumed, testing::Values("cpu", "reference"));

}  // namespace
}  // namespace berth::test
