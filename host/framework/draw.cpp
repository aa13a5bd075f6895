// SPDX-License-Identifier: Apache-2.0
#include "host/framework/draw.h"

namespace berth {
namespace {

DrawOrder draw_order(const Profile& profile, TieBreak tie_break) {
  if (tie_break == TieBreak::kRandom) return DrawOrder::kByClass;
  if (tie_break == TieBreak::kLoad) return packs_nodes(profile) ? DrawOrder::kFullerFirst : DrawOrder::kEmptierFirst;
  return DrawOrder::kNodeOrder;
}

}  // namespace

bool packs_nodes(const Profile& profile) {
  if (!profile.enables(ExtensionPoint::kScore, "NodeResourcesFit")) return false;
  const NodeResourcesFitArgs& args = profile.args.node_resources_fit;
  if (args.strategy == ScoringStrategyType::kMostAllocated) return true;
  return args.strategy == ScoringStrategyType::kRequestedToCapacityRatio && !args.shape.empty() &&
         args.shape.back().score > args.shape.front().score;
}

DrawRule draw_rule(const Profile& profile, TieBreak tie_break, std::uint64_t seed) {
  return {draw_order(profile, tie_break), mix_bits(seed)};
}

}  // namespace berth
