// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cluster_storage.h"

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include "host/cluster/undo_steps.h"

namespace berth {
namespace {

std::string key_of(std::string_view name_space, std::string_view name) {
  if (name_space.empty()) return std::string(name);
  return std::string(name_space).append("/").append(name);
}

template <class T>
std::string key_of(const T& object) {
  if constexpr (requires { object.namespace_; }) return key_of(object.namespace_, object.name);
  return object.name;
}

/// Calls find(key) with the key of an object, which is a copy only where it is long.
template <class Find>
auto with_key(std::string_view name_space, std::string_view name, Find find) {
  std::array<char, 256> room;
  const std::size_t size = name_space.size() + 1 + name.size();
  if (name_space.empty()) return find(name);
  if (size > room.size()) return find(std::string_view(key_of(name_space, name)));
  char* const end = std::copy(name_space.begin(), name_space.end(), room.data());
  *end = '/';
  std::copy(name.begin(), name.end(), end + 1);
  return find(std::string_view(room.data(), size));
}

constexpr char kEnd = '\0';  // of a name: names do not contain it

std::string pair_key(std::string_view first, std::string_view second) {
  return std::string(first).append(1, kEnd).append(second);
}

/// Empty: the volume is none of a CSI driver, nor does it migrate to one.
std::string handle_key(const PersistentVolume& volume) {
  if (volume.source.kind == VolumeSource::Kind::kCsi) return pair_key(volume.source.driver, volume.source.id);
  return volume.migrated != nullptr ? pair_key(volume.migrated->driver, volume.migrated->handle) : std::string();
}

/// null: it says so already.
std::shared_ptr<const PersistentVolume> bound_to(const PersistentVolume& volume, const VolumeClaim& claim) {
  const ObjectName reference{claim.namespace_, claim.name, claim.uid};
  if (volume.claim_ref == reference) return nullptr;
  auto bound = std::make_shared<PersistentVolume>(volume);
  bound->claim_ref = reference;
  return bound;
}

/// null: it says so already.
std::shared_ptr<const VolumeClaim> tied_to(const VolumeClaim& claim, const std::string& node_name) {
  if (claim.selected_node == node_name) return nullptr;
  auto tied = std::make_shared<VolumeClaim>(claim);
  tied->selected_node = node_name;
  return tied;
}

}  // namespace

// Changes that can be taken back

/// An entry came, changed or went. Taking it back allocates nothing.
template <class Map>
class ClusterStorage::Changed : public UndoStep {
 public:
  explicit Changed(Map& map) : map_(map) {}
  void undo() noexcept override {
    if (!gone.empty()) {
      map_.insert(std::move(gone));
    } else if (changed != nullptr) {
      changed->second = std::move(*before);
    } else if (came != nullptr) {
      map_.erase(map_.find(came->first));
    }
  }
  // One of these:
  typename Map::node_type gone;
  typename Map::value_type* changed = nullptr;
  typename Map::value_type* came = nullptr;
  std::optional<typename Map::mapped_type> before;  ///< of `changed`

 private:
  Map& map_;
};

/// The entry, which is there afterwards.
template <class Map>
typename Map::mapped_type& ClusterStorage::write(Map& map, std::string_view key) {
  if (const auto found = map.find(key); found != map.end()) return write(map, found);
  Changed<Map>* const step = undo_ != nullptr ? &undo_->add<Changed<Map>>(map) : nullptr;
  const auto at = map.try_emplace(std::string(key)).first;
  if (step != nullptr) step->came = &*at;
  return at->second;
}

template <class Map>
typename Map::mapped_type& ClusterStorage::write(Map& map, typename Map::iterator at) {
  if (undo_ != nullptr) {
    Changed<Map>& step = undo_->add<Changed<Map>>(map);
    step.changed = &*at;
    step.before = at->second;
  }
  return at->second;
}

template <class Map>
bool ClusterStorage::erase(Map& map, std::string_view key) {
  const auto found = map.find(key);
  if (found == map.end()) return false;
  Changed<Map>* const step = undo_ != nullptr ? &undo_->add<Changed<Map>>(map) : nullptr;
  typename Map::node_type gone = map.extract(found);
  if (step != nullptr) step->gone = std::move(gone);
  return true;
}

// Objects

template <class T>
const T* ClusterStorage::find(const Table<T>& table, std::string_view key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second.seen();
}

const PersistentVolume* ClusterStorage::volume(std::string_view name) const { return find(volumes_, name); }
const VolumeClaim* ClusterStorage::claim(std::string_view name_space, std::string_view name) const {
  if (claims_.empty()) return nullptr;
  return with_key(name_space, name, [&](std::string_view key) { return find(claims_, key); });
}
const StorageClass* ClusterStorage::storage_class(std::string_view name) const { return find(classes_, name); }
const CsiNode* ClusterStorage::csi_node(std::string_view node_name) const { return find(csi_nodes_, node_name); }
const CsiDriver* ClusterStorage::csi_driver(std::string_view name) const { return find(csi_drivers_, name); }

void ClusterStorage::for_each_volume(const std::function<void(const PersistentVolume&)>& visit) const {
  std::vector<const PersistentVolume*> volumes;
  volumes.reserve(volumes_.size());
  for (const auto& [name, entry] : volumes_) volumes.push_back(&entry.seen());
  std::sort(volumes.begin(), volumes.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const PersistentVolume* volume : volumes) visit(*volume);
}

void ClusterStorage::for_each_capacity(const std::function<void(const CsiStorageCapacity&)>& visit) const {
  for (const auto& [name, entry] : capacities_) visit(entry.seen());
}

void ClusterStorage::for_each_attachment(const std::function<void(const VolumeAttachment&)>& visit) const {
  for (const auto& [name, entry] : attachments_) visit(entry.seen());
}

// What follows from objects

void ClusterStorage::for_each_unclaimed(std::string_view class_name,
                                        const std::function<void(const PersistentVolume&)>& visit) const {
  const std::string begin = pair_key(class_name, "");
  for (auto at = unclaimed_.lower_bound(begin); at != unclaimed_.end() && at->first.starts_with(begin); ++at)
    visit(*volume(std::string_view(at->first).substr(begin.size())));
}

bool ClusterStorage::empty() const {
  return volumes_.empty() && claims_.empty() && classes_.empty() && csi_nodes_.empty() && csi_drivers_.empty() &&
         capacities_.empty() && attachments_.empty() && assumptions_.empty();
}

bool ClusterStorage::has_unclaimed(std::string_view class_name) const {
  const std::string begin = pair_key(class_name, "");
  const auto at = unclaimed_.lower_bound(begin);
  return at != unclaimed_.end() && at->first.starts_with(begin);
}

bool ClusterStorage::is_reserved(const VolumeClaim& claim) const {
  return with_key(claim.namespace_, claim.name, [&](std::string_view key) { return reserved_.contains(key); });
}

void ClusterStorage::for_each_reserved(const VolumeClaim& claim,
                                       const std::function<void(const PersistentVolume&)>& visit) const {
  const auto found = reserved_.find(key_of(claim.namespace_, claim.name));
  if (found == reserved_.end()) return;
  for (const std::string& name : std::set<std::string>(found->second.begin(), found->second.end()))
    visit(*volume(name));
}

bool ClusterStorage::is_shared_handle(std::string_view driver, std::string_view handle) const {
  return !shared_handles_.empty() && shared_handles_.contains(pair_key(driver, handle));
}

template <class Counted>
void ClusterStorage::count(Counted& counts, const std::string& key, bool comes) {
  std::size_t& entry = write(counts, key);
  if (comes) {
    ++entry;
  } else if (--entry == 0) {
    erase(counts, key);
  }
}

void ClusterStorage::reserve(const ObjectName& claim, const std::string& volume, bool comes) {
  const std::string key = key_of(claim.namespace_, claim.name);
  std::vector<std::string>& names = write(reserved_, key);
  if (comes) {
    names.push_back(volume);
    return;
  }
  if (const auto at = std::find(names.begin(), names.end(), volume); at != names.end()) names.erase(at);
  if (names.empty()) erase(reserved_, key);
}

void ClusterStorage::index(const PersistentVolume& volume, bool comes) {
  if (volume.claim_ref) {
    reserve(*volume.claim_ref, volume.name, comes);
  } else {
    count(unclaimed_, pair_key(volume.class_name, volume.name), comes);
  }
  const std::string handle = handle_key(volume);
  if (handle.empty()) return;
  count(handles_, handle, comes);
  const auto left = handles_.find(handle);
  const std::size_t volumes = left == handles_.end() ? 0 : left->second;
  if (volumes == (comes ? 2 : 1)) count(shared_handles_, handle, comes);
}

void ClusterStorage::index(const VolumeClaim& claim, bool comes) {
  if (!claim.volume_name.empty()) count(naming_, pair_key(claim.volume_name, claim.full_name()), comes);
}

void ClusterStorage::index(const VolumeAttachment& attachment, bool comes) {
  if (attachment.volume_name) count(attached_, *attachment.volume_name, comes);
}

StorageReach ClusterStorage::reach_of(const StorageObject& object) const {
  if (const auto* claim = std::get_if<VolumeClaim>(&object)) return {.is_wide = false, .claims = {claim->full_name()}};
  const auto* now = std::get_if<PersistentVolume>(&object);
  if (now == nullptr || !now->claim_ref) return {.is_wide = true, .claims = {}};
  StorageReach reach;
  const auto known = volumes_.find(now->name);
  const PersistentVolume* const before = known != volumes_.end() ? known->second.stored.get() : nullptr;
  // The attachments of another volume are counted, or of none.
  if (attached_.contains(now->name) && (before == nullptr || before->source != now->source))
    return {.is_wide = true, .claims = {}};
  for (const PersistentVolume* volume : {before, now}) {
    if (volume == nullptr) continue;
    // Any claim may take it, or it counts together with another one.
    const std::string handle = handle_key(*volume);
    const auto same = handles_.find(handle);
    const std::size_t others = (same != handles_.end() ? same->second : 0) - (volume == before ? 1 : 0);
    const bool was_counted = volume == now && before != nullptr && handle_key(*before) == handle;
    if (!volume->claim_ref || (!handle.empty() && others > (was_counted ? 1 : 0)))
      return {.is_wide = true, .claims = {}};
    reach.claims.push_back(key_of(volume->claim_ref->namespace_, volume->claim_ref->name));
  }
  const std::string naming = pair_key(now->name, "");
  for (auto at = naming_.lower_bound(naming); at != naming_.end() && at->first.starts_with(naming); ++at)
    reach.claims.push_back(at->first.substr(naming.size()));
  return reach;
}

void ClusterStorage::index_assumed(const PersistentVolume& volume, bool comes) {
  reserve(*volume.claim_ref, volume.name, comes);
}

/// The entry goes, or another object comes in its place.
template <class T>
void ClusterStorage::end(const Entry<T>& entry) {
  index(*entry.stored, false);
  if (entry.assumed != nullptr) index_assumed(*entry.assumed, false);
}

/// Calls `change` with the table of the kind.
template <class Change>
void ClusterStorage::with_table(StorageKind kind, Change change) {
  switch (kind) {
    case StorageKind::kVolume:
      return change(volumes_);
    case StorageKind::kClaim:
      return change(claims_);
    case StorageKind::kClass:
      return change(classes_);
    case StorageKind::kCsiNode:
      return change(csi_nodes_);
    case StorageKind::kCsiDriver:
      return change(csi_drivers_);
    case StorageKind::kCapacity:
      return change(capacities_);
    case StorageKind::kAttachment:
      return change(attachments_);
  }
}

void ClusterStorage::add_all(const StorageObjects& objects) {
  const auto add = [&](const auto& list) {
    for (const auto& object : list) upsert(object);
  };
  add(objects.volumes);
  add(objects.claims);
  add(objects.classes);
  add(objects.csi_nodes);
  add(objects.csi_drivers);
  add(objects.capacities);
  add(objects.attachments);
}

void ClusterStorage::upsert(const StorageObject& object) {
  std::visit(
      [&]<class T>(const T& stored) {
        auto copy = std::make_shared<const T>(stored);
        const std::string key = key_of(stored);
        with_table(kind_of(object), [&](auto& table) {
          using Own = std::remove_reference_t<decltype(table)>;
          if constexpr (std::is_same_v<Own, Table<T>> || std::is_same_v<Own, SortedTable<T>>) {
            if (const auto before = table.find(key); before != table.end()) end(before->second);
            index(*copy, true);
            write(table, key) = {std::move(copy), nullptr, 0, ++version_};
          }
        });
      },
      object);
}

bool ClusterStorage::remove(StorageKind kind, std::string_view name_space, std::string_view name) {
  bool was_there = false;
  const std::string key = key_of(name_space, name);
  with_table(kind, [&](auto& table) {
    const auto found = table.find(key);
    was_there = found != table.end();
    if (!was_there) return;
    end(found->second);
    erase(table, key);
  });
  return was_there;
}

// What placements assume

/// @param change  (const T&): the object as it is assumed from now on; null: as it is
template <class T, class Change>
void ClusterStorage::hold(Table<T>& table, const std::string& key, Change change, StorageKind kind,
                          std::vector<Held>& held) {
  const auto found = table.find(key);
  if (found == table.end()) return;
  std::shared_ptr<const T> changed = change(found->second.seen());
  held.push_back({kind, key, found->second.version});
  Entry<T>& entry = write(table, found);
  if (changed != nullptr) {
    if (entry.assumed != nullptr) index_assumed(*entry.assumed, false);
    index_assumed(*changed, true);
    entry.assumed = std::move(changed);
  }
  ++entry.holders;
}

template <class T>
void ClusterStorage::let_go(Table<T>& table, const Held& held) {
  const auto found = table.find(held.key);
  if (found == table.end() || found->second.version != held.version) return;
  Entry<T>& entry = write(table, held.key);
  if (--entry.holders > 0) return;
  if (entry.assumed != nullptr) index_assumed(*entry.assumed, false);
  entry.assumed = nullptr;
}

void ClusterStorage::assume(const std::string& uid, VolumeDecisionsPtr decisions) {
  auto held = std::make_shared<std::vector<Held>>();
  try {
    for (const VolumeDecisions::Match& match : decisions->matches) {
      const VolumeClaim* claim = find(claims_, match.claim);
      if (claim == nullptr) continue;
      const auto bind = [&](const PersistentVolume& volume) { return bound_to(volume, *claim); };
      hold(volumes_, match.volume, bind, StorageKind::kVolume, *held);
    }
    for (const VolumeDecisions::Provision& provision : decisions->provisions) {
      const auto tie = [&](const VolumeClaim& claim) { return tied_to(claim, decisions->node_name); };
      hold(claims_, provision.claim, tie, StorageKind::kClaim, *held);
    }
    auto& assumption = write(assumptions_, uid);
    assumption = {std::move(decisions), held};
  } catch (...) {
    if (undo_ != nullptr) throw;
    for (const Held& one : *held) {  // allocates nothing where no step is noted
      if (one.kind == StorageKind::kVolume) let_go(volumes_, one);
      if (one.kind == StorageKind::kClaim) let_go(claims_, one);
    }
    throw;
  }
}

void ClusterStorage::forget(std::string_view uid) {
  const auto found = assumptions_.find(uid);
  if (found == assumptions_.end()) return;
  const std::shared_ptr<const std::vector<Held>> held = found->second.held;
  for (const Held& one : *held) {
    if (one.kind == StorageKind::kVolume) let_go(volumes_, one);
    if (one.kind == StorageKind::kClaim) let_go(claims_, one);
  }
  erase(assumptions_, uid);
}

void ClusterStorage::confirm(std::string_view uid) { erase(assumptions_, uid); }

VolumeDecisionsPtr ClusterStorage::decisions_of(std::string_view uid) const {
  const auto found = assumptions_.find(uid);
  return found == assumptions_.end() ? nullptr : found->second.decisions;
}

}  // namespace berth
