// SPDX-License-Identifier: Apache-2.0
#include "plugins/claim_users.h"

#include <algorithm>

#include "host/objects/volumes.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

std::string claim_key(std::string_view name_space, std::string_view claim) {
  return std::string(name_space).append("/").append(claim);
}

constexpr char kDisk = '/';  // begins no namespace

std::string disk_key(std::string_view driver, std::string_view handle) {
  return std::string(1, kDisk).append(driver).append("/").append(handle);
}

/// Calls visit(key) for what the pod uses.
template <class Visit>
void for_each_use(const Pod& pod, Visit visit) {
  for (const PodVolume& volume : pod.rare().volumes) {
    if (const std::optional<std::string> name = claim_name(pod, volume)) {
      visit(claim_key(pod.namespace_, *name));
    } else if (volume.disk != nullptr && volume.disk->migrated != nullptr) {
      visit(disk_key(volume.disk->migrated->driver, volume.disk->migrated->handle));
    }
  }
}

}  // namespace

bool use_same_claims(const Pod& a, const Pod& b) {
  if (!has_volumes(a) || !has_volumes(b)) return !has_volumes(a) && !has_volumes(b);
  return a.namespace_ == b.namespace_ && a.name == b.name && a.stored_uid == b.stored_uid &&
         a.rare().volumes == b.rare().volumes;
}

bool ClaimUsers::add(const Pod& pod) {
  if (!has_volumes(pod)) return false;
  bool concerns_others = false;
  const std::string uid = pod.uid();
  for_each_use(pod, [&](std::string key) {
    const bool is_disk = key.front() == kDisk;
    std::vector<std::string>& users = users_[std::move(key)];
    if (std::find(users.begin(), users.end(), uid) != users.end()) return;
    concerns_others = concerns_others || users.size() == (is_disk ? 0 : 1);
    users.push_back(uid);
    if (is_disk && users.size() == 1) ++disk_count_;
  });
  return concerns_others;
}

void ClaimUsers::remove(const Pod& pod) {
  if (!has_volumes(pod)) return;
  const std::string uid = pod.uid();
  for_each_use(pod, [&](const std::string& key) {
    const auto found = users_.find(key);
    if (found == users_.end()) return;
    if (std::erase(found->second, uid) > 0 && found->second.empty() && key.front() == kDisk) --disk_count_;
    if (found->second.empty()) users_.erase(found);
  });
}

bool ClaimUsers::is_alone(std::string_view name_space, std::string_view claim) const {
  const auto found = users_.find(claim_key(name_space, claim));
  return found == users_.end() || found->second.size() <= 1;
}

bool ClaimUsers::has_disk(std::string_view driver, std::string_view handle) const {
  return disk_count_ > 0 && users_.contains(disk_key(driver, handle));
}

}  // namespace berth
