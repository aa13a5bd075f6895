// SPDX-License-Identifier: Apache-2.0
#pragma once

// One JSON object -> one object of the model, with the admission that needs no other object. What admission needs to
// know of a pod beyond the model is kept beside it until admission.h has run.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/errors.h"
#include "host/objects/object_pools.h"
#include "host/objects/text/item_batch.h"

namespace berth {

class DenseEntries;  // list_entries.h
class ProblemSink;   // json_value.h

/// Where an object came from.
struct SourcePlace {
  std::uint32_t source = 0;  ///< index into the loader's list of source names
  std::uint32_t line = 1;    ///< on which the object begins
};

/// The location of a problem that shows only when all objects are there: "line 7".
std::string line_location(SourcePlace place);

/// An object with where it came from, for problems that show only when all objects are there.
template <class T>
struct Sourced {
  T object;
  SourcePlace place;
};

struct DecodedPod {
  std::shared_ptr<Pod> pod;                          ///< never null; becomes immutable once admission has run
  std::unique_ptr<std::string> priority_class_name;  ///< null: none
  std::uint64_t name_hash = 0;                       ///< of namespace and name
  std::uint64_t uid_hash = 0;                        ///< of Pod::uid()
  bool has_runtime_class = false;
  bool has_label_keys = false;  ///< names_label_keys(*pod->spec)
  bool has_priority = false;
  bool has_preemption_policy = false;
  SourcePlace place;
};

/// spec.template of a workload: everything of a pod but its name.
struct PodTemplate {
  LabelMap labels;
  SpecPtr spec;
  std::string node_name;
  PodRare rare;
  std::string priority_class_name;
  std::optional<std::int32_t> priority;
  std::optional<PreemptionPolicy> preemption_policy;
};

/// A workload with what expansion needs to know (expand.h). Which fields count depends on workload.kind.
struct DecodedWorkload {
  Workload workload;
  PodTemplate pod_template;
  std::int64_t creation_time_us = 0;
  std::int64_t replicas = 1;
  std::int64_t first_ordinal = 0;                   ///< StatefulSet spec.ordinals.start
  std::vector<VolumeClaim> volume_claim_templates;  ///< StatefulSet; without namespace
  std::vector<std::size_t> classless_claims;        ///< of these, that name no class, which is not the class ""
  std::int64_t parallelism = 1;                     ///< Job
  std::optional<std::int64_t> completions;          ///< Job
  std::int64_t succeeded = 0;                       ///< Job status
  bool is_inactive = false;                         ///< terminating, or a suspended or finished Job: makes no pods
  SourcePlace place;
};

/// As reports name it: "Deployment default/web".
inline std::string name_in_reports(const Workload& workload) {
  return workload.kind + " " + workload.namespace_ + "/" + workload.name;
}

/// A StorageClass that claims get which name none.
struct DefaultStorageClass {
  std::string name;
  std::int64_t creation_time_us = 0;
};

/// A pod of phase Succeeded or Failed. Nothing reads more of it than its name, but for what explains it.
struct TerminalPod {
  std::string name;          ///< "namespace/name"
  std::shared_ptr<Pod> pod;  ///< null unless asked for; without admission
};

/// What a run of items decoded to, in input order.
struct DecodedObjects {
  std::vector<Sourced<NodePtr>> nodes;
  std::vector<DecodedPod> pods;
  std::vector<Sourced<TerminalPod>> terminal_pods;
  std::vector<DecodedWorkload> workloads;
  std::vector<Sourced<Namespace>> namespaces;
  std::vector<Sourced<PriorityClass>> priority_classes;
  std::vector<Sourced<Service>> services;
  std::vector<Sourced<RuntimeClass>> runtime_classes;
  std::vector<Sourced<PodDisruptionBudget>> pod_disruption_budgets;
  std::vector<Sourced<PersistentVolume>> volumes;
  std::vector<Sourced<VolumeClaim>> volume_claims;
  std::vector<Sourced<StorageClass>> storage_classes;
  std::vector<DefaultStorageClass> default_storage_classes;
  std::vector<Sourced<CsiNode>> csi_nodes;
  std::vector<Sourced<CsiDriver>> csi_drivers;
  std::vector<Sourced<CsiStorageCapacity>> storage_capacities;
  std::vector<Sourced<VolumeAttachment>> volume_attachments;
  std::map<std::string, std::int64_t> unused_kinds;
  std::map<std::string, std::int64_t> unknown_kinds;
  std::int64_t object_count = 0;  ///< read, whatever became of them

  std::vector<InputProblem> problems;  ///< repetitions folded
  std::int64_t problem_count = 0;      ///< including repetitions and those that were not kept
  std::vector<InputProblem> findings;  ///< of validation.h, repetitions folded
  std::int64_t finding_count = 0;
  std::vector<Remark> left_out;  ///< one entry an object with problems

  /// Appends what `later` holds.
  void append(DecodedObjects&& later, std::size_t problem_limit);
};

struct DecodeOptions {
  bool is_strict = false;               ///< what an API server would refuse is a problem, not a finding
  bool keeps_finished_pods = false;     ///< see TerminalPod
  DeclaredPathsPtr declared = nullptr;  ///< whose values are kept
};

/// Decodes items one after the other. One thread at a time; decoders of one load share their pools.
class ObjectDecoder {
 public:
  /// @param dense_entries  of the load
  ObjectDecoder(ObjectPools& pools, DenseEntries& dense_entries, DecodeOptions options);
  ~ObjectDecoder();
  ObjectDecoder(const ObjectDecoder&) = delete;
  ObjectDecoder& operator=(const ObjectDecoder&) = delete;

  /// Appends the object to `out`, or its problems: an object with a problem is left out, and nothing else with it.
  /// @param source        name of the source, for problems
  /// @param source_index  see SourcePlace
  void decode(const ItemSlice& item, const std::string& source, std::uint32_t source_index, DecodedObjects& out);

 private:
  struct Caches;
  void leave_out(const ItemSlice& item, const std::string& source, ProblemSink& sink, DecodedObjects& out) const;
  void keep_findings(const ItemSlice& item, const std::string& source, ProblemSink& sink, DecodedObjects& out) const;

  DecodeOptions options_;
  std::unique_ptr<Caches> caches_;
};

}  // namespace berth
