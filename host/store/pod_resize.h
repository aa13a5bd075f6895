// SPDX-License-Identifier: Apache-2.0
#pragma once

// The subresource pods/resize: ValidatePodResize() of kubernetes pkg/apis/core/validation/validation.go.

#include <span>
#include <string>
#include <vector>

#include "host/store/stored_object.h"

namespace berth {

/// New amounts of one container.
struct ContainerResize {
  std::string container;  ///< of containers or init containers
  ResourceList requests;  ///< all of them, as in the spec; sorted by name
  ResourceList limits;    ///< likewise
};

/// The spec with the amounts of `changes`.
/// @param problems  gets a text for each container that the pod does not have, which upstream's clients cannot name
PodSpec resized(const PodSpec& spec, std::span<const ContainerResize> changes, std::vector<std::string>& problems);

/// What a resize must not change, as texts of field errors: anything but cpu and memory of containers and sidecars, the
/// QoS class, and a pod with amounts of its own. Amounts can change but not disappear.
std::vector<std::string> resize_problems(const PodSpec& before, const PodSpec& after);

}  // namespace berth
