// SPDX-License-Identifier: Apache-2.0
#pragma once

// A snapshot as bytes: a header, and zstd data that hold what calls cannot tell from objects alone, pods as columns,
// and other objects as JSON. Bytes are little-endian. docs/embedding.md "Snapshots in files" has the format.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "host/capi/saved_bytes.h"
#include "host/capi/saved_images.h"
#include "host/capi/saved_pods.h"
#include "host/capi/what_if.h"
#include "host/cluster/cache.h"
#include "include/berth/berth.h"

namespace berth::capi {

/// What bytes say, checked but for the objects.
struct SavedSnapshot {
  std::uint64_t version = 0;            ///< of the cluster
  std::vector<std::string> node_names;  ///< by number
  struct Reservation {
    std::string owner;
    std::uint64_t number = 0;
  };
  std::vector<Reservation> reservations;
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> replicas;  ///< SideObjects::replicas
  /// Of nodes where they are others than those of the pods.
  std::vector<std::pair<std::string, std::vector<HostPort>>> used_ports;
  std::vector<std::pair<std::string, std::int64_t>> image_sizes;  ///< of which nodes reported several
  NodeImagesIn images;                                            ///< of the node objects, which have none
  PodColumns pods;
  /// Objects as JSON, one behind the other: node objects first, then what rules read beside. Behind `template_begin`
  /// come templates of pods, then pods that are nominated, and behind `class_begin` admission classes, which have acted
  /// on the pods already.
  std::string_view json() const { return data.view().substr(json_begin); }
  std::vector<std::uint64_t> offsets;  ///< [objects + 1]
  std::uint64_t template_begin = 0;
  std::uint64_t nominated_begin = 0;
  std::uint64_t class_begin = 0;
  Bytes data;  ///< all of it, whose end is json()
  std::size_t json_begin = 0;
};

/// @throws ApiError BERTH_E_UNSUPPORTED naming what the bytes cannot hold
std::string save(const State& state);
/// @param release  of the engine that is to take it
/// @throws ApiError BERTH_E_INPUT: not such bytes, or damaged ones. BERTH_E_UNSUPPORTED: of another release, by name
/// @param saved  [out] empty before
void read_saved(std::string_view bytes, std::string_view release, WorkArena& arena, SavedSnapshot& saved);

}  // namespace berth::capi
