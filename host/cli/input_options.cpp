// SPDX-License-Identifier: Apache-2.0
#include "host/cli/input_options.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "host/cli/figures.h"
#include "host/cli/messages.h"
#include "host/objects/loader.h"
#include "host/objects/text/byte_source.h"

namespace berth {
namespace {

void say_warnings(const ClusterObjects& objects) {
  for (const std::string& warning : objects.warnings) print_warning(warning);
  for (const auto& [kind, count] : objects.unknown_kinds) {
    print_warning(fmt::format("unknown kind {}: {} left out", kind, counted(count, "object", "objects")));
  }
}

void say_left_out(const LoadResult& loaded) {
  for (const Remark& remark : loaded.left_out)
    print_message(fmt::format("left out {}: {}", remark.object, remark.reason));
  print_message(fmt::format("{} left out (--skip-invalid)", counted(static_cast<std::int64_t>(loaded.left_out.size()),
                                                                    "invalid object", "invalid objects")));
}

/// --skip-invalid is about objects; a path that cannot be read is none.
/// @throws InputError
void refuse_missing(const std::vector<std::string>& paths) {
  std::vector<InputProblem> problems;
  expand_paths(paths, problems);
  if (!problems.empty()) throw InputError(std::move(problems));
}

/// @throws InputError; the count of problems whose text was not kept is the last of them
[[noreturn]] void refuse(LoadResult loaded) {
  const auto kept = static_cast<std::int64_t>(loaded.problems.size());
  if (loaded.problem_count > kept) {
    loaded.problems.push_back(
        {"...", "", fmt::format("and {} more", counted(loaded.problem_count - kept, "problem", "problems"))});
  }
  throw InputError(std::move(loaded.problems));
}

}  // namespace

LoadedInput load_input(const InputOptions& options, int threads) {
  const auto start = std::chrono::steady_clock::now();
  if (options.skip_invalid) refuse_missing(options.paths);
  LoadOptions load_options;
  load_options.threads = threads;
  LoadResult loaded = load_cluster(options.paths, load_options);
  if (!options.quiet) say_warnings(loaded.objects);
  if (loaded.problem_count > 0 && !options.skip_invalid) refuse(std::move(loaded));
  if (loaded.problem_count > 0) say_left_out(loaded);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {std::move(loaded.objects), seconds};
}

}  // namespace berth
