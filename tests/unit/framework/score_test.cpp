// SPDX-License-Identifier: Apache-2.0
// PreScore, Score, NormalizeScore and totals: docs/behaviour/scheduler-core.md 3.7.

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/unit/framework/scripted_plugins.h"

namespace berth {
namespace {

using Scores = std::vector<std::int64_t>;

class Score : public testing::Test {
 protected:
  static Script giving(Scores scores) {
    Script script;
    script.score = [scores = std::move(scores)](std::span<const ScoreRequest> batch) {
      for (const ScoreRequest& request : batch) std::copy(scores.begin(), scores.end(), request.scores.begin());
    };
    return script;
  }
  ScoreOutcome run() {
    const FeasibleNodes feasible{{pod.get(), &state}, nodes.view()};
    return scripted.build().run_scores({&feasible, 1}).front();
  }

  Calls calls;
  ScriptedProfile scripted{calls};
  CycleState state;
  PodPtr pod = plain_pod("p");
  PlainNodes nodes{2};
};

TEST_F(Score, TotalsAreWeightedSums) {
  scripted.add("A", {ExtensionPoint::kScore}, giving({10, 100}), 3);
  scripted.add("B", {ExtensionPoint::kScore}, giving({50, 0}), 0);
  const ScoreOutcome outcome = run();
  ASSERT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.totals, (Scores{80, 300}));
  EXPECT_EQ(outcome.columns[1].weight, 1) << "an unset weight counts as 1";
}

TEST_F(Score, RawScoresAreKeptWithTheNormalizedOnes) {
  Script script = giving({700, 7});
  script.normalize = [](NodeInfos, std::span<std::int64_t> scores) {
    for (std::int64_t& score : scores) score /= 7;
    return Status{};
  };
  scripted.add("A", {ExtensionPoint::kScore}, script);
  const ScoreOutcome outcome = run();
  ASSERT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.columns[0].raw, (Scores{700, 7}));
  EXPECT_EQ(outcome.columns[0].normalized, (Scores{100, 1}));
  EXPECT_EQ(outcome.totals, (Scores{100, 1}));
}

TEST_F(Score, AScoreOutsideItsRangeIsAnError) {
  for (const std::int64_t score : {std::int64_t{-1}, std::int64_t{101}}) {
    ScriptedProfile own(calls);
    own.add("A", {ExtensionPoint::kScore}, giving({0, score}));
    const FeasibleNodes feasible{{pod.get(), &state}, nodes.view()};
    const Status status = own.build().run_scores({&feasible, 1}).front().status;
    EXPECT_EQ(status.code, StatusCode::kError);
    EXPECT_EQ(status.plugin, "A");
  }
}

TEST_F(Score, PreScoreSkipDisablesThePlugin) {
  Script script = giving({100, 100});
  script.pre_score = [](const PodClassView&, NodeInfos) { return status_of(StatusCode::kSkip); };
  scripted.add("A", {ExtensionPoint::kPreScore, ExtensionPoint::kScore}, script);
  scripted.add("B", {ExtensionPoint::kScore}, giving({1, 2}));
  EXPECT_TRUE(scripted.build().run_pre_score({pod.get(), &state}, nodes.view()).ok());
  const ScoreOutcome outcome = run();
  EXPECT_EQ(outcome.totals, (Scores{1, 2}));
  ASSERT_EQ(outcome.columns.size(), 1U);
  EXPECT_EQ(calls, (Calls{"A.pre_score", "B.score", "B.normalize"}));
}

TEST_F(Score, AnyOtherPreScoreFailureIsAnError) {
  Script script;
  script.pre_score = [](const PodClassView&, NodeInfos) { return status_of(StatusCode::kUnschedulable, "no"); };
  scripted.add("A", {ExtensionPoint::kPreScore}, script).add("B", {ExtensionPoint::kPreScore});
  EXPECT_EQ(scripted.build().run_pre_score({pod.get(), &state}, nodes.view()),
            (Status{StatusCode::kError, "A", {"running PreScore plugin \"A\": no"}}));
  EXPECT_EQ(calls, Calls{"A.pre_score"});
}

TEST_F(Score, AFailedScoreIsAnErrorAndSkipsLaterPluginsForThatPod) {
  Script script;
  script.score = [](std::span<const ScoreRequest> batch) {
    *batch.front().status = status_of(StatusCode::kUnschedulable, "no figures");
  };
  scripted.add("A", {ExtensionPoint::kScore}, script).add("B", {ExtensionPoint::kScore});
  EXPECT_EQ(run().status,
            (Status{StatusCode::kError, "A", {"running Score plugins: plugin \"A\" failed with: no figures"}}));
  EXPECT_EQ(calls, Calls{"A.score"});
}

TEST_F(Score, AnExceptionOrAFailedNormalizeScoreIsAnError) {
  Script throwing;
  throwing.score = [](std::span<const ScoreRequest>) { throw std::runtime_error("lost"); };
  scripted.add("A", {ExtensionPoint::kScore}, throwing);
  EXPECT_EQ(run().status.message(), "running Score plugins: plugin \"A\" failed with: lost");

  ScriptedProfile own(calls);
  Script script;
  script.normalize = [](NodeInfos, std::span<std::int64_t>) { return status_of(StatusCode::kError, "bad"); };
  own.add("A", {ExtensionPoint::kScore}, script);
  const FeasibleNodes feasible{{pod.get(), &state}, nodes.view()};
  EXPECT_EQ(own.build().run_scores({&feasible, 1}).front().status.message(),
            "running Normalize on Score plugins: plugin \"A\" failed with: bad");
}

TEST_F(Score, EveryTotalIsOneWithoutScorePlugins) { EXPECT_EQ(run().totals, (Scores{1, 1})); }

TEST_F(Score, AScorePluginThatRunsInABackendStillCounts) {
  scripted.profile().plugins[static_cast<std::size_t>(ExtensionPoint::kScore)].push_back({"Elsewhere", 1});
  EXPECT_EQ(run().totals, (Scores{0, 0}));
}

TEST_F(Score, ABatchIsOneCallWithNodesPerPod) {
  Script script;
  script.score = [](std::span<const ScoreRequest> batch) {
    for (const ScoreRequest& request : batch) {
      std::fill(request.scores.begin(), request.scores.end(), static_cast<std::int64_t>(request.nodes.size()));
    }
  };
  scripted.add("A", {ExtensionPoint::kScore}, script);
  CycleState other_state;
  const FeasibleNodes batch[] = {{{pod.get(), &state}, nodes.view()},
                                 {{pod.get(), &other_state}, nodes.view().first(1)}};
  const std::vector<ScoreOutcome> outcomes = scripted.build().run_scores(batch);
  EXPECT_EQ(outcomes[0].totals, (Scores{2, 2}));
  EXPECT_EQ(outcomes[1].totals, Scores{1});
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "A.score"), 1);
}

}  // namespace
}  // namespace berth
