// SPDX-License-Identifier: Apache-2.0
#pragma once

// The objects that an operation creates or updates, made from a template file as upstream's client and API server make
// them: directives filled in, YAML decoded, and the defaults set that scheduling reads.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/perf/text_template.h"
#include "host/store/object_store.h"

namespace berth {

template <class T>
using SharedObject = std::shared_ptr<const T>;

/// No workload object (ReplicaSet, ...) is made.
struct PerfObject {
  /// The name is empty where the template has none; then `options` has generateName.
  EachKind<std::variant, SharedObject> object;
  CreateOptions options;
};

/// What a template gives for the indices 0 to count - 1: one object for all of them, or one for each.
class ObjectSeries {
 public:
  ObjectSeries() = default;
  explicit ObjectSeries(std::vector<PerfObject> objects) : objects_(std::move(objects)) {}
  const PerfObject& at(std::int64_t index) const {
    return objects_[objects_.size() == 1 ? 0 : static_cast<std::size_t>(index)];
  }
  bool empty() const { return objects_.empty(); }
  const std::vector<PerfObject>& distinct() const { return objects_; }

 private:
  std::vector<PerfObject> objects_;
};

/// The nodes with `factor` times their allocatable amounts and pods; objects of another kind stay as they are.
ObjectSeries larger_nodes(const ObjectSeries& nodes, std::int64_t factor);

struct SeriesRequest {
  std::string namespace_;   ///< that the objects get; empty: as the template says
  std::int64_t count = 1;   ///< objects that are wanted
  bool only_first = false;  ///< decode the object of index 0 alone: to see whether the template can be used
};

struct SeriesResult {
  ObjectSeries series;
  std::string unsupported;  ///< what Berth does not have: "PersistentVolume objects"; empty: `series` is there
};

/// @throws InputError naming the file for what cannot be read
SeriesResult make_series(const TextTemplate& text, const SeriesRequest& request);

/// Object number `index` with a claim and a volume of its own, bound to each other: CreatePodWithPersistentVolume() of
/// upstream's test/utils/runners.go.
struct PodWithVolume {
  std::shared_ptr<const VolumeClaim> claim;
  std::shared_ptr<const PersistentVolume> volume;
  PerfObject pod;
};
/// @param pod, volume, claim  of a template each
PodWithVolume with_volume(const PerfObject& pod, const PerfObject& volume, const PerfObject& claim,
                          const std::string& name_space, std::int64_t index);

/// The pod and the nodes that upstream creates where an operation names no template.
TextTemplate base_pod_template();
/// @param name_prefix  of the nodes' names
TextTemplate base_node_template(const std::string& name_prefix);

}  // namespace berth
