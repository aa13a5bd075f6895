// SPDX-License-Identifier: Apache-2.0
#include "batching/engine_fork.h"

#include <stdexcept>
#include <utility>

namespace berth {
namespace {

struct NameOfChange {
  std::string_view operator()(const NodeUpsert&) const { return {}; }
  std::string_view operator()(const NodeRemoval&) const { return {}; }
  std::string_view operator()(const PodUpsert& change) const {
    return change.pod->node_name.empty() ? "PodUpsert of a pod without a node" : "";
  }
  std::string_view operator()(const PodRemoval&) const { return {}; }
  std::string_view operator()(const NominationUpsert&) const { return "NominationUpsert"; }
  std::string_view operator()(const NamespaceUpsert&) const { return "NamespaceUpsert"; }
  std::string_view operator()(const NamespaceRemoval&) const { return "NamespaceRemoval"; }
  std::string_view operator()(const ServiceUpsert&) const { return "ServiceUpsert"; }
  std::string_view operator()(const ServiceRemoval&) const { return "ServiceRemoval"; }
  std::string_view operator()(const WorkloadUpsert&) const { return "WorkloadUpsert"; }
  std::string_view operator()(const WorkloadRemoval&) const { return "WorkloadRemoval"; }
  std::string_view operator()(const StorageUpsert&) const { return "StorageUpsert"; }
  std::string_view operator()(const StorageRemoval&) const { return "StorageRemoval"; }
};

}  // namespace

void check_fork_changes(std::span<const ClusterChange> changes) {
  for (const ClusterChange& change : changes)
    if (const std::string_view name = std::visit(NameOfChange(), change); !name.empty())
      throw std::invalid_argument("Fork::apply() does not take a " + std::string(name) +
                                  ": only nodes, pods on nodes and removals of pods");
}

// ForkHistory

ForkHistory::ForkHistory(std::shared_ptr<const ForkParent> parent, std::span<const ForkStep> inherited)
    : parent_(std::move(parent)),
      opened_at_(parent_->version),
      steps_(inherited.begin(), inherited.end()),
      inherited_count_(inherited.size()) {}

void ForkHistory::check_not_spent() const {
  if (is_spent_) throw std::logic_error("the fork was promoted, and takes no calls");
}

bool ForkHistory::promote() {
  check_not_spent();
  if (parent_->engine == nullptr && parent_->fork == nullptr)
    throw std::logic_error("Fork::promote: the parent of the fork is gone");
  if (parent_->version != opened_at_) return false;
  const std::span<const ForkStep> own = std::span<const ForkStep>(steps_).subspan(inherited_count_);
  if (parent_->engine != nullptr) {
    parent_->engine->as_one([&] { replay(own, true, *parent_->engine); });
  } else {
    parent_->fork->as_one([&] { replay(own, true, *parent_->fork); });
  }
  is_spent_ = true;
  return true;
}

// EngineFork

EngineFork::EngineFork(std::unique_ptr<Backend> engine, ForkHistory history, CheckPrepared check_prepared)
    : engine_(std::move(engine)), history_(std::move(history)), check_prepared_(std::move(check_prepared)) {
  self_->fork = this;
}

EngineFork::~EngineFork() { self_->fork = nullptr; }

BatchResult commit_copies(std::span<const PodToPlace> pods, const BatchLimits& limits, Backend& engine) {
  std::vector<PodToPlace> own;
  own.reserve(pods.size());
  for (const PodToPlace& pod : pods) own.push_back(not_compiled(pod));
  engine.compile(own);
  return commit_with_refills(own, limits, engine);
}

BatchResult EngineFork::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  history_.check_not_spent();
  check_prepared_(pods);
  BatchResult result = engine_.commit(pods, limits, [&](const BatchResult& committed) {
    std::vector<ForkStep> steps;
    steps.reserve(committed.outcomes.size());
    for (std::size_t i = 0; i < committed.outcomes.size(); ++i)
      steps.emplace_back(ForkPlacement{pods[i], std::string(engine_.engine().node_name(committed.outcomes[i].node))});
    history_.add_all(std::move(steps));
  });
  if (!result.outcomes.empty()) self_->note_change();
  return result;
}

void EngineFork::place(const PodToPlace& pod, std::string_view node_name) {
  history_.check_not_spent();
  ForkStep step = ForkPlacement{pod, std::string(node_name)};
  history_.make_room(1);
  engine_.ready().place(not_compiled(pod), node_name);
  history_.add(std::move(step));
  self_->note_change();
}

Evaluation EngineFork::evaluate(const PodToPlace& pod) {
  history_.check_not_spent();
  check_prepared_({&pod, 1});
  return engine_.ready().evaluate(not_compiled(pod));
}

void EngineFork::apply(std::span<const ClusterChange> changes) {
  history_.check_not_spent();
  check_fork_changes(changes);
  ForkStep step = std::vector<ClusterChange>(changes.begin(), changes.end());
  history_.make_room(1);
  engine_.ready().apply(changes);
  history_.add(std::move(step));
  self_->note_change();
}

void EngineFork::as_one(const std::function<void()>& calls) {
  const std::size_t steps = history_.steps().size();
  const std::uint64_t version = self_->version;
  try {
    engine_.ready().as_one(calls);
  } catch (...) {
    history_.shorten(steps);
    self_->version = version;
    throw;
  }
}

bool EngineFork::promote() {
  if (!history_.promote()) return false;
  self_->fork = nullptr;  // forks of it have no parent any more
  return true;
}

std::unique_ptr<Fork> EngineFork::fork() {
  history_.check_not_spent();
  return engine_.ready().open_fork(self_);
}

}  // namespace berth
