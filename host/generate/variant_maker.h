// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/generate/cluster_spec.h"
#include "host/generate/random.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod.h"
#include "host/objects/resources.h"

namespace berth {

/// The common part of the pods of one variant.
struct Variant {
  SpecPtr spec;  ///< after admission
  LabelMap labels;
  std::int32_t priority = 0;
  PreemptionPolicy preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
  ResourceAmounts requested;  ///< of a pod on a node
};

/// Creates the variants of one group; equal specs are shared.
class VariantMaker {
 public:
  /// @param pools  of the whole cluster
  VariantMaker(const ClusterSpec& spec, const PodGroupSpec& group, ObjectPools& pools)
      : spec_(spec), group_(group), pools_(pools) {}

  Variant make(Random random, std::size_t index);

 private:
  void set_priority(Variant& variant, Random& random, std::size_t index) const;

  const ClusterSpec& spec_;
  const PodGroupSpec& group_;
  ObjectPools& pools_;
};

}  // namespace berth
