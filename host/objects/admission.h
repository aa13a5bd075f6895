// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an API server fills in before a scheduler sees a pod, and only where a field is absent (docs/objects.md).

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/decode.h"
#include "host/objects/object_pools.h"

namespace berth {

/// Admission that looks at the spec alone: requests from limits, pod-level defaulting, host ports of host-network pods.
void apply_spec_defaults(PodSpec& spec);

/// Admission that looks at PriorityClass and RuntimeClass objects. Both lists are read during the life of this.
class Admission {
 public:
  Admission(const std::vector<PriorityClass>& priority_classes, const std::vector<RuntimeClass>& runtime_classes,
            ObjectPools& pools);

  /// For pods that missing_inputs() does not see.
  void say_missing_classes() { says_missing_classes_ = true; }

  /// @return "" or what is wrong: an unknown priority class where the pod has no priority of its own.
  std::string admit(DecodedPod& decoded);
  std::string admit(PodTemplate& pod_template);

  /// One warning each: selectors that contradict their class, and after say_missing_classes() RuntimeClasses that are
  /// named and not in the input.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  struct Priority {
    std::int32_t value = 0;
    PreemptionPolicy policy = PreemptionPolicy::kPreemptLowerPriority;
  };

  const PriorityClass* find_class(std::string_view name) const;
  std::string resolve(std::string_view class_name, std::optional<std::int32_t> priority,
                      std::optional<PreemptionPolicy> policy, Priority& out) const;
  /// Decided without a look at the pod: most pods of a large cluster stop here.
  bool has_nothing_to_fill(const DecodedPod& decoded) const;
  SpecPtr with_runtime_class(const SpecPtr& spec);
  PodSpec merged(const PodSpec& spec, const RuntimeClass& runtime_class);

  std::map<std::string, PriorityClass, std::less<>> classes_;
  const PriorityClass* global_default_ = nullptr;
  std::map<std::string_view, const RuntimeClass*> runtime_classes_;
  ObjectPools& pools_;
  std::map<SpecPtr, SpecPtr> merged_specs_;
  std::vector<std::string> warnings_;
  bool says_missing_classes_ = false;
};

}  // namespace berth
