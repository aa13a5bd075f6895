// SPDX-License-Identifier: Apache-2.0
#pragma once

// matchLabelKeys and mismatchLabelKeys of pod affinity terms, which schedulers do not read: the API server turns them
// into requirements of the term's labelSelector when a pod is created. docs/behaviour/plugins-topology.md 3.1.

#include "host/objects/label_map.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod.h"

namespace berth {

/// Whether some pod affinity or anti-affinity term names keys.
bool names_label_keys(const PodSpec& spec);

/// The spec with "key In [value]" and "key NotIn [value]" added for the keys that `labels` has, where the term has a
/// labelSelector. A key that a term already requires with that operator is left alone, so a pod that went through an
/// API server is not changed.
/// @return `spec` itself when nothing is to be added, else an interned copy
SpecPtr with_label_keys(const SpecPtr& spec, const LabelMap& labels, ObjectPools& pools);

}  // namespace berth
