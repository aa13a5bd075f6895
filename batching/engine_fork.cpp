// SPDX-License-Identifier: Apache-2.0
#include "batching/engine_fork.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "host/cluster/engine_cluster.h"
#include "host/objects/heap_bytes.h"
#include "host/objects/pod_requests.h"
#include "plugins/rule.h"

namespace berth {
namespace {

struct NameOfChange {
  std::string_view operator()(const NodeUpsert&) const { return {}; }
  std::string_view operator()(const NodeRemoval&) const { return {}; }
  std::string_view operator()(const PodUpsert& change) const {
    return change.pod->node_name.empty() ? "PodUpsert of a pod without a node" : "";
  }
  std::string_view operator()(const PodRemoval&) const { return {}; }
  std::string_view operator()(const NominationUpsert&) const { return {}; }
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
                                  ": only nodes, pods on nodes, removals of pods and nominations");
}

// ForkHistory

ForkHistory::ForkHistory(std::shared_ptr<const ForkParent> parent, std::span<const ForkStep> inherited)
    : parent_(std::move(parent)),
      opened_at_(parent_->version),
      steps_(inherited.begin(), inherited.end()),
      inherited_count_(inherited.size()) {}

std::uint64_t ForkHistory::bytes() const {
  std::uint64_t bytes = heap_bytes(steps_);
  for (const ForkStep& step : steps_)
    if (const auto* const placement = std::get_if<ForkPlacement>(&step)) {
      bytes += heap_bytes(placement->node_name);
    } else {
      bytes += heap_bytes(std::get<std::vector<ClusterChange>>(step));
    }
  return bytes;
}

void ForkHistory::check_not_spent() const {
  if (is_spent_) throw std::logic_error("the fork was promoted, and takes no calls");
}

bool ForkHistory::promote() {
  check_not_spent();
  if (parent_->engine == nullptr && parent_->fork == nullptr)
    throw std::logic_error("Fork::promote: the parent of the fork is gone");
  if (parent_->version != opened_at_) return false;
  const std::span<const ForkStep> own = std::span<const ForkStep>(steps_).subspan(inherited_count_);
  const auto replay_in = [&](auto& parent) {
    parent.as_one(
        [&] { replay(own, parent, [&](const ForkPlacement& step) { parent.place(step.pod, step.node_name); }); });
  };
  if (parent_->engine != nullptr) {
    replay_in(*parent_->engine);
  } else {
    replay_in(*parent_->fork);
  }
  is_spent_ = true;
  return true;
}

// Fork

std::size_t Fork::first_standing(std::span<const std::string* const> uids) {
  const auto at = std::ranges::find_if(uids, [&](const std::string* uid) { return !node_of_pod(*uid).empty(); });
  return static_cast<std::size_t>(at - uids.begin());
}

void Fork::accepts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, std::span<std::uint8_t> accepts) {
  const PodVerdicts verdicts = verdicts_on(pod, nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    accepts[i] = verdicts.error.empty() && verdicts.nodes[i].accepts() ? 1 : 0;
}

void Fork::amounts_on(std::span<const std::string> resources, std::span<const NodeIndex> nodes,
                      std::span<std::int64_t> requested, std::span<std::int64_t> allocatable) {
  std::vector<std::int64_t> requests(resources.size() * nodes.size());
  std::vector<std::int64_t> offers(resources.size() * nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::string name(node_name(nodes[n]));
    const NodePtr node = node_object(name);
    for (std::size_t r = 0; r < resources.size(); ++r) offers[r * nodes.size() + n] = offered(*node, resources[r]);
    for (const PodPtr& pod : pods_on(name)) {
      const ResourceAmounts amounts = requested_on_node(*pod);
      for (std::size_t r = 0; r < resources.size(); ++r) {
        std::int64_t& sum = requests[r * nodes.size() + n];
        sum = add_wrapping(sum, resources[r] == kPods ? 1 : amounts.amount(resources[r]));
      }
    }
  }
  if (!requested.empty()) std::ranges::copy(requests, requested.begin());
  if (!allocatable.empty()) std::ranges::copy(offers, allocatable.begin());
}

PodToPlace EngineOfFork::prepared(const PodToPlace& pod) {
  const auto known = prepared_.find(pod.pod.get());
  if (known != prepared_.end() && known->second.profile == pod.profile) return known->second;
  prepared_.reserve(prepared_.size() + 1);
  PodToPlace prepared = not_compiled(pod);
  engine_->prepare({&prepared, 1});
  prepared_.insert_or_assign(pod.pod.get(), prepared);
  return prepared;
}

CopiesAnswer EngineOfFork::copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) {
  std::vector<PodToPlace> own;
  own.reserve(pods.size());
  for (const PodToPlace& pod : pods) own.push_back(prepared(pod));
  return engine_->copies_that_fit(own, limits);
}

std::uint64_t EngineOfFork::bytes() const {
  const BackendStats stats = engine_->stats();
  return stats.column_bytes + stats.row_bytes + engine_->cluster().cache().memory_bytes() +
         prepared_.size() * heap_block_bytes(2 * sizeof(void*) + sizeof(PodToPlace));
}

std::string EngineOfFork::node_of_pod(const std::string& uid) {
  const NodeInfo* const node = engine_->cluster().cache().node_of_pod(uid);
  return node != nullptr ? node->name : std::string();
}

NodePtr EngineOfFork::node_object(const std::string& name) {
  const NodeInfo* const node = engine_->cluster().cache().find_node(name);
  return node != nullptr ? node->node : nullptr;
}

std::vector<PodPtr> EngineOfFork::pods_on(const std::string& node_name) {
  const NodeInfo* const node = engine_->cluster().cache().find_node(node_name);
  return node != nullptr ? node->pods : std::vector<PodPtr>();
}

std::vector<NodeIndex> EngineOfFork::nodes_in_order() {
  std::vector<NodeIndex> nodes;
  for (const NodeInfo* const node : engine_->cluster().cache().nodes_in_order())
    nodes.push_back(engine_->find_node(node->name));
  return nodes;
}

std::vector<PodPtr> EngineOfFork::pods_below(NodeIndex node, std::int32_t priority) {
  std::vector<PodPtr> pods = pods_on(std::string(engine_->node_name(node)));
  std::erase_if(pods, [&](const PodPtr& pod) { return pod->priority >= priority; });
  return pods;
}

// EngineFork

EngineFork::EngineFork(std::unique_ptr<Backend> engine, ForkHistory history, CheckPrepared check_prepared)
    : engine_(std::move(engine)), history_(std::move(history)), check_prepared_(std::move(check_prepared)) {
  self_->fork = this;
}

EngineFork::~EngineFork() { self_->fork = nullptr; }

// Copies

BatchResult commit_copies(std::span<const PodToPlace> pods, const BatchLimits& limits, Backend& engine) {
  std::vector<PodToPlace> own;
  own.reserve(pods.size());
  for (const PodToPlace& pod : pods) own.push_back(not_compiled(pod));
  engine.compile(own);
  return commit_with_refills(own, limits, engine);
}

void place_copy(const PodToPlace& pod, std::string_view node_name, Backend& engine) {
  PodToPlace own = not_compiled(pod);
  engine.compile({&own, 1});
  engine.place(own, node_name);
}

Evaluation evaluate_copy(const PodToPlace& pod, Backend& engine) {
  PodToPlace own = not_compiled(pod);
  engine.prepare({&own, 1});
  return engine.evaluate(own);
}

void replay_copies(std::span<const ForkStep> steps, Backend& engine) {
  replay(steps, engine, [&](const ForkPlacement& step) { place_copy(step.pod, step.node_name, engine); });
}

// Calls of a fork

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
  check_prepared_({&pod, 1});
  ForkStep step = ForkPlacement{pod, std::string(node_name)};
  history_.make_room(1);
  place_copy(pod, node_name, engine_.engine());
  history_.add(std::move(step));
  self_->note_change();
}

Evaluation EngineFork::evaluate(const PodToPlace& pod) {
  history_.check_not_spent();
  check_prepared_({&pod, 1});
  return evaluate_copy(pod, engine_.engine());
}

PodVerdicts EngineFork::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) {
  history_.check_not_spent();
  check_prepared_({&pod, 1});
  return engine_.look_at(pod, [&](const auto& own, const Backend& engine) { return engine.verdicts_on(own, nodes); });
}

PodStatuses EngineFork::statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) {
  history_.check_not_spent();
  check_prepared_({&pod, 1});
  return engine_.look_at(pod, [&](const auto& own, const Backend& engine) { return engine.statuses_on(own, nodes); });
}

PodTotals EngineFork::totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) {
  history_.check_not_spent();
  check_prepared_({&pod, 1});
  return engine_.look_at(pod, [&](const auto& own, const Backend& engine) { return engine.totals_on(own, nodes); });
}

CopiesAnswer EngineFork::copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) {
  history_.check_not_spent();
  check_prepared_(pods);
  return engine_.copies_that_fit(pods, limits);
}

DryRunResult EngineFork::dry_run(const DryRunRequest& request) {
  history_.check_not_spent();
  check_prepared_(request.preemptors);
  return engine_.ask_about_victims(request, request.lists,
                                   [](const auto& own, const Backend& engine) { return engine.dry_run(own); });
}

std::vector<Status> EngineFork::statuses_without_victims(const DryRunRequest& request) {
  history_.check_not_spent();
  check_prepared_(request.preemptors);
  return engine_.ask_about_victims(request, request.lists, [](const auto& own, const Backend& engine) {
    return engine.statuses_without_victims(own);
  });
}

void EngineFork::apply(std::span<const ClusterChange> changes) {
  history_.check_not_spent();
  check_fork_changes(changes);
  ForkStep step = std::vector<ClusterChange>(changes.begin(), changes.end());
  history_.make_room(1);
  engine_.engine().apply(changes);
  history_.add(std::move(step));
  self_->note_change();
}

void EngineFork::as_one(const std::function<void()>& calls) {
  const std::size_t steps = history_.steps().size();
  const std::uint64_t version = self_->version;
  try {
    engine_.engine().as_one(calls);
  } catch (...) {
    engine_.forget_prepared();
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
  return engine_.engine().open_fork(self_);
}

}  // namespace berth
