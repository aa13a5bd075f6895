// SPDX-License-Identifier: Apache-2.0
#pragma once

// The amounts that one pod adds to its node: docs/behaviour/scheduler-core.md 2.4.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/cluster/cache.h"

namespace berth {

struct PodFootprint {
  ResourceAmounts requested;
  std::int64_t non_zero_milli_cpu = 0;
  std::int64_t non_zero_memory_bytes = 0;
  std::vector<HostPort> ports;
};

PodFootprint pod_footprint(const Pod& pod);
/// False also where that would have to be counted: pods of one spec whose status says nothing of resources have the
/// same.
bool surely_have_same_footprint(const Pod& a, const Pod& b);

/// Adds amounts, wrapping around, and ports.
void add_footprint(NodeInfo& node, const PodFootprint& footprint);
/// Adds the amounts alone. Allocates only where the node has no entry of a scalar.
void add_amounts(NodeInfo& node, const PodFootprint& footprint);
/// Subtracts the amounts alone. A scalar of which nothing is left goes.
void subtract_amounts(NodeInfo& node, const PodFootprint& footprint);
/// The inverse of subtract_amounts() on a node that had no scalar of 0 and has the room that it had before: allocates
/// nothing.
void return_amounts(NodeInfo& node, PodFootprint&& footprint) noexcept;
/// Adds each port once more to those in use (sorted).
void add_ports(std::vector<HostPort>& used, std::span<const HostPort> ports);
/// Frees ports among those in use (sorted), even when another pod of the node has the same:
/// docs/behaviour/plugins-node.md 9.
void free_ports(std::vector<HostPort>& used, std::span<const HostPort> ports);
/// Takes each port off once: the inverse of what add_footprint() did with it.
void take_off_ports(std::vector<HostPort>& used, const std::vector<HostPort>& ports);

/// Caches the footprints of recent specs, because pods of one template share their spec. Those of specs that no pod has
/// any more are given up little by little.
class FootprintMemo {
 public:
  /// The result is valid until the next call.
  const PodFootprint& of(const Pod& pod);
  std::uint64_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::weak_ptr<const PodSpec> spec;  ///< pods alone keep it
    PodFootprint footprint;
  };
  void clear_expired();

  std::vector<Slot> slots_;
  std::size_t next_to_clear_ = 0;  ///< position in slots_
  PodFootprint single_;            ///< of a pod whose figures do not follow from its spec alone
};

}  // namespace berth
