// SPDX-License-Identifier: Apache-2.0
#pragma once

// Volumes of in-tree plugins as volumes of the CSI drivers that replace them: csi-translation-lib of v1.35.

#include <memory>
#include <string_view>

#include "host/objects/volumes.h"

namespace berth {

/// Of a pod's inline volume. null: its kind does not migrate.
std::shared_ptr<const MigratedVolume> migrate_inline(const VolumeSource& source);
/// Of a PersistentVolume; reads its source, labels and node affinity. null: its kind does not migrate.
std::shared_ptr<const MigratedVolume> migrate(const PersistentVolume& volume);

/// What a provisioner's name means.
struct MigratingPlugin {
  std::string_view plugin;   ///< "kubernetes.io/aws-ebs"
  std::string_view driver;   ///< "ebs.csi.aws.com"
  bool is_migrated = false;  ///< everywhere where a CSINode is
  bool asks_node = false;    ///< where the CSINode names it: Portworx
};
/// null: no in-tree plugin with a CSI driver has the name.
const MigratingPlugin* find_migrating_plugin(std::string_view plugin);

}  // namespace berth
