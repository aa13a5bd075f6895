// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin.h"

namespace berth {

Status PreFilterPlugin::add_pod(const PodClassView&, const Pod&, const NodeInfo&) { return {}; }
Status PreFilterPlugin::remove_pod(const PodClassView&, const Pod&, const NodeInfo&) { return {}; }
Status ScorePlugin::normalize(const PodClassView&, NodeInfos, std::span<std::int64_t>) { return {}; }
Status PreBindPlugin::pre_bind_pre_flight(const PodOnNode&) { return {}; }

}  // namespace berth
