// SPDX-License-Identifier: Apache-2.0
// Preemption in forks, where pods were placed, evicted and nominated, and nodes came, changed and went: the forks of
// the cpu backend find what those of the reference find, which are engines of their own.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/objects/pod_copy.h"
#include "host/preemption/fork_preemption.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"
#include "tests/property/drawn_importance.h"

namespace berth {
namespace {

using test::Case;
using test::ClusterHistory;
using test::Dice;

/// One line for each candidate, and what is said of all.
std::vector<std::string> found_in(Fork& fork, const PodToPlace& pod, std::span<const PodDisruptionBudget> budgets) {
  std::vector<PodPtr> kept;
  const PreemptionResult result = candidates_in_fork(pod, fork, budgets, kept);
  std::vector<std::string> lines = {(result.eligible ? "eligible, " : "not eligible, ") + result.message + ", error " +
                                    result.error};
  for (std::size_t c = 0; c < result.candidates.size(); ++c) {
    const PreemptionCandidate& candidate = result.candidates[c];
    std::string line = std::string(fork.node_name(candidate.node)) + ", " + std::to_string(candidate.violations);
    if (std::ranges::find(result.best, c) != result.best.end()) line += ", best";
    for (const Pod* victim : candidate.victims) line += " " + victim->uid();
    lines.push_back(std::move(line));
  }
  return lines;
}

class Session {
 public:
  explicit Session(Case& drawn)
      : drawn_(drawn), dice_(drawn.dice), budgets_(test::draw_budgets(dice_, drawn.objects)), history_(drawn) {
    for (PodToPlace& pod : drawn.pods) {
      auto important = copy_of(*pod.pod);
      important->priority += static_cast<std::int32_t>(dice_.upto(3) * 4);
      pod.pod = important;
    }
    reference_ = std::make_unique<ReferenceBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine);
    cpu_ = std::make_unique<CpuBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
    const std::vector<ClusterChange> changes = history_.draw(dice_, 8);
    reference_->apply(changes);
    cpu_->apply(changes);
    forks_.push_back({reference_->fork(), cpu_->fork(), std::make_unique<ClusterHistory>(history_), {}});
  }

  void run() {
    for (int calls = 0; calls < 24; ++calls) {
      OpenFork& fork = forks_[static_cast<std::size_t>(dice_.upto(static_cast<std::int64_t>(forks_.size()) - 1))];
      switch (dice_.upto(5)) {
        case 0:
          place(fork);
          break;
        case 1:
          change(fork);
          break;
        case 2:
          if (forks_.size() < 4) open(static_cast<std::size_t>(&fork - forks_.data()));
          break;
        default:
          preempt(fork);
      }
    }
    for (OpenFork& fork : forks_) preempt(fork);
  }
  std::size_t candidates() const { return candidates_; }
  const CpuBackend& cpu() const { return *cpu_; }
  std::size_t opened() const { return opened_; }

 private:
  struct OpenFork {
    std::unique_ptr<Fork> reference;
    std::unique_ptr<Fork> tested;
    std::unique_ptr<ClusterHistory> history;
    std::vector<std::size_t> ancestors;  ///< in forks_
    bool ancestor_changed = false;       ///< since it was opened
  };

  void open(std::size_t parent) {
    OpenFork& from = forks_[parent];
    OpenFork fork{from.reference->fork(), from.tested->fork(), std::make_unique<ClusterHistory>(*from.history),
                  from.ancestors, from.ancestor_changed};
    fork.ancestors.push_back(parent);
    forks_.push_back(std::move(fork));
    ++opened_;
  }

  void note_change(const OpenFork& changed) {
    for (OpenFork& fork : forks_)
      fork.ancestor_changed =
          fork.ancestor_changed ||
          std::ranges::find(fork.ancestors, static_cast<std::size_t>(&changed - forks_.data())) != fork.ancestors.end();
  }

  void place(OpenFork& fork) {
    std::vector<PodToPlace> pods = test::not_placed({dice_.pick(drawn_.pods), dice_.pick(drawn_.pods)}, *fork.history);
    if (pods.size() == 2 && pods[0].pod == pods[1].pod) pods.pop_back();
    reference_->prepare(pods);
    cpu_->prepare(pods);
    const BatchResult result = fork.reference->commit_batch(pods, {});
    fork.tested->commit_batch(pods, {});
    for (std::size_t i = 0; i < result.outcomes.size(); ++i)
      fork.history->answered(pods[i].pod, std::string(fork.reference->node_name(result.outcomes[i].node)));
    note_change(fork);
  }

  void change(OpenFork& fork) {
    const std::vector<ClusterChange> changes = fork.history->draw_for_fork(dice_, 3, 6);
    fork.reference->apply(changes);
    fork.tested->apply(changes);
    note_change(fork);
  }

  /// Where an engine changed since the fork was opened that it reads, which may be that of a fork before it, the order
  /// of equally important pods is another one: Fork::pods_below().
  void preempt(OpenFork& fork) {
    if (fork.ancestor_changed) return;
    PodToPlace pod = dice_.pick(drawn_.pods);
    reference_->prepare({&pod, 1});
    cpu_->prepare({&pod, 1});
    const std::vector<std::string> expected = found_in(*fork.reference, pod, budgets_);
    RC_ASSERT(expected == found_in(*fork.tested, pod, budgets_));
    candidates_ += expected.size() - 1;
  }

  Case& drawn_;
  Dice& dice_;
  std::vector<PodDisruptionBudget> budgets_;
  ClusterHistory history_;
  std::unique_ptr<ReferenceBackend> reference_;
  std::unique_ptr<CpuBackend> cpu_;
  std::vector<OpenFork> forks_;
  std::size_t candidates_ = 0;
  std::size_t opened_ = 1;
};

/// Most forks must answer from what they read of their engine, or this tests something else.
TEST(ForksPreempt, LikeTheReference) {
  std::size_t candidates = 0;
  std::size_t forks = 0;
  std::size_t reopened = 0;
  EXPECT_TRUE(rc::check([&] {
    Case drawn(*rc::gen::arbitrary<std::uint64_t>());
    RC_PRE(!drawn.pods.empty());
    Session session(drawn);
    session.run();
    candidates += session.candidates();
    forks += session.opened();
    reopened += static_cast<std::size_t>(session.cpu().stats().forks_reopened);
  }));
  EXPECT_GT(candidates, 0u);
  EXPECT_LT(2 * reopened, forks) << reopened << " of " << forks << " forks opened an engine of their own";
  RecordProperty("candidates", std::to_string(candidates));
}

RC_GTEST_PROP(ForksPreempt, LikeTheReferenceWithHostPlugins, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>(), true, true);
  RC_PRE(!drawn.pods.empty());
  Session(drawn).run();
}

}  // namespace
}  // namespace berth
