// SPDX-License-Identifier: Apache-2.0
#include "batching/node_side_row.h"

#include "batching/node_side_build.h"

namespace berth {

template CompiledNodeSide compile_node_side(const NodeSidePod&, const ProfileRules<Rules>&, Snapshot&);
template NodeSideRow build_node_side_row(CompiledNodeSide, const PodSpec&, const ProfileRules<Rules>&, const Snapshot&);
template bool extend_node_side(const NodeSidePod&, const ProfileRules<Rules>&, const Snapshot&, bool,
                               CompiledNodeSide&);
template bool update_node_side_row(const PodSpec&, const ProfileRules<Rules>&, const Snapshot&, std::int32_t, NodeParts,
                                   NodeSideRow&);
template NodeSideOfOne node_side_of_one(const CompiledNodeSide&, const PodSpec&, const ProfileRules<Rules>&,
                                        const Snapshot&, std::int32_t);
template std::optional<RuleScore> NodeSideRow::score(std::string_view, const Snapshot&, std::int32_t,
                                                     const RawScores&) const;

}  // namespace berth
