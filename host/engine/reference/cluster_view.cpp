// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/cluster_view.h"

namespace berth::reference {

LabelMap ClusterView::namespace_labels(const std::string& name) const {
  for (const Namespace& candidate : namespaces) {
    if (candidate.name == name) return candidate.labels;
  }
  return {};
}

}  // namespace berth::reference
