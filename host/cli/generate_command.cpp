// SPDX-License-Identifier: Apache-2.0
#include "host/cli/generate_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "host/generate/cluster_spec.h"
#include "host/generate/generate.h"

namespace berth {

ExitCode run(const GenerateCommand& command) {
  const ClusterObjects objects = generate_cluster(load_cluster_spec(command.spec_path), command.seed);
  if (!command.quiet) {
    for (const std::string& warning : objects.warnings) fmt::print(stderr, "berth: warning: {}\n", warning);
  }
  write_cluster(objects, command.output_path);
  return ExitCode::kDone;
}

}  // namespace berth
