// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/cluster_view.h"

namespace berth::reference {

LabelMap ClusterView::namespace_labels(const std::string& name) const {
  for (const Namespace& candidate : objects.namespaces) {
    if (candidate.name == name) return candidate.labels;
  }
  return {};
}

const HostPlugin* ClusterView::find_host_plugin(std::string_view name) const {
  for (const auto& plugin : host_plugins)
    if (plugin->name() == name) return plugin.get();
  return nullptr;
}

}  // namespace berth::reference
