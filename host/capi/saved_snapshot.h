// SPDX-License-Identifier: Apache-2.0
#pragma once

// A snapshot as bytes: a header, and zstd data that hold what calls cannot tell from objects alone, and the objects as
// JSON. Bytes are little-endian. docs/embedding.md "Snapshots in files" has the format.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "host/capi/what_if.h"
#include "include/berth/berth.h"

namespace berth::capi {

/// What bytes say, checked but for the objects.
struct SavedSnapshot {
  std::uint64_t version = 0;            ///< of the cluster
  std::vector<std::string> node_names;  ///< by number
  /// Pods that stand on a node without a confirmation: by their place among the objects.
  std::vector<std::pair<std::uint64_t, std::string>> assumed;
  struct Reservation {
    std::string owner;
    std::uint64_t number = 0;
  };
  std::vector<Reservation> reservations;
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> replicas;  ///< SideObjects::replicas
  /// Objects, one behind the other: node objects first, then what rules read beside, then pods. Admission classes,
  /// which have acted on the pods already, stand behind `class_begin`.
  std::string_view json() const { return std::string_view(data).substr(json_begin); }
  std::vector<std::uint64_t> offsets;  ///< [objects + 1]
  std::uint64_t class_begin = 0;
  std::string data;  ///< all of it, whose end is json()
  std::size_t json_begin = 0;
};

/// @throws ApiError BERTH_E_UNSUPPORTED naming what the bytes cannot hold
std::string save(const State& state);
/// @param release  of the engine that is to take it
/// @throws ApiError BERTH_E_INPUT: not such bytes, or damaged ones. BERTH_E_UNSUPPORTED: of another release, by name
/// @param saved  [out] empty before
void read_saved(std::string_view bytes, std::string_view release, SavedSnapshot& saved);

}  // namespace berth::capi
