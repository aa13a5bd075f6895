// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/tuning.h"

#include <gtest/gtest.h>

namespace berth::cuda {
namespace {

TEST(Tuning, EveryComputeCapabilityHasValidNumbers) {
  for (int sm = kSmMin; sm <= 200; ++sm) EXPECT_TRUE(is_tuning_sound(sm)) << sm;
}

TEST(Tuning, ADeviceWithoutClustersGetsNone) {
  for (int sm = kSmMin; sm < 90; ++sm) EXPECT_EQ(commit_batch_tuning(sm).blocks_per_cluster, 1U) << sm;
}

}  // namespace
}  // namespace berth::cuda
