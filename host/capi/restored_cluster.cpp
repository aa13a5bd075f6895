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

void Cluster::restore(const SavedSnapshot& saved, CallLog& log, std::vector<PodPtr>& pods) {
  for (const std::string& name : saved.node_names) nodes_.number_of(name);
  const auto in_parts = [&](std::uint64_t begin, std::uint64_t end, CallLog& notes, const auto& use) {
    for (std::uint64_t next = begin; begin < end; begin = next) {
      next = begin + std::min(kObjectsAtOnce, end - begin);
      berth_bulk bulk = BERTH_BULK_INIT;
      bulk.data = saved.json().data();
      bulk.offsets = saved.offsets.data() + begin;
      bulk.count = static_cast<std::size_t>(next - begin);
      const FreedLater<TakenObjects> taken = read(notes, bulk);
      refuse_problems(*taken);
      use(*taken);
    }
  };
  const auto kept = freed_later<std::shared_ptr<ClusterCache>>(arena());
  std::shared_ptr<ClusterCache>& cache = *kept;
  cache = std::make_shared<ClusterCache>();
  ClusterObjects selecting;
  std::vector<Roster::Change> of_roster;
  ClusterFacts facts;
  const auto add_others = [&] {
    LooksAtTimes looks;
    in_parts(0, saved.template_begin, log, [&](const TakenObjects& taken) {
      const DecodedObjects& decoded = taken.decoded;
      if (!decoded.pods.empty() || !decoded.terminal_pods.empty()) BytesIn::throw_damaged();
      std::vector<NodePtr> nodes = with_images(decoded.nodes, saved.images, of_roster.size(), arena());
      for (NodePtr& node : nodes) {
        looks.at_next();
        of_roster.push_back({nodes_.number_of(node->name), true, node->unschedulable, node->labels});
        cache->add_node(std::move(node));
      }
      add_storage(decoded, cache->storage());
      add_selecting(decoded, selecting);
      facts.side = side_after(facts.side, decoded);
      known_.merge(keys_of(decoded));
    });
  };
  CallLog log_of_pods(engine_->log);
  const auto make_pods = [&] {
    std::vector<PodPtr> templates;
    in_parts(saved.template_begin, saved.nominated_begin, log_of_pods, [&](const TakenObjects& taken) {
      for (const DecodedPod& decoded : taken.decoded.pods) templates.push_back(decoded.pod);
    });
    saved.pods.make_pods(templates, *pools(saved.pods.size()), arena(), pods);
  };
  run_both(arena(), add_others, make_pods);
  log.take(log_of_pods);
  if (of_roster.size() != saved.images.node_count()) BytesIn::throw_damaged();
  facts.roster = Roster::changed(facts.roster, of_roster);
  add_pods(saved.pods, pods, *cache);
  for (const auto& [node_name, used] : saved.used_ports) cache->set_used_ports(node_name, used);
  for (const auto& [name, size_bytes] : saved.image_sizes) cache->set_image_size(name, size_bytes);
  OpenedBackend opened = open_beside_index(cache, selecting, *engine_);
  cache.reset();
  {
    const std::unique_lock alone(mutex_);
    backend_ = std::move(opened.backend);
    facts_ = std::move(facts);
  }
  const auto upsert_parts = [&](std::uint64_t begin, std::uint64_t end) {
    in_parts(begin, end, log, [&](const TakenObjects& taken) { take(taken, {}, {}); });
  };
  upsert_parts(saved.nominated_begin, saved.class_begin);
  upsert_parts(saved.class_begin, saved.offsets.size() - 1);
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
