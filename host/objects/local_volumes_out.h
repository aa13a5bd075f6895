// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "host/objects/json_writer.h"
#include "host/objects/pod.h"

namespace berth {

/// A volume that stays on its node, or ends with its pod. The model has neither names nor more of them than this.
struct LocalVolume {
  std::string_view name;
  std::string_view source;
  std::string_view field;  ///< of the source
  std::string_view value;
};
inline std::vector<LocalVolume> local_volumes(const PodSpec& spec) {
  std::vector<LocalVolume> volumes;
  if (spec.has_host_path) volumes.push_back({"host-path", "hostPath", "path", "/"});
  if (spec.has_empty_dir_on_disk) volumes.push_back({"empty-dir", "emptyDir", "", ""});
  if (spec.has_empty_dir && !spec.has_empty_dir_on_disk) volumes.push_back({"memory", "emptyDir", "medium", "Memory"});
  return volumes;
}
inline void write_local_volume(JsonWriter& w, const LocalVolume& volume) {
  w.field("name", volume.name);
  w.object(volume.source, [&] { w.text(volume.field, volume.value); });
}

}  // namespace berth
