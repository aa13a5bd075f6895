// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/loop_warnings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

TEST(LoopWarnings, SayMismatchesAndPauses) {
  std::vector<std::string> said;
  LoopWarnings warnings([&](const std::string& sentence) { said.push_back(sentence); });
  warnings.on_mismatch("pod default/p is on node a by an event, and on node b in the scheduler's cache");
  warnings.on_pause(100'000);
  warnings.on_event({});
  EXPECT_EQ(said, (std::vector<std::string>{
                      "the scheduler's cache does not match the cluster and follows it now: pod default/p is on node a "
                      "by an event, and on node b in the scheduler's cache",
                      "scheduling pauses: 100000 pods have a node and are not bound yet; no other pod is tried until "
                      "some of them are bound"}));
  LoopWarnings(nullptr).on_pause(1);
}

}  // namespace
}  // namespace berth
