// SPDX-License-Identifier: Apache-2.0
#pragma once

// Upper bounds of the parts of NodeResourcesFit's score over a box of nodes, in floats:
// docs/decisions/0011-an-index-by-load.md.

#include "plugins/node_resources_fit/rule.h"

namespace berth {

/// What the shares of a bound may be too small by, in points of a score: a share is off by less than 2^-20, which is
/// less than 2^-13 points. One of 8,000 boxes reaches the next point by it.
inline constexpr float kBoundMargin = 0x1p-13F;
inline constexpr float kScoreMax = kMaxNodeScore;

/// NodeResourcesFit::is_short() says so of every node of a box.
/// @param request  less than the rounding of a float below that of the pod; -infinity where it is not above 0
/// @param room  the most that is free on a node, rounded
BERTH_HD bool all_are_short(float request, float room) { return request > room; }

/// At least the score of every node whose share is at least `share`, and at most 100.
BERTH_HD float bound_of_free_share(float share) {
  const float points = (1.0F - share) * kScoreMax + kBoundMargin;
  return __builtin_truncf(points > 0.0F ? points : 0.0F);
}

/// At least LeastAllocated::part() of every node of a box, and equal to it where the box is one node, except when the
/// value is within the margin below a whole number.
/// @param used  smallest share of the resource in use; shares above 2 may count as 2
/// @param inverse  smallest reciprocal of what is offered
struct LeastAllocatedBound {
  BERTH_HD static float part(float used, float inverse, float request) {
    return bound_of_free_share(used + request * inverse);
  }
};

/// At least the weighted mean of the parts of LeastAllocated on every node of a box, and tighter than that of the
/// bounds of parts where nodes with much of one resource have little of the other.
struct LeastAllocatedMeanBound {
  /// @param share  smallest weighted mean of the shares in use, the pod included; shares may be above 1
  /// @param of_one  the larger bound of a part, by its part of the weights: a node with more than all of one resource
  /// in use has a part of 0, and so the mean of the other one alone
  BERTH_HD static float mean(float share, float of_one) {
    const float both = bound_of_free_share(share);
    return both > of_one ? both : of_one;
  }
};

/// At least the weighted sum of scores that together lose at least `loss`, as a share of 100, of the sum `most` of the
/// weights. The margin is twice that of one score, times the weights: more terms are added up.
BERTH_HD float bound_of_loss(float loss, float most) {
  const float points = (most - loss) * kScoreMax + most * (2.0F * kBoundMargin);
  return __builtin_truncf(points > 0.0F ? points : 0.0F);
}

/// The same of MostAllocated::part(). @param used, inverse  the largest ones
struct MostAllocatedBound {
  BERTH_HD static float part(float used, float inverse, float request) {
    const float share = used + request * inverse;
    return __builtin_truncf((share < 1.0F ? share : 1.0F) * kScoreMax + kBoundMargin);
  }
};

/// The mean of parts, truncated: whole numbers below 2^15 divided by one below 2^8.
/// @param weights_inverse  reciprocal of the sum of the weights
BERTH_HD float bound_of_mean(float sum, float weights_inverse) {
  return __builtin_truncf((sum + 0.5F) * weights_inverse);
}

}  // namespace berth
