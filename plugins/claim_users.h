// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/objects/pod.h"

namespace berth {

inline bool has_volumes(const Pod& pod) { return pod.rare_fields != nullptr && !pod.rare().volumes.empty(); }

/// ClaimUsers knows the same of both.
bool use_same_claims(const Pod& a, const Pod& b);

/// Which pods of an engine use which claims, and which disks they name themselves.
class ClaimUsers {
 public:
  /// Does nothing for a pod that is known. @return what is known of another pod may be wrong from now on: it was the
  /// only user of a claim, or a disk may have the handle of its volume
  bool add(const Pod& pod);
  void remove(const Pod& pod);
  void clear() {
    users_.clear();
    disk_count_ = 0;
  }

  /// By "namespace/name". Uids of pods.
  std::span<const std::string> of(const std::string& claim) const {
    const auto found = users_.find(claim);
    return found == users_.end() ? std::span<const std::string>() : std::span<const std::string>(found->second);
  }
  bool is_alone(std::string_view name_space, std::string_view claim) const;
  /// Some pod has a volume of its own with this handle, once it is translated for the driver.
  bool has_disk(std::string_view driver, std::string_view handle) const;

 private:
  ByName<std::vector<std::string>> users_;  ///< uids of pods, by claim or disk
  std::size_t disk_count_ = 0;              ///< keys that are disks
};

}  // namespace berth
