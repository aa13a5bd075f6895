// SPDX-License-Identifier: Apache-2.0
// The table of docs/behaviour/scheduler-core.md 2.2: what each pod operation does in each state of the pod.

#include <gtest/gtest.h>

#include <ostream>

#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

enum class PodState { kAbsent, kAssumed, kAdded };
enum class Operation { kAssume, kForget, kAdd, kUpdate, kRemove };

struct Row {
  const char* name;
  Operation operation;
  PodState before;
  CacheResult result;
  PodState after;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

PodState state_of(const ClusterCache& cache) {
  if (cache.get_pod("uid-p") == nullptr) return PodState::kAbsent;
  return cache.is_assumed("uid-p") ? PodState::kAssumed : PodState::kAdded;
}

CacheResult apply(ClusterCache& cache, Operation operation) {
  switch (operation) {
    case Operation::kAssume:
      return cache.assume_pod(make_pod("p", ""), "n");
    case Operation::kForget:
      return cache.forget_pod("uid-p");
    case Operation::kAdd:
      return cache.add_pod(make_pod("p", "n"));
    case Operation::kUpdate:
      return cache.update_pod(make_pod("p", "n"));
    case Operation::kRemove:
      return cache.remove_pod("uid-p");
  }
  return CacheResult::kOk;
}

class CacheStates : public testing::TestWithParam<Row> {};

TEST_P(CacheStates, EveryOperationFollowsTheTable) {
  const Row& row = GetParam();
  ClusterCache cache;
  cache.add_node(make_node("n"));
  if (row.before == PodState::kAssumed) cache.assume_pod(make_pod("p", ""), "n");
  if (row.before == PodState::kAdded) cache.add_pod(make_pod("p", "n"));
  ASSERT_EQ(state_of(cache), row.before);

  EXPECT_EQ(apply(cache, row.operation), row.result);
  EXPECT_EQ(state_of(cache), row.after);
  const std::int64_t expected_milli_cpu = row.after == PodState::kAbsent ? 0 : 100;
  EXPECT_EQ(cache.find_node("n")->requested.milli_cpu, expected_milli_cpu);
  EXPECT_EQ(cache.check_consistency(), std::vector<std::string>{});
}

constexpr auto kAbsent = PodState::kAbsent;
constexpr auto kAssumed = PodState::kAssumed;
constexpr auto kAdded = PodState::kAdded;

const Row kRows[] = {
    {"AssumeAbsent", Operation::kAssume, kAbsent, CacheResult::kOk, kAssumed},
    {"AssumeAssumed", Operation::kAssume, kAssumed, CacheResult::kAlreadyPresent, kAssumed},
    {"AssumeAdded", Operation::kAssume, kAdded, CacheResult::kAlreadyPresent, kAdded},
    {"ForgetAbsent", Operation::kForget, kAbsent, CacheResult::kOk, kAbsent},
    {"ForgetAssumed", Operation::kForget, kAssumed, CacheResult::kOk, kAbsent},
    {"ForgetAdded", Operation::kForget, kAdded, CacheResult::kWrongState, kAdded},
    {"AddAbsent", Operation::kAdd, kAbsent, CacheResult::kOk, kAdded},
    {"AddAssumed", Operation::kAdd, kAssumed, CacheResult::kOk, kAdded},
    {"AddAdded", Operation::kAdd, kAdded, CacheResult::kAlreadyPresent, kAdded},
    {"UpdateAbsent", Operation::kUpdate, kAbsent, CacheResult::kUnknownPod, kAbsent},
    {"UpdateAssumed", Operation::kUpdate, kAssumed, CacheResult::kWrongState, kAssumed},
    {"UpdateAdded", Operation::kUpdate, kAdded, CacheResult::kOk, kAdded},
    {"RemoveAbsent", Operation::kRemove, kAbsent, CacheResult::kUnknownPod, kAbsent},
    {"RemoveAssumed", Operation::kRemove, kAssumed, CacheResult::kOk, kAbsent},
    {"RemoveAdded", Operation::kRemove, kAdded, CacheResult::kOk, kAbsent},
};

INSTANTIATE_TEST_SUITE_P(Table, CacheStates, testing::ValuesIn(kRows), [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace berth
