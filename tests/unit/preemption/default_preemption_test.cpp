// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/default_preemption.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/engine/cpu/cpu_backend.h"
#include "tests/unit/preemption/preemption_builders.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

class Choice : public testing::Test {
 protected:
  /// @param pods  most important first
  void candidate(const std::vector<std::shared_ptr<Pod>>& pods, std::int32_t violations = 0) {
    PreemptionCandidate& added = candidates_.emplace_back();
    added.violations = violations;
    for (const auto& pod : pods) {
      added.victims.push_back(pod.get());
      kept_.push_back(pod);
    }
  }
  std::vector<std::size_t> best() const { return best_candidates(candidates_); }
  std::optional<CandidateLoss> loss(std::size_t loser, std::size_t winner) const {
    return why_not_chosen(candidates_[loser], candidates_[winner]);
  }

 private:
  std::vector<PreemptionCandidate> candidates_;
  std::vector<PodPtr> kept_;
};

using Positions = std::vector<std::size_t>;

TEST_F(Choice, FewestViolatedBudgetsFirst) {
  candidate({make_pod("a", 0)}, 1);
  candidate({make_pod("b", 9), make_pod("c", 9)});
  EXPECT_EQ(best(), Positions{1});
}

TEST_F(Choice, ThenTheLowestPriorityOfTheMostImportantVictim) {
  candidate({make_pod("a", 2)});
  candidate({make_pod("b", 1), make_pod("c", 1)});
  EXPECT_EQ(best(), Positions{1});
}

TEST_F(Choice, ThenTheLowestSumWhereEveryPodCountsEvenWithANegativePriority) {
  candidate({make_pod("a", -5), make_pod("b", -9)});
  candidate({make_pod("c", -5)});
  EXPECT_EQ(best(), Positions{1});
}

TEST_F(Choice, ThenTheLatestOfTheEarliestStartsOfTheHighestPriority) {
  candidate({make_pod("a", 5, 10), make_pod("b", 1, 90)});
  candidate({make_pod("c", 5, 20), make_pod("d", 1, 5)});
  EXPECT_EQ(best(), Positions{1});
}

TEST_F(Choice, WhatHasNoStartTimeStartedLatestAndChanceDecidesBetweenTwoOfThem) {
  candidate({make_pod("a", 5, 10)});
  candidate({make_pod("b", 5, 0)});
  candidate({make_pod("c", 5, 0)});
  EXPECT_EQ(best(), (Positions{1, 2}));
}

void expect_loss(const std::optional<CandidateLoss>& loss, CandidateCriterion criterion, std::int64_t value,
                 std::int64_t best) {
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->criterion, criterion);
  EXPECT_EQ(loss->value, value);
  EXPECT_EQ(loss->best, best);
}

TEST_F(Choice, TheFirstComparisonThatIsLostIsNamedWithBothValues) {
  constexpr std::int64_t kShift = std::int64_t{1} << 31;
  candidate({make_pod("a", 5, 20)});
  candidate({make_pod("b", 1, 1)}, 2);
  candidate({make_pod("c", 7, 20)});
  candidate({make_pod("d", 5, 1), make_pod("e", -3, 1)});
  candidate({make_pod("f", 5, 1), make_pod("g", std::numeric_limits<std::int32_t>::min(), 1)});
  candidate({make_pod("h", 5, 10)});
  expect_loss(loss(1, 0), CandidateCriterion::kViolations, 2, 0);
  expect_loss(loss(2, 0), CandidateCriterion::kHighestPriority, 7, 5);
  expect_loss(loss(3, 0), CandidateCriterion::kPrioritySum, 2 + 2 * kShift, 5 + kShift);
  expect_loss(loss(4, 0), CandidateCriterion::kVictimCount, 2, 1);
  expect_loss(loss(5, 0), CandidateCriterion::kEarliestStart, 10, 20);
  EXPECT_FALSE(loss(0, 0));
}

TEST_F(Choice, WithoutACandidateThereIsNone) { EXPECT_TRUE(best().empty()); }

class DefaultPreemptionTest : public testing::Test {
 protected:
  void add_node(const std::string& name, std::int64_t milli_cpu) { cache_->add_node(make_node(name, milli_cpu)); }
  void add_pod(const PodPtr& pod) { cache_->add_pod(pod); }

  static std::shared_ptr<Pod> preemptor(std::int32_t priority, std::int64_t milli_cpu) {
    return make_pod("preemptor", priority, 0, "", milli_cpu);
  }
  PreemptionResult evaluate(const PodPtr& pod) {
    backend_ = std::make_unique<CpuBackend>(cache_, objects_, config_, EngineConfig());
    std::vector<PodToPlace> pods{{pod}};
    backend_->prepare(pods);
    return DefaultPreemption(*backend_, *cache_, budgets_).evaluate(pods).front();
  }
  /// "node: victims"
  Names candidates_of(const PreemptionResult& result) const {
    Names texts;
    for (const PreemptionCandidate& candidate : result.candidates) {
      std::string text = std::string(backend_->node_name(candidate.node)) + ":";
      for (const Pod* victim : candidate.victims) text += " " + victim->name;
      texts.push_back(text);
    }
    return texts;
  }

  std::vector<PodDisruptionBudget> budgets_;

 private:
  std::shared_ptr<ClusterCache> cache_ = std::make_shared<ClusterCache>();
  ClusterObjects objects_;
  SchedulerConfig config_ = default_scheduler_config(FeatureGates());
  std::unique_ptr<CpuBackend> backend_;
};

TEST_F(DefaultPreemptionTest, EveryNodeWhereEvictionHelpsIsACandidateWithTheFewestVictims) {
  add_node("a", 2000);
  add_node("b", 2000);
  add_node("too-small", 500);
  add_pod(make_pod("a1", 1, 1, "a"));
  add_pod(make_pod("a2", 2, 1, "a"));
  add_pod(make_pod("b1", 9, 1, "b"));
  add_pod(make_pod("b2", 3, 1, "b"));
  const PreemptionResult result = evaluate(preemptor(5, 1000));
  EXPECT_TRUE(result.eligible);
  EXPECT_EQ(candidates_of(result), (Names{"a: a1", "b: b2"}));
  EXPECT_EQ(result.best, Positions{0});
}

TEST_F(DefaultPreemptionTest, AVictimThatViolatesABudgetStaysWhereAnotherOneIsEnough) {
  add_node("a", 2000);
  add_pod(make_pod("protected", 1, 1, "a"));
  auto other = make_pod("other", 2, 1, "a");
  other->labels = {};
  add_pod(other);
  budgets_ = {budget(0)};
  EXPECT_EQ(candidates_of(evaluate(preemptor(5, 1000))), Names{"a: other"});
  const PreemptionResult both = evaluate(preemptor(5, 2000));
  EXPECT_EQ(candidates_of(both), Names{"a: other protected"});
  EXPECT_EQ(both.candidates.front().violations, 1);
}

TEST_F(DefaultPreemptionTest, APodOfPolicyNeverIsNotEligible) {
  add_node("a", 1000);
  add_pod(make_pod("a1", 1, 1, "a"));
  const auto pod = preemptor(5, 1000);
  pod->preemption_policy = PreemptionPolicy::kNever;
  const PreemptionResult result = evaluate(pod);
  EXPECT_FALSE(result.eligible);
  EXPECT_EQ(result.message, "not eligible due to preemptionPolicy=Never.");
  EXPECT_TRUE(result.candidates.empty());
}

TEST_F(DefaultPreemptionTest, APodWaitsForVictimsThatArePreemptedAndTerminatingOnItsNominatedNode) {
  add_node("a", 1000);
  auto leaving = make_pod("leaving", 1, 1, "a");
  leaving->terminating = true;
  PodRare preempted;
  preempted.preempted = true;
  leaving->rare_fields = std::make_unique<const PodRare>(preempted);
  add_pod(leaving);
  const auto nominated_to = [&](const std::string& node) {
    auto pod = preemptor(5, 1000);
    PodRare rare;
    rare.nominated_node_name = node;
    pod->rare_fields = std::make_unique<const PodRare>(rare);
    return evaluate(pod);
  };
  EXPECT_EQ(nominated_to("a").message, "not eligible due to a terminating pod on the nominated node.");
  EXPECT_TRUE(nominated_to("gone").eligible);
  leaving->rare_fields = nullptr;
  EXPECT_TRUE(nominated_to("a").eligible) << "it terminates for another reason";
}

/// How many nodes choose() tries, the chosen one once more for its victims. Nodes whose bound says that they are no
/// better are not tried.
class KeptFindings : public testing::Test {
 protected:
  KeptFindings() {
    for (const std::string name : {"a", "b", "c"}) {
      cache_->add_node(make_node(name, 1000));
      cache_->add_pod(make_pod("on-" + name, 1, 1, name));
    }
    backend_ = std::make_unique<CpuBackend>(std::make_shared<ClusterCache>(*cache_), objects_, config_, EngineConfig());
    preemption_ = std::make_unique<DefaultPreemption>(*backend_, *cache_, std::vector<PodDisruptionBudget>{});
  }
  void apply(const ClusterChange& change) { backend_->apply({&change, 1}); }
  void nominate(const PodPtr& pod, const std::string& node) { apply(NominationUpsert{pod, node}); }
  void add_pod(const PodPtr& pod) {
    cache_->add_pod(pod);
    apply(PodUpsert{pod});
  }
  std::int64_t tried(const PodPtr& pod) {
    std::vector<PodToPlace> pods{{pod}};
    backend_->prepare(pods);
    const std::int64_t before = backend_->stats().dry_runs;
    const PreemptionChoice choice = preemption_->choose(pods.front(), config_.profiles.front());
    chosen_ = choice.candidate ? std::string(backend_->node_name(choice.candidate->node)) : "";
    return backend_->stats().dry_runs - before;
  }

  std::string chosen_;
  std::shared_ptr<ClusterCache> cache_ = std::make_shared<ClusterCache>();
  ClusterObjects objects_;
  SchedulerConfig config_ = default_scheduler_config(FeatureGates());
  std::unique_ptr<CpuBackend> backend_;
  std::unique_ptr<DefaultPreemption> preemption_;
};

TEST_F(KeptFindings, ServeTheNextPodOfTheClassAndPriority) {
  EXPECT_EQ(tried(make_pod("p", 5, 0, "")), 1 + 1);
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1);
  EXPECT_EQ(chosen_, "a");
  EXPECT_EQ(tried(make_pod("more-important", 6, 0, "")), 1 + 1);
  EXPECT_EQ(tried(make_pod("smaller", 5, 0, "", 500)), 1 + 1);
  EXPECT_EQ(tried(make_pod("r", 5, 0, "")), 1);
}

TEST_F(KeptFindings, AreVoidWhereNominationsCameOrWent) {
  tried(make_pod("p", 5, 0, ""));
  const PodPtr nominated = make_pod("nominated", 5, 0, "");
  nominate(nominated, "a");
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1 + 1);
  EXPECT_EQ(chosen_, "b");
  nominate(nominated, "");
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1 + 1);
  EXPECT_EQ(chosen_, "a");
}

TEST_F(KeptFindings, AreVoidWherePodsCameOrWent) {
  tried(make_pod("p", 5, 0, ""));
  add_pod(make_pod("another", 0, 1, "a", 0));
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1 + 1);
  cache_->remove_pod(make_pod("on-b", 1, 1, "b")->uid());
  apply(PodRemoval{make_pod("on-b", 1, 1, "b")->uid()});
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1);  // no pod is left there to evict
  EXPECT_EQ(chosen_, "a");
}

TEST_F(KeptFindings, AreVoidWhereAPodWasPlacedAndTakenBack) {
  tried(make_pod("p", 5, 0, ""));
  const CommitMark mark = backend_->mark();
  std::vector<PodToPlace> placed{{make_pod("placed", 5, 0, "", 0)}};
  backend_->compile(placed);
  backend_->place(placed.front(), "a");
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1 + 1);
  backend_->rollback(mark);
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1 + 1);
}

TEST_F(KeptFindings, AreVoidEverywhereWhenNodesComeOrGo) {
  tried(make_pod("p", 5, 0, ""));
  cache_->add_node(make_node("d", 1000));
  apply(NodeUpsert{make_node("d", 1000)});
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1 + 1);
  cache_->remove_node("a");
  apply(NodeRemoval{"a"});
  EXPECT_EQ(tried(make_pod("q", 5, 0, "")), 1 + 1);
  EXPECT_EQ(chosen_, "b");
}

TEST_F(KeptFindings, OfANominatedPodAreForgotten) {
  const PodPtr nominated = make_pod("p", 5, 0, "");
  nominate(nominated, "a");
  EXPECT_EQ(tried(nominated), 1 + 1);
  EXPECT_EQ(tried(nominated), 1 + 1);
}

}  // namespace
}  // namespace berth
