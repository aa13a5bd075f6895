// SPDX-License-Identifier: Apache-2.0
#include "host/capi/reservations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "host/capi/api_error.h"
#include "host/capi/counting.h"
#include "host/cluster/engine_cluster.h"
#include "host/objects/pod_copy.h"

namespace berth::capi {

std::string uid_of_reservation(const std::string& owner, std::uint64_t number) {
  return "reservation/" + owner + "/" + std::to_string(number);
}

// Of the cluster

/// Those that a call deleted, or the commit of a fork. Call alone.
void Cluster::forget_gone_reservations() {
  const ClusterCache& cache = backend_->cluster().cache();
  for (auto& [owner, pods] : reservations_)
    std::erase_if(pods, [&](const auto& numbered) { return cache.get_pod(numbered.second->uid()) == nullptr; });
  std::erase_if(reservations_, [](const auto& of_owner) { return of_owner.second.empty(); });
}

Reservations Cluster::reservations(const std::string* owner) {
  const std::unique_lock alone(mutex_);
  forget_gone_reservations();
  if (owner == nullptr) return reservations_;
  const auto found = reservations_.find(*owner);
  return found == reservations_.end() ? Reservations() : Reservations{*found};
}

bool Cluster::add_reservations(const std::string& owner, std::map<std::uint64_t, PodPtr> pods,
                               std::uint64_t opened_at) {
  std::vector<ClusterChange> changes;
  changes.reserve(pods.size());
  for (const auto& [number, pod] : pods) changes.emplace_back(PodUpsert{pod});
  const std::unique_lock alone(mutex_);
  if (facts_.version != opened_at) return false;
  const auto at = reservations_.try_emplace(owner).first;  // one without pods is forgotten
  backend_->apply(changes);
  // Nothing below throws.
  ++facts_.version;
  at->second.merge(pods);
  return true;
}

std::size_t Cluster::remove_reservations(const std::string& owner, std::span<const std::uint64_t> numbers) {
  const std::unique_lock alone(mutex_);
  forget_gone_reservations();
  const auto found = reservations_.find(owner);
  if (found == reservations_.end()) return 0;
  std::vector<ClusterChange> changes;
  for (const std::uint64_t number : numbers)
    if (const auto pod = found->second.find(number); pod != found->second.end())
      changes.emplace_back(PodRemoval{pod->second->uid()});
  if (changes.empty()) return 0;
  backend_->apply(changes);
  // Nothing below throws.
  ++facts_.version;
  for (const std::uint64_t number : numbers) found->second.erase(number);
  if (found->second.empty()) reservations_.erase(found);
  return changes.size();
}

namespace {

/// Copies that are placed at once.
constexpr std::size_t kBatchMax = 4096;

bool is_in(const Roster::Entry& node, const NodesOfDomain& where) {
  if (where.nodes != nullptr && !where.nodes->contains(node.number)) return false;
  return where.key == nullptr || node.labels.find(where.key) == std::string_view(where.value);
}

NodeNumbers numbers_in(const Roster& roster, const NodesOfDomain& where) {
  std::vector<std::uint32_t> numbers;
  for (const Roster::Entry& node : roster.entries())
    if (is_in(node, where)) numbers.push_back(node.number);
  return NodeNumbers(numbers);
}

/// Places copies in a fork of the cluster at one version.
class Reserving {
 public:
  Reserving(std::shared_ptr<Cluster> cluster, const std::string& owner, const ReadPod& pod)
      : cluster_(std::move(cluster)), owner_(owner), pod_(pod), opened_(cluster_->open()) {
    const Reservations known = cluster_->reservations(&owner);
    if (!known.empty()) next_ = known.begin()->second.rbegin()->first + 1;
    result_ = std::make_unique<Result>(cluster_, opened_.facts.version);
  }

  /// All copies, or those before one that does not fit, or before the watch was over.
  void place(std::size_t count, std::uint32_t flags, const NodesOfDomain& where, const StopWatch& watch) {
    const NodeNumbers numbers = numbers_in(*opened_.facts.roster, where);
    FoundIndexes found;
    const State state{*opened_.fork, *cluster_, opened_.facts, opened_.facts.roster, found};
    const std::optional<std::vector<bool>> among = nodes_among(state, &numbers, flags);
    BatchLimits limits;
    limits.stop_at_failure = true;
    limits.among = &*among;
    PieceSizes pieces(watch, 1, watch.can_stop() ? kPieceOfBatch : kBatchMax);
    while (placed_.size() < count && !has_failed_ && !watch.is_over()) {
      limits.deadline_us = watch.piece_us();
      place_some(std::min(count - placed_.size(), pieces.next()), limits);
    }
    is_whole_ = placed_.size() == count;
  }
  bool has_failed() const { return has_failed_; }
  bool is_whole() const { return is_whole_; }

  /// Writes the answer, and adds what was placed to the cluster. @return null: that has changed since
  std::unique_ptr<Result> keep() {
    auto& node = result_->column<std::uint32_t>(BERTH_COLUMN_NODE);
    for (const std::uint32_t id : {std::uint32_t{BERTH_COLUMN_UID}, std::uint32_t{BERTH_COLUMN_MESSAGE}})
      result_->column<std::uint32_t>(id);
    if (!is_whole_) node.assign(node.size(), BERTH_NO_NODE);
    result_->column<std::uint8_t>(BERTH_COLUMN_FITS).assign(node.size(), is_whole_ ? 1 : 0);
    const bool any = is_whole_ && !placed_.empty();
    if (any && !cluster_->add_reservations(owner_, std::move(placed_), opened_.facts.version)) return nullptr;
    return std::move(result_);
  }

 private:
  void place_some(std::size_t count, const BatchLimits& limits) {
    std::vector<std::string> uids;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& uid = uids.emplace_back(uid_of_reservation(owner_, next_ + placed_.size() + i));
      const std::string node = opened_.fork->node_of_pod(uid);
      if (!node.empty()) throw ApiError(BERTH_E_EXISTS, "Pod " + uid, "stands on node " + node);
    }
    std::vector<PodToPlace> batch;
    for (std::unique_ptr<ReadPod>& copy : cluster_->copies_of(pod_, false, count, uids.data())) {
      batch.push_back(copy->to_place);
      handles_.push_back(std::make_shared<const PodHandle>(cluster_, std::move(copy)));
    }
    const BatchResult result = opened_.fork->commit_batch(batch, limits);
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) note(*batch[i].pod, result.outcomes[i], result.messages);
  }

  void note(const Pod& pod, const Outcome& outcome, const std::vector<Message>& messages) {
    has_failed_ = outcome.kind != OutcomeKind::kPlaced;
    const std::string name(opened_.fork->node_name(outcome.node));
    result_->column<std::uint32_t>(BERTH_COLUMN_NODE)
        .push_back(has_failed_ ? BERTH_NO_NODE : cluster_->nodes().number_of(name));
    result_->column<std::uint32_t>(BERTH_COLUMN_UID).push_back(result_->number_of(pod.uid()));
    result_->column<std::uint32_t>(BERTH_COLUMN_MESSAGE)
        .push_back(has_failed_ ? result_->number_of(messages[static_cast<std::size_t>(outcome.message)].text) : 0);
    if (has_failed_) return;
    auto standing = copy_of(pod);
    standing->node_name = name;
    placed_.emplace(next_ + placed_.size(), std::move(standing));
  }

  std::shared_ptr<Cluster> cluster_;
  const std::string& owner_;
  const ReadPod& pod_;
  std::vector<PodHandlePtr> handles_;  ///< which must outlive what the fork knows of them
  Cluster::Opened opened_;
  std::uint64_t next_ = 0;  ///< the owner's next number
  std::map<std::uint64_t, PodPtr> placed_;
  bool has_failed_ = false;  ///< a copy found no node
  bool is_whole_ = false;    ///< all copies found one
  std::unique_ptr<Result> result_;
};

/// The pod reserves for pods like this one.
bool is_like(const Pod& reserved, const Pod& pod) {
  return reserved.namespace_ == pod.namespace_ && reserved.labels == pod.labels && reserved.priority == pod.priority &&
         (reserved.spec == pod.spec || *reserved.spec == *pod.spec);
}

}  // namespace

Answer reserve(const std::shared_ptr<Cluster>& cluster, const std::string& owner, const PodHandlePtr& pod,
               std::size_t count, std::uint32_t flags, const NodesOfDomain& where, const StopWatch& watch) {
  const std::optional<NotJudged>& why_not = pod->pod->not_judged;
  if (why_not) throw ApiError(BERTH_E_UNSUPPORTED, "Pod " + pod->pod->given->full_name(), why_not->text);
  const std::lock_guard alone(cluster->reserving());
  while (true) {
    Reserving reserving(cluster, owner, *pod->pod);
    reserving.place(count, flags, where, watch);
    const berth_status status = reserving.is_whole() || reserving.has_failed() ? BERTH_OK : watch.stop();
    if (std::unique_ptr<Result> answer = reserving.keep()) return {std::move(answer), status};
  }
}

std::size_t unreserve(Cluster& cluster, const std::string& owner, const UnreserveOptions& options) {
  const std::lock_guard alone(cluster.reserving());
  const Reservations known = cluster.reservations(&owner);
  if (known.empty()) throw ApiError(BERTH_E_NOT_FOUND, "reservation/" + owner, "the owner has no reservation");
  const std::shared_ptr<const Roster> roster = cluster.facts().roster;
  const bool anywhere = options.where.nodes == nullptr && options.where.key == nullptr;
  const auto stands_there = [&](const Pod& pod) {
    const auto number = cluster.nodes().find(pod.node_name);
    const Roster::Entry* const node = number ? roster->find(*number) : nullptr;
    return anywhere || (node != nullptr && is_in(*node, options.where));
  };
  std::vector<std::uint64_t> numbers;
  const auto& pods = known.begin()->second;
  for (auto pod = pods.rbegin(); pod != pods.rend(); ++pod) {
    if (options.count != 0 && numbers.size() == options.count) break;
    if (options.pod != nullptr && !is_like(*pod->second, *options.pod->given)) continue;
    if (stands_there(*pod->second)) numbers.push_back(pod->first);
  }
  return cluster.remove_reservations(owner, numbers);
}

std::unique_ptr<Result> list_reservations(const std::shared_ptr<Cluster>& cluster, const std::string* owner) {
  const Reservations known = cluster->reservations(owner);
  const ClusterFacts facts = cluster->facts();
  auto result = std::make_unique<Result>(cluster, facts.version);
  auto& owners = result->column<std::uint32_t>(BERTH_COLUMN_OWNER);
  auto& uids = result->column<std::uint32_t>(BERTH_COLUMN_UID);
  auto& nodes = result->column<std::uint32_t>(BERTH_COLUMN_NODE);
  for (const auto& [name, pods] : known)
    for (const auto& [number, pod] : pods) {
      const auto node = cluster->nodes().find(pod->node_name);
      owners.push_back(result->number_of(name));
      uids.push_back(result->number_of(pod->uid()));
      nodes.push_back(node && facts.roster->find(*node) != nullptr ? *node : BERTH_NO_NODE);
    }
  return result;
}

}  // namespace berth::capi
