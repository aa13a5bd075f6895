// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "host/objects/decode.h"
#include "host/objects/decode_pod.h"
#include "host/objects/json_value.h"

namespace berth {

/// @param kind  ReplicaSet, StatefulSet, ReplicationController, Deployment, DaemonSet or Job
DecodedWorkload read_workload(std::string_view kind, const JsonValue& object, DecodedMeta&& meta, PodDecoder& pods);

}  // namespace berth
