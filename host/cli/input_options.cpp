// SPDX-License-Identifier: Apache-2.0
#include "host/cli/input_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "host/cli/messages.h"
#include "host/cli/progress_bar.h"
#include "host/objects/dump_command.h"
#include "host/objects/loader.h"
#include "host/objects/text/byte_source.h"
#include "host/report/figures.h"

namespace berth {
namespace {

constexpr std::size_t kKindsShownMax = 20;
constexpr unsigned kMebibyteShift = 20;

/// The kinds that are not read, the first of them by name.
void say_unknown_kinds(const ClusterObjects& objects) {
  std::size_t shown = 0;
  std::int64_t others = 0;
  for (const auto& [kind, count] : objects.unknown_kinds) {
    if (kind == kOtherKinds || shown == kKindsShownMax) {
      others += count;
      continue;
    }
    ++shown;
    print_warning(fmt::format("unknown kind {}: {} left out", kind, counted(count, "object", "objects")));
  }
  if (others == 0) return;
  print_warning(fmt::format("more unknown kinds: {} left out", counted(others, "object", "objects")));
}

void say_warnings(const InputOptions& options, const ClusterObjects& objects) {
  for (const std::string& warning : objects.warnings) print_warning(options.with_shown_names(warning));
  say_unknown_kinds(objects);
}

void say_no_nodes() {
  print_warning(
      fmt::format("the input has no Node, so no pod can be placed; a dump with all that is read: {}", kDumpCommand));
}

/// One line for problems that say the same. Of an object with several problems the first is said, unless it is folded.
void say_left_out(const InputOptions& options, const LoadResult& loaded) {
  std::set<std::string> said;
  for (const InputProblem& problem : loaded.problems) {
    const bool is_first = problem.object.empty() || said.insert(problem.source + "\n" + problem.object).second;
    if (!is_first && problem.repeat_count == 0) continue;
    const std::string_view of = problem.object.empty() ? "" : ": ";
    print_message(options.with_shown_names(fmt::format("left out {}{}{}", problem.object, of, problem.to_string())));
  }
  const std::int64_t more = loaded.problem_count - total_count(loaded.problems);
  if (more > 0) print_message(fmt::format("and {} that say something else", counted(more, "problem", "problems")));
  print_message(
      fmt::format("{} left out (--skip-invalid)", counted(loaded.left_out_count, "invalid object", "invalid objects")));
}

/// --skip-invalid is about what is read; a path of the command line that cannot be read is a mistake in the command.
/// What lies in a directory and cannot be read is left out like an object.
/// @throws InputError
void refuse_missing(const std::vector<std::string>& paths) {
  std::vector<InputProblem> problems;
  expand_paths(paths, problems);
  std::erase_if(problems, [&](const InputProblem& problem) {
    return !problem.source.empty() && std::find(paths.begin(), paths.end(), problem.source) == paths.end();
  });
  if (!problems.empty()) throw InputError(std::move(problems));
}

/// @throws InputError; the count of problems whose text was not kept is the last of them
[[noreturn]] void refuse(LoadResult loaded) {
  const std::int64_t kept = total_count(loaded.problems);
  if (loaded.problem_count > kept) {
    loaded.problems.push_back(
        {"...", "", fmt::format("and {} more", counted(loaded.problem_count - kept, "problem", "problems"))});
  }
  throw InputError(std::move(loaded.problems));
}

bool holds_no_storage(const StorageObjects& storage) {
  return storage.volumes.empty() && storage.claims.empty() && storage.classes.empty() && storage.csi_nodes.empty() &&
         storage.csi_drivers.empty() && storage.capacities.empty() && storage.attachments.empty();
}

/// True when not a single object of a kind that Berth knows was read.
bool holds_nothing(const ClusterObjects& objects) {
  return objects.nodes.empty() && objects.pods.empty() && objects.namespaces.empty() &&
         objects.priority_classes.empty() && objects.services.empty() && objects.runtime_classes.empty() &&
         objects.pod_disruption_budgets.empty() && objects.workloads.empty() && objects.terminal_pod_count == 0 &&
         objects.unused_kinds.empty() && holds_no_storage(objects.storage);
}

/// A cluster can be empty, and a dump of it a list without items. Input without any list or object is no dump, and
/// neither is one in which every object is of a foreign kind.
/// @throws InputError
void refuse_foreign_input(const LoadResult& loaded) {
  if (!holds_nothing(loaded.objects)) return;
  if (loaded.document_count == 0) {
    throw InputError(InputProblem{"", "", "the input holds no object at all: did the command that wrote it fail?"});
  }
  const auto& kinds = loaded.objects.unknown_kinds;
  if (kinds.empty()) {
    if (loaded.empty_list_count > 0) return;
    throw InputError(
        InputProblem{"", "",
                     "the input holds no object, only null in place of the items of a list, or []: did the "
                     "command that wrote it fail? A cluster without objects is a list with \"items\": []"});
  }
  std::int64_t count = 0;
  for (const auto& [kind, objects] : kinds) count += objects;
  throw InputError(InputProblem{"", "",
                                fmt::format("the input holds {}, none of a kind that Berth reads; the first kind is {}",
                                            counted(count, "object", "objects"), kinds.begin()->first)});
}

LoadOptions load_options(const InputOptions& options, int threads, ProgressBar& bar) {
  LoadOptions result;
  result.threads = threads;
  result.expand_workloads = !options.no_expand;
  result.strict = options.strict;
  result.keeps_finished_pods = options.keeps_finished_pods;
  result.declared = options.declared;
  result.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    bar.update(static_cast<std::size_t>(done >> kMebibyteShift), static_cast<std::size_t>(total >> kMebibyteShift));
  };
  return result;
}

}  // namespace

LoadedInput load_input(const InputOptions& options, int threads) {
  const auto start = std::chrono::steady_clock::now();
  if (options.skip_invalid) refuse_missing(options.paths);
  ProgressBar bar("reading, in MiB:");
  LoadResult loaded = load_cluster(options.paths, load_options(options, threads, bar));
  bar.clear();
  if (!options.quiet) say_warnings(options, loaded.objects);
  const bool is_refused = !options.skip_invalid || loaded.is_incomplete || holds_nothing(loaded.objects);
  if (loaded.problem_count > 0 && is_refused) refuse(std::move(loaded));
  refuse_foreign_input(loaded);
  if (loaded.problem_count > 0) say_left_out(options, loaded);
  if (!options.quiet && !options.nodes_may_come && loaded.objects.nodes.empty()) say_no_nodes();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {std::move(loaded.objects), std::move(loaded.finished_pods), seconds};
}

}  // namespace berth
