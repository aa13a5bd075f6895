// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/objects/cluster_objects.h"

namespace berth {

/// Which objects a command reads: -f, --skip-invalid, -q.
struct InputOptions {
  std::vector<std::string> paths;
  bool skip_invalid = false;
  bool quiet = false;
};

struct LoadedInput {
  ClusterObjects objects;
  double seconds = 0;
};

/// Reads the objects. Warnings go to standard error unless quiet; with skip_invalid the objects that were left out are
/// listed there too.
/// @param threads  0: one per core
/// @throws InputError with every problem when some object is invalid and skip_invalid is not set
LoadedInput load_input(const InputOptions& options, int threads);

}  // namespace berth
