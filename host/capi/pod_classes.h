// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/capi/what_if.h"

namespace berth::capi {

/// The classes of the pods of a call: pods are of one class where they differ in name, uid and times alone. Unlike the
/// classes of engines, these are the same with each backend, whatever was asked before.
struct PodClasses {
  /// @param as_moved  spec.nodeName is ignored
  PodClasses(std::span<const PodHandlePtr> pods, bool as_moved);

  std::vector<std::uint32_t> of_pod;  ///< [pods] from 0, in the order in which they come
  std::size_t count = 0;
};

}  // namespace berth::capi
