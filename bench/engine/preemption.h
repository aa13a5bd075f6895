// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth {

/// Dry runs of issue "The living engine": 1,000 preemptors of 1,000 classes, a tenth of them with hard topology terms,
/// on 5,000 full nodes with 30 running pods of 1,000 Deployments, of which 20 are potential victims. Each preemptor is
/// tried on each node.
/// @return preemptors a second, the best of several calls
double preemptors_per_second();

}  // namespace berth
