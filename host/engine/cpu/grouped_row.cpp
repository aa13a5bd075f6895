// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/grouped_row.h"

#include "host/engine/cpu/grouped_selection.h"

namespace berth {

GroupedRow::GroupedRow(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& node_side,
                       const TopologyCounts& counts, std::int32_t coarse_domains_max, const DomainWeights& weights)
    : program_(pod_class.topology),
      profile_(profile),
      node_side_weights_(node_side.normalized_weights()),
      domain_weights_(weights),
      reads_(*program_, counts, coarse_domains_max),
      groups_(*program_, reads_) {}

Selection GroupedRow::select(const SlotKeys& keys, const TopologyCounts& counts, SelectionScratch& scratch) const {
  using NoExtras = std::span<const ExtraPlace<NodeTopology<TopologyCounts>>>;
  return select(keys, counts, ExcludedNodes(), NoExtras(), scratch);
}

}  // namespace berth
