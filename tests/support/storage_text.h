// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lines of scenario text for storage objects. docs/testing.md lists every word.

#include <optional>
#include <string>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/objects/pod.h"

namespace berth::test {

/// `persistent-volume`, `volume-claim`, `storage-class`, `csi-node`, `csi-driver`, `storage-capacity` or
/// `volume-attachment`, and the words behind. nullopt: the line is of another kind.
std::optional<StorageObject> read_storage_object(const std::vector<std::string>& words);
void add(const StorageObject& object, StorageObjects& objects);
/// nullopt: no kind of storage object
std::optional<StorageKind> storage_kind(const std::string& word);

/// "KIND:ID[:MORE]", a disk of an in-tree plugin: "gce:pd", "gce:pd:ro", "aws:vol-1", "iscsi:iqn",
/// "rbd:POOL/IMAGE@MONITOR,MONITOR"
VolumeSource in_tree_disk(const std::string& text);
PodVolume inline_disk(const std::string& text);

}  // namespace berth::test
