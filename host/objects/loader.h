// SPDX-License-Identifier: Apache-2.0
#pragma once

// Paths or text in, the objects of a cluster out: read, decoded in parallel, admission applied, workloads expanded.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/errors.h"
#include "host/objects/expand.h"
#include "host/objects/list_entries.h"
#include "host/objects/text/text_limits.h"

namespace berth {

/// Called while text is read, one call at a time, from any thread: bytes of the files that were read so far, and their
/// sizes together; 0 when that is not known (standard input, a pipe).
using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// The key of ClusterObjects::unknown_kinds that counts what goes beyond LoadOptions::unknown_kinds_max.
inline constexpr std::string_view kOtherKinds = "(other kinds)";

inline constexpr std::int64_t kObjectsMax = 20'000'000;        ///< of one load
inline constexpr std::int64_t kInvalidObjectsMax = 1'000'000;  ///< of one load

struct LoadOptions {
  int threads = 0;  ///< at most; see thread_count()
  bool expand_workloads = true;
  bool strict = false;                  ///< what an API server would refuse (validation.h) is a problem, not a warning
  bool keeps_finished_pods = false;     ///< in LoadResult::finished_pods
  DeclaredPathsPtr declared = nullptr;  ///< whose values are kept
  TextLimits text;
  std::int64_t objects_max = kObjectsMax;
  std::int64_t invalid_objects_max = kInvalidObjectsMax;  ///< reading ends when there are more
  std::int64_t dense_entries_max = kDenseEntriesMax;      ///< the same
  ExpansionLimits expansion;
  std::size_t problems_max = kProblemLimit;  ///< kept with their text; all are counted
  std::size_t left_out_max = 100'000;        ///< kept in LoadResult::left_out; all are counted
  std::size_t unknown_kinds_max = 1000;      ///< counted each by itself; about, because batches are counted first
  LoadProgress progress;                     ///< may be empty
};

struct LoadResult {
  ClusterObjects objects;  ///< all that was good; an object with a problem is left out whole
  /// Those of reading in input order, then the rest; repetitions folded, at most problems_max.
  std::vector<InputProblem> problems;
  std::int64_t problem_count = 0;  ///< repetitions and those that were not kept included
  std::vector<Remark> left_out;    ///< the objects that were left out, with their first problem; at most left_out_max
  std::int64_t left_out_count = 0;
  /// Of ClusterObjects::terminal_pods, in the same order; only with LoadOptions::keeps_finished_pods.
  std::vector<PodPtr> finished_pods;
  std::int64_t empty_list_count = 0;  ///< lists whose `items` is [], not null
  std::int64_t document_count = 0;    ///< objects and lists that stand by themselves, empty lists among them
  bool is_incomplete = false;         ///< a limit ended reading before the input ended; one of the problems names it

  /// @throws InputError with `problems`; does nothing when there are none.
  void throw_if_problems() const;
};

/// Reads files, directories and "-" (TextReader says how). The order of the objects in the input decides nothing but
/// the order of the result. Uses up to options.threads threads of the caller's task arena and returns when all is done.
/// Bad input never throws: it is in the result.
LoadResult load_cluster(const std::vector<std::string>& paths, const LoadOptions& options = {});

/// The same for JSON or YAML text in memory. Problems name `source_name`.
LoadResult load_cluster_from_text(std::string_view text, const std::string& source_name,
                                  const LoadOptions& options = {});

}  // namespace berth
