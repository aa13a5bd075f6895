// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/engine/reference/node_rules.h"
#include "host/framework/status.h"

namespace berth::reference {

/// What is known of the nodes in one cycle.
struct Search {
  const std::vector<bool>* among = nullptr;  ///< BatchLimits::among
  PreFilterResult pre;
  std::vector<std::size_t> feasible;            ///< in the order found
  std::vector<std::optional<Status>> refusals;  ///< per node; nullopt: not visited, or feasible
  bool by_nomination = false;
  std::string nomination_refused_by;  ///< the plugin that rejects the node which the pod is nominated to; empty: none

  bool is_among(std::size_t node) const { return among == nullptr || (node < among->size() && (*among)[node]); }
  std::size_t count_among(std::size_t node_count) const;
  /// What a node outside the search says of itself: the oracle's records give such nodes no reasons.
  Status outside_status() const;
  /// A Filter that broke instead of refusing, at the first such node; null: none. It ends the cycle.
  const Status* first_error() const;
};

/// Why no node was feasible.
Diagnosis diagnose(const Search& search, std::size_t node_count);

}  // namespace berth::reference
