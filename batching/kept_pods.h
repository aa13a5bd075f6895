// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pods that an engine knows by a handle (PodToPlace::handle): those that were compiled and not released.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "batching/topology_index.h"

namespace berth {

struct KeptPod {
  PodPtr pod;  ///< null: the handle is free
  std::uint64_t compiled_at = 0;
  std::uint64_t signed_at = 0;  ///< HostColumns::signatures_version() when it was compiled
  std::uint64_t kept_in = 0;    ///< number of the call since which it is kept
  std::int32_t profile = 0;
  std::int32_t kind = TopologyIndex::kNoKind;
  std::uint32_t kind_version = 0;  ///< TopologyIndex::version_of_kind() when it was compiled
  std::int32_t class_index = -1;
  std::int32_t prepared_class = -1;  ///< in KeptPods::prepared_classes(); -1: none
  bool signed_as_placed = false;     ///< HostColumns::is_placed() then, of a pod with volumes
  bool is_prepared = false;
  bool reads_open_side = false;  ///< const calls also read the node side with NodeSet::kIgnored
};

class KeptPods {
 public:
  /// Gives the pod a handle, unless it has one here.
  void keep(PodToPlace& pod);
  /// Ends the handle, if the pod has one. Allocates nothing.
  void release(PodToPlace& pod) noexcept;

  KeptPod& operator[](std::uint32_t handle) { return pods_[handle - 1]; }
  const KeptPod& operator[](std::uint32_t handle) const { return pods_[handle - 1]; }
  /// null: the pod has no handle here.
  const KeptPod* find(const PodToPlace& pod) const {
    const bool exists = pod.handle > 0 && pod.handle <= pods_.size() && pods_[pod.handle - 1].pod == pod.pod;
    return exists ? &pods_[pod.handle - 1] : nullptr;
  }
  /// The pod was compiled and not released, as far as its handle tells.
  bool has_handle(const PodToPlace& pod) const { return pod.handle > 0 && pod.handle <= pods_.size(); }
  /// Calls use(handle, kept) for each kept pod.
  template <class Use>
  void for_each(Use use) const {
    for (std::size_t k = 0; k < pods_.size(); ++k)
      if (pods_[k].pod != nullptr) use(static_cast<std::uint32_t>(k + 1), pods_[k]);
  }

  // A call of the engine as a whole: the handles that it gave can be taken back.

  void begin_call() noexcept;
  /// Releases what was kept since begin_call().
  void take_back_call() noexcept;
  /// Takes handles from the caller's pods that do not exist, after a call that failed.
  void forget_handles(std::span<PodToPlace> pods) const noexcept;

  // How many pods of each class are prepared.

  void note_prepared(const PodToPlace& pod);
  void forget_prepared(std::uint32_t handle) { forget_prepared(pods_[handle - 1]); }
  /// Classes of prepared pods, each once.
  std::vector<std::int32_t> prepared_classes() const;

  /// The pods keep their handles; what they were compiled to is gone.
  void forget_classes() noexcept;

 private:
  void forget_prepared(KeptPod& kept);

  std::vector<KeptPod> pods_;  ///< [handle - 1]
  std::vector<std::uint32_t> free_handles_;
  std::uint64_t call_ = 0;  ///< number of the call
  std::size_t kept_in_call_ = 0;
  std::vector<std::int32_t> prepared_pods_of_class_;  ///< [class]
};

}  // namespace berth
