// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/loop_run.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "host/objects/errors.h"
#include "host/objects/pod_state.h"
#include "host/simulate/actions.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

StoreOptions options_of_store(const ScheduleOptions& options) {
  StoreOptions store = store_options(options.config.gates);
  store.seed = options.engine.seed;
  store.watch_history_limit = SIZE_MAX;
  return store;
}

/// Built-in plugins preempt nobody with PreemptionMode::kOff, and say nothing of it.
SchedulerConfig config_of_loop(const ScheduleOptions& options, const PluginRegistry& plugins) {
  SchedulerConfig config = options.config;
  if (options.preemption.mode != PreemptionMode::kOff) return config;
  for (Profile& profile : config.profiles)
    std::erase_if(profile.plugins[static_cast<std::size_t>(ExtensionPoint::kPostFilter)],
                  [&](const EnabledPlugin& plugin) { return plugins.find(plugin.name) == nullptr; });
  return config;
}

/// What takes part in the run: nodes, pods on them, and pods that may be queued.
ClusterObjects participants(const ClusterObjects& objects, const SchedulerConfig& config, const ClusterCache& loaded) {
  ClusterObjects part = objects;
  std::erase_if(part.pods, [&](const PodPtr& pod) {
    if (is_pending(*pod)) return profile_index(config, *pod) < 0;
    return !is_on_node(*pod) || loaded.get_pod(pod->uid()) != pod;
  });
  return part;
}

std::string name_of(const Node& node) { return node.name; }
std::string name_of(const Pod& pod) { return pod.full_name(); }

/// Sorts a list of the store as the input has the objects, on which ties depend.
template <class T, class Position>
void sort_as_given(StoreContents& contents, const Position& position) {
  StoredList<T>& list = std::get<StoredList<T>>(contents.items);
  std::sort(list.begin(), list.end(), [&](const StoredPtr<T>& a, const StoredPtr<T>& b) {
    return position.at(name_of(*a->object)) < position.at(name_of(*b->object));
  });
}

template <class Objects>
std::unordered_map<std::string, std::size_t> positions_of(const Objects& objects) {
  std::unordered_map<std::string, std::size_t> positions;
  for (const auto& object : objects) positions.emplace(name_of(*object), positions.size());
  return positions;
}

}  // namespace

LoopRun::LoopRun(const ClusterObjects& objects, const ScheduleOptions& options, const EngineConfig& engine,
                 const PluginRegistry& plugins, const Intake& intake, const ClusterCache& loaded)
    : options_(options),
      intake_(intake),
      config_(config_of_loop(options, plugins)),
      store_(clock_, options_of_store(options)),
      client_(store_),
      states_(intake.queue.size()) {
  load(participants(objects, config_, loaded));
  LoopOptions loop;
  loop.config = config_;
  loop.engine = engine;
  loop.preemption = options.preemption.limits;
  loop.plugins = plugins;
  loop.open_accelerator = options.open_accelerator;
  loop_ = std::make_unique<SchedulingLoop>(start_, loop, clock_, client_, *this);
  watch_ = store_.watch(start_.resource_version).watch;
  for (std::int32_t slot = 0; slot < loop_->backend().slot_count(); ++slot)
    node_of_name_.emplace(loop_->backend().node_name({slot}), NodeIndex{slot});
}

void LoopRun::run() {
  try_all();
  for (;;) {
    const std::int64_t next_us = next_time_us();
    if (next_us == ApiClient::kNeverUs) return;
    const bool victims_leave = !leaving_.empty() && leaving_.begin()->first <= next_us;
    if (next_us <= clock_.now_us() && !victims_leave) throw std::logic_error("something that is due was not done");
    clock_.advance_to(next_us);
    remove_victims();
    try_all();
  }
}

void LoopRun::load(const ClusterObjects& objects) {
  std::vector<InputProblem> problems;
  for (std::string& message : create_objects(objects, true, store_))
    problems.push_back({"", "", "the cluster cannot be loaded: " + std::move(message)});
  if (!problems.empty()) throw InputError(std::move(problems));
  start_ = store_.list_all();
  sort_as_given<Node>(start_, positions_of(objects.nodes));
  sort_as_given<Pod>(start_, positions_of(objects.pods));
  for (const PodPtr& pod : objects.pods) {
    given_.emplace(pod->full_name(), pod);
    if (is_on_node(*pod) && pod->terminating) terminating_[pod->node_name].push_back(pod);
  }
  for (std::size_t i = 0; i < intake_.queue.size(); ++i) position_of_.emplace(intake_.queue[i].pod->full_name(), i);
  untried_ = states_.size();
}

/// Until nothing is left to do now. A pod is tried when what became of the one before it is known. Each attempt takes a
/// microsecond, so that pods that are tried again come in the order in which they failed.
void LoopRun::try_all() {
  for (bool goes_on = true; goes_on;) {
    const bool had_events = read_events();
    const std::size_t popped = loop_->run(may_pop() ? 1 : 0);
    settle_failures();
    clock_.advance_by(static_cast<std::int64_t>(popped));
    goes_on = had_events || popped > 0 || loop_->awaits_events();
    if (options_.progress && popped > 0) options_.progress(states_.size() - untried_, states_.size());
  }
}

bool LoopRun::read_events() {
  const WatchBatch batch = watch_.poll();
  if (!batch.status.is_success()) throw std::runtime_error("the store's events: " + batch.status.message);
  if (batch.events.empty() && !loop_->awaits_events()) return false;
  loop_->take(batch.events);
  return true;
}

/// Pods that preempt wait until every pod was tried once, and then until their victims are gone. A pod that is to wait
/// and comes first is tried all the same where others are not to wait.
bool LoopRun::may_pop() {
  if (untried_ > 0) return true;
  const std::vector<PodPtr> head = loop_->queue().head(1);
  const auto is_due = [this](const State& state) {
    return state.is_in_queue && state.phase == Phase::kUnschedulable && state.due_us <= clock_.now_us();
  };
  if (head.empty()) return false;
  const State* const first = state_of(*head.front());
  return first == nullptr || is_due(*first) || std::any_of(states_.begin(), states_.end(), is_due);
}

/// A pod without a node is not tried again, unless preemption gave it a nomination. One that plugins refused after it
/// had a node may be nominated for that node, as upstream does while plugins bind; it gives that up too.
void LoopRun::settle_failures() {
  for (const std::size_t position : std::exchange(failed_, {})) {
    State& state = states_[position];
    const ObjectKey key = key_of(*intake_.queue[position].pod);
    const StoredPodPtr stored = store_.get<Pod>(key);
    if (stored == nullptr || state.phase == Phase::kPlaced || state.phase == Phase::kReserved) continue;
    const std::string& nominated = stored->object->rare().nominated_node_name;
    if (state.phase == Phase::kUnschedulable && !state.had_node && !state.eviction && !nominated.empty()) {
      let_terminating_leave(nominated);
      state.due_us = due_us(state, nominated);
      continue;
    }
    DeleteOptions at_once;
    at_once.grace_period_s = 0;
    store_.remove<Pod>(key, at_once);
    state.is_in_queue = false;
  }
}

/// When the last victim of a preemptor is gone. One that evicted nobody now waits for the next pod that leaves its
/// node.
std::int64_t LoopRun::due_us(const State& state, const std::string& node) const {
  if (state.victims_gone_us > clock_.now_us()) return state.victims_gone_us;
  const auto next =
      std::find_if(leaving_.begin(), leaving_.end(), [&](const auto& entry) { return entry.second.node == node; });
  return next == leaving_.end() ? ApiClient::kNeverUs : next->first;
}

/// A preemptor waits for pods of the node that are being deleted already; nobody is evicted for it then.
void LoopRun::let_terminating_leave(const std::string& node) {
  const auto of_node = terminating_.find(node);
  if (of_node == terminating_.end()) return;
  for (const PodPtr& pod : of_node->second)
    leaving_.emplace(next_eviction({}, 0, run_time_us(), {pod, nullptr, kNoNode}).gone_at_us, LeavingPod{pod, node});
  terminating_.erase(of_node);
}

std::int64_t LoopRun::run_time_us() const { return clock_.now_us() / kSecondUs * kSecondUs; }

void LoopRun::remove_victims() {
  if (leaving_.empty() || leaving_.begin()->first > clock_.now_us()) return;
  DeleteOptions at_once;
  at_once.grace_period_s = 0;
  for (; !leaving_.empty() && leaving_.begin()->first <= clock_.now_us(); leaving_.erase(leaving_.begin()))
    store_.remove<Pod>(key_of(*leaving_.begin()->second.pod), at_once);
  read_events();
  wake_preemptors();
}

/// ApiClient::kNeverUs: the run is over.
std::int64_t LoopRun::next_time_us() const {
  std::int64_t next_us = ApiClient::kNeverUs;
  if (options_.preemption.mode == PreemptionMode::kEvict && !leaving_.empty())
    next_us = std::max(leaving_.begin()->first, clock_.now_us());
  return loop_->unbound_count() > 0 ? std::min(next_us, loop_->next_wake_us()) : next_us;
}

/// Hints of plugins may leave a preemptor alone when its victims go, and then it waits for minutes.
void LoopRun::wake_preemptors() {
  std::vector<PodPtr> pods;
  for (std::size_t position = 0; position < states_.size(); ++position) {
    const State& state = states_[position];
    if (state.phase != Phase::kUnschedulable || !state.is_in_queue || state.due_us > clock_.now_us()) continue;
    pods.push_back(store_.get<Pod>(key_of(*intake_.queue[position].pod))->object);
  }
  loop_->activate(pods);
}

NodeIndex LoopRun::nomination_of(const Pod& pod) const {
  const StoredPodPtr stored = store_.get<Pod>(key_of(pod));
  if (stored == nullptr) return kNoNode;
  const auto node = node_of_name_.find(stored->object->rare().nominated_node_name);
  return node == node_of_name_.end() ? kNoNode : node->second;
}

LoopRun::State* LoopRun::state_of(const Pod& pod) {
  const auto at = position_of_.find(pod.full_name());
  return at == position_of_.end() ? nullptr : &states_[at->second];
}

void LoopRun::on_attempt(const Attempt& attempt) {
  State* const state = state_of(*attempt.info.pod);
  if (state == nullptr) return;
  if (state->phase == Phase::kUntried) --untried_;
  state->message = attempt.message;
  state->score = attempt.score;
  if (attempt.result == AttemptResult::kScheduled) {
    state->phase = Phase::kReserved;
    state->node = node_of_name_.at(std::string(attempt.node_name));
    return;
  }
  state->had_node = state->phase == Phase::kReserved;
  state->phase = attempt.result == AttemptResult::kError ? Phase::kError : Phase::kUnschedulable;
  failed_.push_back(static_cast<std::size_t>(state - states_.data()));
}

void LoopRun::on_bound(const QueuedPodInfo& info, std::string_view /*node_name*/) {
  if (State* const state = state_of(*info.pod)) state->phase = Phase::kPlaced;
}

void LoopRun::on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) {
  if (State* const state = state_of(*victim)) state->eviction = evictions_.size();
  evictions_.push_back(next_eviction(
      evictions_, options_.preemption.evictions_per_minute_max, run_time_us(),
      {given_.at(victim->full_name()), given_.at(preemptor->full_name()), node_of_name_.at(std::string(node_name))}));
  const std::int64_t gone_at_us = evictions_.back().gone_at_us;
  leaving_.emplace(gone_at_us, LeavingPod{evictions_.back().victim, std::string(node_name)});
  if (State* const state = state_of(*preemptor)) state->victims_gone_us = std::max(state->victims_gone_us, gone_at_us);
}

}  // namespace berth
