// SPDX-License-Identifier: Apache-2.0
#pragma once

// The writes of a scheduler as requests: docs/scheduler/api.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/kube/http/http_client.h"
#include "host/kube/protobuf/api_formats.h"
#include "host/objects/pod.h"
#include "host/objects/volumes.h"
#include "host/store/deletion.h"
#include "host/store/pod_status.h"
#include "host/store/store_status.h"

namespace berth {

HttpRequest binding_request(const PodBinding& binding, BodyFormat format);
HttpRequest pod_request(const Pod& pod);  ///< reads it
/// @param now_us   the time of day, for conditions whose status changes
/// @param keeps_transition_time  the pod has the condition with this status already
HttpRequest status_patch_request(const Pod& pod, const PodStatusPatch& patch, std::int64_t now_us,
                                 bool keeps_transition_time);
HttpRequest delete_request(const Pod& pod, const DeleteOptions& options);
/// Binds a volume to a claim, in so far as the volume is still the version that was matched.
HttpRequest volume_patch_request(const PersistentVolume& volume, std::uint64_t resource_version,
                                 const VolumeClaim& claim, std::uint64_t claim_version);
/// Asks a provisioner for a volume that the node can reach.
HttpRequest claim_patch_request(const VolumeClaim& claim, std::uint64_t resource_version, std::string_view node_name);

/// What an answer says of a call. Without an answer: kServiceUnavailable.
StoreStatus status_of_answer(const HttpResponse& response);

}  // namespace berth
