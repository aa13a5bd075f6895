// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Kubernetes objects that stand in a scenario file: decoded as those of a dump are, and admitted once the classes
// of the whole scenario are known.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/decode.h"
#include "host/objects/errors.h"
#include "host/objects/json_value.h"
#include "host/objects/list_entries.h"
#include "host/objects/object_pools.h"
#include "host/simulate/scenario.h"

namespace berth {

/// Objects of one list, or one template.
struct InlineObjects {
  std::string location;            ///< of the list or template: "actions[3].create"
  std::string source;              ///< the file
  std::vector<std::string> paths;  ///< of the objects, "actions[3].create[0]", by SourcePlace::source
  DecodedObjects decoded;
  std::optional<std::int64_t> run_duration_us;  ///< of pods that do not say it themselves
  std::int64_t json_bytes = 0;                  ///< of all objects
};

/// Decodes objects of one scenario. Their problems and findings have the path of the object as location, relative to
/// the document: "actions[3].create[0].spec.priority".
class InlineObjectReader {
 public:
  /// @param is_strict  what an API server would refuse is a problem, not a finding
  /// @param declared  paths whose values are kept; null: none
  InlineObjectReader(ObjectPools& pools, bool is_strict, const DeclaredPathsPtr& declared)
      : decoder_(pools, dense_entries_, {.is_strict = is_strict, .declared = declared}) {}

  /// Appends the object. Kinds that a simulation cannot create are problems of `value`'s sink, as is what the decoder
  /// finds wrong.
  void read(const JsonValue& value, InlineObjects& out);
  /// What an API server would refuse and is read as it stands, each with its location.
  std::vector<InputProblem> take_findings() { return std::exchange(findings_, {}); }

 private:
  DenseEntries dense_entries_{kDenseEntriesMax};
  ObjectDecoder decoder_;
  std::vector<InputProblem> findings_;
};

/// Admits and expands objects of a scenario.
class InlineAdmission {
 public:
  /// @param cluster  what is there at the start; only its classes are read
  /// @param lists    all of the scenario: classes in any of them count for all of them
  InlineAdmission(const ClusterObjects& cluster, const std::vector<const InlineObjects*>& lists,
                  std::shared_ptr<ObjectPools> pools);
  ~InlineAdmission();
  InlineAdmission(const InlineAdmission&) = delete;
  InlineAdmission& operator=(const InlineAdmission&) = delete;

  ClusterObjects admit(InlineObjects&& list);
  /// Sets model and pools of `arrivals`, whose other fields are set. @param object  one pod or one workload
  void admit(InlineObjects&& object, Arrivals& arrivals);

  std::vector<std::string> take_warnings();
  std::vector<InputProblem> take_problems() { return std::exchange(problems_, {}); }

 private:
  struct Classes;
  /// @param path  of the object, or of the list
  void refuse(const InlineObjects& list, const std::string& path, const std::string& object, std::string message);
  void count_pods(const InlineObjects& list, std::int64_t pods);

  std::shared_ptr<ObjectPools> pools_;
  std::unique_ptr<Classes> classes_;
  std::vector<InputProblem> problems_;
  std::int64_t pod_count_ = 0;
};

}  // namespace berth
