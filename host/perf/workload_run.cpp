// SPDX-License-Identifier: Apache-2.0
#include "host/perf/workload_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "host/objects/pod_copy.h"

namespace berth {
namespace {

constexpr std::int64_t kNever = PerfScheduler::kNeverUs;
constexpr std::size_t kSlicePods = 1024;
constexpr double kSecondUs = 1e6;

}  // namespace

WorkloadRun::WorkloadRun(ObjectStore& store, PerfScheduler& scheduler,
                         const std::function<void(std::int64_t)>& sleep_until, const WorkloadRunOptions& options)
    : store_(store),
      scheduler_(scheduler),
      sleep_until_(sleep_until),
      options_(options),
      names_(options.seed),
      background_(options.rate) {
  WatchStart start = store_.watch(store_.resource_version(), KindSet().with(ObjectKind::kPod));
  check(start.status, "watching pods");
  watch_ = std::move(start.watch);
}

std::vector<PerfMeasurement> WorkloadRun::execute(const std::vector<PlannedOp>& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    try {
      std::visit([&](const auto& op) { run(op, ops[i]); }, ops[i].op);
    } catch (const WorkloadError& error) {
      throw WorkloadError(fmt::format("operation {}: {}", i, error.what()));
    }
  }
  return std::move(measurements_);
}

void WorkloadRun::check(const StoreStatus& status, std::string_view what) {
  if (!status.is_success()) throw WorkloadError(fmt::format("{}: {}", what, status.message));
}

// Rounds.

bool WorkloadRun::step() {
  const bool was_due = background_.run_due(now_us(), measured());
  const std::size_t tried = scheduler_.run(slice());
  read_events();
  // What the new pods made due comes before they are found to be all: the last pod meets it, too.
  const bool is_due = background_.run_due(now_us(), measured());
  return was_due || is_due || tried > 0;
}

std::size_t WorkloadRun::slice() const {
  return std::min(kSlicePods, static_cast<std::size_t>(background_.pods_until_due(measured())));
}

void WorkloadRun::read_events() {
  WatchBatch batch = watch_.poll();
  check(batch.status, "reading events of the store");
  for (const WatchEvent& event : batch.events) {
    const auto* change = event.get<Pod>();
    if (change == nullptr) continue;
    if (counts_) counts_->apply(*change);
    if (!collection_ || !got_scheduled(*change, collection_->filter)) continue;
    ++collection_->pods;
    collection_->last_us = event.time_us;
  }
  if (collection_) collection_->sampler.update(now_us(), collection_->pods);
}

bool WorkloadRun::idle(std::int64_t limit_us) {
  const std::int64_t next = std::min(scheduler_.next_wake_us(), background_.next_due_us());
  if (next == kNever && limit_us == kNever) return false;
  const std::int64_t sample = collection_ ? collection_->sampler.next_sample_us() : kNever;
  sleep_until_(std::min({next, limit_us, sample}));
  background_.run_idle(now_us());
  return true;
}

void WorkloadRun::wait(const Done& done, const std::function<std::string()>& what) {
  const std::int64_t limit_us = now_us() + options_.wait_limit_us;
  while (true) {
    const bool was_busy = step();
    if (done()) return;
    if (now_us() >= limit_us)
      throw WorkloadError(fmt::format("gave up after {} s: {}", options_.wait_limit_us / 1'000'000, what()));
    if (!was_busy && !idle(kNever)) throw WorkloadError(fmt::format("nothing is left to happen: {}", what()));
  }
}

void WorkloadRun::wait_for_time(std::int64_t time_us) {
  while (now_us() < time_us)
    if (!step()) idle(time_us);
}

void WorkloadRun::wait_for_pods(const std::string& name_space, const PerfSelector& selector, std::int64_t count,
                                bool attempted) {
  read_events();
  counts_.emplace(store_, PodFilter{{name_space}, selector});
  const auto reached = [&] { return counts_->scheduled() + (attempted ? counts_->attempted() : 0); };
  wait([&] { return reached() >= count; },
       [&] {
         return fmt::format("{} of {} pods of the namespace {} are {}, {} more were tried", reached(), count,
                            name_space, attempted ? "tried" : "scheduled", attempted ? 0 : counts_->attempted());
       });
  counts_.reset();
}

// Measuring.

void WorkloadRun::start_collecting(std::string name, PodFilter filter) {
  if (collection_) throw WorkloadError("metrics are collected already, expected stopCollectingMetrics before");
  read_events();
  std::vector<StoredPodPtr> pods_before;
  if (options_.on_measured) pods_before = store_.list<Pod>().items;
  const std::int64_t start_us = now_us();
  collection_.emplace(
      Collection{std::move(name), std::move(filter), start_us, scheduler_.preempted(), ThroughputSampler(start_us)});
  collection_->pods_before = std::move(pods_before);
  background_.begin_measurement();
}

void WorkloadRun::stop_collecting() {
  if (!collection_) throw WorkloadError("no metrics are collected, expected startCollectingMetrics before");
  PerfMeasurement result;
  result.name = std::move(collection_->name);
  result.pods = collection_->pods;
  if (result.pods > 0) result.elapsed_us = collection_->last_us - collection_->start_us;
  result.throughput = summarize(collection_->sampler.samples());
  result.background = background_.counts();
  result.updated = collection_->updated;
  result.preempted = scheduler_.preempted() - collection_->preempted_before;
  result.missing = background_.missing(result.pods);
  measurements_.push_back(std::move(result));
  if (options_.on_measured) options_.on_measured(measurements_.back().name, measured_cluster());
  collection_.reset();
  background_.end_measurement();
}

ClusterObjects WorkloadRun::measured_cluster() const {
  ClusterObjects cluster;
  for (const auto& node : store_.list<Node>().items) cluster.nodes.push_back(node->object);
  for (const auto& name_space : store_.list<Namespace>().items) cluster.namespaces.push_back(*name_space->object);
  for (const auto& service : store_.list<Service>().items) cluster.services.push_back(*service->object);
  const auto add_all = [this]<class T>(std::vector<T>& list) {
    for (const auto& stored : store_.list<T>().items) list.push_back(*stored->object);
  };
  add_all(cluster.storage.volumes), add_all(cluster.storage.claims), add_all(cluster.storage.classes);
  add_all(cluster.storage.csi_nodes), add_all(cluster.storage.csi_drivers), add_all(cluster.storage.capacities);
  add_all(cluster.storage.attachments);
  std::set<std::string> placed_before;
  for (const StoredPodPtr& pod : collection_->pods_before) {
    if (pod->object->node_name.empty()) continue;
    cluster.pods.push_back(pod->object);
    placed_before.insert(pod->object->uid());
  }
  for (const StoredPodPtr& pod : store_.list<Pod>().items) {
    if (!collection_->filter.matches(*pod->object) || placed_before.contains(pod->object->uid())) continue;
    const std::shared_ptr<Pod> pending = copy_of(*pod->object);
    pending->node_name.clear();
    pending->start_time_us = 0;
    pending->phase = PodPhase::kPending;
    if (!pending->rare().nominated_node_name.empty()) {
      PodRare rare = pending->rare();
      rare.nominated_node_name.clear();
      pending->rare_fields = std::make_unique<const PodRare>(std::move(rare));
    }
    cluster.pods.push_back(pending);
  }
  return cluster;
}

void WorkloadRun::run(const StartCollectingOp& op, const PlannedOp& /*planned*/) {
  start_collecting(op.name, PodFilter{op.namespaces, op.selector});
}

void WorkloadRun::run(const StopCollectingOp& /*op*/, const PlannedOp& /*planned*/) { stop_collecting(); }

// Nodes, namespaces and other objects.

void WorkloadRun::run(const CreateNodesOp& op, const PlannedOp& planned) {
  for (std::int64_t i = 0; i < op.count.value; ++i)
    check(create_node(store_, planned.objects[0].at(i), names_), "createNodes");
  check(prepare_nodes(store_, op.strategy, node_count_, op.count.value, names_), "createNodes");
  node_count_ += op.count.value;
  step();
}

void WorkloadRun::run(const CreateNamespacesOp& op, const PlannedOp& planned) {
  for (std::int64_t i = 0; i < op.count.value; ++i) {
    Namespace object;
    if (!planned.objects.empty()) object = *std::get<std::shared_ptr<const Namespace>>(planned.objects[0].at(0).object);
    object.name = fmt::format("{}-{}", op.prefix, i);
    expected_.try_emplace(object.name, 0);
    const StoreStatus status = store_.create(std::make_shared<const Namespace>(std::move(object))).status;
    if (status.reason != StoreReason::kAlreadyExists) check(status, "createNamespaces");
  }
}

void WorkloadRun::need_namespace(const std::string& name) {
  if (name.empty() || !expected_.try_emplace(name, 0).second) return;
  const StoreStatus status = store_.create(std::make_shared<const Namespace>(Namespace{name, {}})).status;
  if (status.reason != StoreReason::kAlreadyExists) check(status, "creating a namespace");
}

void WorkloadRun::run(const CreateAnyOp& op, const PlannedOp& planned) {
  need_namespace(op.namespace_);
  std::string name;
  for (std::int64_t i = 0; i < op.count.value; ++i)
    check(create_object(store_, planned.objects[0].at(i), name), "createAny");
}

void WorkloadRun::run(const UpdateAnyOp& op, const PlannedOp& planned) {
  need_namespace(op.namespace_);
  const double interval_us =
      op.per_second > 0 ? kSecondUs / (static_cast<double>(op.per_second) * options_.rate.rate_factor) : 0;
  const std::int64_t start_us = now_us();
  for (std::int64_t i = 0; i < op.count.value; ++i) {
    if (op.per_second > 0)
      wait_for_time(start_us + static_cast<std::int64_t>(static_cast<double>(i + 1) * interval_us));
    check(update_object(store_, planned.objects[0].at(i), op.subresources), "updateAny");
    if (collection_) ++collection_->updated;
  }
}

void WorkloadRun::run(const ChurnOp& op, const PlannedOp& planned) {
  const StoreStatus status = store_.create(std::make_shared<const Namespace>(Namespace{*op.namespace_, {}})).status;
  if (status.reason != StoreReason::kAlreadyExists) check(status, "churn");
  background_.start(make_churn(store_, op, planned.objects, *op.namespace_), static_cast<double>(op.interval_us),
                    now_us());
}

// Pods.

/// @return the pod that uses it
PerfObject WorkloadRun::create_volume(const std::string& name_space, const std::vector<ObjectSeries>& objects,
                                      std::int64_t index) {
  PodWithVolume made = with_volume(objects[0].at(index), objects[1].at(0), objects[2].at(0), name_space, index);
  CreateOptions options;
  options.keeps_status = true;  // upstream updates it right after
  const auto check_created = [](const StoreStatus& status) {
    if (status.reason != StoreReason::kAlreadyExists) check(status, "creating a volume and its claim");
  };
  check_created(store_.create(made.claim, options).status);
  check_created(store_.create(made.volume, options).status);
  return std::move(made.pod);
}

void WorkloadRun::create_pod(const std::string& name_space, const PerfObject& pod, std::int64_t index) {
  std::string name;
  check(create_object(store_, pod, name), fmt::format("creating a pod in the namespace {}", name_space));
  // Upstream's scheduler runs while pods are created.
  if (static_cast<std::size_t>(index + 1) % kSlicePods == 0) step();
}

void WorkloadRun::create_pods(const std::string& name_space, const std::vector<ObjectSeries>& objects,
                              std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    create_pod(name_space, objects.size() > 1 ? create_volume(name_space, objects, i) : objects[0].at(i), i);
}

void WorkloadRun::create_pods(const std::string& name_space, const std::vector<PerfObject>& pods) {
  for (std::size_t i = 0; i < pods.size(); ++i) create_pod(name_space, pods[i], static_cast<std::int64_t>(i));
}

/// @return the pods that use them
std::vector<PerfObject> WorkloadRun::create_volumes(const std::string& name_space,
                                                    const std::vector<ObjectSeries>& objects, std::int64_t count) {
  std::vector<PerfObject> pods;
  pods.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    pods.push_back(create_volume(name_space, objects, i));
    if (static_cast<std::size_t>(i + 1) % kSlicePods == 0) step();
  }
  step();
  return pods;
}

void WorkloadRun::run(const CreatePodsOp& op, const PlannedOp& planned) {
  const std::string& name = *op.namespace_;
  need_namespace(name);
  const bool volumes_first = options_.volumes_first && !op.steady_state && planned.objects.size() > 1;
  std::vector<PerfObject> pods;
  if (volumes_first) pods = create_volumes(name, planned.objects, op.count.value);
  if (op.collect_metrics) start_collecting(name, PodFilter{{name}, {}});
  if (op.steady_state) {
    create_pods_steadily(op, planned.objects);
  } else {
    if (volumes_first) create_pods(name, pods);
    if (!volumes_first) create_pods(name, planned.objects, op.count.value);
    if (op.skip_wait) expected_[name] += op.count.value;
    if (!op.skip_wait) wait_for_pods(name, {}, op.count.value, false);
  }
  if (op.collect_metrics) stop_collecting();
}

void WorkloadRun::run(const CreatePodSetsOp& /*op*/, const PlannedOp& /*planned*/) {
  throw std::logic_error("plan_workload() unrolls createPodSets");
}

void WorkloadRun::run(const UnsupportedOp& op, const PlannedOp& /*planned*/) {
  throw std::logic_error("plan_workload() lets nothing with " + op.opcode + " through");
}

void WorkloadRun::create_pods_steadily(const CreatePodsOp& op, const std::vector<ObjectSeries>& objects) {
  const std::string& name = *op.namespace_;
  const std::int64_t end_us = now_us() + op.duration_us;
  bool was_any_scheduled = false;
  while (now_us() < end_us && op.count.value > 0) {
    create_pods(name, objects, op.count.value);
    read_events();
    counts_.emplace(store_, PodFilter{{name}, {}});
    while (counts_->scheduled() < op.count.value && now_us() < end_us)
      if (!step()) idle(end_us);
    was_any_scheduled = was_any_scheduled || counts_->scheduled() > 0;
    if (counts_->scheduled() >= op.count.value) delete_all_pods(name);
    counts_.reset();
  }
  if (!was_any_scheduled) throw WorkloadError("no pod was scheduled within the duration");
}

void WorkloadRun::delete_all_pods(const std::string& name_space) {
  DeleteOptions options;
  options.grace_period_s = 0;
  for (const StoredPodPtr& pod : store_.list<Pod>().items)
    if (pod->object->namespace_ == name_space)
      check(store_.remove<Pod>(key_of(*pod->object), options).status, "deleting");
}

void WorkloadRun::run(const DeletePodsOp& op, const PlannedOp& /*planned*/) {
  const PodFilter filter{{op.namespace_}, op.selector};
  std::vector<PodPtr> pods;
  for (const StoredPodPtr& pod : store_.list<Pod>().items)
    if (filter.matches(*pod->object)) pods.push_back(pod->object);
  auto task = make_deletion(store_, std::move(pods));
  if (op.per_second == 0) {
    BackgroundCounts counts;
    while (!task->is_over()) task->run_once(counts);
    return;
  }
  const double interval_us = kSecondUs / static_cast<double>(op.per_second);
  const BackgroundTask& started = *task;
  background_.start(std::move(task), interval_us, now_us());
  if (!op.skip_wait)
    wait([&] { return started.is_over(); }, [] { return std::string("pods are still to be deleted"); });
}

// Waiting.

void WorkloadRun::run(const BarrierOp& op, const PlannedOp& /*planned*/) {
  std::vector<std::string> namespaces = op.namespaces;
  if (namespaces.empty())
    for (const auto& [name, count] : expected_) namespaces.push_back(name);
  for (const std::string& name : namespaces) {
    const auto expected = expected_.find(name);
    if (expected == expected_.end()) throw WorkloadError(fmt::format("the namespace {} is not known", name));
    wait_for_pods(name, op.selector, expected->second, op.waits_for_attempt);
  }
  // As upstream: nothing is pending in them any more.
  if (!op.waits_for_attempt)
    for (const std::string& name : namespaces) expected_.erase(name);
}

void WorkloadRun::run(const SleepOp& op, const PlannedOp& /*planned*/) { wait_for_time(now_us() + op.duration_us); }

}  // namespace berth
