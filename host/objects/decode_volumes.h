// SPDX-License-Identifier: Apache-2.0
#pragma once

// JSON of storage objects -> objects of the model. Problems go to the value's sink.

#include "host/objects/decode_pod.h"
#include "host/objects/json_value.h"
#include "host/objects/pod.h"
#include "host/objects/volumes.h"

namespace berth {

/// @param object  the whole object  @param meta  of it; is moved from
PersistentVolume read_persistent_volume(const JsonValue& object, DecodedMeta&& meta);
VolumeClaim read_volume_claim(const JsonValue& object, DecodedMeta&& meta);
/// The claim names a class: also the class "".
bool names_class(const JsonValue& claim);
StorageClass read_storage_class(const JsonValue& object, DecodedMeta&& meta);
bool is_default_class(const JsonValue& storage_class);
CsiNode read_csi_node(const JsonValue& object, DecodedMeta&& meta);
CsiDriver read_csi_driver(const JsonValue& object, DecodedMeta&& meta);
CsiStorageCapacity read_csi_storage_capacity(const JsonValue& object, DecodedMeta&& meta);
VolumeAttachment read_volume_attachment(const JsonValue& object, DecodedMeta&& meta);

/// spec.volumes of a pod: those that a storage plugin has to look at; the others bind a pod to no node.
void read_pod_volumes(const JsonValue& value, std::vector<PodVolume>& out);

}  // namespace berth
