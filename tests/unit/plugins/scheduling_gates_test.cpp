// SPDX-License-Identifier: Apache-2.0
// The examples of docs/behaviour/plugins-node.md 4.

#include "plugins/scheduling_gates/scheduling_gates.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Status status_with(std::vector<std::string> gates) {
  Pod pod;
  auto rare = std::make_unique<PodRare>();
  rare->scheduling_gates = std::move(gates);
  pod.rare_fields = std::move(rare);
  return SchedulingGates().pre_enqueue(pod);
}

TEST(SchedulingGates, E_SG_1_GatesAreListedInOrder) {
  const Status status = status_with({"a.example/x", "b"});
  EXPECT_EQ(status.code, StatusCode::kUnschedulableAndUnresolvable);
  EXPECT_EQ(status.plugin, "SchedulingGates");
  EXPECT_EQ(status.message(), "waiting for scheduling gates: [a.example/x b]");
}

TEST(SchedulingGates, E_SG_2_WithoutGatesThePodPasses) {
  EXPECT_TRUE(status_with({}).ok());
  EXPECT_TRUE(SchedulingGates().pre_enqueue(Pod{}).ok());
}

TEST(SchedulingGates, E_SG_3_OneGateLeftStillGates) {
  EXPECT_EQ(status_with({"b"}).message(), "waiting for scheduling gates: [b]");
}

}  // namespace
}  // namespace berth
