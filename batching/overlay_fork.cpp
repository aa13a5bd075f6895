// SPDX-License-Identifier: Apache-2.0
#include "batching/overlay_fork.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "batching/evaluation.h"
#include "batching/prepared_pod.h"
#include "host/cluster/pod_footprint.h"
#include "host/objects/pod_state.h"

namespace berth {

/// The engine does not change while this exists.
class OverlayFork::Reading {
 public:
  explicit Reading(ForkSource& source) : source_(source), lock_(source.mutex) {}
  bool is_live() const { return source_.live != nullptr; }
  /// Runs `body` while no other fork reads the engine, if it is still live. Afterwards it may have changed.
  template <class Body>
  void alone(Body body) {
    lock_.unlock();
    {
      const std::unique_lock alone(source_.mutex);
      try {
        if (is_live()) body();
      } catch (const std::bad_alloc&) {
        source_.live->set_void();
        throw;
      }
    }
    lock_.lock();
  }

 private:
  ForkSource& source_;
  std::shared_lock<ReadersAndWriter> lock_;
};

OverlayFork::OverlayFork(std::shared_ptr<ForkSource> source, std::shared_ptr<const ForkParent> parent)
    : source_(std::move(source)), history_(std::move(parent)) {
  const Reading reading(*source_);
  state_ = std::make_unique<CommitState>(*source_->live, CommitState::ForFork());
  journal_position_ = journal_seen_ = source_->journal->begin_reading();
  live_log_seen_ = source_->live->log.position();
  self_->fork = this;
}

/// Call while reading.
OverlayFork::OverlayFork(const OverlayFork& from, std::shared_ptr<const ForkParent> parent)
    : source_(from.source_),
      journal_position_(from.journal_position_),
      state_(std::make_unique<CommitState>(*from.state_, CommitState::ForFork())),
      own_pods_(from.own_pods_),
      changed_since_(from.changed_since_),
      journal_seen_(from.journal_seen_),
      guest_domains_(from.guest_domains_),
      touched_(from.touched_),
      live_log_seen_(from.live_log_seen_),
      history_(std::move(parent), from.history_.steps()) {
  if (!from.state_->snapshot.guests().empty()) names_ = from.names_;
  source_->journal->begin_reading_at(journal_position_);
  self_->fork = this;
}

OverlayFork::~OverlayFork() {
  self_->fork = nullptr;
  const Reading reading(*source_);
  state_.reset();
  source_->journal->stop_reading(journal_position_);
}

/// Runs `body(reading)` on the overlay, if that can answer. Where memory runs out, the next call opens an engine.
/// @return whether it did
template <class Body>
bool OverlayFork::on_overlay(Body body) {
  history_.check_not_spent();
  if (state_ == nullptr || state_->is_void()) return false;
  try {
    Reading reading(*source_);
    if (reading.is_live() && source_->live->is_void()) reading.alone([&] { source_->live->leave_forks(); });
    return follow_new_columns(reading) && body(reading);
  } catch (const std::bad_alloc&) {
    state_->set_void();
    throw;
  }
}

// Placing

/// The pods as the engine that the fork reads knows them now: those that it has prepared, or, where it belongs to a
/// fork itself, copies that it prepares here.
std::vector<PodToPlace> OverlayFork::prepared(std::span<const PodToPlace> pods, Reading& reading) const {
  const CommitState& live = *source_->live;
  std::vector<PodToPlace> known;
  known.reserve(pods.size());
  bool is_current = !source_->is_of_fork;
  for (const PodToPlace& pod : pods) {
    known.push_back(source_->is_of_fork ? not_compiled(pod) : live.current(pod));
    if (source_->is_of_fork) continue;
    if (live.is_outdated(pod)) {
      is_current = false;
    } else {
      PreparedPod(known.back(), state_->table, state_->nominations,
                  state_->snapshot);  // throws where it was never prepared
    }
  }
  if (!is_current) reading.alone([&] { source_->live->prepare(known); });
  return known;
}

/// Plugins on the host may decide on one of the pods: their answers follow what is done to the fork, so that it needs
/// an engine of its own.
bool OverlayFork::asks_hosts(std::span<const PodToPlace> pods, const Reading& reading) const {
  return reading.is_live() && std::any_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) {
           return pod.class_index >= 0 && state_->table.host_may_decide(pod.class_index);
         });
}

BatchResult OverlayFork::commit_batch(std::span<const PodToPlace> given, const BatchLimits& limits) {
  BatchResult result;
  const bool done = on_overlay([&](Reading& reading) {
    const std::vector<PodToPlace> pods = prepared(given, reading);
    if (asks_hosts(pods, reading)) return false;
    if (reading.is_live() && !source_->live->is_ready_for_forks(pods))
      reading.alone([&] { source_->live->make_ready_for_forks(pods); });
    if (!reading.is_live() || !follow_new_columns(reading) || guests_change_scores(pods)) return false;
    note_touched();
    state_->all_or_nothing([&] {
      result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
      state_->begin_cycle(pods.size());
      state_->result = &result;
      state_->run_batch(pods, limits, [&](std::span<const PodToPlace> rest, std::size_t pods_max) {
        answer_front(rest, pods_max, limits.stop_at_failure);
      });
      state_->result = nullptr;
      note_outcomes(given, result);
    });
    return true;
  });
  if (done) return result;
  EngineOfFork& own = engine();
  return own.commit(given, limits, [&](BatchResult& committed) {
    std::vector<ForkStep> steps;
    for (std::size_t i = 0; i < committed.outcomes.size(); ++i) {
      NodeIndex& node = committed.outcomes[i].node;
      steps.emplace_back(ForkPlacement{given[i], std::string(own.engine().node_name(node))});
      node = own_index(node);
    }
    history_.add_all(std::move(steps));
    ++self_->version;
  });
}

void OverlayFork::answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure) {
  if (state_->repeat_failure(pods.front())) return;
  const std::size_t before = state_->answered.size();
  if (source_->live->commit_for_fork(pods, pods_max, stops_at_failure, *state_, touched_) == 0) answer(pods.front());
  for (std::size_t i = before; i < state_->answered.size(); ++i) note_placement(state_->answered[i].node);
}

void OverlayFork::answer(const PodToPlace& pod) {
  std::int32_t own_nomination = -1;
  const auto update_order = [&] { state_->snapshot.update_guest_order(source_->live->cluster.cache()); };
  if (!state_->nominations.empty()) update_order();
  if (!state_->answer_without_row(pod, own_nomination)) {
    if (const auto selection = source_->live->select_for_fork(pod, *state_, touched_)) {
      state_->answer(pod, *selection, own_nomination);
    } else {
      update_order();
      state_->answer_uncached(pod, own_nomination);
    }
  }
}

/// @param node  -1: the pod has none
void OverlayFork::note_placement(std::int32_t node) {
  if (node >= 0) touched_.insert(node);
}

void OverlayFork::note_touched() {
  const CommitLog& log = source_->live->log;
  if (!log.reaches(live_log_seen_)) {
    for (std::int32_t slot = 0; slot < state_->snapshot.slot_count(); ++slot) touched_.insert(slot);
    live_log_seen_ = log.position();
  }
  for (const LogEntry& entry : log.since(live_log_seen_)) touched_.insert(entry.node);
  live_log_seen_ = log.position();
}

/// Notes all of them, or throws and notes none.
void OverlayFork::note_outcomes(std::span<const PodToPlace> pods, const BatchResult& result) {
  std::unordered_map<std::string, Standing> placed;
  std::vector<ForkStep> steps;
  for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
    std::string node(state_->snapshot.node_name(result.outcomes[i].node.value));
    if (!node.empty()) placed[pods[i].pod->uid()] = {pods[i].pod, node, true};
    steps.emplace_back(ForkPlacement{pods[i], std::move(node)});
  }
  own_pods_.reserve(own_pods_.size() + placed.size());
  history_.add_all(std::move(steps));
  for (const auto& [uid, standing] : placed) own_pods_.erase(uid);
  own_pods_.merge(placed);
  if (!result.outcomes.empty()) ++self_->version;
}

void OverlayFork::place(const PodToPlace& pod, std::string_view node_name) {
  ForkStep step = ForkPlacement{pod, std::string(node_name)};
  history_.make_room(1);
  std::vector<PodToPlace> own_pods;
  const bool done = on_overlay([&](Reading& reading) {
    // A fork that is promoted brings pods that it met long ago.
    const bool is_known = !source_->is_of_fork && pod.handle != 0 && !state_->table.is_stale(pod);
    own_pods.push_back(source_->is_of_fork ? not_compiled(pod) : pod);
    if (!is_known) reading.alone([&] { source_->live->prepare(own_pods); });
    if (!reading.is_live() || !follow_new_columns(reading)) return false;
    state_->all_or_nothing([&] {
      state_->place(own_pods.front(), node_name);
      note_placement(state_->answered.back().node);
      if (!node_name.empty()) own_pods_[pod.pod->uid()] = {pod.pod, std::string(node_name), true};
    });
    return true;
  });
  if (!done) engine().ready().place(not_compiled(pod), node_name);
  history_.add(std::move(step));
  ++self_->version;
}

Evaluation OverlayFork::evaluate(const PodToPlace& pod) {
  Evaluation evaluation;
  const bool done = on_overlay([&](Reading& reading) {
    const PodToPlace known = prepared({&pod, 1}, reading).front();
    if (asks_hosts({&known, 1}, reading)) return false;
    if (!reading.is_live() || !follow_new_columns(reading) || guests_change_scores({&known, 1})) return false;
    state_->snapshot.update_guest_order(source_->live->cluster.cache());
    evaluation = evaluate_pod(known, state_->sides, state_->nominations, state_->snapshot);
    return true;
  });
  if (done) return evaluation;
  evaluation = engine().ready().evaluate(not_compiled(pod));
  for (NodeEvaluation& node : evaluation.nodes) node.node = own_index(node.node);
  for (NodeIndex& node : evaluation.best) node = own_index(node);
  return evaluation;
}

// What the engine compiled since the fork was opened

/// @return false when the engine has left meanwhile, or lacks a resource that a guest offers
bool OverlayFork::follow_new_columns(Reading& reading) {
  while (reading.is_live() && !is_current()) reading.alone([&] { count_new_columns(); });
  return reading.is_live() && !state_->snapshot.guest_lacks_column();
}

bool OverlayFork::is_current() const {
  const Snapshot& live = source_->live->snapshot;
  const Snapshot& own = state_->snapshot;
  return live.resources_built() == own.resources_built() &&
         live.topology().tables_added() == own.topology().tables_added() &&
         live.topology().column_count() == own.topology().column_count();
}

/// New columns and tables as they would have been when the fork was opened, with what was done to it.
void OverlayFork::count_new_columns() {
  CommitState& live = *source_->live;
  live.fold();
  Snapshot& own = state_->snapshot;
  const Known known{own.topology().tables_added(), own.resources_built()};
  const std::vector<GuestPlace> guests = own.write_topology().take_guests();
  own.write_topology().add_tables_of(live.snapshot.topology());
  own.add_resources_of(live.snapshot);
  state_->nominations.refresh_deltas(live.table);
  read_journal();
  for (const auto& [uid, position] : changed_since_)
    for (const int sign : {-1, 1}) {
      const Standing standing = sign < 0 ? in_source(uid) : as_opened(uid);
      count_in_new(standing, own.find_in_engine(standing.node_name), sign, known);
    }
  if (!own.guests().empty()) count_guests_in_new(guests, known);
  for (const auto& [uid, standing] : own_pods_) {
    const Standing before = as_opened(uid);
    count_in_new(before, own.find_node(before.node_name), -1, known);
    count_in_new(standing, own.find_node(standing.node_name), 1, known);
  }
}

/// @param slot  of the standing's node; -1: it counts nowhere
void OverlayFork::count_in_new(const Standing& standing, std::int32_t slot, int sign, const Known& known) {
  if (standing.pod == nullptr || slot < 0) return;
  Snapshot& snapshot = state_->snapshot;
  for (const CountMove& move : state_->table.topology().moves_on_node(*standing.pod))
    if (snapshot.topology().added_at(move.table) > known.tables_added)
      snapshot.write_topology().add(move.table, slot, sign * move.amount);
  ResourceDelta delta = state_->table.delta_of(*standing.pod);
  std::erase_if(delta.requested,
                [&](const auto& amount) { return snapshot.built_at(amount.first) <= known.resources_built; });
  snapshot.add_requested(slot, delta, sign);
}

// Pods

void OverlayFork::read_journal() {
  const PodJournal& journal = *source_->journal;
  for (; journal_seen_ < journal.end(); ++journal_seen_)
    changed_since_.try_emplace(journal[journal_seen_].uid, journal_seen_);
}

/// In the engine, or where it left it.
OverlayFork::Standing OverlayFork::in_source(const std::string& uid) const {
  const ClusterCache& cache = source_->live != nullptr ? source_->live->cluster.cache() : *source_->cache;
  const NodeInfo* node = cache.node_of_pod(uid);
  if (node == nullptr) return {};
  return {cache.get_pod(uid), node->name, cache.is_assumed(uid)};
}

OverlayFork::Standing OverlayFork::as_opened(const std::string& uid) {
  read_journal();
  const auto changed = changed_since_.find(uid);
  if (changed == changed_since_.end()) return in_source(uid);
  const PodBefore& before = (*source_->journal)[changed->second];
  return {before.pod, before.node_name, before.is_assumed};
}

OverlayFork::Standing OverlayFork::standing_of(const std::string& uid) {
  const auto own = own_pods_.find(uid);
  return own != own_pods_.end() ? own->second : as_opened(uid);
}

/// What pods of the changes count in the topology tables becomes known. @return false when an own engine is needed
bool OverlayFork::ensure_moves(std::span<const ClusterChange> changes, Reading& reading) {
  TopologyIndex& topology = state_->table.topology();
  std::vector<PodPtr> unknown;
  bool brings_new_terms = false;
  const bool nodes_may_come = std::any_of(changes.begin(), changes.end(), [](const ClusterChange& change) {
    return std::holds_alternative<NodeUpsert>(change);
  });
  const auto look_at = [&](const PodPtr& pod, std::string_view node_name) {
    if (pod == nullptr || (!nodes_may_come && state_->snapshot.find_node(node_name) < 0)) return;
    brings_new_terms = brings_new_terms || topology.brings_new_terms(*pod);
    if (!topology.known_moves(*pod)) unknown.push_back(pod);
  };
  for (const ClusterChange& change : changes) {
    if (const auto* node = std::get_if<NodeUpsert>(&change)) {
      const std::string& name = node->node->name;
      if (state_->snapshot.find_node(name) < 0)
        for (const PodPtr& pod : pods_on(name, When::kNow)) look_at(pod, name);
      continue;
    }
    if (std::holds_alternative<NodeRemoval>(change)) continue;
    const auto* upsert = std::get_if<PodUpsert>(&change);
    if (upsert != nullptr) look_at(upsert->pod, upsert->pod->node_name);
    const Standing standing = standing_of(upsert != nullptr ? upsert->pod->uid() : std::get<PodRemoval>(change).uid);
    look_at(standing.pod, standing.node_name);
  }
  if (brings_new_terms) return false;
  if (unknown.empty()) return true;
  reading.alone([&] {
    for (const PodPtr& pod : unknown) topology.moves_on_node(*pod);
  });
  return reading.is_live() && follow_new_columns(reading) && ensure_moves(changes, reading);
}

void OverlayFork::apply(std::span<const ClusterChange> changes) {
  check_fork_changes(changes);
  ForkStep step = std::vector<ClusterChange>(changes.begin(), changes.end());
  history_.make_room(1);
  const bool done =
      on_overlay([&](Reading& reading) { return ensure_moves(changes, reading) && follow_as_one(changes); });
  if (!done) engine().ready().apply(changes);
  history_.add(std::move(step));
  ++self_->version;
}

/// All of the changes, or none: then the next call, or this one, opens an engine.
bool OverlayFork::follow_as_one(std::span<const ClusterChange> changes) {
  state_->begin_call();
  try {
    if (follow(changes)) {
      state_->keep_call();
      return true;
    }
  } catch (...) {
    state_->take_back_call(true);
    throw;
  }
  state_->take_back_call(true);
  return false;
}

/// Of a pod.
void OverlayFork::apply_one(const ClusterChange& change) {
  const auto* upsert = std::get_if<PodUpsert>(&change);
  const std::string uid = upsert != nullptr ? upsert->pod->uid() : std::get<PodRemoval>(change).uid;
  leave(uid);
  if (upsert != nullptr && is_on_node(*upsert->pod)) stand(upsert->pod);
  state_->nominations.remove(uid);
}

void OverlayFork::leave(const std::string& uid) {
  const Standing standing = standing_of(uid);
  if (standing.pod == nullptr) return;
  change_node(standing, -1);
  own_pods_[uid] = {};
}

void OverlayFork::stand(const PodPtr& pod) {
  Standing& standing = own_pods_[pod->uid()];
  standing = {pod, pod->node_name, false};
  change_node(standing, 1);
}

/// Pods on nodes without an object count nowhere.
void OverlayFork::change_node(const Standing& standing, int sign) {
  Snapshot& snapshot = state_->snapshot;
  const std::int32_t slot = snapshot.find_node(standing.node_name);
  if (slot < 0) return;
  const Pod& pod = *standing.pod;
  snapshot.apply(slot, state_->table.delta_of(pod), sign);
  if (const std::vector<HostPort> ports = wanted_host_ports(*pod.spec); !ports.empty())
    sign > 0 ? add_ports(snapshot.write_used_ports(slot), ports) : free_ports(snapshot.write_used_ports(slot), ports);
  snapshot.write_topology().add_all(*state_->table.topology().known_moves(pod), slot, sign);
  state_->log.append({slot, -1, 0});
  touched_.insert(slot);
}

// Forks of the fork, and an engine of its own

bool OverlayFork::promote() {
  if (!history_.promote()) return false;
  self_->fork = nullptr;  // forks of it have no parent any more
  return true;
}

std::unique_ptr<Fork> OverlayFork::fork() {
  std::unique_ptr<Fork> child;
  on_overlay([&](Reading&) {
    child.reset(new OverlayFork(*this, self_));
    return true;
  });
  return child != nullptr ? std::move(child) : engine().ready().open_fork(self_);
}

std::shared_ptr<const ClusterCache> OverlayFork::cluster_as_opened() {
  read_journal();
  auto cache =
      std::make_shared<ClusterCache>(source_->live != nullptr ? source_->live->cluster.cache() : *source_->cache);
  for (const auto& [uid, position] : changed_since_) {
    cache->remove_pod(uid);
    const Standing standing = as_opened(uid);
    if (standing.pod == nullptr) continue;
    if (standing.is_assumed) {
      cache->assume_pod(standing.pod, standing.node_name);
    } else {
      cache->add_pod(standing.pod);
    }
  }
  // Backwards, so that the first change of a node since then comes last.
  for (std::uint64_t position = source_->journal->end(); position-- > journal_position_;)
    for (const PortsBefore& ports : (*source_->journal)[position].ports)
      cache->set_used_ports(ports.node_name, ports.used);
  return cache;
}

/// Opens it at the first call.
EngineOfFork& OverlayFork::engine() {
  if (engine_ != nullptr) return *engine_;
  std::shared_ptr<const ClusterCache> cache;
  ClusterObjects objects;
  {
    const Reading reading(*source_);
    cache = cluster_as_opened();
    objects = reading.is_live() ? source_->live->cluster.objects() : source_->objects;
    const auto slots = static_cast<std::int32_t>(source_->node_count());
    for (std::int32_t slot = 0; slot < slots; ++slot) names_.emplace(slot, source_->node_name(slot));
  }
  const Beside now = reopen_with_ ? *reopen_with_ : beside();
  std::unique_ptr<Backend> engine = source_->open_engine(std::move(cache), objects, now.next_start);
  replay(history_.steps(), false, *engine);
  for (const NominationUpsert& nomination : now.nominations) {
    const ClusterChange change = nomination;
    engine->apply({&change, 1});
  }
  for (const auto& [index, name] : names_) index_of_name_.emplace(name, index);
  engine_ = std::make_unique<EngineOfFork>(std::move(engine));
  // Nothing below allocates.
  ++*source_->own_engines;
  reopen_with_.reset();
  const Reading reading(*source_);  // what the state reads does not change while it goes
  state_.reset();
  return *engine_;
}

OverlayFork::Beside OverlayFork::beside() const { return {state_->next_start(), state_->nominations.all()}; }

void OverlayFork::as_one(const std::function<void()>& calls) {
  const std::size_t steps = history_.steps().size();
  const std::uint64_t version = self_->version;
  const auto take_back = [&] {
    history_.shorten(steps);
    self_->version = version;
  };
  if (state_ == nullptr) {
    try {
      engine().ready().as_one(calls);
    } catch (...) {
      take_back();
      throw;
    }
    return;
  }
  Beside before = beside();
  try {
    calls();
  } catch (...) {
    take_back();
    engine_.reset();
    const Reading reading(*source_);
    state_.reset();
    reopen_with_ = std::move(before);
    throw;
  }
}

/// Of a node of the fork's engine. A node that came later gets the next free one.
NodeIndex OverlayFork::own_index(NodeIndex of_engine) {
  if (of_engine == kNoNode) return kNoNode;
  const std::string name(engine_->engine().node_name(of_engine));
  if (const auto known = index_of_name_.find(name); known != index_of_name_.end()) return {known->second};
  const auto next = static_cast<std::int32_t>(names_.size());
  names_.emplace(next, name);
  index_of_name_.emplace(name, next);
  return {next};
}

std::string_view OverlayFork::node_name(NodeIndex index) const {
  if (index == kNoNode) return {};
  if (const auto known = names_.find(index.value); known != names_.end()) return known->second;
  if (engine_ != nullptr) return {};
  const Reading reading(*source_);
  return names_.emplace(index.value, source_->node_name(index.value)).first->second;
}

std::size_t ForkSource::node_count() const {
  return live != nullptr ? live->snapshot.nodes_by_slot().size() : nodes.size();
}

std::string ForkSource::node_name(std::int32_t slot) const {
  if (live != nullptr) return std::string(live->node_name(slot));
  const NodePtr& node = nodes.at(static_cast<std::size_t>(slot));
  return node != nullptr ? node->name : std::string();
}

}  // namespace berth
