// SPDX-License-Identifier: Apache-2.0
#include "host/binding/default_binder.h"

#include <memory>

namespace berth {

Status DefaultBinder::bind(const PodOnNode& pod) { return binder_.bind(*pod.pod, pod.node_name); }

PluginFactory default_binder_factory(Binder& binder) {
  return [&binder](const Profile&, const FrameworkHandle&) { return std::make_unique<DefaultBinder>(binder); };
}

}  // namespace berth
