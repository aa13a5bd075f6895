// SPDX-License-Identifier: Apache-2.0
// What DefaultPreemption keeps between calls: after any events, placements, rollbacks and nominations it chooses as a
// new one does, which knows nothing, and as its own look at every node says.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "host/objects/pod_copy.h"
#include "host/preemption/default_preemption.h"
#include "tests/property/cluster_history.h"
#include "tests/property/drawn_case.h"
#include "tests/property/drawn_importance.h"
#include "tests/support/open_backend.h"

namespace berth {
namespace {

using test::Case;
using test::ClusterHistory;

std::string text_of(const PreemptionCandidate& candidate, const Backend& backend) {
  std::string text =
      std::string(backend.node_name(candidate.node)) + ", violations " + std::to_string(candidate.violations) + ":";
  for (const Pod* victim : candidate.victims) text += " " + victim->full_name();
  return text;
}

std::string text_of(const PreemptionChoice& choice, const Backend& backend) {
  return (choice.eligible ? "eligible, " : "not eligible, ") + choice.message + ", error " + choice.error + ", " +
         (choice.candidate ? text_of(*choice.candidate, backend) : "no candidate");
}

std::string text_of(const PreemptionResult& result, const Backend& backend) {
  return (result.eligible ? "eligible, " : "not eligible, ") + result.message + ", error " + result.error + ", " +
         (result.best.empty() ? "no candidate" : text_of(result.candidates[result.best.front()], backend));
}

/// An engine with a history, and preemption that knows both from the beginning.
class Session {
 public:
  explicit Session(Case& drawn) : drawn_(drawn), dice_(drawn.dice) {
    // More pods of higher priority, so that there is somebody to evict.
    for (PodToPlace& pod : drawn.pods) {
      auto important = copy_of(*pod.pod);
      important->priority += static_cast<std::int32_t>(dice_.upto(3) * 4);
      pod.pod = important;
    }
    budgets_ = test::draw_budgets(dice_, drawn.objects);
    limits_.keeps_budgets = dice_.one_in(4);
    history_ = std::make_unique<ClusterHistory>(drawn);
    cpu_ = std::make_unique<CpuBackend>(drawn.cache, drawn.objects, drawn.config, drawn.engine, drawn.tuning);
  }

  void run() {
    for (std::int64_t step = 4 + dice_.upto(12); step > 0; --step) {
      change();
      for (std::int64_t asked = 1 + dice_.upto(4); asked > 0; --asked) expect_choice();
    }
  }

 private:
  /// The history has a cache of its own once something changed.
  DefaultPreemption& kept() {
    if (std::exchange(cache_, &history_->live_cache()) != &history_->live_cache())
      kept_ = std::make_unique<DefaultPreemption>(*cpu_, history_->live_cache(), budgets_, limits_);
    return *kept_;
  }

  void change() {
    switch (dice_.upto(6)) {
      case 0:
        break;  // nothing
      case 1:
        cpu_->apply(history_->draw(dice_, 3));
        break;
      case 2:
        nominate();
        break;
      case 3:
        commit();
        break;
      case 4:
        roll_back();
        break;
      default:
        undo_one();
    }
  }

  void nominate() {
    const PodToPlace& pod = dice_.pick(drawn_.pods);
    if (history_->is_on_a_node(*pod.pod)) return;
    const std::vector<ClusterChange> change{NominationUpsert{pod.pod, dice_.one_in(4) ? "" : std::string(any_node())}};
    cpu_->apply(change);
  }

  std::string_view any_node() {
    const auto in_order = history_->live_cache().nodes_in_order();
    if (in_order.empty()) return {};
    return in_order[static_cast<std::size_t>(dice_.upto(static_cast<std::int64_t>(in_order.size()) - 1))]->name;
  }

  void commit() {
    std::vector<PodToPlace> batch;
    for (std::int64_t i = dice_.upto(3); i >= 0; --i) {
      const PodToPlace& pod = dice_.pick(drawn_.pods);
      const bool is_there =
          std::any_of(batch.begin(), batch.end(), [&](const PodToPlace& other) { return other.pod == pod.pod; });
      if (!is_there && !history_->is_on_a_node(*pod.pod)) batch.push_back(pod);
    }
    if (dice_.one_in(3)) {
      cpu_->settle();
      mark_ = cpu_->mark();
      placed_at_mark_ = history_->placements();
    }
    cpu_->compile(batch);
    const BatchResult result = cpu_->commit_batch(batch, {});
    for (std::size_t i = 0; i < result.outcomes.size(); ++i)
      history_->answered(batch[i].pod, std::string(cpu_->node_name(result.outcomes[i].node)));
  }

  void roll_back() {
    cpu_->rollback(mark_);
    history_->rolled_back(placed_at_mark_);
  }

  void undo_one() {
    const PodToPlace& pod = dice_.pick(drawn_.pods);
    if (!history_->is_placed(*pod.pod)) return;
    RC_ASSERT(cpu_->undo(*pod.pod));
    history_->undone(*pod.pod);
  }

  void expect_choice() {
    std::vector<PodToPlace> pods{dice_.pick(drawn_.pods)};
    if (history_->is_on_a_node(*pods.front().pod)) return;
    if (dice_.one_in(4)) kept().note_eviction(*dice_.pick(drawn_.pods).pod);
    cpu_->prepare(pods);
    DefaultPreemption fresh(*cpu_, history_->live_cache(), budgets_, limits_);
    const std::string chosen = text_of(kept().choose(pods.front(), profile_of(pods.front())), *cpu_);
    if (limits_.keeps_budgets) {  // evictions were noted, which a new one has not heard of
      RC_ASSERT(text_of(kept().evaluate(pods).front(), *cpu_) == chosen);
      return;
    }
    const std::string expected = text_of(fresh.choose(pods.front(), profile_of(pods.front())), *cpu_);
    if (expected != chosen) RC_FAIL("\n  fresh: " + expected + "\n  kept:  " + chosen);
    const std::string evaluated = text_of(fresh.evaluate(pods).front(), *cpu_);
    if (evaluated != chosen) RC_FAIL("\n  evaluated: " + evaluated + "\n  kept:      " + chosen);
  }

  const Profile& profile_of(const PodToPlace& pod) const {
    return drawn_.config.profiles[static_cast<std::size_t>(pod.profile)];
  }

  Case& drawn_;
  test::Dice& dice_;
  std::vector<PodDisruptionBudget> budgets_;
  PreemptionLimits limits_;
  std::unique_ptr<ClusterHistory> history_;
  std::unique_ptr<CpuBackend> cpu_;
  const ClusterCache* cache_ = nullptr;
  std::unique_ptr<DefaultPreemption> kept_;
  CommitMark mark_;
  ClusterHistory::Placements placed_at_mark_;
};

RC_GTEST_PROP(KeptFindings, AreThoseOfANewLook, ()) {
  Case drawn(*rc::gen::arbitrary<std::uint64_t>());
  for (PodPtr& pod : drawn.objects.pods) pod = test::with_drawn_importance(drawn.dice, *pod);
  drawn.cache = test::fill_cache(drawn.objects);
  drawn.pods = test::pending_pods(drawn.dice, drawn.objects, drawn.config.profiles.size());
  RC_PRE(!drawn.pods.empty());
  Session(drawn).run();
}

}  // namespace
}  // namespace berth
