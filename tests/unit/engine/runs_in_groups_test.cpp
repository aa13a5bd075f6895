// SPDX-License-Identifier: Apache-2.0
// Runs of equal pods with topology terms, which CpuBackend places without asking for each what cannot differ between
// them.

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "tests/unit/engine/cpu_bench.h"

namespace berth {
namespace {

using test::answers;
using test::place;
using Bench = test::CpuBench;

/// Equal pods of three kinds with topology terms, in runs, more than fit; between them pods that their terms count.
constexpr const char* kRunsWithTerms =
    "node a*7 cpu=4 memory=8Gi zone=x host\nnode b*6 cpu=8 memory=8Gi zone=y host\n"
    "pod lone*20 cpu=100m label:app=lone pod-anti-affinity=host match=app=lone\n"
    "pod even*24 cpu=500m label:app=even spread=zone match=app=even\n"
    "pod web*3 cpu=100m label:app=lone\n"
    "pod even-too*30 cpu=1 port=80 label:app=even soft-spread=zone match=app=even soft-spread=host match=app=even\n"
    "pod last*40 cpu=700m label:app=lone pod-affinity=zone match=app=even\n";

TEST(RunsInGroupsTest, AreAnsweredAsOneBatchForEachPod) {
  for (const std::size_t lone_pods_max : {std::size_t{0}, std::size_t{16}}) {
    CpuTuning tuning;
    tuning.lone_pods_max = lone_pods_max;
    Bench together(kRunsWithTerms, tuning);
    Bench one_by_one(kRunsWithTerms, tuning);
    std::vector<std::string> expected;
    for (const PodToPlace& pod : one_by_one.pods)
      for (const std::string& line : place(*one_by_one.backend, {&pod, 1})) expected.push_back(line);
    EXPECT_EQ(place(*together.backend, together.pods), expected);
  }
}

/// While the nomination of `big` holds, its node is left out for the pods before it, and returns when it finds no
/// place.
TEST(RunsInGroupsTest, NodesThatWereLeftOutForANominationReturnWhenItEnds) {
  constexpr const char* kNominated =
      "node a*3 cpu=4 memory=8Gi zone=x host\nnode b cpu=32 memory=64Gi zone=y host\n"
      "pod even*4 cpu=500m label:app=even soft-spread=host match=app=even\n"
      "pod big cpu=64 priority=10 nominated=b\n"
      "pod even-too*8 cpu=500m label:app=even soft-spread=host match=app=even\n";
  Bench together(kNominated);
  Bench one_by_one(kNominated);
  std::vector<std::string> expected;
  for (const PodToPlace& pod : one_by_one.pods)
    for (const std::string& line : place(*one_by_one.backend, {&pod, 1})) expected.push_back(line);
  EXPECT_EQ(place(*together.backend, together.pods), expected);
}

TEST(RunsInGroupsTest, EndAtLimits) {
  Bench whole(kRunsWithTerms);
  Bench parts(kRunsWithTerms);
  const std::vector<std::string> expected = place(*whole.backend, whole.pods);
  std::vector<std::string> actual;
  std::size_t failures = 0;
  while (actual.size() < parts.pods.size()) {
    const BatchResult result = parts.backend->commit_batch(std::span(parts.pods).subspan(actual.size()),
                                                           {.pods_max = 19, .stop_at_failure = true});
    ASSERT_LE(result.outcomes.size(), 19u);
    for (std::size_t i = 0; i + 1 < result.outcomes.size(); ++i)
      EXPECT_EQ(result.outcomes[i].kind, OutcomeKind::kPlaced);
    failures += result.stop == StopReason::kPodWithoutNode ? 1 : 0;
    for (const std::string& line : answers(result, *parts.backend)) actual.push_back(line);
  }
  EXPECT_EQ(actual, expected);
  EXPECT_GT(failures, 7u);
}

}  // namespace
}  // namespace berth
