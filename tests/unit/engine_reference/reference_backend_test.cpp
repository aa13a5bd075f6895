// SPDX-License-Identifier: Apache-2.0
// Behaviour that only the reference exposes: the start counter of sampling, and scores out of range.

#include "host/engine/reference/reference_backend.h"

#include <gtest/gtest.h>

#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth::test {
namespace {

class ReferenceBackendTest : public testing::Test {
 protected:
  void given(const std::string& text) {
    scenario_ = parse_scenario(text);
    const auto cache = fill_cache(scenario_.objects);
    backend_ = std::make_unique<ReferenceBackend>(cache, scenario_.objects, scenario_.config, scenario_.engine);
    for (const PodPtr& pod : scenario_.pending()) pods_.push_back({pod, 0, -1});
    backend_->compile(pods_);
  }
  BatchResult place() { return backend_->commit_batch(pods_, {}); }

  Scenario scenario_;
  std::unique_ptr<ReferenceBackend> backend_;
  std::vector<PodToPlace> pods_;
};

TEST_F(ReferenceBackendTest, E_S_1_TheStartMovesByFeasibleAndRecordedNodes) {
  std::string text = "engine sampling=kube\n";
  for (int i = 0; i < 300; ++i) text += "node n" + std::to_string(i) + (i % 3 == 0 ? " unschedulable\n" : "\n");
  given(text + "pod p");
  place();
  EXPECT_EQ(backend_->next_start(), 217u);
}

TEST_F(ReferenceBackendTest, TheStartStaysForANominatedNodeAndAfterAPreFilterRejection) {
  given("engine sampling=kube\nnode n*300\npod p nominated=n7\npod q need=@metadata.name:In:n1&@metadata.name:In:n2");
  place();
  EXPECT_EQ(backend_->next_start(), 0u);
}

TEST_F(ReferenceBackendTest, ARejectedNominationIsRecordedOnce) {
  given("engine sampling=kube\nnode n*3\nnode bad unschedulable\npod p nominated=bad need=@metadata.name:In:n0");
  place();
  EXPECT_EQ(backend_->next_start(), 2u) << "one feasible, one recorded";
}

TEST_F(ReferenceBackendTest, ARollbackRestoresTheStart) {
  given("engine sampling=kube\nnode n*200\npod p");
  const CommitMark mark = backend_->mark();
  place();
  EXPECT_EQ(backend_->next_start(), 100u);
  backend_->rollback(mark);
  EXPECT_EQ(backend_->next_start(), 0u);
}

TEST_F(ReferenceBackendTest, AMarkBeyondTheLogIsRefused) {
  given("node n\npod p");
  EXPECT_THROW(backend_->rollback({1}), std::out_of_range);
}

TEST_F(ReferenceBackendTest, AScoreOutOfRangeFailsTheCycle) {
  given("node a label:x=y\nnode b\npod p prefer=-5:x:In:y");
  const BatchResult result = place();
  ASSERT_EQ(result.outcomes.at(0).kind, OutcomeKind::kError);
  EXPECT_EQ(result.messages.at(0).text,
            "applying score defaultWeights on Score plugins: plugin \"NodeAffinity\" returns an invalid score -5, it "
            "should in the range of [0, 100] after normalizing");
}

TEST_F(ReferenceBackendTest, CountsItsWork) {
  given("node n*3\npod p*2\npod q cpu=0");
  place();
  EXPECT_EQ(backend_->stats().class_count, 2);
  EXPECT_EQ(backend_->stats().node_evaluations, 9);
}

}  // namespace
}  // namespace berth::test
