// SPDX-License-Identifier: Apache-2.0
#pragma once

// Upper bounds of the parts of NodeResourcesFit's score over a box of nodes: docs/decisions/0011-an-index-by-load.md.

#include "plugins/node_resources_fit/rule.h"

namespace berth {

/// What the shares of a bound may be too small by, in points of a score. A share is off by less than 2^-49, so that
/// this is some 10^4 times more than is needed, and too little to reach the next point in more than one of 10^8 boxes.
inline constexpr double kBoundMargin = 1e-9;

/// At least the score of every node whose share is at least `share`, and at most 100.
BERTH_HD double bound_of_free_share(double share) {
  const double points = (1.0 - share) * static_cast<double>(kMaxNodeScore) + kBoundMargin;
  return __builtin_trunc(points > 0.0 ? points : 0.0);
}

/// At least LeastAllocated::part() of every node of a box, and equal to it where the box is one node, except when the
/// value is within the margin below a whole number.
/// @param used  smallest share of the resource in use; shares above 2 may count as 2
/// @param inverse  smallest reciprocal of what is offered
struct LeastAllocatedBound {
  BERTH_HD static double part(double used, double inverse, double request) {
    return bound_of_free_share(used + request * inverse);
  }
};

/// At least the weighted mean of the parts of LeastAllocated on every node of a box, and tighter than that of the
/// bounds of parts where nodes with much of one resource have little of the other.
struct LeastAllocatedMeanBound {
  /// @param share  smallest weighted mean of the shares in use, the pod included; shares may be above 1
  /// @param of_one  the larger bound of a part, by its part of the weights: a node with more than all of one resource
  /// in use has a part of 0, and so the mean of the other one alone
  BERTH_HD static double mean(double share, double of_one) {
    const double both = bound_of_free_share(share);
    return both > of_one ? both : of_one;
  }
};

/// At least the weighted sum of scores that together lose at least `loss`, as a share of 100, of the sum `most` of the
/// weights.
BERTH_HD double bound_of_loss(double loss, double most) {
  const double points = (most - loss) * static_cast<double>(kMaxNodeScore) + kBoundMargin;
  return __builtin_trunc(points > 0.0 ? points : 0.0);
}

/// The same of MostAllocated::part(). @param used, inverse  the largest ones
struct MostAllocatedBound {
  BERTH_HD static double part(double used, double inverse, double request) {
    const double share = used + request * inverse;
    return __builtin_trunc((share < 1.0 ? share : 1.0) * static_cast<double>(kMaxNodeScore) + kBoundMargin);
  }
};

}  // namespace berth
