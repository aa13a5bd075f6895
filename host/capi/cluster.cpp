// SPDX-License-Identifier: Apache-2.0
#include "host/capi/cluster.h"

#include <algorithm>
#include <utility>

#include "host/capi/api_error.h"
#include "host/capi/stop_watch.h"
#include "host/cluster/engine_cluster.h"
#include "host/framework/unsupported.h"
#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "host/scheduler/backend_factory.h"
#include "host/scheduler/intake.h"
#include "plugins/host_plugins.h"

namespace berth::capi {
namespace {

/// Objects whose content one pool keeps: a new one takes its place, so that content which nobody has any more goes.
constexpr std::size_t kObjectsAPool = 65536;

/// Pods between two looks of a call that may be interrupted: up to 65 us each.
constexpr std::size_t kPreparedAtOnce = 32;

std::optional<NotJudged> why_not_judged(const Pod& pod, std::int32_t profile, const Engine& engine) {
  if (profile < 0) return NotJudged{"", "no profile is named \"" + pod.spec->scheduler_name + "\""};
  std::optional<UnsupportedUse> use =
      unsupported_use(pod, engine.config.profiles[static_cast<std::size_t>(profile)], engine.engine.host_plugins);
  if (!use) return std::nullopt;
  return NotJudged{std::move(use->plugin), use->field + ": " + use->text};
}

/// The pod without what is to be ignored, if it has such.
PodPtr without_ignored(const PodPtr& pod, std::uint32_t ignore) {
  const bool claims = (ignore & BERTH_IGNORE_CLAIMS) != 0 && !pod->rare().resource_claims.empty();
  const bool volumes = (ignore & BERTH_IGNORE_VOLUMES) != 0 && !pod->rare().volumes.empty();
  if (!claims && !volumes) return pod;
  auto copy = copy_of(*pod);
  PodRare rare = pod->rare();
  if (claims) rare.resource_claims.clear();
  if (volumes) rare.volumes.clear();
  copy->rare_fields = std::make_unique<const PodRare>(std::move(rare));
  return copy;
}

std::string name_of_number(std::size_t i) { return "object " + std::to_string(i); }

}  // namespace

Cluster::Cluster(std::shared_ptr<const Engine> engine)
    : engine_(std::move(engine)),
      release_(to_string(engine_->config.gates.release())),
      pools_(std::make_shared<ObjectPools>()) {
  OpenedBackend opened = open_backend(std::make_shared<ClusterCache>(), ClusterObjects(), engine_->config,
                                      engine_->engine, built_in_accelerator());
  backend_ = std::move(opened.backend);
  backend_name_ = backend_->name();
}

Cluster::~Cluster() {
  while (first_waiting_ != nullptr) first_waiting_ = std::move(first_waiting_->next_waiting);  // without recursion
}

std::uint64_t Cluster::version() const {
  const std::shared_lock shared(mutex_);
  return facts_.version;
}

ClusterFacts Cluster::facts() const {
  const std::shared_lock shared(mutex_);
  return facts_;
}

std::shared_ptr<const SideObjects> Cluster::side() const { return facts().side; }

// Reading objects

std::shared_ptr<ObjectPools> Cluster::pools(std::size_t objects) {
  const std::lock_guard alone(pools_mutex_);
  if (objects_in_pools_ + objects > kObjectsAPool && objects_in_pools_ > 0) {
    pools_ = std::make_shared<ObjectPools>();
    objects_in_pools_ = 0;
  }
  objects_in_pools_ += objects;
  return pools_;
}

template <class Input>
FreedLater<TakenObjects> Cluster::read(CallLog& log, const Input& input) {
  const std::shared_ptr<ObjectPools> shared = pools(0);
  const std::shared_ptr<const SideObjects> known = side();
  FreedLater<TakenObjects> taken = freed_later<TakenObjects>(arena());
  arena().execute([&] { take_objects(input, *known, *shared, engine_->declared, *taken); });
  pools(taken->statuses.size());
  for (std::string& warning : taken->warnings) log.note(BERTH_LOG_WARNING, std::move(warning));
  for (const auto& [kind, count] : taken->decoded.unknown_kinds)
    log.note(BERTH_LOG_WARNING,
             std::to_string(count) + " objects of kind " + kind + " are ignored: no rule reads them");
  return taken;
}

template FreedLater<TakenObjects> Cluster::read(CallLog& log, const berth_bulk& input);

NodePtr Cluster::read_node(std::string_view text, CallLog& log) {
  const FreedLater<TakenObjects> taken = read(log, text);
  refuse_problems(*taken);
  if (taken->statuses.size() != 1 || taken->decoded.nodes.size() != 1)
    throw ApiError(BERTH_E_INPUT, "", "expected one Node");
  return taken->decoded.nodes.front().object;
}

std::unique_ptr<ReadPod> Cluster::read_pod(std::string_view text, std::uint32_t ignore, CallLog& log) {
  const FreedLater<TakenObjects> taken = read(log, text);
  refuse_problems(*taken);
  if (taken->statuses.size() != 1) throw ApiError(BERTH_E_INPUT, "", "expected one Pod");
  return std::move(prepare(*taken, ignore).front());
}

std::vector<std::unique_ptr<ReadPod>> Cluster::read_pods(const berth_bulk& bulk, std::uint32_t ignore, CallLog& log) {
  const FreedLater<TakenObjects> taken = read(log, bulk);
  refuse_problems(*taken);
  return prepare(*taken, ignore);
}

std::unique_ptr<ReadPod> Cluster::pod_of(const PodPtr& pod, std::uint32_t ignore) {
  auto read = std::make_unique<ReadPod>();
  read->given = without_ignored(pod, ignore);
  read->ignores = read->given != pod;
  read->uid = pod->uid();
  read->own_number = pods_read_.fetch_add(1, std::memory_order_relaxed);
  std::int32_t profile = profile_index(engine_->config, *pod);
  if ((ignore & BERTH_IGNORE_PLUGINS) != 0) {
    const std::int32_t other = engine_->ignoring(profile);
    read->ignores = read->ignores || other != profile;
    profile = other;
  }
  read->not_judged = why_not_judged(*read->given, profile, *engine_);
  read->to_place = {.pod = read->given, .profile = profile};
  read->as_moved = read->to_place;
  if (!pod->node_name.empty()) read->as_moved.pod = pending_copy_of(*read->given);
  return read;
}

std::vector<std::unique_ptr<ReadPod>> Cluster::prepare(const TakenObjects& taken, std::uint32_t ignore) {
  if (taken.decoded.pods.size() != taken.statuses.size()) {
    std::size_t i = 0;
    while (i < taken.decoded.pods.size() && taken.decoded.pods[i].place.source == i) ++i;
    throw ApiError(BERTH_E_INPUT, name_of_number(i), "expected a Pod that has not finished");
  }
  std::vector<std::unique_ptr<ReadPod>> pods;
  pods.reserve(taken.decoded.pods.size());
  LooksAtTimes looks;
  for (const DecodedPod& decoded : taken.decoded.pods) {
    looks.at_next();
    pods.push_back(pod_of(decoded.pod, ignore));
  }
  const std::size_t at_once = current_interruption() != nullptr ? kPreparedAtOnce : pods.size();
  try {
    for (std::size_t done = 0; done < pods.size(); done += at_once) {
      check_interruption(current_interruption());
      prepare(std::span(pods).subspan(done, std::min(at_once, pods.size() - done)), kWaitingFew);
    }
  } catch (...) {
    for (std::unique_ptr<ReadPod>& pod : pods) release(std::move(pod));
    throw;
  }
  return pods;
}

ObjectsByNamespace Cluster::selecting() {
  const std::unique_lock alone(mutex_);
  return backend_->cluster().objects().selecting;
}

std::vector<std::unique_ptr<ReadPod>> Cluster::prepare_moved(std::span<const PodPtr> pods) {
  std::vector<std::unique_ptr<ReadPod>> moved;
  for (const PodPtr& pod : pods) moved.push_back(pod_of(pending_copy_of(*pod), 0));
  prepare(moved, kWaitingMax);
  return moved;
}

/// An engine that many pods leave may number its classes again, and forks that are open go on with engines of their
/// own: each call leaves a few freed pods to later ones, and a what-if, which has forks open, most of them.
void Cluster::prepare(std::span<const std::unique_ptr<ReadPod>> pods, std::size_t waiting_max) {
  std::vector<PodToPlace> to_prepare;
  for (const std::unique_ptr<ReadPod>& pod : pods) {
    if (pod->not_judged) continue;
    to_prepare.push_back(pod->to_place);
    if (pod->as_moved.pod != pod->to_place.pod) to_prepare.push_back(pod->as_moved);
  }
  const std::unique_lock alone(mutex_);
  release_waiting(waiting_max);
  backend_->prepare(to_prepare);
  auto next = to_prepare.begin();
  for (const std::unique_ptr<ReadPod>& pod : pods) {
    if (pod->not_judged) continue;
    const bool has_two = pod->as_moved.pod != pod->to_place.pod;
    pod->to_place = *next++;
    pod->as_moved = has_two ? *next++ : pod->to_place;
  }
}

std::unique_ptr<ReadPod> Cluster::copy_of_pod(const ReadPod& pod, const Pod& pending, bool as_moved,
                                              const std::string* uid) {
  auto copy = std::make_unique<ReadPod>();
  copy->own_number = pods_read_.fetch_add(1, std::memory_order_relaxed);
  copy->uid = uid != nullptr ? *uid : "/copy/" + std::to_string(copy->own_number);  // the name of no object
  auto made = copy_of(pending);
  made->stored_uid = made->name = copy->uid;
  if (!as_moved) made->node_name = pod.given->node_name;
  copy->given = std::move(made);
  copy->ignores = pod.ignores;
  copy->to_place = {.pod = copy->given, .profile = pod.to_place.profile};
  copy->as_moved = copy->to_place;
  return copy;
}

std::vector<std::unique_ptr<ReadPod>> Cluster::copies_of(const ReadPod& pod, bool as_moved, std::size_t count,
                                                         const std::string* uids) {
  std::vector<std::unique_ptr<ReadPod>> copies;
  copies.reserve(count);
  const PodPtr pending = pending_copy_of(*pod.given);
  for (std::size_t i = 0; i < count; ++i)
    copies.push_back(copy_of_pod(pod, *pending, as_moved, uids != nullptr ? &uids[i] : nullptr));
  prepare(copies, kWaitingMax);
  return copies;
}

std::vector<std::unique_ptr<ReadPod>> Cluster::copy_of_each(std::span<const ReadPod* const> pods, bool as_moved) {
  std::vector<std::unique_ptr<ReadPod>> copies;
  copies.reserve(pods.size());
  for (const ReadPod* const pod : pods)
    copies.push_back(copy_of_pod(*pod, *pending_copy_of(*pod->given), as_moved, nullptr));
  prepare(copies, kWaitingMax);
  return copies;
}

std::uint64_t Cluster::class_of(const ReadPod& pod) {
  PodToPlace now = pod.to_place;
  if (!pod.not_judged) {
    const std::unique_lock alone(mutex_);
    backend_->prepare({&now, 1});
  }
  // Backends without classes number none.
  return now.class_index >= 0 ? static_cast<std::uint64_t>(now.class_index) : ~pod.own_number;
}

bool Cluster::is_node_local(const ReadPod& pod) {
  if (pod.not_judged) return false;
  PodToPlace now = pod.to_place;
  const std::unique_lock alone(mutex_);
  backend_->prepare({&now, 1});
  return backend_->is_node_local(now);
}

std::vector<std::uint64_t> Cluster::kinds_of(std::span<const PodToPlace> pods, std::uint64_t version) {
  std::vector<PodToPlace> now(pods.begin(), pods.end());
  std::vector<std::uint64_t> kinds(pods.size());
  const std::unique_lock alone(mutex_);
  backend_->prepare(now);
  for (std::size_t i = 0; i < now.size(); ++i)
    kinds[i] = facts_.version == version && now[i].class_index >= 0 ? static_cast<std::uint64_t>(now[i].class_index)
                                                                    : ~static_cast<std::uint64_t>(i);
  return kinds;
}

// Changing

/// @param gone  what is deleted, apart from pods, with the `removals` of those and of pods
void Cluster::take(const TakenObjects& taken, const ObjectKeys& gone, std::vector<ClusterChange> removals) {
  const FreedLater<std::vector<ClusterChange>> all_changes = freed_later<std::vector<ClusterChange>>(arena());
  std::vector<ClusterChange>& changes = *all_changes;
  changes = std::move(removals);
  append_changes(taken.decoded, changes);
  const std::vector<Roster::Change> of_roster = roster_changes(changes, nodes_);
  ObjectKeys come = keys_of(taken.decoded);
  NominatedPods come_nominated;
  for (const DecodedPod& decoded : taken.decoded.pods)
    if (is_pending(*decoded.pod) && !decoded.pod->rare().nominated_node_name.empty())
      come_nominated.emplace(decoded.pod->uid(), decoded.pod);
  if (!come_nominated.empty()) ever_nominated_.store(true, std::memory_order_relaxed);
  const std::unique_lock alone(mutex_);
  release_waiting(kWaitingFew);
  std::shared_ptr<const SideObjects> side = side_without(side_after(facts_.side, taken.decoded), gone);
  std::shared_ptr<const Roster> roster = Roster::changed(facts_.roster, of_roster);
  std::shared_ptr<const NominatedPods> nominated = nominated_after(facts_.nominated, changes, come_nominated);
  const std::uint64_t before = backend_->change_version();
  if (!changes.empty()) backend_->apply(changes);
  // Nothing below throws.
  if (backend_->change_version() != before || side != facts_.side) ++facts_.version;
  facts_.side = std::move(side);
  facts_.roster = std::move(roster);
  for (const ObjectKey& key : gone) known_.erase(key);
  known_.merge(come);
  facts_.nominated = std::move(nominated);
}

void Cluster::upsert(std::string_view text, CallLog& log) {
  const FreedLater<TakenObjects> taken = read(log, text);
  refuse_problems(*taken);
  take(*taken, {}, {});
}

berth_status Cluster::upsert(const berth_bulk& bulk, berth_status* statuses, CallLog& log, berth_error* error) {
  const FreedLater<TakenObjects> taken = read(log, bulk);
  if (statuses == nullptr) refuse_problems(*taken);
  take(*taken, {}, {});
  if (statuses != nullptr) std::copy(taken->statuses.begin(), taken->statuses.end(), statuses);
  if (taken->problems.empty()) return BERTH_OK;
  const auto& [first, problem] = *taken->problems.begin();
  report(BERTH_PARTIAL, name_of_number(first).c_str(), problem.to_string().c_str(), error);
  return BERTH_PARTIAL;
}

void Cluster::replace(const std::string& kind, std::string_view text, CallLog& log) {
  if (!is_known_kind(kind)) throw ApiError(BERTH_E_UNSUPPORTED, kind, "no rule reads objects of this kind");
  const FreedLater<TakenObjects> read_objects = text.empty() ? freed_later<TakenObjects>(arena()) : read(log, text);
  const TakenObjects& taken = *read_objects;
  refuse_problems(taken);
  const ObjectKeys named = keys_of(taken.decoded);
  const bool is_pods = kind == "Pod";
  const bool others = std::ranges::any_of(named, [&](const ObjectKey& key) { return key.kind != kind; });
  const bool ignored = std::ranges::find(taken.statuses, BERTH_IGNORED) != taken.statuses.end();
  const bool pods = !taken.decoded.pods.empty() || !taken.decoded.terminal_pods.empty();
  if (others || ignored || pods != (is_pods && !taken.statuses.empty()))
    throw ApiError(BERTH_E_INPUT, kind, "the text has objects of another kind");
  ObjectKeys gone;
  std::vector<ClusterChange> removals;
  {
    const std::unique_lock alone(mutex_);
    if (is_pods) {
      std::set<std::string> listed;
      for (const DecodedPod& pod : taken.decoded.pods) listed.insert(pod.pod->uid());
      for (const auto& [owner, pods_of_owner] : reservations_)
        for (const auto& [number, pod] : pods_of_owner) listed.insert(pod->uid());
      const ClusterCache& cache = backend_->cluster().cache();
      for (const PodPtr& pod : cache.pods())
        if (!listed.contains(pod->uid()) && !cache.is_assumed(pod->uid()))
          removals.emplace_back(PodRemoval{pod->uid()});
    }
    for (const ObjectKey& key : keys_of_kind(kind, known_, *facts_.roster, nodes_))
      if (!named.contains(key)) gone.insert(key);
  }
  for (const ObjectKey& key : gone)
    if (std::optional<ClusterChange> removal = removal_of(key)) removals.push_back(std::move(*removal));
  take(taken, gone, std::move(removals));
}

void Cluster::remove(const ObjectKey& key) {
  {
    const std::shared_lock shared(mutex_);
    if (!is_among(key, known_, *facts_.roster, nodes_))
      throw ApiError(BERTH_E_NOT_FOUND, to_string(key), "is not there");
  }
  std::vector<ClusterChange> removals;
  if (std::optional<ClusterChange> removal = removal_of(key)) removals.push_back(std::move(*removal));
  take({}, {key}, std::move(removals));
}

void Cluster::remove_pod(const std::string& name_space, const std::string& name, std::string uid) {
  const std::string object = "Pod " + (uid.empty() ? name_space + "/" + name : uid);
  {
    const std::unique_lock alone(mutex_);
    const ClusterCache& cache = backend_->cluster().cache();
    if (uid.empty()) {
      for (const PodPtr& pod : cache.pods())
        if (pod->name == name && pod->namespace_ == name_space) uid = pod->uid();
    }
    if (cache.get_pod(uid) == nullptr && !facts_.nominated->contains(uid))
      throw ApiError(BERTH_E_NOT_FOUND, object, "is not there");
  }
  take({}, {}, {PodRemoval{std::move(uid)}});
}

// Forks

Cluster::Opened Cluster::open() const {
  const std::shared_lock shared(mutex_);
  return {backend_->fork(), facts_};
}

std::unique_ptr<Fork> Cluster::open_at(std::uint64_t version) const {
  const std::shared_lock shared(mutex_);
  return facts_.version == version ? backend_->fork() : nullptr;
}

bool Cluster::commit(Fork& fork, std::shared_ptr<const Roster> roster, std::uint64_t opened_at,
                     std::uint64_t& version) {
  const std::unique_lock alone(mutex_);
  if (facts_.version != opened_at) return false;
  const std::uint64_t before = backend_->change_version();
  if (!fork.promote()) return false;
  // Nothing below throws.
  if (backend_->change_version() != before) ++facts_.version;
  facts_.roster = std::move(roster);
  version = facts_.version;
  return true;
}

}  // namespace berth::capi
