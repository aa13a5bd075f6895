// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/scheduling_loop.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "host/binding/default_binder.h"
#include "host/objects/pod_state.h"
#include "host/scheduler/intake.h"

namespace berth {
namespace {

QueueOptions queue_options_of(const LoopOptions& options) {
  QueueOptions queue = queue_options(options.config);
  queue.max_unschedulable_us = options.max_unschedulable_us;
  return queue;
}

/// DefaultBinder: the loop makes the API call, and brings its answer.
class ApiBinder : public BindPlugin {
 public:
  std::string_view name() const override { return DefaultBinder::kName; }
  Status bind(const PodOnNode& pod) override {
    static_cast<void>(pod);
    return {StatusCode::kWait, "", {}};
  }
};

/// The points of a profile at which the loop runs plugins: PostFilter, and those behind the decision.
Profile part_of_loop(const Profile& profile) {
  Profile part;
  part.scheduler_name = profile.scheduler_name;
  for (const ExtensionPoint point : {ExtensionPoint::kPostFilter, ExtensionPoint::kReserve, ExtensionPoint::kPermit,
                                     ExtensionPoint::kPreBind, ExtensionPoint::kBind, ExtensionPoint::kPostBind})
    part.plugins[static_cast<std::size_t>(point)] = profile.at(point);
  part.args = profile.args;
  return part;
}

LoopOptions checked(LoopOptions options) {
  refuse_extenders(options.config);
  return options;
}

}  // namespace

SchedulingLoop::SchedulingLoop(const StoreContents& start, const LoopOptions& options, const Clock& clock,
                               ApiClient& client, LoopObserver& observer)
    : options_(checked(options)),
      clock_(clock),
      observer_(observer),
      cluster_(start, options_),
      queue_plugins_(
          options_.config, [this](const Pod& pod) { return cluster_.default_selector_of(pod); }, options_.plugins),
      queue_(queue_plugins_.take_profiles(), queue_options_of(options_), clock),
      router_(queue_, *this, options_.config.gates),
      waiting_pods_(clock),
      handle_{&waiting_pods_, &cluster_.cache(),
              [this](std::string_view name_space, std::string_view name) { return find_queued(name_space, name); },
              options_.has_api_server},
      frameworks_(make_frameworks()),
      hooks_(make_hooks()),
      calls_(client, clock, make_call_options()),
      evictions_({calls_, waiting_pods_, queue_plugins_.running_preemptions(), observer,
                  [this](const PodPtr& pod) { queue_.activate({&pod, 1}); },
                  [this](const ChosenCandidate& chosen) { return lower_nominated(chosen); },
                  [this](const Pod& pod) { return generation_of(pod); }, make_pre_bind_cancel(), clock, options_.meter,
                  static_cast<std::size_t>(options_.evictions_per_minute_max)}),
      preempts_asynchronously_(options_.config.gates.enabled("SchedulerAsyncPreemption")) {
  for (std::size_t p = 0; p < frameworks_.size(); ++p)
    post_filter_plugins_.emplace_back(options_.config.profiles[p], &frameworks_[p]);
  queue_plugins_.set_meter(options_.meter);
  queue_.set_meter(options_.meter);
  router_.set_meter(options_.meter);
  for (Framework& framework : frameworks_) framework.set_meter(options_.meter);
  add_opportunistic_batches();
  add_pending_pods(start);
}

ApiCallOptions SchedulingLoop::make_call_options() {
  ApiCallOptions calls;
  calls.in_flight_max = options_.calls_in_flight_max;
  calls.volumes_in_flight_max = options_.volume_calls_in_flight_max;
  calls.timeout_us = options_.call_timeout_us;
  calls.merges = options_.config.gates.enabled("SchedulerAsyncAPICalls");
  calls.release = options_.config.gates.release();
  calls.meter = options_.meter;
  calls.lost_patch = [this](const Pod& pod) { forget_told_condition(pod); };
  return calls;
}

/// The next failed attempt writes the condition again, as it is not in the pod's status.
void SchedulingLoop::forget_told_condition(const Pod& pod) {
  queue_.forget_told_condition(pod);
  if (const auto task = tasks_.find(pod.uid()); task != tasks_.end()) task->second->info.told_condition = 0;
}

std::vector<Framework> SchedulingLoop::make_frameworks() {
  PluginRegistry registry = options_.plugins;
  registry.add(std::string(DefaultBinder::kName),
               [](const Profile&, const FrameworkHandle&) { return std::make_unique<ApiBinder>(); });
  std::vector<Framework> frameworks;
  frameworks.reserve(options_.config.profiles.size());
  for (const Profile& profile : options_.config.profiles)
    frameworks.emplace_back(part_of_loop(profile), registry, handle_, [](std::string_view) { return true; })
        .set_parallel_pre_bind(options_.config.gates.release() != Release::k1_35);
  return frameworks;
}

void SchedulingLoop::add_opportunistic_batches() {
  const FeatureGates& gates = options_.config.gates;
  if (options_.engine.batching != Batching::kKube || !gates.enabled("OpportunisticBatching")) return;
  for (const Profile& profile : options_.config.profiles)
    opportunistic_.push_back(
        {BatchSigner(profile, gates), OpportunisticBatch(profile.scheduler_name, clock_, options_.meter)});
}

std::function<bool(const Pod&)> SchedulingLoop::make_pre_bind_cancel() {
  if (options_.config.gates.release() == Release::k1_35) return nullptr;
  return [this](const Pod& victim) {
    const auto task = tasks_.find(victim.uid());
    return task != tasks_.end() && task->second->cycle.cancel_pre_bind("preempted by DefaultPreemption");
  };
}

BindingHooks SchedulingLoop::make_hooks() {
  BindingHooks hooks;
  hooks.delete_nomination = [this](const Pod& pod) { queue_.nominator().remove(pod); };
  hooks.activate = [this](const PodsToActivate& pods) {
    std::vector<PodPtr> list;
    list.reserve(pods.size());
    for (const auto& [name, pod] : pods) list.push_back(pod);
    queue_.activate(list);
  };
  if (options_.config.gates.enabled("NominatedNodeNameForExpectation")) {
    hooks.nominate = [this](const Pod& pod, std::string_view node_name) {
      const PodPtr& newest = tasks_.at(pod.uid())->newest;
      if (newest == nullptr || newest->rare().nominated_node_name == node_name) return;
      PodStatusPatch patch;
      patch.uid = newest->stored_uid;
      patch.nominated_node_name = std::string(node_name);
      calls_.add({newest, std::move(patch)});
    };
  }
  hooks.done = [this](const Pod& pod) { queue_.done(pod.uid()); };
  return hooks;
}

void SchedulingLoop::add_pending_pods(const StoreContents& start) {
  std::vector<StoredPodPtr> pending;
  for (const StoredPodPtr& pod : start.of<Pod>()) note_generation(*pod);
  for (const StoredPodPtr& pod : start.of<Pod>())
    if (is_pending(*pod->object) && queue_.has_profile(pod->object->spec->scheduler_name)) pending.push_back(pod);
  std::stable_sort(pending.begin(), pending.end(), [](const StoredPodPtr& a, const StoredPodPtr& b) {
    return a->object->creation_time_us < b->object->creation_time_us;
  });
  for (const StoredPodPtr& pod : pending) {
    queue_.add(pod->object);
    note_condition(*pod);
    sync_nomination(pod->object);
  }
}

void SchedulingLoop::take(std::span<const WatchEvent> events) {
  awaits_events_ = false;
  for (const WatchEvent& event : events)
    if (const auto* const pod = event.get<Pod>()) note_pod(*pod);
  const MeterWatch watch(options_.meter);
  cluster_.take(events);
  for (const std::string& text : cluster_.take_mismatches()) observer_.on_mismatch(text);
  if (options_.meter != nullptr && !events.empty())
    router_.set_seconds_before(watch.seconds() / static_cast<double>(events.size()));
  for (const WatchEvent& event : events) route(event);
}

void SchedulingLoop::note_pod(const ObjectChange<Pod>& change) {
  const PodPtr after = object_of(change.after);
  const PodPtr& any = after != nullptr ? after : change.before->object;
  const bool is_gone = after == nullptr || is_finished(*after);
  if (change.after != nullptr) note_generation(*change.after);
  if (after == nullptr && !generations_.empty()) generations_.erase(any->uid());
  if (change.before != nullptr && change.after != nullptr && !is_assigned(*after)) calls_.note_pod(*change.after);
  if (!signed_as_.empty() && !tasks_.contains(any->uid())) signed_as_.erase(any->uid());
  if (synchronous_preemption_ && synchronous_preemption_->info.pod->uid() == any->uid())
    synchronous_preemption_->newest = is_gone ? nullptr : after;
  if (tasks_.empty()) return;
  if (const auto task = tasks_.find(any->uid()); task != tasks_.end()) task->second->newest = is_gone ? nullptr : after;
}

void SchedulingLoop::note_generation(const StoredPod& pod) {
  if (pod.meta.generation != 1) generations_.insert_or_assign(pod.object->uid(), pod.meta.generation);
}

std::int64_t SchedulingLoop::generation_of(const Pod& pod) const {
  if (generations_.empty()) return 1;
  const auto at = generations_.find(pod.uid());
  return at == generations_.end() ? 1 : at->second;
}

template <class T>
void SchedulingLoop::route_storage(const ObjectChange<T>& change) {
  if constexpr (is_storage(kKindOf<T>)) {
    const auto shared = [](const StoredPtr<T>& stored) {
      return stored == nullptr ? nullptr : std::make_shared<const StorageObject>(*stored->object);
    };
    router_.storage_changed(shared(change.before), shared(change.after));
  }
}

void SchedulingLoop::route(const WatchEvent& event) {
  if (const auto* const node = event.get<Node>()) {
    router_.node_changed(object_of(node->before), object_of(node->after));
  } else if (const auto* const pod = event.get<Pod>()) {
    const PodPtr before = object_of(pod->before);
    const PodPtr after = object_of(pod->after);
    if (after == nullptr || after->terminating || is_finished(*after))
      evictions_.note_leaving(after == nullptr ? *before : *after);
    router_.pod_changed(before, after);
    if (after != nullptr && after->node_name.empty()) note_condition(*pod->after);
    if (cluster_.has_nominations() || queue_.nominator().size() > 0) sync_nomination(after == nullptr ? before : after);
  } else if (is_storage(event.kind())) {
    std::visit([this](const auto& change) { route_storage(change); }, event.change);
  } else if (event.kind() == ObjectKind::kService || event.kind() == ObjectKind::kWorkload) {
    queue_.forget_prepared_hints();
  }
}

SchedulingLoop::CacheSizes SchedulingLoop::cache_sizes() const {
  const ClusterCache& cache = cluster_.cache();
  const std::vector<const NodeInfo*> nodes = cache.nodes();
  CacheSizes sizes{nodes.size() + cache.ghost_count(), cache.pod_count(), 0};
  for (const NodeInfo* const node : nodes)
    for (const PodPtr& pod : node->pods)
      if (cache.is_assumed(pod->uid())) ++sizes.assumed_pods;
  return sizes;
}

bool SchedulingLoop::is_assumed(const Pod& pod) const {
  return !tasks_.empty() && cluster_.cache().is_assumed(pod.uid());
}

PodPtr SchedulingLoop::give_up(const Pod& pod) {
  const std::string uid = pod.uid();
  PodPtr assumed = cluster_.pod_with_node(uid);
  if (assumed == nullptr) return nullptr;
  if (waiting_pods_.is_waiting(uid)) {
    waiting_pods_.reject(uid, "", "removed");
  } else {
    cluster_.forget(*assumed);
  }
  return assumed;
}

/// What the nominator says of the pod, to the engine.
void SchedulingLoop::sync_nomination(const PodPtr& pod) {
  cluster_.set_nomination(pod, queue_.nominator().node_of(*pod).value_or(std::string()));
}

std::size_t SchedulingLoop::run(std::size_t pods_max) {
  std::size_t popped = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = calls_.run();
    goes_on = proceed_waiting() || goes_on;
    goes_on = evictions_.run() || goes_on;
    if (clock_.now_us() >= queue_.next_flush_us()) queue_.flush();
    note_pause();
    if (popped >= pods_max || is_paused() || synchronous_preemption_ || awaits_events_) continue;
    const std::size_t tried = try_head(pods_max - popped);
    popped += tried;
    goes_on = goes_on || tried > 0;
  }
  return popped;
}

/// At the limit each binding lets one more pod be tried, which is not a pause of its own.
void SchedulingLoop::note_pause() {
  if (is_paused() && !has_told_pause_) {
    observer_.on_pause(tasks_.size());
    has_told_pause_ = true;
  } else if (tasks_.size() <= options_.unbound_pods_max / 2 && !is_paused()) {
    has_told_pause_ = false;
  }
}

std::int64_t SchedulingLoop::next_wake_us() const {
  if (waiting_pods_.has_ready() || awaits_events_) return clock_.now_us();
  std::int64_t next_us = std::min(calls_.next_event_us(), evictions_.next_event_us());
  if (const std::optional<std::int64_t> deadline_us = waiting_pods_.next_deadline_us())
    next_us = std::min(next_us, *deadline_us);
  return std::min(next_us, queue_.next_wake_us());
}

}  // namespace berth
