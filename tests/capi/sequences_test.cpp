// SPDX-License-Identifier: Apache-2.0
// Random sequences of calls of berth.h, with wrong arguments among them: the cpu backend and the reference give the
// same statuses and answers, and what is freed early harms nobody. BERTH_SEQUENCES and BERTH_SEED change how many there
// are.

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "tests/capi/drawn_call.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

/// Pods, a snapshot and two forks, so that the calls after them have something to work on.
constexpr std::uint64_t kFirstCalls[] = {4, 4, 4, 4, 4, 4, 7, 8, 8, 8};

TEST(Sequences, TheFastEngineAnswersAsTheReference) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  std::uint64_t answered = 0;
  for (std::uint64_t seed = first; seed < first + setting("BERTH_SEQUENCES", 40); ++seed) {
    Dice dice(seed);
    World fast("cpu", seed);
    World plain("reference", seed);
    for (World* world : {&fast, &plain})
      for (int i = 0; i < kNodes - 1; ++i) {
        const std::string node = node_json({"n" + std::to_string(i), 4, i % 3, false, false});
        ASSERT_EQ(berth_cluster_upsert(world->cluster.get(), node.data(), node.size(), nullptr), BERTH_OK);
      }
    for (std::size_t i = 0; i < 100; ++i) {
      const Call call(dice, i < std::size(kFirstCalls) ? kFirstCalls[i] : below(dice, kCallKinds));
      const std::string of_fast = call.make(fast);
      const std::string of_plain = call.make(plain);
      ASSERT_EQ(of_fast, of_plain) << "seed " << seed << ", call " << i;
      answered += of_fast.starts_with("BERTH_OK\n") ? 1U : 0U;
    }
    if (seed % 2 == 0) fast.cluster.reset();  // the other handles go later
  }
  EXPECT_GT(answered, 0u);
  RecordProperty("answers", std::to_string(answered));
}

}  // namespace
}  // namespace berth::test
