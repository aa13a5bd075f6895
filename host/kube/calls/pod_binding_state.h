// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// Where a pod is.
struct PodBindingState {
  std::string uid;
  std::string node_name;  ///< empty: on none
};

/// @param json  the pod, as an API server sends it. @return nullopt: it is no pod
std::optional<PodBindingState> read_binding_state(std::string_view json);

}  // namespace berth
