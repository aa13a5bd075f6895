// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "batching/backend.h"

namespace berth {

/// One thing that was done to a fork: the changes of one call, or a placement.
struct ForkPlacement {
  PodToPlace pod;
  std::string node_name;
};
using ForkStep = std::variant<std::vector<ClusterChange>, ForkPlacement>;

/// Through which forks refer to their parent: exactly one of `engine` and `fork` is set while the parent exists, none
/// after its destruction. Parent and forks share it, so that either may be destroyed first. It has no lock: forks read
/// it when they are opened and promoted, which excludes calls that change the parent.
struct ForkParent {
  std::uint64_t version = 0;  ///< changes with everything that is done to the parent, and returns when that is undone
  std::uint64_t latest = 0;   ///< version so far: forks may have been opened at one that does not count any more
  Backend* engine = nullptr;
  Fork* fork = nullptr;

  void note_change() noexcept { version = ++latest; }
};

/// What was done to a fork, and to whom promote() brings it.
class ForkHistory {
 public:
  /// @param parent  as it is now
  /// @param inherited  what was done before the fork was opened, since an engine was in a known state
  explicit ForkHistory(std::shared_ptr<const ForkParent> parent, std::span<const ForkStep> inherited = {});

  /// Add as many without an exception afterwards.
  void make_room(std::size_t count) {
    if (steps_.capacity() - steps_.size() < count)
      steps_.reserve(std::max(steps_.size() + count, 2 * steps_.capacity()));
  }
  void add(ForkStep step) { steps_.push_back(std::move(step)); }
  /// All of them, or none when it throws.
  void add_all(std::vector<ForkStep> steps) {
    make_room(steps.size());
    for (ForkStep& step : steps) steps_.push_back(std::move(step));
  }
  /// Removes the last `count` steps, which were undone.
  void shorten(std::size_t count) noexcept {
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(count), steps_.end());
  }
  std::uint64_t bytes() const;  ///< on the heap
  /// Those inherited, and its own.
  std::span<const ForkStep> steps() const { return steps_; }
  /// Fork::promote(). @throws std::logic_error when the parent is gone, or after it was true once
  bool promote();
  /// @throws std::logic_error after promote() was true
  void check_not_spent() const;

 private:
  std::shared_ptr<const ForkParent> parent_;
  std::uint64_t opened_at_;  ///< version of the parent
  std::vector<ForkStep> steps_;
  std::size_t inherited_count_;
  bool is_spent_ = false;
};

/// @throws std::invalid_argument naming the first change that Fork::apply() does not take
void check_fork_changes(std::span<const ClusterChange> changes);

/// The pod as an engine gets it that has not compiled it.
inline PodToPlace not_compiled(const PodToPlace& pod) { return {.pod = pod.pod, .profile = pod.profile}; }

/// Does the steps to an engine or a fork, in order. @param place  place(placement) does one of a pod there
template <class Target, class Place>
void replay(std::span<const ForkStep> steps, Target& target, Place place) {
  for (const ForkStep& step : steps)
    if (const auto* changes = std::get_if<std::vector<ClusterChange>>(&step)) {
      target.apply(*changes);
    } else {
      place(std::get<ForkPlacement>(step));
    }
}

// Calls of the engine that a fork owns, about pods that another engine has prepared: it compiles copies of them.

BatchResult commit_copies(std::span<const PodToPlace> pods, const BatchLimits& limits, Backend& engine);
void place_copy(const PodToPlace& pod, std::string_view node_name, Backend& engine);
Evaluation evaluate_copy(const PodToPlace& pod, Backend& engine);
void replay_copies(std::span<const ForkStep> steps, Backend& engine);

/// The engine of a fork.
class EngineOfFork {
 public:
  explicit EngineOfFork(std::unique_ptr<Backend> engine) : engine_(std::move(engine)) {}
  Backend& engine() { return *engine_; }
  const Backend& engine() const { return *engine_; }
  /// Calls look(pod, engine) with the pod as this engine has prepared it.
  template <class Look>
  auto look_at(const PodToPlace& pod, const Look& look) {
    return look(prepared(pod), std::as_const(*engine_));
  }
  /// Fork::copies_that_fit(), by the nodes of this engine.
  CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits);
  std::uint64_t bytes() const;  ///< of the engine, with its copy of the cluster but not the objects in that
  /// Call when calls were taken back: pods that were prepared meanwhile are not any more.
  void forget_prepared() noexcept { prepared_.clear(); }
  /// Fork::node_of_pod()
  std::string node_of_pod(const std::string& uid);
  /// Fork::node_object(), Fork::pods_on()
  NodePtr node_object(const std::string& name);
  std::vector<PodPtr> pods_on(const std::string& node_name);
  /// Fork::nodes_in_order(), Fork::pods_below(), by the nodes of this engine.
  std::vector<NodeIndex> nodes_in_order();
  std::vector<PodPtr> pods_below(NodeIndex node, std::int32_t priority);
  /// Calls ask(request, engine) with the preemptors as this engine has prepared them. @param lists  by its nodes
  template <class Ask>
  auto ask_about_victims(const DryRunRequest& request, std::span<const VictimList> lists, const Ask& ask) {
    std::vector<PodToPlace> preemptors;
    preemptors.reserve(request.preemptors.size());
    for (const PodToPlace& pod : request.preemptors) preemptors.push_back(prepared(pod));
    return ask(DryRunRequest{preemptors, lists, request.runs}, std::as_const(*engine_));
  }
  /// commit_copies(), and `use` of the result: when that throws, nothing of the batch has happened.
  template <class Use>
  BatchResult commit(std::span<const PodToPlace> pods, const BatchLimits& limits, Use use) {
    BatchResult result;
    engine_->as_one([&] {
      result = commit_copies(pods, limits, *engine_);
      use(result);
    });
    return result;
  }

 private:
  PodToPlace prepared(const PodToPlace& pod);

  std::unique_ptr<Backend> engine_;
  std::unordered_map<const Pod*, PodToPlace> prepared_;  ///< those that were looked at, as the engine knows them
};

/// A fork that owns a whole engine: exact in every case, at the cost of a copy of the cluster and of compiling it.
class EngineFork : public Fork {
 public:
  /// Throws std::logic_error naming the first pod that the caller has not prepared.
  using CheckPrepared = std::function<void(std::span<const PodToPlace> pods)>;
  /// @param engine  in the state of the parent, or of a fork whose history is `history`
  EngineFork(std::unique_ptr<Backend> engine, ForkHistory history, CheckPrepared check_prepared);
  ~EngineFork() override;

  BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) override;
  void place(const PodToPlace& pod, std::string_view node_name) override;
  Evaluation evaluate(const PodToPlace& pod) override;
  PodVerdicts verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) override;
  PodStatuses statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) override;
  PodTotals totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) override;
  CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) override;
  DryRunResult dry_run(const DryRunRequest& request) override;
  std::vector<Status> statuses_without_victims(const DryRunRequest& request) override;
  void apply(std::span<const ClusterChange> changes) override;
  std::unique_ptr<Fork> fork() override;
  bool promote() override;
  void as_one(const std::function<void()>& calls) override;
  std::string_view node_name(NodeIndex index) const override { return engine_.engine().node_name(index); }
  NodeIndex find_node(std::string_view name) override { return engine_.engine().find_node(name); }
  std::string node_of_pod(const std::string& uid) override { return engine_.node_of_pod(uid); }
  NodePtr node_object(const std::string& name) override { return engine_.node_object(name); }
  std::vector<PodPtr> pods_on(const std::string& node_name) override { return engine_.pods_on(node_name); }
  std::vector<NodeIndex> nodes_in_order() override { return engine_.nodes_in_order(); }
  std::vector<PodPtr> pods_below(NodeIndex node, std::int32_t priority) override {
    return engine_.pods_below(node, priority);
  }
  Backend& as_engine() override { return engine_.engine(); }
  std::uint64_t own_bytes() const override { return sizeof(EngineFork) + engine_.bytes() + history_.bytes(); }

 private:
  EngineOfFork engine_;
  ForkHistory history_;
  CheckPrepared check_prepared_;
  std::shared_ptr<ForkParent> self_ = std::make_shared<ForkParent>();
};

}  // namespace berth
