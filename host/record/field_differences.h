// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/record/recording_reader.h"

namespace berth {

/// A fact of the runs that is not the same: an option, the version, an input, a field of an input.
struct FactDifference {
  std::string key;
  std::string a;  ///< empty: it has none
  std::string b;
};

struct FieldDifferences {
  std::vector<FactDifference> first;  ///< by path: "profiles[0].percentageOfNodesToScore"
  std::size_t count = 0;              ///< all of them
};

/// More bytes of one kind of input are not compared field by field.
inline constexpr std::size_t kComparedInputBytesMax = std::size_t{16} << 20;

/// What differs between the inputs of one kind. Objects and entries of a list are matched by kind, namespace and name,
/// where they have a name, else by their place. None where an input is too large or is not JSON or YAML.
FieldDifferences field_differences(RecordingReader& a, RecordingReader& b, const std::string& kind,
                                   std::size_t shown_max);

}  // namespace berth
