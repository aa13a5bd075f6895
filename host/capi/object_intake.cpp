// SPDX-License-Identifier: Apache-2.0
#include "host/capi/object_intake.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "host/capi/api_error.h"
#include "host/capi/stop_watch.h"
#include "host/objects/admission.h"
#include "host/objects/interruption.h"
#include "host/objects/list_entries.h"
#include "host/objects/text/text_reader.h"

namespace berth::capi {
namespace {

constexpr std::size_t kItemsATask = 256;

/// Decodes items side by side and puts them together in order.
class Decoding {
 public:
  Decoding(ObjectPools& pools, const DeclaredPathsPtr& declared) : pools_(pools), declared_(declared) {}

  /// @param items  numbered from `first` on: SourcePlace::source is the number of an object
  void decode(std::span<const ItemSlice> items, std::size_t first, TakenObjects& out) {
    const std::size_t tasks = (items.size() + kItemsATask - 1) / kItemsATask;
    std::vector<TakenObjects>& parts = out.parts;
    parts.resize(tasks);
    const Interruption* const interruption = current_interruption();
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, tasks, 1), [&](const auto& range) {
      for (std::size_t t = range.begin(); t < range.end(); ++t) {
        check_interruption(interruption);
        const std::size_t begin = t * kItemsATask;
        decode_part(items.subspan(begin, std::min(kItemsATask, items.size() - begin)), first + begin, parts[t]);
      }
    });
    for (TakenObjects& part : parts) {
      check_interruption(interruption);
      out.decoded.append(std::move(part.decoded), kProblemLimit);
      out.statuses.insert(out.statuses.end(), part.statuses.begin(), part.statuses.end());
      for (const auto& [object, problem] : part.problems) out.refuse(object, problem);
      std::move(part.warnings.begin(), part.warnings.end(), std::back_inserter(out.warnings));
    }
    parts.clear();
    if (entries_.is_over())
      throw ApiError(BERTH_E_INPUT, "",
                     "the objects have more than " + std::to_string(entries_.max()) +
                         " list entries beyond one for each 16 bytes of their text");
  }

 private:
  void decode_part(std::span<const ItemSlice> items, std::size_t first, TakenObjects& part) {
    ObjectDecoder decoder(pools_, entries_, {.is_strict = false, .keeps_finished_pods = true, .declared = declared_});
    for (const ItemSlice& item : items) {
      DecodedObjects one;
      const std::size_t object = first + part.statuses.size();
      decoder.decode(item, "", static_cast<std::uint32_t>(object), one);
      const bool is_ignored = !one.unused_kinds.empty() || !one.unknown_kinds.empty();
      part.statuses.push_back(one.problem_count > 0 ? BERTH_E_INPUT : is_ignored ? BERTH_IGNORED : BERTH_OK);
      if (one.problem_count > 0) part.refuse(object, one.problems.front());
      for (const InputProblem& finding : one.findings)
        part.warnings.push_back(finding.to_string() + "; an API server would refuse it, it is read as stored");
      one.problems.clear();
      one.findings.clear();
      part.decoded.append(std::move(one), kProblemLimit);
    }
  }

  ObjectPools& pools_;
  const DeclaredPathsPtr& declared_;
  DenseEntries entries_{kDenseEntriesMax};
};

template <class T, class IsSame>
void upsert(std::vector<T>& list, const T& object, IsSame is_same) {
  const auto at = std::ranges::find_if(list, is_same);
  if (at == list.end()) {
    list.push_back(object);
  } else {
    *at = object;
  }
}

bool has_replicas(const DecodedWorkload& made) {
  return made.workload.kind == "ReplicaSet" || made.workload.kind == "ReplicationController";
}

/// Classes by name, those of the input last.
SideObjects with_classes(const SideObjects& side, const DecodedObjects& decoded) {
  SideObjects all;
  all.priority_classes = side.priority_classes;
  all.runtime_classes = side.runtime_classes;
  for (const auto& [object, place] : decoded.priority_classes)
    upsert(all.priority_classes, object, [&](const PriorityClass& known) { return known.name == object.name; });
  for (const auto& [object, place] : decoded.runtime_classes)
    upsert(all.runtime_classes, object, [&](const RuntimeClass& known) { return known.name == object.name; });
  return all;
}

/// Admission of pods. Workloads are read for their selectors alone.
void admit(const SideObjects& side, ObjectPools& pools, TakenObjects& taken) {
  if (taken.decoded.pods.empty()) return;
  const SideObjects classes = with_classes(side, taken.decoded);
  Admission admission(classes.priority_classes, classes.runtime_classes, pools);
  admission.say_missing_classes();
  LooksAtTimes looks;
  std::erase_if(taken.decoded.pods, [&](DecodedPod& pod) {
    looks.at_next();
    std::string message = admission.admit(pod);
    if (message.empty()) return false;
    taken.statuses[pod.place.source] = BERTH_E_INPUT;
    taken.refuse(pod.place.source, {"", line_location(pod.place), std::move(message), "Pod " + pod.pod->full_name()});
    return true;
  });
  std::vector<std::string> warnings = admission.take_warnings();
  std::move(warnings.begin(), warnings.end(), std::back_inserter(taken.warnings));
}

void check_offsets(const berth_bulk& bulk) {
  if (bulk.count == 0) return;
  needed(bulk.data, "bulk.data");
  needed(bulk.offsets, "bulk.offsets");
  if (bulk.count > UINT32_MAX) throw ApiError(BERTH_E_ARGUMENT, "bulk.count", "is above 2^32 - 1");
  if (!std::is_sorted(bulk.offsets, bulk.offsets + bulk.count + 1))
    throw ApiError(BERTH_E_ARGUMENT, "bulk.offsets", "fall");
}

}  // namespace

void take_objects(std::string_view text, const SideObjects& side, ObjectPools& pools, const DeclaredPathsPtr& declared,
                  TakenObjects& taken) {
  Decoding decoding(pools, declared);
  const auto next = batches_of_text(text, "");
  for (ItemBatch batch; next(batch);) {
    batch.convert();
    const std::size_t next_object = taken.statuses.size();
    for (const InputProblem& problem : batch.problems()) taken.refuse(next_object, problem);
    if (batch.skipped_count() > 0) taken.refuse(next_object, {"", "", "holds items that are too short to be objects"});
    decoding.decode(batch.items(), taken.statuses.size(), taken);
  }
  admit(side, pools, taken);
}

void take_objects(const berth_bulk& bulk, const SideObjects& side, ObjectPools& pools, const DeclaredPathsPtr& declared,
                  TakenObjects& taken) {
  check_offsets(bulk);
  if (bulk.count == 0) return;
  const std::uint64_t begin = bulk.offsets[0];
  const std::uint64_t size = bulk.offsets[bulk.count] - begin;
  std::string& copy = taken.text;
  copy.reserve(size + kSlicePaddingBytes);
  for_pieces({bulk.data + begin, size}, [&](std::string_view piece) { copy += piece; });
  copy.append(kSlicePaddingBytes, '\0');
  std::vector<ItemSlice> items(bulk.count);
  for (std::size_t i = 0; i < bulk.count; ++i)
    items[i].json = std::string_view(copy).substr(bulk.offsets[i] - begin, bulk.offsets[i + 1] - bulk.offsets[i]);
  Decoding(pools, declared).decode(items, 0, taken);
  std::string().swap(copy);
  admit(side, pools, taken);
}

void TakenObjects::refuse(std::size_t object, const InputProblem& problem) {
  problems.try_emplace(object, problem);
  if (problems.size() > kProblemLimit) problems.erase(std::prev(problems.end()));
}

void refuse_problems(const TakenObjects& taken) {
  if (taken.problems.empty()) return;
  std::vector<InputProblem> problems;
  problems.reserve(taken.problems.size());
  for (const auto& [object, problem] : taken.problems) problems.push_back(problem);
  throw InputError(std::move(problems));
}

void append_changes(const DecodedObjects& decoded, std::vector<ClusterChange>& changes) {
  LooksAtTimes looks;
  changes.reserve(changes.size() + decoded.nodes.size() + decoded.pods.size());
  for (const auto& [node, place] : decoded.nodes) changes.emplace_back(NodeUpsert(node));
  for (const auto& [object, place] : decoded.namespaces) changes.emplace_back(NamespaceUpsert{object});
  for (const auto& [object, place] : decoded.services) changes.emplace_back(ServiceUpsert{object});
  for (const DecodedWorkload& workload : decoded.workloads) changes.emplace_back(WorkloadUpsert{workload.workload});
  const auto add_storage = [&](const auto& list) {
    for (const auto& [object, place] : list) changes.emplace_back(StorageUpsert{object});
  };
  add_storage(decoded.volumes);
  add_storage(decoded.volume_claims);
  add_storage(decoded.storage_classes);
  add_storage(decoded.csi_nodes);
  add_storage(decoded.csi_drivers);
  add_storage(decoded.storage_capacities);
  add_storage(decoded.volume_attachments);
  for (const DecodedPod& pod : decoded.pods) {
    looks.at_next();
    changes.emplace_back(PodUpsert{pod.pod});
  }
  for (const auto& [terminal, place] : decoded.terminal_pods) changes.emplace_back(PodUpsert{terminal.pod});
}

std::shared_ptr<const SideObjects> side_after(const std::shared_ptr<const SideObjects>& before,
                                              const DecodedObjects& decoded) {
  const bool any_replicas = std::ranges::any_of(decoded.workloads, has_replicas);
  if (decoded.priority_classes.empty() && decoded.runtime_classes.empty() && decoded.pod_disruption_budgets.empty() &&
      !any_replicas)
    return before;
  auto after = std::make_shared<SideObjects>(with_classes(*before, decoded));
  after->budgets = before->budgets;
  after->replicas = before->replicas;
  for (const DecodedWorkload& made : decoded.workloads)
    if (const Workload& workload = made.workload; has_replicas(made))
      after->replicas[{workload.kind, workload.namespace_, workload.name}] = made.replicas;
  for (const auto& [object, place] : decoded.pod_disruption_budgets)
    upsert(after->budgets, object, [&](const PodDisruptionBudget& known) {
      return known.name == object.name && known.namespace_ == object.namespace_;
    });
  return after;
}

std::vector<Roster::Change> roster_changes(std::span<const ClusterChange> changes, NodeTable& names) {
  std::vector<Roster::Change> of_roster;
  for (const ClusterChange& change : changes) {
    if (const auto* upsert = std::get_if<NodeUpsert>(&change))
      of_roster.push_back(
          {names.number_of(upsert->node->name), true, upsert->node->unschedulable, upsert->node->labels});
    if (const auto* removal = std::get_if<NodeRemoval>(&change))
      of_roster.push_back({names.number_of(removal->name), false, false});
  }
  return of_roster;
}

}  // namespace berth::capi
