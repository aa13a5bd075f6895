// SPDX-License-Identifier: Apache-2.0
#pragma once

// Paths or text in, the objects of a cluster out: read, decoded in parallel, admission applied, workloads expanded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/errors.h"
#include "host/objects/expand.h"
#include "host/objects/json_value.h"
#include "host/objects/text/text_limits.h"

namespace berth {

struct LoadOptions {
  int threads = 0;  ///< at most; 0: as many as the machine has, and never more
  bool expand_workloads = true;
  TextLimits text;
  std::int64_t objects_max = 20'000'000;
  std::int64_t expanded_pods_max = kExpandedPodsMax;
  std::size_t problems_max = kProblemLimit;  ///< kept with their text; all are counted
};

struct LoadResult {
  ClusterObjects objects;              ///< all that was good; an object with a problem is left out whole
  std::vector<InputProblem> problems;  ///< those of reading in input order, then the rest; at most problems_max
  std::int64_t problem_count = 0;
  std::vector<Remark> left_out;  ///< every object that was left out, with its first problem

  /// @throws InputError with `problems`; does nothing when there are none.
  void throw_if_problems() const;
};

/// Reads files, directories and "-" (TextReader says how). The order of the objects in the input decides nothing but
/// the order of the result. Uses up to options.threads threads and returns when all is done. Bad input never throws: it
/// is in the result.
LoadResult load_cluster(const std::vector<std::string>& paths, const LoadOptions& options = {});

/// The same for JSON or YAML text in memory. `source_name` stands in the problems.
LoadResult load_cluster_from_text(std::string_view text, const std::string& source_name,
                                  const LoadOptions& options = {});

}  // namespace berth
