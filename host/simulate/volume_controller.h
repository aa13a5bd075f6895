// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "host/store/object_store.h"

namespace berth {

/// Stands in for the PV controller and the provisioners of classes that do not wait for a pod: a claim of such a class,
/// or of none, is bound to the volume that it names or to the smallest one that suits it, else to a new one of its
/// class. Claims that wait for their first consumer are bound with their pod (ObjectStore::bind_volumes()).
///
/// What cannot be bound is tried again when a claim, a volume or a class changes, and when provisioners do. Claims are
/// bound in the order of their names, so that runs repeat. One call at a time.
class VolumeController {
 public:
  /// @param store  must outlive this
  explicit VolumeController(ObjectStore& store);

  /// Binds what can be bound now.
  void run();
  /// Provisioners have changed: open claims are tried again.
  void try_again() { is_due_ = true; }

 private:
  using Name = std::pair<std::string, std::string>;  ///< namespace and name

  void read_events();
  void look_at(const VolumeClaim& claim);
  void look_at_all();
  bool binds_at_once(const VolumeClaim& claim) const;
  void bind(const VolumeClaim& claim);
  std::string volume_for(const VolumeClaim& claim) const;

  ObjectStore& store_;
  Watch watch_;
  std::set<Name> open_;  ///< claims that are not bound and do not wait for a pod
  bool is_due_ = true;
};

}  // namespace berth
