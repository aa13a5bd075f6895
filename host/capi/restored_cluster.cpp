// SPDX-License-Identifier: Apache-2.0
// A cluster is made of a saved snapshot: its cache first, and its engine of that at once.

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "host/capi/api_error.h"
#include "host/capi/cluster.h"
#include "host/capi/saved_snapshot.h"
#include "host/cluster/engine_cluster.h"
#include "host/scheduler/backend_factory.h"

namespace berth::capi {
namespace {

/// What is read of objects takes several times their text until the cache has it.
constexpr std::uint64_t kObjectsAtOnce = 16384;
constexpr std::size_t kPodsAhead = 8;  ///< that are on their way while one is read: they lie scattered

void add_storage(const DecodedObjects& decoded, ClusterStorage& storage) {
  const auto add = [&](const auto& list) {
    for (const auto& [object, place] : list) storage.upsert(object);
  };
  add(decoded.volumes), add(decoded.volume_claims), add(decoded.storage_classes), add(decoded.csi_nodes);
  add(decoded.csi_drivers), add(decoded.storage_capacities), add(decoded.volume_attachments);
}

void add_selecting(const DecodedObjects& decoded, ClusterObjects& objects) {
  for (const auto& [object, place] : decoded.namespaces) objects.namespaces.push_back(object);
  for (const auto& [object, place] : decoded.services) objects.services.push_back(object);
  for (const DecodedWorkload& workload : decoded.workloads) objects.workloads.push_back(workload.workload);
}

/// @param first  number of the first of them
std::vector<NodePtr> with_images(std::span<const Sourced<NodePtr>> decoded, const NodeImagesIn& images,
                                 std::size_t first, WorkArena& arena) {
  if (decoded.size() > images.node_count() - first) BytesIn::throw_damaged();
  std::vector<NodePtr> nodes(decoded.size());
  const Interruption* const interruption = current_interruption();
  arena.for_each(decoded.size(), [&](std::size_t i) {
    check_interruption(interruption);
    auto node = std::make_shared<Node>(*decoded[i].object);
    node->images = images.of(first + i);
    nodes[i] = std::move(node);
  });
  return nodes;
}

/// Those of a node lie together.
void add_pods(const PodColumns& columns, std::span<const PodPtr> pods, ClusterCache& cache) {
  LooksAtTimes looks;
  for (std::size_t i = 0, end = 0; i < pods.size(); ++i) {
    looks.at_next();
    if (i + kPodsAhead < pods.size()) {
      __builtin_prefetch(&pods[i + kPodsAhead]->spec);
      __builtin_prefetch(&pods[i + kPodsAhead]->node_name);
    }
    if (i == end) {
      while (end < pods.size() && columns.is_on_node_of(end, i)) ++end;
      cache.expect_new_pods(columns.node_name(i), end - i);
    }
    const CacheResult result = cache.place_new_pod(pods[i], columns.node_name(i), columns.is_assumed(i));
    if (result != CacheResult::kOk) BytesIn::throw_damaged();
  }
}

/// Runs both at the same time. Where both fail, the failure of the first one counts.
template <class First, class Second>
void run_both(WorkArena& arena, First first, Second second) {
  const Interruption* const interruption = current_interruption();
  std::exception_ptr failure_of_first;
  std::exception_ptr failure_of_second;
  const auto run = [&](auto& part, std::exception_ptr& failure) {
    const InterruptionScope scope(interruption);
    try {
      part();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  arena.execute(
      [&] { tbb::parallel_invoke([&] { run(first, failure_of_first); }, [&] { run(second, failure_of_second); }); });
  if (failure_of_first != nullptr) std::rethrow_exception(failure_of_first);
  if (failure_of_second != nullptr) std::rethrow_exception(failure_of_second);
}

/// Opens an engine of the cache while its pods are indexed by uid: opening reads nodes and their pods, and looks for no
/// pod by its uid.
OpenedBackend open_beside_index(const std::shared_ptr<ClusterCache>& cache, const ClusterObjects& selecting,
                                const Engine& engine) {
  OpenedBackend opened;
  bool are_distinct = false;
  run_both(
      *engine.engine.arena,
      [&] { opened = open_backend(cache, selecting, engine.config, engine.engine, built_in_accelerator()); },
      [&] { are_distinct = cache->index_new_pods(); });
  if (!are_distinct) BytesIn::throw_damaged();
  return opened;
}

}  // namespace

template <class Use>
void Cluster::read_parts(const SavedSnapshot& saved, std::uint64_t begin, std::uint64_t end, CallLog& log,
                         const Use& use) {
  for (std::uint64_t next = begin; begin < end; begin = next) {
    next = begin + std::min(kObjectsAtOnce, end - begin);
    berth_bulk bulk = BERTH_BULK_INIT;
    bulk.data = saved.json().data();
    bulk.offsets = saved.offsets.data() + begin;
    bulk.count = static_cast<std::size_t>(next - begin);
    FreedLater<TakenObjects> taken = read(log, bulk);
    refuse_problems(*taken);
    use(std::move(taken));
  }
}

/// What an engine and the facts of a cluster are made of, but for pods.
struct Cluster::Restored {
  std::shared_ptr<ClusterCache> cache = std::make_shared<ClusterCache>();
  ClusterObjects selecting;
  std::vector<FreedLater<TakenObjects>> others;  ///< nodes, and what rules read beside nodes and pods
};

void Cluster::restore_others(const SavedSnapshot& saved, CallLog& log, Restored& restored) {
  LooksAtTimes looks;
  std::size_t node_count = 0;
  read_parts(saved, 0, saved.template_begin, log, [&](FreedLater<TakenObjects> taken) {
    const DecodedObjects& decoded = taken->decoded;
    if (!decoded.pods.empty() || !decoded.terminal_pods.empty()) BytesIn::throw_damaged();
    std::vector<NodePtr> nodes = with_images(decoded.nodes, saved.images, node_count, arena());
    node_count += nodes.size();
    for (NodePtr& node : nodes) {
      looks.at_next();
      restored.cache->add_node(std::move(node));
    }
    add_storage(decoded, restored.cache->storage());
    add_selecting(decoded, restored.selecting);
    restored.others.push_back(std::move(taken));
  });
  if (node_count != saved.images.node_count()) BytesIn::throw_damaged();
}

/// What the cluster keeps beside its engine.
void Cluster::note_others(const Restored& restored, ClusterFacts& facts) {
  LooksAtTimes looks;
  std::vector<Roster::Change> of_roster;
  for (const FreedLater<TakenObjects>& taken : restored.others) {
    for (const auto& [node, place] : taken->decoded.nodes) {
      looks.at_next();
      of_roster.push_back({nodes_.number_of(node->name), true, node->unschedulable, node->labels});
    }
    facts.side = side_after(facts.side, taken->decoded);
    known_.merge(keys_of(taken->decoded));
  }
  facts.roster = Roster::changed(facts.roster, of_roster);
}

void Cluster::begin_pods(const SavedSnapshot& saved, CallLog& log, PodsMaking& making) {
  std::vector<PodPtr> templates;
  read_parts(saved, saved.template_begin, saved.nominated_begin, log, [&](FreedLater<TakenObjects> taken) {
    for (const DecodedPod& decoded : taken->decoded.pods) templates.push_back(decoded.pod);
  });
  making.begin(std::move(templates), *pools(saved.pods.size()), arena());
}

void Cluster::restore(const SavedSnapshot& saved, CallLog& log, std::vector<PodPtr>& pods) {
  for (const std::string& name : saved.node_names) nodes_.number_of(name);
  const FreedLater<Restored> restored = freed_later<Restored>(arena());
  CallLog log_of_pods(engine_->log);
  PodsMaking making(saved.pods, pods);
  const auto others_first = [&] {
    restore_others(saved, log, *restored);
    making.make();
  };
  const auto pods_first = [&] {
    begin_pods(saved, log_of_pods, making);
    making.make();
  };
  run_both(arena(), others_first, pods_first);
  log.take(log_of_pods);
  std::shared_ptr<ClusterCache>& cache = restored->cache;
  ClusterFacts beside;
  run_both(arena(), [&] { add_pods(saved.pods, pods, *cache); }, [&] { note_others(*restored, beside); });
  for (const auto& [node_name, used] : saved.used_ports) cache->set_used_ports(node_name, used);
  for (const auto& [name, size_bytes] : saved.image_sizes) cache->set_image_size(name, size_bytes);
  OpenedBackend opened = open_beside_index(cache, restored->selecting, *engine_);
  cache.reset();
  {
    const std::unique_lock alone(mutex_);
    backend_ = std::move(opened.backend);
    facts_ = std::move(beside);
  }
  restore_facts(saved, log);
}

/// What the engine is told as events: nominated pods and admission classes; and what it does not know.
void Cluster::restore_facts(const SavedSnapshot& saved, CallLog& log) {
  const auto upsert = [&](const FreedLater<TakenObjects>& taken) { take(*taken, {}, {}); };
  read_parts(saved, saved.nominated_begin, saved.class_begin, log, upsert);
  read_parts(saved, saved.class_begin, saved.offsets.size() - 1, log, upsert);
  const std::unique_lock alone(mutex_);
  for (const SavedSnapshot::Reservation& reservation : saved.reservations) {
    const std::string uid = uid_of_reservation(reservation.owner, reservation.number);
    if (PodPtr pod = backend_->cluster().cache().get_pod(uid))
      reservations_[reservation.owner].emplace(reservation.number, std::move(pod));
  }
  auto side = std::make_shared<SideObjects>(*facts_.side);
  side->replicas = saved.replicas;
  facts_.side = std::move(side);
  facts_.version = saved.version;
}

}  // namespace berth::capi
