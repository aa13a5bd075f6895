// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/declared_paths.h"

namespace berth {

/// Which objects a command reads: -f, --skip-invalid, --strict, --no-expand, -q.
struct InputOptions {
  std::vector<std::string> paths;
  bool skip_invalid = false;
  bool strict = false;     ///< refuse what an API server would refuse
  bool no_expand = false;  ///< workloads make no pods
  bool quiet = false;
  /// What messages show of a text that names paths; empty: the text itself. Where files are copies of others.
  std::function<std::string(std::string)> shown_names = {};
  std::string with_shown_names(std::string text) const { return shown_names ? shown_names(std::move(text)) : text; }
  bool keeps_finished_pods = false;     ///< in LoadedInput::finished_pods
  bool nodes_may_come = false;          ///< a cluster without nodes is nothing to warn of
  DeclaredPathsPtr declared = nullptr;  ///< whose values are kept: declared_by_plugins()
};

struct LoadedInput {
  ClusterObjects objects;
  std::vector<PodPtr> finished_pods = {};
  double seconds = 0;
};

/// Reads the objects. Warnings go to standard error unless quiet, one of them when there is no node; with skip_invalid
/// the objects that were left out are listed there too. On a terminal a bar shows how far reading has come.
/// @param threads  0: one per core
/// @throws InputError with every problem when some object is invalid and skip_invalid is not set; whatever is set, when
///         a limit was reached, and when the input holds no object of a kind that Berth knows and is not an empty list
LoadedInput load_input(const InputOptions& options, int threads);

}  // namespace berth
